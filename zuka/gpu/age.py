"""Judge what cards and drivers are too old for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from zuka.gpu.cards import build, candidates, version
from zuka.gpu.smi import Card, Cards

_NO_DRIVER, _OLD_DRIVER = 450, 525
"""CUDA 11 needs 450, CUDA 12 needs 525 (CUDA Compatibility, minor version compatibility)."""

Verdicts = Iterator[tuple[str, dict[str, Any]]]


def aged(cards: Cards) -> Verdicts:
    """Yield what the cards and the driver cannot run, with its facts."""
    yield from _kinds(cards)
    yield from _versions(cards)


def _kinds(cards: Cards) -> Verdicts:
    if len({_kind(card) for card in cards.cards if not card.dead}) > 1:
        yield "mixed-cards", {}
    too_old = _older(cards, lambda capability: capability < (5, 0))
    if too_old:
        yield "card-too-old", too_old
    old = _older(cards, lambda capability: (5, 0) <= capability < (8, 0))
    if old:
        yield "no-bf16", old
    left_out = _older(cards, lambda capability: (5, 0) <= capability < (7, 5))
    if left_out and (torch := build(cards.cuda or "12.6", left_out["capability"])):
        yield "card-old", left_out | {"build": torch}


def _kind(card: Card) -> tuple[str, int]:
    """Return what two equal cards share: the one with a screen reports some MiB less."""
    return card.name, round((card.memory or 0) / 1024)


def _older(cards: Cards, is_old: Callable[[tuple[int, ...]], bool]) -> dict[str, Any]:
    """Return the facts of cards with such a compute capability; none when there are none."""
    found = {
        card.index: (card, capability)
        for card in cards.cards
        if (capability := capability_of(card)) and is_old(version(capability))
    }
    if not found:
        return {}
    lowest = min((capability for _, capability in found.values()), key=version)
    last = [
        each.last_cuda for card, _ in found.values() for each in candidates(card.name, card.memory)
    ]
    return {
        "old": ", ".join(dict.fromkeys(card.name for card, _ in found.values())),
        "indexes": list(found),
        "capability": lowest,
        "last_cuda": min(filter(None, last), key=version, default=""),
    }


def capability_of(card: Card) -> str:
    """Return a card's compute capability; empty when its name leaves that open."""
    known = {each.capability for each in candidates(card.name, card.memory)}
    return card.capability or (known.pop() if len(known) == 1 else "")


def _versions(cards: Cards) -> Verdicts:
    if cards.cuda_said and cards.driver:
        yield "cuda-unreadable", {"cuda_said": cards.cuda_said}
    branch = version(cards.driver)[0] if version(cards.driver) else 0
    if 0 < branch < _NO_DRIVER:
        yield "driver-too-old", {}
    elif 0 < branch < _OLD_DRIVER:
        yield "driver-old", {}
    lowest = min(filter(None, map(capability_of, cards.cards)), key=version, default="")
    torch = build(cards.cuda, lowest)
    if torch:
        yield "torch-build", {"build": torch}
