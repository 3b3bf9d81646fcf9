"""Say what a platform means: a wrong name, an address of no use, a bill that goes on."""

from __future__ import annotations

import difflib
from typing import Any

from zuka.finding import Finding
from zuka.platforms.detect import Detected, fits, host_of
from zuka.platforms.profile import GENERIC, LAB, Profile, Text, load, names

_MOST_FACTS = 3
"""Facts that a text names; all of them would be a wall of words."""
_METER = {
    "yes": "bill-ends",
    "gpu-only": "storage-billed",
    "no": "bill-goes-on",
    "unknown": "bill-unknown",
}


def recognised(detected: Detected) -> Finding:
    """Return what the box was taken for, and why."""
    if detected.name == GENERIC:
        verdict = "unrecognised"
    elif detected.against:
        verdict = "two-platforms"
    else:
        verdict = "recognised" if detected.certainty == "sure" else "looks-like"
    return Finding("platform", verdict, _facts(detected))


def mismatch(said: str, detected: Detected) -> Finding | None:
    """Return what is wrong with the platform that the user named; None when nothing speaks up."""
    facts = {**_facts(detected), "said": said}
    if said and said not in names():
        near = difflib.get_close_matches(said.lower(), names(), 1, 0.5)
        facts |= {"known": ", ".join(names()), "near": near[0] if near else GENERIC}
        return Finding("platform", "unknown-platform", facts)
    if said in ("", GENERIC, detected.name, *detected.against):
        return None
    verdict = _doubt(said, detected)
    return Finding("platform", verdict, facts) if verdict else None


def refused(address: str, user: str = "") -> Finding | None:
    """Return why no program can work through an address; None when nothing is known against it."""
    host = host_of(address)
    for profile in map(load, names()):
        for each in profile.ssh.refused:
            if fits(each.address, host):
                facts = {"address": host, "user": user, "form": profile.ssh.form}
                return Finding("platform", each.verdict, {**facts, **_named(profile)})
    return None


def meter(profile: Profile) -> Finding:
    """Return what the box's own power-off does to the bill; texts are facts, by language."""
    off, outside = profile.power_off, profile.outside
    facts = {
        **_named(profile),
        "command": off.command,
        "ends_bill": off.ends_bill,
        "meter": off.meter,
        "outside": outside.cli or outside.api,
        "confirm": _both(off.confirm),
        "from_laptop": _both(outside.text),
        "while_off": _both(profile.billing.while_off),
        "source": off.proof.source,
        "checked": off.proof.checked,
        "certainty": off.proof.certainty,
    }
    verdict = "no-bill" if off.meter == "none" else _METER[off.ends_bill]
    return Finding("platform", verdict, facts)


def _doubt(said: str, detected: Detected) -> str:
    """Return the verdict on a name that the box does not bear out; empty when it may be right."""
    if detected.certainty == "sure":
        return "mismatch"
    if detected.name == LAB:  # a private address may be any platform's, behind a VPN
        return ""
    if detected.name != GENERIC:
        return "perhaps-mismatch"
    marks = load(said).recognise.sure
    shows = marks.variables or marks.vendors or marks.users
    return "unconfirmed" if detected.asked and shows else ""


def _facts(detected: Detected) -> dict[str, Any]:
    return {
        "found": detected.name,
        "why": ", ".join(detected.why[:_MOST_FACTS]),
        "certainty": detected.certainty,
        "against": ", ".join(detected.against),
        "region": detected.region,
        **_named(load(detected.name)),
    }


def _named(profile: Profile) -> dict[str, Any]:
    return {"platform": profile.name, "title": _both(profile.title)}


def _both(text: Text) -> dict[str, str]:
    return {"en": text.en, "zh": text.zh}
