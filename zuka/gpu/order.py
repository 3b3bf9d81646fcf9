"""Compare the cards of a box with the order, card by card."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from zuka.gpu.cards import LEAST, is_cut, is_named, may_be_named, model, share_of, size_in
from zuka.gpu.smi import Card, Cards, bare_name, devices, pools

_LEAST_SLICE = 0.88
"""A slice is named in round decimal sizes: 1g.18gb of an H200 has 16,384 MiB."""
_UNITS = {"T": 1024 * 1024, "G": 1024, "M": 1, "K": 1 / 1024}
_BARE = 1024
"""A bare number below it is in GB, one above in MiB."""

Verdicts = Iterator[tuple[str, dict[str, Any]]]


def compared(cards: Cards, order: Mapping[str, Any]) -> Verdicts:
    """Yield what differs from the order's ``name``, ``count`` and ``memory``, with its facts."""
    yield from _named(cards, order)
    yield from _counted(cards, order)
    yield from _sized(cards, order)


def _named(cards: Cards, order: Mapping[str, Any]) -> Verdicts:
    wanted = str(order.get("name") or "")
    if not wanted.strip():
        return
    alive = [card for card in cards.cards if card.name]
    maybe = [each for each in alive if _may_be(each, wanted)]
    wrong = [each for each in alive if each not in maybe and not _is(each, wanted)]
    if wrong:
        yield "wrong-card", {"wanted": wanted, **_which(wrong)}
    if maybe:
        yield "maybe-card", {"wanted": wanted, **_which(maybe)}
    known = model(wanted)
    whole = min(known.memory) * LEAST if known else 0
    slices = [each for card in cards.cards for each in card.slices if (each.memory or 0) < whole]
    if slices and not wrong:
        shown = ", ".join(each.profile or f"{each.memory} MiB" for each in slices)
        yield "sliced", {"slices": shown}


def _is(card: Card, wanted: str) -> bool:
    if card.name.lower() == bare_name(wanted).lower():
        return True
    if _is_smaller(card, wanted):
        return False
    if not is_cut(card.name):
        return is_named(card.name, wanted)
    known = model(card.name, card.memory)
    return known is not None and is_named(known.name, wanted)


def _is_smaller(card: Card, wanted: str) -> bool:
    size = size_in(wanted)
    return bool(size and card.memory and card.memory < size * LEAST)


def _may_be(card: Card, wanted: str) -> bool:
    if not is_cut(card.name) or _is(card, wanted) or _is_smaller(card, wanted):
        return False
    return may_be_named(card.name, wanted, card.memory)


def _which(cards: Sequence[Card]) -> dict[str, Any]:
    found = ", ".join(f"GPU {card.index}: {card.name}" for card in cards)
    return {"found": found, "indexes": [card.index for card in cards]}


def _counted(cards: Cards, order: Mapping[str, Any]) -> Verdicts:
    wanted = re.search(r"\d{1,4}", str(order.get("count") or ""))
    if wanted and int(wanted[0]) != len(devices(cards)):
        yield "wrong-count", {"wanted": int(wanted[0])}


def _sized(cards: Cards, order: Mapping[str, Any]) -> Verdicts:
    wanted = str(order.get("memory") or "")
    least = mebibytes(wanted)
    if not least:
        return
    sizes = [
        (card.index, where, size or _only_size(card), _LEAST_SLICE if card.slices else LEAST)
        for card in cards.cards
        for where, size, _ in pools(card)
    ]
    small = [
        (index, f"{where}: {size} MiB")
        for index, where, size, share in sizes
        if size and size < least * share
    ]
    if small:
        found = ", ".join(shown for _, shown in small)
        indexes = sorted({index for index, _ in small})
        yield "too-little-memory", {"wanted": wanted, "found": found, "indexes": indexes}
    unknown = [where for _, where, size, _ in sizes if not size]
    if unknown:
        yield "memory-unknown", {"found": ", ".join(unknown)}


def _only_size(card: Card) -> int | None:
    """Return the size of a card that is sold with one size only, or of a vGPU's profile."""
    if share := share_of(card.name):
        return share
    known = model(card.name)
    return known.memory[0] if known and len(known.memory) == 1 and not card.mig else None


def mebibytes(text: str) -> float:
    """Return a size as sold in MiB, "24 GB", "24 GiB", "24G", "24564 MiB", 24; 0 for no size."""
    found = re.fullmatch(r"\s*(\d{1,9}(?:\.\d{1,3})?)\s*([TGMK]?)(?:i?B)?\s*", text, re.IGNORECASE)
    if not found:
        return 0
    # Sellers say GB for GiB; a bare number is in GB unless it can only be MiB.
    unit = found[2].upper() or ("G" if float(found[1]) < _BARE else "M")
    return float(found[1]) * _UNITS[unit]
