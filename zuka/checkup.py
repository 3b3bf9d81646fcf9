"""A box's checkup: everything that it says of itself in one answer, held against the order."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from zuka.finding import MARKS, Finding, Language, language, worst_first
from zuka.onbox import script
from zuka.shell import clean
from zuka.steps import Run

if TYPE_CHECKING:
    from zuka import disks, gpu, platforms

WITHIN = 20
"""Seconds that the parts of a checkup may take, all together."""
_NEVER = 124
"""The code of a part that never came to its end, as of timeout(1)."""
_SOLD = 0.92
"""What is sold as 16 GB of memory may be 15 GiB to a container, the rest is the host's."""
_SKEWED = 60
"""Seconds; less is the time that an answer takes."""
_NO_LIMIT = 1 << 60
"""Bytes; cgroup v1 writes a number beyond any memory where there is no limit."""
_SMALL_SHM = 1 << 30
"""Bytes; a loader with several workers fills Docker's 64 MB at once (PyTorch's documentation)."""
_PROGRAMS = {
    "gpu": "nvidia-smi",
    "disk": "df",
    "folders": "df",
    "inodes": "df",
    "limits": "df /dev/shm",
    "pythons": "python3",
    "tools": "sudo",
}
"""Of each part of a checkup, what may hang."""
_PYTHON = re.compile(r"^(/\S{1,400}) (\d{1,3}\.\d{1,3}\.\d{1,3})$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the answer, and the code that its command ended with; 124: it never did."""

    code: int
    text: str


@dataclass(frozen=True, slots=True)
class Checkup:
    """What a box said of itself; sizes in bytes, None where it does not tell."""

    cards: gpu.Cards
    mounts: tuple[disks.Mount, ...] = ()
    home: str = "/"
    """The folder that zuka's own lies in."""
    shut: str = ""
    """The folder that zuka has to write into, where the user may not."""
    cpus: float | None = None
    memory: int | None = None
    shm: int | None = None
    pythons: tuple[tuple[str, str], ...] = ()
    """Path and version of each Python that runs."""
    tools: frozenset[str] = frozenset()
    skew: int = 0
    """Seconds that the box's clock is ahead."""
    platform: platforms.Detected | None = None
    reach: Mapping[str, str] = field(default_factory=dict)
    """What asking an address ended with: an HTTP code, or what went wrong."""
    room: bool = True
    """Whether anything can be written at all."""
    unanswered: tuple[str, ...] = ()
    """What was asked for and never came to its end."""
    answered: bool = True
    """Whether the box said anything at all."""


def run(urls: Sequence[str] = ()) -> Run:
    """Ask a box for all of it; the addresses are asked from there."""
    from zuka import platforms

    text = script("checkup.sh")
    argv = ("sh", "-c", text, "zuka", str(WITHIN), platforms.PROBE, *urls)
    return Run(argv, shown="what the box is", limit=WITHIN + 10)


@dataclass(frozen=True, slots=True)
class Judged:
    """What a checkup comes to: what is wrong, and the whole of it on one screen; as text."""

    wrong: tuple[str, ...]
    screen: tuple[str, ...]


def judge(
    text: str, order: Mapping[str, Any], urls: Sequence[str] = (), address: str = ""
) -> Judged:
    """Hold a box's answer to ``run`` against an order, in the user's language."""
    return _judged(text, json.dumps(order, default=dict), tuple(urls), address, language())


# Asked for twice, for the box's state and for what is to be said; the clock counts the first time.
@lru_cache(maxsize=8)
def _judged(text: str, order: str, urls: tuple[str, ...], address: str, tongue: Language) -> Judged:
    told = findings(read(text, urls, time.time(), address), json.loads(order))
    wrong = tuple(each.means(tongue) for each in told if each.level == "bad")
    return Judged(wrong, tuple(screen(told, "the box", tongue)))


def parts(text: str) -> dict[str, Part]:
    """Return the parts of an answer by name."""
    found: dict[str, Part] = {}
    name, code, lines = "", 0, list[str]()
    for line in [*text.split("\n"), "== end 0"]:
        head = re.fullmatch(r"== (\w{1,20}) (\d{1,3})", line)
        if head:
            if name:
                found[name] = Part(code, "\n".join(lines))
            name, code, lines = head[1], int(head[2]), []
        elif line.startswith("| "):
            lines.append(line[2:])
    return found


def read(text: str, urls: Sequence[str], now: float, address: str = "") -> Checkup:
    """Read the answer to ``run``; ``now`` is the laptop's clock, in seconds since 1970."""
    from zuka import disks, gpu, platforms

    found = parts(text)

    def said(name: str) -> str:
        return found[name].text if name in found else ""

    smi = found.get("gpu", Part(0, ""))
    df = [said(name) for name in ("disk", "folders", "inodes") if name in found]
    facts = dict(_pairs(said("limits")))
    clock = said("clock").strip()
    return Checkup(
        cards=gpu.read(gpu.HUNG if smi.code == _NEVER else smi.text, smi.code),
        mounts=disks.read("\n".join(df or [said("room")])),
        home=facts.get("home") or "/",
        shut=facts.get("shut", ""),
        cpus=_cpus(facts),
        memory=_memory(facts),
        shm=_kilobytes(facts.get("shm", "")),
        pythons=tuple(_PYTHON.findall(said("pythons"))),
        tools=frozenset(said("tools").split()),
        skew=int(clock) - int(now) if re.fullmatch(r"\d{9,11}", clock) else 0,
        platform=platforms.detect(said("platform"), address) if "platform" in found else None,
        reach={url: _answer(found.get(f"reach{n}")) for n, url in enumerate(urls, start=1)},
        room="room" not in found,
        unanswered=tuple(dict.fromkeys(_unanswered(found))),
        answered=bool(found),
    )


def _unanswered(found: Mapping[str, Part]) -> Iterator[str]:
    """Yield the programs that never came to their end; of addresses it is told apart."""
    for name, part in found.items():
        if part.code == _NEVER and not name.startswith("reach"):
            yield _PROGRAMS.get(name, name)
    if "clock" not in found and "room" not in found:
        yield "…"


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        yield name, value.strip()


def _number(text: str) -> int | None:
    return int(text) if re.fullmatch(r"\d{1,20}", text) else None


def _kilobytes(text: str) -> int | None:
    found = _number(text.split(" ", 1)[0])
    return None if found is None else found * 1024


def _cpus(facts: Mapping[str, str]) -> float | None:
    """Return the processors that may be used: all that there are, or the share allowed."""
    there = _number(facts.get("cpus", ""))
    quota, _, period = facts.get("cpu.max", "").partition(" ")
    allowed, each = _number(quota), _number(period)
    if allowed is None:
        allowed, each = _number(facts.get("cpu.quota", "")), _number(facts.get("cpu.period", ""))
    shares = [allowed / each] if allowed and each else []
    return min([*([float(there)] if there else []), *shares], default=None)


def _memory(facts: Mapping[str, str]) -> int | None:
    """Return the memory that may be used: the container's limit, or what there is."""
    limit, there = _number(facts.get("memory.max", "")), _kilobytes(facts.get("MemTotal", ""))
    known = [size for size in (limit, there) if size and size < _NO_LIMIT]
    return min(known, default=None)


def _answer(part: Part | None) -> str:
    if part is None:
        return "not asked"
    codes = [line for line in part.text.split() if re.fullmatch(r"[1-5]\d\d", line)]
    if part.code == 0 and codes:
        return codes[-1]
    lines = [line for line in part.text.splitlines() if line.strip() and line.strip() != "000"]
    return clean(lines[0])[:200] if lines else "no answer in time"


def findings(found: Checkup, order: Mapping[str, Any]) -> list[Finding]:
    """
    Return what is to be said of a box, the worst first.

    The order may have ``gpu`` (name, count, memory), ``disk`` (free, inodes, quota), ``cpus``,
    ``memory``, ``shm``, ``python``, ``platform``, ``profile``; what was not ordered cannot be
    missing.
    """
    return worst_first(_all(found, order))


def _all(found: Checkup, order: Mapping[str, Any]) -> Iterator[Finding]:
    from zuka import disks, gpu

    if not found.answered:
        yield Finding("checkup", "no-answer", {"seconds": WITHIN})
        return
    if not found.room:
        yield Finding("checkup", "no-room")
    if found.shut:
        yield Finding("checkup", "home-shut", {"home": found.shut})
    wanted = order.get("gpu") or {}
    if wanted or found.cards.cards:
        for each in gpu.findings(found.cards, wanted):
            if wanted or each.level != "bad":
                yield each
    data = str((order.get("profile") or {}).get("data_disk", ""))
    for each in disks.findings(found.mounts, order.get("disk") or {}, found.home, data):
        if order.get("disk") or each.verdict != "no-df":
            yield each
    yield from _machine(found, order)
    yield from _rented(found, str(order.get("platform", "")), order.get("profile") or {})
    yield from _surroundings(found)
    if found.unanswered:
        facts = {"parts": ", ".join(found.unanswered), "seconds": WITHIN}
        yield Finding("checkup", "not-whole", facts)


def _machine(found: Checkup, order: Mapping[str, Any]) -> Iterator[Finding]:
    if order.get("cpus") and found.cpus is not None and found.cpus < order["cpus"]:
        yield Finding("checkup", "few-cpus", {"ordered": order["cpus"], "found": f"{found.cpus:g}"})
    from zuka.disks import bytes_of

    for key, have in (("memory", found.memory), ("shm", found.shm)):
        if order.get(key) and have is not None and have < bytes_of(order[key]) * _SOLD:
            facts = {"ordered": order[key], "found": _size(have)}
            yield Finding("checkup", f"little-{key}", facts)
    if not order.get("shm") and found.shm is not None and found.shm < _SMALL_SHM:
        yield Finding("checkup", "small-shm", {"found": _size(found.shm)})
    yield from _python(found, str(order.get("python", "")))


def _python(found: Checkup, wanted: str) -> Iterator[Finding]:
    if not wanted:
        return
    if not found.pythons:
        hangs = _PROGRAMS["pythons"] in found.unanswered
        yield Finding("checkup", "python-hangs" if hangs else "no-python", {"ordered": wanted})
    elif not python_fits(found.pythons[0][1], wanted):
        others = [f"{path} ({version})" for path, version in found.pythons[1:]]
        fitting = [path for path, version in found.pythons[1:] if python_fits(version, wanted)]
        facts = {"ordered": wanted, "found": found.pythons[0][1], "others": ", ".join(others)}
        if fitting:
            yield Finding("checkup", "other-python", {**facts, "use": fitting[0]})
        else:
            yield Finding("checkup", "wrong-python", facts)


def python_fits(version: str, wanted: str) -> bool:
    """Tell whether a version is as asked: ``>=3.10``, or ``==3.11`` and whatever begins so."""
    have = [int(part) for part in version.split(".")]
    want = [int(part) for part in wanted[2:].strip().split(".")]
    return have >= want if wanted.startswith(">=") else have[: len(want)] == want


def _rented(found: Checkup, said: str, better: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield who rents the box out, what is wrong with the name, and what power-off does."""
    from zuka import platforms

    if found.platform is None:
        return
    wrong = platforms.mismatch(said, found.platform)
    if wrong:
        yield wrong
    if found.platform.name != platforms.GENERIC:
        yield platforms.recognised(found.platform)
    if found.platform.name != platforms.GENERIC or "ends_bill" in better:
        yield platforms.meter(platforms.bettered(platforms.load(found.platform.name), better))


def _surroundings(found: Checkup) -> Iterator[Finding]:
    for url, answer in found.reach.items():
        if not answer.isdigit():
            yield Finding("checkup", "unreachable", {"url": url, "said": answer})
    if abs(found.skew) > _SKEWED:
        ahead = "ahead" if found.skew > 0 else "behind"
        yield Finding("checkup", f"clock-{ahead}", {"seconds": abs(found.skew)})
    if found.tools and "tmux" not in found.tools:
        yield Finding("checkup", "no-tmux")


def _size(count: float) -> str:
    return f"{count / 1e9:.1f} GB"


def verdict(found: Sequence[Finding]) -> Finding:
    """Return the one word: keep it, keep it but, give it back."""
    levels = {each.level for each in found}
    bad, warn = "bad" in levels, "warn" in levels
    return Finding("checkup", "give-back" if bad else "keep-but" if warn else "keep")


def screen(found: Sequence[Finding], machine: str, tongue: Language) -> Iterator[str]:
    """Yield the lines of one screen: the verdict, then each thing and what to do about it."""
    yield f"{machine}: {verdict(found).means(tongue)}"
    for each in found:
        yield f"  {MARKS[each.level]}  {each.means(tongue)}"
        if each.level != "good" and each.next(tongue):
            yield f"        -> {each.next(tongue)}"
