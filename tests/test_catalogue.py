"""Rules that every row of the catalogue keeps; nothing here names a verdict."""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Iterable
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
            if re.search("[A-Za-z]", re.sub(r"\{\w+\}", "", english)):
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


CALLS = [
    (path, call)
    for path in sorted((ROOT / "zuka").rglob("*.py"))
    for call in ast.walk(ast.parse(path.read_text()))
    if isinstance(call, ast.Call)
]
OF_A_BOX = ("HostError", "StrangerError", "CrowdedError")
COMMANDS = {"ssh", "zuka", "doctor"}


def _placed(calls: Iterable[tuple[Path, ast.Call]]) -> pytest.MarkDecorator:
    """Return calls as parameters of a test, each under its place."""
    cases = [
        pytest.param(path, call, id=f"{path.relative_to(ROOT)}:{call.lineno}")
        for path, call in calls
    ]
    return pytest.mark.parametrize(("path", "call"), cases)


def _words(node: ast.expr) -> set[str]:
    """Return the words of an expression that no fact brings."""
    texts = [
        part.value
        for part in ast.walk(node)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    ]
    return set(re.findall("[a-z]{2,}", " ".join(texts).lower()))


@_placed(each for each in CALLS if getattr(each[1].func, "id", "") in OF_A_BOX)
def test_an_error_of_a_box_has_its_words_in_the_catalogue(path: Path, call: ast.Call) -> None:
    """Words that stand where an error is raised are in one language."""
    given = [*call.args, *(each.value for each in call.keywords if each.arg == "hint")]
    left = set().union(*map(_words, given)) - COMMANDS
    assert not left, f"{path.name}, line {call.lineno}: {left} is told in English alone"


def _named(call: ast.Call) -> tuple[str, list[str]] | None:
    """Return kind and verdicts where a call names a row of the catalogue."""
    is_of = isinstance(call.func, ast.Attribute) and call.func.attr == "of"
    is_finding = isinstance(call.func, ast.Name) and call.func.id == "Finding"
    if not (is_of or is_finding) or len(call.args) < 2:
        return None
    kind, verdict = call.args[:2]
    if not isinstance(kind, ast.Constant):
        return None
    parts = [verdict.body, verdict.orelse] if isinstance(verdict, ast.IfExp) else [verdict]
    return str(kind.value), [str(part.value) for part in parts if isinstance(part, ast.Constant)]


@_placed(each for each in CALLS if _named(each[1]))
def test_a_row_that_is_named_is_there(path: Path, call: ast.Call) -> None:
    """It brings the facts that the row speaks of, where they can be read off."""
    kind, verdicts = _named(call) or ("", [])
    rows = yaml.safe_load((ROOT / "zuka" / "catalogue" / f"{kind}.yaml").read_text())
    assert set(verdicts) <= rows.keys(), path
    told = {each.arg for each in call.keywords}
    if None not in told and isinstance(call.func, ast.Attribute):
        for verdict in verdicts:
            assert set().union(*map(_names, rows[verdict]["en"].values())) <= told
