"""Read whatever nvidia-smi printed, and say what it means."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from zuka.finding import Finding, rows
from zuka.gpu.cards import highest_cuda, model
from zuka.gpu.findings import findings
from zuka.gpu.lists import read_csv, read_list
from zuka.gpu.query import read_query
from zuka.gpu.smi import Card, Cards, Part, Process, Slice, lines_of, merged
from zuka.gpu.table import read_table

__all__ = [
    "HUNG",
    "Card",
    "Cards",
    "Process",
    "Slice",
    "diagnose",
    "findings",
    "highest_cuda",
    "model",
    "read",
]

HUNG = "zuka: nvidia-smi did not answer"
"""What a probe prints in the place of an answer that never came."""

# RETURN VALUE in nvidia-smi(1); 124 and 137 are of timeout(1), 126 and 127 of the shell.
_CODES = {
    4: "no-permission",
    6: "no-card",
    9: "no-driver",
    12: "no-library",
    15: "card-lost",
    17: "access-blocked",
    18: "driver-mismatch",
    124: "hung",
    126: "no-permission",
    127: "no-command",
    137: "hung",
}
_BESIDE = (
    *("not-nvidia", "card-lost", "fabric-down", "memory-faults", "program-fault"),
    "card-damaged",
)
"""Troubles that nvidia-smi tells of beside the cards that answer."""
_DRIVER = re.compile(
    r"\b(?:driver|kmd)[ _]version\s{0,40}[:\uff1a]\s{0,20}([0-9]{2,4}(?:\.[0-9]{1,4}){1,3})",
    re.IGNORECASE,
)
_CUDA = re.compile(
    r"\bCUDA (?:UMD )?Version\s{0,40}[:\uff1a]\s{0,20}(Not Found|\S{1,20})", re.IGNORECASE
)
_IS_CUDA = re.compile(r"[0-9]{1,2}\.[0-9]{1,2}")
_VERSIONS = re.compile(r"(?:NVIDIA-SMI|DRIVER|KMD) version\s{0,40}: [0-9]", re.IGNORECASE)
_LOG = re.compile(r"Traceback \(most recent|\bepoch\b|\bloss\b|\bit/s\b|\bstep \d", re.IGNORECASE)
_SHORT = 40
"""Lines; a longer text with one error of nvidia-smi in it is about something else."""


def read(text: str, code: int = 0) -> Cards:
    """
    Read what nvidia-smi printed, whichever way it was called, and its exit code.

    Only lines that begin as its own do count: a login banner that quotes it says nothing.
    """
    lines = lines_of(text)
    parts = [
        part
        for part in (
            read_table(lines),
            read_csv(lines),
            read_list(lines),
            read_query(text),
        )
        if part
    ]
    cards = merged(parts)
    if not parts and any(map(_VERSIONS.match, lines)):
        parts = [Part("version")]
    told = [part.processes for part in parts if part.processes is not None]
    driver, cuda, said = _versions(lines, parts)
    trouble, line = _trouble(lines, code, found=bool(cards), parts=bool(parts))
    derived = highest_cuda(driver)
    return Cards(
        cards=cards,
        driver=driver,
        cuda=cuda or derived,
        cuda_from="header" if cuda else "driver table" if derived else "",
        cuda_said=said,
        processes=told[0] if told else "hidden",
        trouble=trouble,
        said=line,
        form=parts[0].form if parts else "",
        no_slices=any(part.no_slices for part in parts),
    )


def diagnose(text: str) -> Finding | None:
    """Return the most important finding in a pasted text; None when it is not nvidia-smi's."""
    cards = read(text)
    if cards.trouble == "unreadable" or not _is_about(text, cards):
        return None
    found = findings(cards)
    return found[0] if found else None


def _versions(lines: Sequence[str], parts: Sequence[Part]) -> tuple[str, str, str]:
    """Return the driver's and CUDA's versions, and what else stood in the place of the second."""
    if not parts:
        return "", "", ""
    driver = next((found[1] for line in lines if (found := _DRIVER.search(line))), "")
    said = [found[1] for line in lines if (found := _CUDA.search(line))]
    said += [part.cuda for part in parts if part.cuda]
    cuda = next((each for each in said if _IS_CUDA.fullmatch(each)), "")
    strange = next((each for each in said if not each.startswith("Deprecated")), "")
    column = next((part.driver for part in parts if part.driver), "")
    return driver or column, cuda, "" if cuda else strange


def _trouble(lines: Sequence[str], code: int, *, found: bool, parts: bool) -> tuple[str, str]:
    """Return the verdict on what went wrong, and the line that says it."""
    for verdict, pattern in _patterns():
        if found and verdict not in _BESIDE:
            continue
        for line in lines:
            if pattern.search(line):
                return verdict, line.strip()[:200]
    if found or (parts and code == 0):
        return "", ""
    first = next((line.strip()[:200] for line in lines if line.strip()), "")
    return _CODES.get(code, "unreadable"), first


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple(
        (verdict, re.compile(pattern, re.MULTILINE))
        for verdict, row in rows("gpu").items()
        for pattern in row.get("match", ())
    )


def _is_about(text: str, cards: Cards) -> bool:
    """Return whether a text is nvidia-smi's, and not a log with some of it inside."""
    lines = [line.strip() for line in lines_of(text) if line.strip()]
    if cards.form in ("query", "version") or cards.trouble == "not-nvidia":
        return True
    if cards.form == "":
        return len(lines) <= _SHORT and not any(map(_LOG.search, lines))
    names = tuple(card.name for card in cards.cards if card.name) or (",",)
    own = sum(
        line.startswith(("|", "+", "GPU ", "MIG ")) or any(name in line for name in names)
        for line in lines
    )
    others = len(lines) - own
    return others <= (own if any(map(_LOG.search, lines)) else max(own, _SHORT))
