"""What a recipe's machine means."""

from __future__ import annotations

from pathlib import Path

import pytest

from zuka import recipe

RECIPE = "zuka: 1\nmachine: {}\nstages: [keys]\n"


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("{address: 203.0.113.7}", "203.0.113.7"),
        ("{address: 203.0.113.7, port: 22}", "203.0.113.7"),
        ("{address: 203.0.113.7, port: 22022}", "203.0.113.7:22022"),
        ("{address: '2001:db8::1', port: 22022}", "2001:db8::1:22022"),
        ("sandbox", "sandbox"),
        ("myalias", "myalias"),
    ],
)
def test_two_rentals_at_one_address_are_two_boxes(tmp_path: Path, written: str, name: str) -> None:
    """A box without a name is known by address and port, so pins and ids are its own."""
    path = tmp_path / "recipes" / "train.yaml"
    path.parent.mkdir()
    path.write_text(RECIPE.format(written))

    assert name == recipe.load(path, tmp_path, {}).machine.name
