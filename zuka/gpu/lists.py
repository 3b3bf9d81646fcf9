"""Read nvidia-smi's lists: ``--query-gpu`` as CSV, and ``-L``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from zuka.gpu.cards import candidates
from zuka.gpu.smi import Card, Part, Slice, bare_name, number

_LISTED = re.compile(r"GPU ([0-9]{1,3}): (.{1,120}?) \(UUID: ([^)\s]{1,80})\)")
_SLICED = re.compile(r"MIG (\S{3,24})\s+Device\s+([0-9]{1,3}):\s*\(UUID: ([^)\s]{1,120})\)")
_PROFILE = re.compile(r"(?:(\d{1,2})c\.)?(\d{1,2})g\.(\d{1,4})gb")
_COLUMN = re.compile(r"[a-z][a-z0-9_.]{1,60}(?: \[[A-Za-z%/]{1,8}\])?")
_KNOWN = frozenset(
    (
        *("index", "name", "gpu_name", "uuid", "gpu_uuid", "pci.bus_id", "gpu_bus_id"),
        *("memory.total", "memory.used", "memory.free", "utilization.gpu"),
        *("driver_version", "compute_cap", "mig.mode.current"),
    )
)
_LOST = re.compile(r"requires reset|is lost|^\[?Unknown Error\]?$", re.IGNORECASE)
_WATCHED = ("temperature.gpu", "utilization.gpu", "utilization.memory", "pstate", "memory.used")
_MAKERS = re.compile(r"(NVIDIA|GeForce|Tesla|Quadro|GRID|TITAN|RTX|GTX)\b")
_WORD = re.compile(r"P[0-9]{1,2}|Default|Enabled|Disabled|Active|Not Active|On|Off|[-\d:/. ]*")
_VALUE = re.compile(
    r"[0-9./:x -]{1,40}(?:MiB|%|W|MHz|C|ms)?|(?:GPU|MIG)-[0-9A-Fa-f/-]{1,60}"
    r"|\[[^\]]{1,40}\]|N/A|ERR!|0x[0-9A-Fa-f]{1,16}"
)
_OTHER = ("pid", "retired_pages", "max_memory", "remapped_rows")
"""Columns of ``--query-compute-apps`` and its like, whose rows are no cards."""
_BUS = re.compile(r"[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f]")
_CAPABILITY = re.compile(r"(?:[3-9]|1[0-9])\.[0-9]")
_DRIVER = re.compile(r"[3-9][0-9]{2}\.[0-9]{2,3}(\.[0-9]{2})?")
_LEAST_MEMORY = 900
"""MiB; a smaller number beside a name is no size of a card."""
_BUSY = 10
"""Percent; a card that computes so much holds what it computes with."""
_TRIFLE = 500
"""Of a card in use more than such a part stays free; of an idle one less may be used."""
_EMPTY = 0.97
"""A number so near the total is as likely what is free as what is used."""


def read_list(lines: Sequence[str]) -> Part | None:
    """Return what ``nvidia-smi -L`` says; the slices' sizes are their profiles', an upper bound."""
    cards: list[Card] = []
    for line in lines:
        if found := _LISTED.match(line):
            cards.append(Card(int(found[1]), bare_name(found[2]), uuid=found[3]))
        elif cards and (found := _SLICED.match(line.strip())):
            part = _listed_slice(cards[-1], found)
            cards[-1] = replace(cards[-1], mig=True, slices=(*cards[-1].slices, part))
    return Part("list", tuple(cards)) if cards else None


def _listed_slice(card: Card, found: re.Match[str]) -> Slice:
    profile, device = found[1], int(found[2])
    size = _PROFILE.match(profile)
    pool = f"{card.index}/device {device}"
    if size and size[1] and _has_room(card.slices, profile.partition(".")[2], int(size[2])):
        pool = card.slices[-1].pool
    memory = int(size[3]) * 1024 if size else None
    return Slice(device, pool, profile, memory, uuid=found[3])


def _has_room(slices: Sequence[Slice], instance: str, most: int) -> bool:
    """Return whether the last GPU instance can hold another compute instance (1c.3g.40gb)."""
    last = slices[-1].pool if slices else ""
    sharing = [each for each in slices if each.pool == last]
    if not sharing or any(each.profile.partition(".")[2] != instance for each in sharing):
        return False
    return sum(number(each.profile) or 1 for each in sharing) < most


def read_csv(lines: Sequence[str]) -> Part | None:
    """Return what ``--query-gpu`` said, in any order of columns; without a header by guess."""
    cards: list[Card] = []
    driver, header = "", []
    for line in lines:
        fields = [field.strip() for field in line.split(",")]
        if _is_header(fields):
            header, cards = [field.split(" ")[0] for field in fields], []
        elif header and _is_row(header, fields):
            row = dict(zip(header, fields, strict=True))
            cards.append(_by_header(row, len(cards)))
            driver = driver or row.get("driver_version", "")
        elif guess := _guessed(fields, len(cards)):
            header = []
            cards.append(guess[0])
            driver = driver or guess[1]
        elif line.strip():
            header = []
    cards = list({card.uuid or card.index: card for card in cards}.values())
    return Part("csv", tuple(cards), driver) if cards else None


def _is_header(fields: Sequence[str]) -> bool:
    names = [field.split(" ")[0] for field in fields]
    if any(name.startswith(_OTHER) for name in names):
        return False
    return all(map(_COLUMN.fullmatch, fields)) and any(name in _KNOWN for name in names)


def _is_row(header: Sequence[str], fields: Sequence[str]) -> bool:
    """Return whether a line goes on under a header; one word alone must look like its value."""
    if len(fields) != len(header) or not any(fields):
        return False
    if len(header) > 1:
        return True
    value = fields[0]
    match header[0]:
        case "name" | "gpu_name":
            return _is_name(value)
        case "uuid" | "gpu_uuid":
            return value.startswith("GPU-")
        case "driver_version":
            return bool(_DRIVER.fullmatch(value))
        case _:
            return number(value) is not None


def _by_header(row: dict[str, str], place: int) -> Card:
    total, used = number(row.get("memory.total", "")), number(row.get("memory.used", ""))
    free = number(row.get("memory.free", ""))
    index = number(row.get("index", ""))
    errors = number(row.get("ecc.errors.uncorrected.volatile.total", ""))
    if used is None and total is not None and free is not None:
        used = max(total - free, 0)
    return Card(
        index=place if index is None else index,
        name=bare_name(row.get("name", row.get("gpu_name", ""))),
        memory=total,
        used=used,
        utilisation=number(row.get("utilization.gpu", "")),
        uuid=row.get("uuid", row.get("gpu_uuid", "")),
        mig=row.get("mig.mode.current", "") == "Enabled",
        dead=any(_LOST.search(row.get(each, "")) for each in _WATCHED),
        faults=(f"uncorrectable ECC errors: {errors}",) if errors else (),
        capability=row["compute_cap"]
        if re.fullmatch(r"\d+\.\d", row.get("compute_cap", ""))
        else "",
    )


def _guessed(fields: Sequence[str], place: int) -> tuple[Card, str] | None:
    """Return a card, and its driver, from a row whose columns are not named."""
    name = next((field for field in fields if _is_name(field)), "")
    uuid = next((field for field in fields if re.match(r"GPU-[0-9A-Fa-f]", field)), "")
    rest = [field for field in fields if field != name]
    if not (name or uuid) or not all(map(_is_value, rest)) or not _is_enough(name, rest):
        return None
    index = int(rest[0]) if rest and re.fullmatch(r"[0-9]{1,2}", rest[0]) else place
    share = next((number(field) for field in rest if field.endswith("%")), None)
    after = rest if name in ("", fields[-1]) else fields[fields.index(name) + 1 :]
    used, total = _sizes(after, busy=(share or 0) >= _BUSY)
    lost = sum(bool(_LOST.search(field)) for field in rest)
    card = Card(
        index=index,
        name=bare_name(name),
        memory=total,
        used=used,
        utilisation=share,
        uuid=uuid,
        capability=next((field for field in rest if _CAPABILITY.fullmatch(field)), ""),
        dead=lost > 1 or any("reset" in field for field in rest),
    )
    return card, next((field for field in rest if _is_driver(field)), "")


def _is_enough(name: str, rest: Sequence[str]) -> bool:
    """Return whether a row tells more than prose that names a card would."""
    if not rest:
        return bool(_MAKERS.match(name))
    return any(
        bool(_BUS.match(field) or _CAPABILITY.fullmatch(field))
        or _is_size(field)
        or field.startswith(("GPU-", "["))
        or _is_driver(field)
        for field in rest
    )


def _is_value(field: str) -> bool:
    return bool(_VALUE.fullmatch(field) or _WORD.fullmatch(field))


def _is_name(field: str) -> bool:
    if _WORD.fullmatch(field) or field.startswith(("GPU-", "[")) or _BUS.match(field):
        return False
    short = re.fullmatch(r"[A-Za-z0-9 ()./_-]{2,60}", field)
    numbered = _MAKERS.match(field) and re.search(r"[0-9]", field)
    return bool(short) and bool(numbered or candidates(field))


def _is_size(field: str) -> bool:
    size = number(field)
    return size is not None and (size >= _LEAST_MEMORY or field.endswith("MiB"))


def _is_driver(field: str) -> bool:
    """Tell a driver from a power limit, which ends in two noughts."""
    return bool(_DRIVER.fullmatch(field)) and not re.fullmatch(r"\d+\.00", field)


def _sizes(fields: Sequence[str], *, busy: bool) -> tuple[int | None, int | None]:
    """Return the memory used and the total, where the columns are not named."""
    with_unit = [field for field in fields if field.endswith("MiB")]
    plain = [field for field in fields if re.fullmatch(r"\d{1,7}(?: MiB)?", field)]
    sizes = [number(field) or 0 for field in (with_unit or plain)]
    total = max(sizes, default=0)
    if total < _LEAST_MEMORY:
        return None, None
    at = sizes.index(total)
    for first, second in pairwise(sizes):
        if total * 0.9 <= first + second <= total * 1.01 and total not in (first, second):
            return _used(first, second, total, busy=busy), total
    near = sizes[max(at - 1, 0) : at] + sizes[at + 1 : at + 2]
    used = max(near, default=None)
    return (None if used is None or (used > total * _EMPTY and not busy) else used), total


def _used(first: int, second: int, total: int, *, busy: bool) -> int | None:
    """Return which of two that make up the total is used: the first, but a trifle is never free."""
    small, large = sorted((first, second))
    if large <= total * _EMPTY:
        return first
    if busy:
        return large
    return small if small * _TRIFLE < total else None
