"""Rules that every row of the catalogue keeps; nothing here names a verdict."""

from __future__ import annotations

import re
import string
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parent.parent
FILES = sorted((ROOT / "zuka" / "catalogue").glob("*.yaml"))
ROWS = [
    pytest.param(row, id=f"{path.stem}:{verdict}")
    for path in FILES
    for verdict, row in yaml.safe_load(path.read_text()).items()
]


def _names(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@pytest.mark.parametrize("row", ROWS)
class TestEveryRow:
    """A row says one thing in two languages."""

    def test_has_known_keys(self, row: dict[str, Any]) -> None:
        """A mistyped key would say nothing."""
        patterns = {"match", "unless", "facts", "blank", "weak"}
        assert {"level", "en", "zh"} <= row.keys() <= {"level", "en", "zh", *patterns}
        assert row["level"] in ("good", "warn", "bad")
        assert all(set(row[each]) <= {"means", "next"} for each in ("en", "zh"))

    def test_is_translated(self, row: dict[str, Any]) -> None:
        """What stands in English stands in Chinese, with the same facts in it."""
        assert row["en"].keys() == row["zh"].keys()
        for part, english in row["en"].items():
            chinese = row["zh"][part]
            assert english
            assert re.search("[\u4e00-\u9fff]", chinese), f"not Chinese: {chinese}"
            assert _names(english) == _names(chinese)

    def test_says_what_to_do(self, row: dict[str, Any]) -> None:
        """Whoever reads of something wrong reads what to do about it."""
        assert "means" in row["en"]
        assert row["level"] == "good" or row["en"].get("next")

    def test_its_patterns_are_patterns(self, row: dict[str, Any]) -> None:
        """Patterns are searched for in a text of many lines."""
        for pattern in [*row.get("match", []), *row.get("unless", []), *row.get("facts", [])]:
            re.compile(pattern, re.MULTILINE)
