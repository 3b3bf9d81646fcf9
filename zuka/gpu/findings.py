"""Say what is to be said of a box's cards, the worst first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from zuka.finding import Finding, worst_first
from zuka.gpu.age import aged
from zuka.gpu.cards import share_of
from zuka.gpu.order import compared
from zuka.gpu.smi import Cards, devices, pools
from zuka.gpu.use import by, taken

Verdicts = Iterator[tuple[str, dict[str, Any]]]


def findings(cards: Cards, order: Mapping[str, Any] | None = None) -> list[Finding]:
    """
    Return what is to be said of the cards, the worst first; ``gpu-fine`` when nothing is wrong.

    The order may name ``name``, ``count`` and ``memory`` ("24 GB"), each judged card by card.
    """
    facts = _facts(cards)
    found = [Finding("gpu", verdict, facts | more) for verdict, more in _all(cards, order or {})]
    if cards.cards and all(each.level == "good" for each in found):
        found.insert(0, Finding("gpu", "gpu-fine", facts))
    return worst_first(found)


def _all(cards: Cards, order: Mapping[str, Any]) -> Verdicts:
    dead = [card for card in cards.cards if card.dead]
    if cards.trouble or dead:
        lost = ", ".join(f"GPU {card.index}" for card in dead) or _place(cards.said)
        said = cards.said.strip("=|+ ")
        yield (
            cards.trouble or "card-lost",
            {"said": said, "lost": lost, "unlinked": said, "faulty": lost},
        )
    if not cards.cards:
        if not cards.trouble:
            yield from [("no-card", {})] if order else _without_cards(cards)
        return
    if cards.no_slices and not any(card.slices for card in cards.cards):
        yield "no-slice", {}
    yield from _broken(cards)
    yield from compared(cards, order)
    yield from taken(cards)
    yield from aged(cards)


def _broken(cards: Cards) -> Verdicts:
    """Yield what a card says of its memory and of its link, and which cards are only a share."""
    unlinked = [f"GPU {card.index} ({card.fabric})" for card in cards.cards if card.fabric]
    if unlinked:
        yield "fabric-down", {"unlinked": ", ".join(unlinked)}
    faulty = [f"GPU {card.index} ({'; '.join(card.faults)})" for card in cards.cards if card.faults]
    if faulty:
        yield "memory-faults", {"faulty": ", ".join(faulty)}
    shares = {card.name: share for card in cards.cards if (share := share_of(card.name))}
    if shares:
        shown = ", ".join(f"{name} ({share} MiB)" for name, share in shares.items())
        yield "virtual-card", {"shares": shown}


def _without_cards(cards: Cards) -> Verdicts:
    if cards.driver:
        yield "driver-only", {}
    elif cards.processes == "hidden":
        yield "processes-hidden", {}
    elif cards.processes == "none":
        yield "processes-none", {}
    else:
        yield "processes-seen", {"by": by(cards.processes)}


def _facts(cards: Cards) -> dict[str, Any]:
    """Return the facts of every finding; sizes in MiB, one for each pool of memory."""
    memories = [each for card in cards.cards for each in pools(card)]
    return {
        "count": len(devices(cards)),
        "names": [card.name for card in cards.cards],
        "memory_mib": [memory for _, memory, _ in memories],
        "used_mib": [used for _, _, used in memories],
        "freest": _freest(memories),
        "driver": cards.driver,
        "cuda": cards.cuda,
        "cuda_from": cards.cuda_from,
        "cards": _shown(cards),
    }


def _freest(memories: Sequence[tuple[str, int | None, int | None]]) -> str:
    """Return where most memory is free, and how much."""
    free = {where: total - used for where, total, used in memories if total and used is not None}
    where = max(free, key=lambda each: free[each], default="")
    return f"{where} ({free[where]} MiB)" if where else "?"


def _shown(cards: Cards) -> str:
    """Return the cards as one reads them: 2 x GeForce RTX 4090 (24564 MiB)."""
    kinds: dict[str, int] = {}
    for card in cards.cards:
        size = f" ({card.memory} MiB)" if card.memory else ""
        sliced = f" MIG x {len(card.slices)}" if card.slices else ""
        name = f"{card.name or 'GPU'}{size}{sliced}"
        kinds[name] = kinds.get(name, 0) + 1
    return ", ".join(f"{count} x {name}" for name, count in kinds.items())


def _place(said: str) -> str:
    """Return the card that an error names, by its index and its place on the bus."""
    found = re.search(r"GPU ?(\d{0,3}:? ?[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d)", said)
    found = found or re.search(r"(PCI:[0-9A-Fa-f:.]{4,16})\)", said)
    found = found or re.search(r"GPU ?(\d{1,3})\b", said)
    return f"GPU {found[1].strip()}" if found else "GPU ?"
