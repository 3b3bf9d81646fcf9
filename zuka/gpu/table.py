"""Read nvidia-smi's table, of any driver: by what stands in its cells, never by their width."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from zuka.gpu.smi import Card, Part, Process, Slice, bare_name

_HEAD = re.compile(r"\|\s*NVIDIA-SMI\s+[0-9.]+")
_CARD = re.compile(
    r"\|\s*(?P<index>[0-9]{1,3})\s+(?P<name>\S.{0,90}?)"
    r"(?:\s+(?:On|Off|N/A|ERR!|TCC|WDDM|MCDM|Enabled|Disabled))?\s*\|\s*"
    r"(?:[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f]\b|N/A|ERR!)"
)
_MEMORY = re.compile(r"([0-9]{1,8})\s?Mi?B\s*/\s*([0-9]{1,8})\s?Mi?B")
_ECC = re.compile(r"\|\s*([1-9][0-9]{0,8})\s*\|?$")
_UTILISATION = re.compile(r"\|\s*([0-9]{1,3})\s?%\s")
_SLICE = re.compile(
    r"\|\s*(?P<card>[0-9]{1,3})\s+(?P<instance>[0-9]{1,3}|N/A)\s+(?:[0-9]{1,3}|N/A)\s+"
    r"(?P<device>[0-9]{1,3})\s*\|\s*(?P<used>[0-9]{1,8})\s?MiB\s*/\s*(?P<memory>[0-9]{1,8})\s?MiB"
)
_PROCESS = re.compile(
    r"\s*(?P<card>[0-9]{1,3})\s+(?:(?P<instance>N/A|[0-9]{1,3})\s+(?:N/A|[0-9]{1,3})\s+)?"
    r"(?P<pid>[0-9]{1,10}|N/A|-)\s+(?:(?:C\+G|M\+C|C|G|M)\s+)?(?P<name>\S.{0,200}?)"
    r"(?:\s+(?:(?P<memory>[0-9]{1,8})\s?Mi?B|N/A|\[?Not Supported\]?))?\s*"
)
_DEAD = re.compile(r"ERR!|Unknown Error|GPU is lost|requires reset", re.IGNORECASE)


def read_table(lines: Sequence[str]) -> Part | None:
    """Return what the tables say; None when there is none."""
    rows = [line[line.find("|") :] if "|" in line else line for line in lines]
    cards: dict[int, Card] = {}
    slices: dict[tuple[int, int], Slice] = {}
    for at, row in enumerate(rows):
        if found := _CARD.match(row):
            cards[int(found["index"])] = _card(found, row, rows[at + 1 : at + 3])
        elif found := _SLICE.match(row):
            key = int(found["card"]), int(found["device"])
            slices[key] = _slice(found)
    processes = _processes(rows)
    if not cards and not any(map(_HEAD.match, rows)):
        return Part("panel", processes=processes) if processes is not None else None
    whole = tuple(_with_slices(card, slices) for card in cards.values())
    no_slices = any("No MIG devices found" in row for row in rows)
    return Part("table", whole, processes=processes, no_slices=no_slices)


def _card(found: re.Match[str], first: str, below: Sequence[str]) -> Card:
    """Return one card from its first line and the lines below it."""
    ends = next((n for n, row in enumerate(below) if _CARD.match(row) or _is_border(row)), 9)
    lines = below[:ends]
    data = lines[0] if lines else ""
    memory, share = _MEMORY.search(data), _UTILISATION.search(data, len(data) // 2)
    return Card(
        index=int(found["index"]),
        name=bare_name(found["name"]),
        memory=int(memory[2]) if memory else None,
        used=int(memory[1]) if memory else None,
        utilisation=int(share[1]) if share else None,
        mig=any(re.search(r"\|\s*Enabled\*?\s*\|?$", line) for line in lines),
        dead=_is_dead(found["name"], data),
        faults=(f"uncorrectable ECC errors: {errors[1]}",)
        if (errors := _ECC.search(first))
        else (),
    )


def _is_dead(name: str, data: str) -> bool:
    """
    Return whether a card no longer answers.

    A fan or a power meter alone that cannot be read (the first and the last of four) is no loss.
    """
    first, *others = data.strip("| ").split("|") or [""]
    told = first.split()[1:3]
    return bool(_DEAD.search(name)) or "ERR!" in told or any(map(_DEAD.search, others))


def _slice(found: re.Match[str]) -> Slice:
    instance = found["instance"]
    own = instance if instance.isdigit() else f"device {found['device']}"
    return Slice(
        device=int(found["device"]),
        pool=f"{int(found['card'])}/{own}",
        memory=int(found["memory"]),
        used=int(found["used"]),
    )


def _with_slices(card: Card, slices: dict[tuple[int, int], Slice]) -> Card:
    own = tuple(each for (index, _), each in sorted(slices.items()) if index == card.index)
    return replace(card, slices=own, mig=card.mig or bool(own))


def _processes(rows: Sequence[str]) -> Literal["none", "hidden"] | tuple[Process, ...] | None:
    """
    Return the last panel's processes; None without a panel.

    "No running processes found" means none; an empty panel means some that cannot be seen from
    here (the author of nvitop in https://github.com/NVIDIA/nvidia-docker/issues/1460).
    """
    starts = [at for at, row in enumerate(rows) if re.match(r"\|\s*(Compute )?[Pp]rocesses:", row)]
    if not starts:
        return None
    found: list[Process] = []
    for row in rows[starts[-1] + 1 :]:
        if _is_border(row) and "=" not in row:
            break
        if "No running" in row or "No processes found" in row:
            return "none"
        if each := _PROCESS.fullmatch(row.strip("|")):
            found.append(_process(each))
    return tuple(found) or "hidden"


def _process(found: re.Match[str]) -> Process:
    instance = found["instance"] or ""
    return Process(
        card=int(found["card"]),
        pid=int(found["pid"]) if found["pid"].isdigit() else None,
        name=found["name"].strip(),
        memory=int(found["memory"]) if found["memory"] else None,
        instance=int(instance) if instance.isdigit() else None,
    )


def _is_border(row: str) -> bool:
    return bool(re.match(r"[|+][-=+|]{8,}\s*$", row)) or bool(re.match(r"\s*\+-", row))
