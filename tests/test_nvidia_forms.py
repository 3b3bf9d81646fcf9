"""Every form of nvidia-smi's output, and of what stands in its place, is read for what it is."""

from __future__ import annotations

from typing import Any

import pytest

from tests.smi import FORMS, verdicts
from zuka.gpu import diagnose, read


@pytest.mark.parametrize("form", FORMS, ids=[form["form"] for form in FORMS])
def test_a_form(form: dict[str, Any]) -> None:
    """Verdict, cards and versions are right; an order is held against them."""
    text = form["said"]
    found, cards = diagnose(text), read(text)

    assert form["verdict"] == (found and found.verdict)
    told = [[card.name, card.memory, card.used] for card in cards.cards]
    assert form.get("cards", []) == told
    for key in ("driver", "cuda"):
        if key in form:
            assert form[key] == getattr(cards, key)
    if worse := form.get("worse"):
        assert worse["verdict"] == verdicts(text, worse["order"])[0]
    if found:
        assert "{" not in found.means() + found.next() + found.means("zh") + found.next("zh")
