"""Read what PyTorch says when the card's memory is used up: how much, and who holds it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_UNITS = {"KiB": 1 / (1 << 20), "MiB": 1 / (1 << 10), "GiB": 1.0}
_OWN_CONTEXT = 1.0
"""GiB beside PyTorch's own that a process may take itself, for CUDA's context and libraries."""


def refined(facts: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    """Return a truer verdict than "used up", "" where there is none, and the facts it adds."""
    total, free, asked = (_gib(facts, key) for key in ("total", "free", "asked"))
    if free and asked and free > 2 * asked:
        return "cuda-memory-free-but-refused", {}
    ours = _ours(facts)
    if not total or ours is None:
        return "", {}
    others = total - (free or 0) - ours
    if others < max(_OWN_CONTEXT, total / 10):
        return "", {}
    return "cuda-memory-held-by-others", {"others": f"{others:.2f} GiB"}


def _ours(facts: Mapping[str, Any]) -> float | None:
    for key in ("used", "reserved"):
        if (found := _gib(facts, key)) is not None:
            return found
    allocated, cached = _gib(facts, "allocated"), _gib(facts, "cached")
    return None if allocated is None else allocated + (cached or 0)


def _gib(facts: Mapping[str, Any], key: str) -> float | None:
    number, _, unit = str(facts.get(key, "")).partition(" ")
    try:
        return float(number) * _UNITS[unit]
    except (KeyError, ValueError):
        return None
