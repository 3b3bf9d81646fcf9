"""Who rents a box out, and what that means for its disks, its network and its bill."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from zuka.platforms.detect import Detected, detect
from zuka.platforms.findings import meter, mismatch, recognised, refused
from zuka.platforms.profile import GENERIC, LAB, Profile, Text, bettered, load, names

__all__ = [
    "GENERIC",
    "LAB",
    "PROBE",
    "Detected",
    "Profile",
    "Text",
    "bettered",
    "detect",
    "load",
    "meter",
    "mismatch",
    "names",
    "power_off",
    "recognised",
    "refused",
]

PROBE = (Path(__file__).parent / "probe.sh").read_text(encoding="utf-8")
"""A POSIX sh script that only reads, asks no network, ends within 2 s, and tells no secret."""


def power_off(profile: Profile, command: str = "") -> tuple[str, ...]:
    """
    Return the argv that switches a box off from inside; empty when there is no command for that.

    ``command`` is the recipe's own, and wins. The variables that the platform's tool needs are
    looked for where the box keeps them, since an SSH session may lack them.
    """
    text = command or profile.power_off.command
    return ("sh", "-c", _off(), "zuka", text, *profile.power_off.variables) if text else ()


@cache
def _off() -> str:
    return (Path(__file__).parent / "off.sh").read_text(encoding="utf-8")
