"""What something that was read means, and what to do: rows of a catalogue in two languages."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from zuka.shell import clean

Level = Literal["good", "warn", "bad"]
Language = Literal["en", "zh"]

LEVELS: tuple[Level, ...] = ("bad", "warn", "good")
"""The worst first."""
MARKS: dict[Level, str] = {"good": "ok  ", "warn": "note", "bad": "BAD "}
"""What stands before a finding on a screen."""

LANGUAGES: tuple[Language, ...] = ("en", "zh")


@dataclass(frozen=True, slots=True)
class Finding:
    """
    One thing that was recognised: a row of ``catalogue/<kind>.yaml``, with its facts.

    ``facts`` are plain data (text, numbers, lists, maps); the row's text may name them, `{name}`.
    """

    kind: str
    verdict: str
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def level(self) -> Level:
        """Return how good or bad it is."""
        level: Level = rows(self.kind)[self.verdict]["level"]
        return level

    def means(self, tongue: Language | None = None) -> str:
        """Return what was found, in one sentence; in the user's language, unless one is told."""
        return self._filled("means", tongue or language())

    def next(self, tongue: Language | None = None) -> str:
        """Return what to do about it; empty when nothing is to be done."""
        return self._filled("next", tongue or language())

    def plain(self) -> dict[str, Any]:
        """Return the stable form for machines: kind, verdict, facts, advice in each language."""
        advice = {
            tongue: " ".join(filter(None, (self.means(tongue), self.next(tongue))))
            for tongue in LANGUAGES
        }
        facts = dict(self.facts)
        return {"kind": self.kind, "verdict": self.verdict, "facts": facts, "advice": advice}

    def _filled(self, part: str, tongue: Language) -> str:
        text: str = rows(self.kind)[self.verdict][tongue].get(part, "")
        return text.format_map({key: clean(str(value)) for key, value in self.facts.items()})


def worst_first(found: Iterable[Finding]) -> list[Finding]:
    """Return findings by level; of one level by kind, as they came, in the catalogue's order."""
    found = [*found]
    kinds = [each.kind for each in found]
    return sorted(
        found,
        key=lambda each: (
            LEVELS.index(each.level),
            kinds.index(each.kind),
            list(rows(each.kind)).index(each.verdict),
        ),
    )


@cache
def rows(kind: str) -> Mapping[str, Any]:
    """Return the catalogue's rows of one kind, by verdict, in the order of the file."""
    import yaml

    path = Path(__file__).parent / "catalogue" / f"{kind}.yaml"
    found: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return found


def language() -> Language:
    """Return the user's language, as their terminal's settings name it; English for any other."""
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if os.environ.get(name):
            return "zh" if os.environ[name].startswith("zh") else "en"
    return "en"
