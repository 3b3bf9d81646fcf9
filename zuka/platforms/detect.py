"""Tell from a box's answer, and from its address, who rents it out."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

from zuka.platforms.profile import GENERIC, LAB, Marks, Profile, load, names
from zuka.shell import clean

_KEYS = ("env", "listed", "host", "path", "user", "vendor", "product", "bios", "region")
_MOST_LINES, _LONGEST = 400, 200
_DMI = ("vendor", "product", "bios")


@dataclass(frozen=True, slots=True)
class Detected:
    """
    The platform that a box seems to be of, and the facts that said so.

    ``against`` are other platforms with a mark of their own; ``asked`` is whether the box answered
    at all; ``region`` is the platform's name for where the box stands.
    """

    name: str = GENERIC
    why: tuple[str, ...] = ()
    certainty: Literal["sure", "likely", "none"] = "none"
    against: tuple[str, ...] = ()
    asked: bool = False
    region: str = ""


@dataclass(frozen=True, slots=True)
class _Match:
    """What speaks for one platform."""

    name: str
    by_address: bool
    sure: tuple[str, ...]
    likely: tuple[str, ...]

    @property
    def weight(self) -> tuple[bool, int, int, bool]:
        """Return what sorts the best last: a box may be any platform's, its address is not."""
        sure = len(self.sure)
        return (self.by_address, sure, len(self.likely), self.name != LAB)


def detect(answer: str, address: str = "") -> Detected:
    """
    Return the platform of a box that answered PROBE so; any text is an answer.

    An image that was made elsewhere may carry the marks of another platform, so the address counts
    most. A lab's machine is only known by its address, and only when nothing else is.
    """
    seen = _seen(answer)
    asked = "probe" in seen
    region = seen.get("region", [""])[0]
    found = [each for each in (_match(load(name), seen, address) for name in names()) if each]
    if not found:
        return Detected(asked=asked, region=region)
    best = max(found, key=lambda each: each.weight)
    against = tuple(each.name for each in found if each.sure and each is not best)
    sure = bool(best.sure) and not against
    why = (*best.sure, *best.likely)
    return Detected(best.name, why, "sure" if sure else "likely", against, asked, region)


def host_of(address: str) -> str:
    """Return the host of an address however it was written: `ssh://user@host:port/`, `host.`."""
    text = clean(address)[:500].strip().lower()
    text = text.rpartition("://")[2].partition("/")[0].rpartition("@")[2]
    bracketed = re.match(r"\[([^\]]*)\]", text)
    if bracketed:
        return bracketed[1]
    return (text.partition(":")[0] if text.count(":") == 1 else text).rstrip(".")


def fits(pattern: str, text: str) -> bool:
    """Tell whether a text fits a pattern of a profile, or an address lies in its network."""
    if "/" in pattern:
        try:
            return ipaddress.ip_address(text) in ipaddress.ip_network(pattern)
        except ValueError:
            return False
    return fnmatchcase(text.lower(), pattern.lower())


def _seen(answer: str) -> dict[str, list[str]]:
    """Return what the box said, by key; lines that are not the probe's are passed over."""
    seen: dict[str, list[str]] = {}
    for line in answer[: _MOST_LINES * _LONGEST].splitlines()[:_MOST_LINES]:
        key, _, value = clean(line).strip().partition("=")
        value = value.strip()[:_LONGEST]
        if value and key in (*_KEYS, "probe", "container"):
            seen.setdefault(key, []).append(value)
    return seen


def _match(profile: Profile, seen: Mapping[str, list[str]], address: str) -> _Match | None:
    sure = [*_facts(profile.recognise.sure, seen, address)]
    likely = [*_facts(profile.recognise.likely, seen, address)]
    # A file may have come with an image, and a container shows the hardware of its host.
    doubtful = {"listed", *(_DMI if "container" in seen else ())}
    likely = [*(each for each in sure if each[0] in doubtful), *likely]
    sure = [each for each in sure if each[0] not in doubtful]
    if not sure and not likely:
        return None
    by_address = any(kind == "address" for kind, _ in sure)
    said, seemed = (tuple(dict.fromkeys(text for _, text in each)) for each in (sure, likely))
    return _Match(profile.name, by_address, said, tuple(t for t in seemed if t not in said))


def _facts(marks: Marks, seen: Mapping[str, list[str]], address: str) -> Iterator[tuple[str, str]]:
    """Yield each mark that was seen: its kind, and how it is shown in any language."""
    for key, form in (("env", "${}"), ("listed", "${} (/etc)")):
        yield from ((key, form.format(v)) for v in seen.get(key, ()) if v in marks.variables)
    yield from (("path", value) for value in seen.get("path", ()) if value in marks.paths)
    patterns = {"host": marks.hosts, "user": marks.users, **dict.fromkeys(_DMI, marks.vendors)}
    for key, wanted in patterns.items():
        for value in seen.get(key, ()):
            if any(fits(pattern, value) for pattern in wanted):
                yield key, f"{key}={value}"
    host = host_of(address)
    if host and any(fits(pattern, host) for pattern in marks.addresses):
        yield "address", host
