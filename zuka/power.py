"""How a box is told to go: by the command of the recipe, of the user, of its platform, or ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zuka.onbox import script
from zuka.steps import Run


def who_rents() -> Run:
    """Ask a box for the marks of its platform; their meaning is ``power_off``'s to say."""
    from zuka import platforms

    return Run(("sh", "-c", platforms.PROBE), shown="who rents the box out")


def power_off(command: str, marks: str, address: str, said: str, better: Mapping[str, Any]) -> Run:
    """
    Return how to switch a box off that answered ``who_rents`` with ``marks``.

    ``command`` is the recipe's own and wins; then the user's for this box (``better``), then that
    of the platform which the user ``said`` or the marks tell, then what any Linux has.
    """
    from zuka import platforms

    name = said or platforms.detect(marks, address).name
    profile = platforms.bettered(platforms.load(name), better)
    argv = platforms.power_off(profile, command)
    shown = command or profile.power_off.command or "shutdown -h now"
    return Run(("sh", "-c", script("off.sh"), "zuka", *argv), shown=shown)
