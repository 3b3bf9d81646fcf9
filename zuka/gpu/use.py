"""Judge who holds the memory of each card, and whether that can be seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from zuka.gpu.smi import Card, Cards, Process, pools

_TAKEN = 1024
"""
MiB from which a card is in use whatever its size.

Idle cards hold something for themselves: 507 MiB were seen on an RTX 4090, 802 on a TITAN X.
"""
_SHARE = 0.25
"""Of a small card, less than a GiB is much."""
_SHOWN = 8

Verdicts = Iterator[tuple[str, dict[str, Any]]]


def taken(cards: Cards) -> Verdicts:
    """Yield the memories that are in use, apart by whether one sees who uses them."""
    listed = cards.processes if isinstance(cards.processes, tuple) else ()
    unseen: list[str] = []
    seen: list[tuple[str, list[Process]]] = []
    for card in cards.cards:
        for where, total, used in pools(card):
            if not used or not is_taken(used, total):
                continue
            own = [each for each in listed if _holds(each, card, where)]
            hidden = used - sum(each.memory or 0 for each in own)
            told = bool(own) and all(each.memory is not None for each in own)
            shown = f"{where}: {used} / {total or '?'} MiB"
            if not own or (told and is_taken(hidden, total)):
                unseen.append(shown)
            else:
                seen.append((shown, own))
    if unseen:
        yield "memory-taken-unseen", {"taken": ", ".join(unseen)}
    if seen:
        holders = [each for _, own in seen for each in own]
        pids = ",".join(dict.fromkeys(str(each.pid) for each in holders if each.pid)) or "PID"
        shown = ", ".join(each for each, _ in seen)
        yield "memory-taken", {"taken": shown, "by": by(holders), "pids": pids}


def is_taken(used: int, total: int | None) -> bool:
    """Return whether more is used (MiB) than an idle card uses for itself."""
    return used > _TAKEN or (total is not None and used > _SHARE * total)


def _holds(process: Process, card: Card, where: str) -> bool:
    """Return whether a process is on a card, and in that slice of it."""
    if process.card != card.index:
        return False
    if process.instance is None:
        return True
    pool = f"{card.index}/{process.instance}"
    shown = {each.pool: f"GPU {card.index} MIG {each.device}" for each in reversed(card.slices)}
    return shown.get(pool, where) == where


def by(processes: Sequence[Process]) -> str:
    """Return processes as one reads them: python (1032, 745 MiB)."""
    shown = [
        f"{each.name} ({each.pid or '?'}, {'?' if each.memory is None else each.memory} MiB)"
        for each in processes[:_SHOWN]
    ]
    more = len(processes) - len(shown)
    return ", ".join([*shown, *([f"+{more}"] if more else [])])
