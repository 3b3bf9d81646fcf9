"""Where things stand in files, and the mistakes there."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_LONGEST = 600
"""Letters of a message; what was got may be a whole file in one value."""

_WIDEST = 120
"""Columns of an excerpt."""


@dataclass(frozen=True, slots=True)
class Source:
    """One file: how it is shown, and its lines."""

    shown: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands, from 1."""

    source: Source
    line: int
    column: int

    def __str__(self) -> str:
        """Return the place as editors and terminals make it a link."""
        return f"{self.source.shown}:{self.line}:{self.column}"

    def excerpt(self) -> str:
        """Return the line with a caret under the column."""
        if not 1 <= self.line <= len(self.source.lines):
            return ""
        line = self.source.lines[self.line - 1]
        text = "".join(c if c.isprintable() else " " for c in line)  # a terminal would obey
        start = max(0, self.column - _WIDEST // 2) if len(text) > _WIDEST else 0
        cut = "…" if start else ""
        number = f"{self.line:>5}"
        blank = " " * _width(cut + text[start : self.column - 1])
        text = cut + text[start : start + _WIDEST]
        return f"{number} | {text}\n{' ' * len(number)} | {blank}^"


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake, with what to do about it."""

    place: Place
    text: str
    hint: str = ""

    def __str__(self) -> str:
        """Return the mistake as it is shown."""
        text = self.text if len(self.text) <= _LONGEST else f"{self.text[:_LONGEST]}…"
        lines = [f"{self.place}: {_printable(text)}", self.place.excerpt()]
        lines += [f"  hint: {self.hint}"] if self.hint else []
        return "\n".join(line for line in lines if line)


class Problems(Exception):  # noqa: N818 - it holds several
    """Mistakes that end the reading of a file."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__(*problems)
        self.problems = problems


@dataclass(frozen=True, slots=True)
class Value:
    """
    A value of a file: ``data`` is a scalar, a dict of key to Value, or a list of Values.

    ``text`` is a scalar as it is written; ``keys`` are the places of a dict's keys.
    """

    data: Any
    place: Place
    text: str = ""
    keys: dict[str, Place] | None = None

    def plain(self) -> Any:
        """Return the value without its places."""
        if isinstance(self.data, dict):
            return {key: value.plain() for key, value in self.data.items()}
        if isinstance(self.data, list):
            return [value.plain() for value in self.data]
        return self.data

    def at(self, path: Iterator[str | int] | list[str | int]) -> Value:
        """Return the value inside that a path of keys and numbers leads to."""
        found = self
        for step in path:
            found = found.data[step]
        return found

    def key(self, name: str) -> Place:
        """Return the place of a key."""
        return (self.keys or {}).get(name, self.place)

    def places(self) -> Iterator[Place]:
        """Yield the places of this value, its keys, and all that is inside."""
        yield self.place
        yield from (self.keys or {}).values()
        inside = self.data.values() if isinstance(self.data, dict) else self.data
        for value in inside if isinstance(self.data, (dict, list)) else ():
            yield from value.places()


def _width(text: str) -> int:
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(unicodedata.combining(c) > 0 for c in text)


def _printable(text: str) -> str:
    """Return a text on one line, without anything that a terminal would obey."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
