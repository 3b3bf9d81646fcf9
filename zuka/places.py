"""YAML as it is written: every value remembers its file, line and column."""

from __future__ import annotations

import contextlib
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
import yamlcore

_MOST_NODES = 100_000
"""Values of one file; more come from an alias that repeats itself."""

_DEEPEST = 50
"""Lists and maps inside each other; more come from an alias inside itself."""

_WIDEST = 120
"""Columns of an excerpt."""

_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")  # where YAML itself counts a line
_CORE = "tag:yaml.org,2002:"

_LOADER: Any = getattr(yamlcore, "CCoreLoader", yamlcore.CoreLoader)


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
        text = self.source.lines[self.line - 1].replace("\t", " ")
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
        lines = [f"{self.place}: {self.text}", self.place.excerpt()]
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


def read(path: Path, shown: str) -> Value:
    """Return the one document of a YAML 1.2 file; raise Problems."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise Problems(Problem(_top(shown), f"cannot be read: {error.strerror}")) from None
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        column = error.start - raw.rfind(b"\n", 0, error.start)
        lines = tuple(raw.decode("utf-8", "replace").splitlines())
        place = Place(Source(shown, lines), line, column)
        raise Problems(Problem(place, "is not UTF-8 text", "save the file as UTF-8")) from None
    return parse(text, shown)


def parse(text: str, shown: str) -> Value:
    """Return the one document of a YAML 1.2 text; raise Problems."""
    source = Source(shown, tuple(_BREAK.split(text)))
    strange = yaml.reader.Reader.NON_PRINTABLE.search(text)
    if strange:
        place = _place_of(source, text[: strange.start()])
        raise Problems(
            Problem(place, f"the character U+{ord(strange[0]):04X} cannot stand in YAML")
        )
    loader = _LOADER(text)
    try:
        node = loader.get_single_node()
        if node is None:
            raise Problems(Problem(Place(source, 1, 1), "the file is empty"))
        return _Walk(source, loader).value(node)
    except yaml.MarkedYAMLError as error:
        raise Problems(_syntax(source, error)) from None
    except RecursionError:
        raise Problems(Problem(Place(source, 1, 1), _TOO_DEEP)) from None
    finally:
        loader.dispose()


def scalar(text: str, place: Place) -> Value:
    """Return what a text of the command line means as a value of YAML; raise Problems."""
    if text[:1] in ("'", '"'):
        with contextlib.suppress(Problems):  # not a quoted value: text that begins with a quote
            value = parse(text, place.source.shown)
            if isinstance(value.data, str):
                return Value(value.data, place, value.text)
    if not text:
        return Value("", place)
    loader = _LOADER("")
    try:
        tag = loader.resolve(yaml.ScalarNode, text, (True, False))
        data = loader.construct_object(yaml.ScalarNode(tag, text))
    except ValueError:
        raise Problems(Problem(place, f"'{text[:20]}…' is too long for a number")) from None
    finally:
        loader.dispose()
    return Value(text if data is None else data, place, text)


class _Walk:
    """Turn nodes into values, and find what PyYAML lets pass."""

    def __init__(self, source: Source, loader: Any) -> None:
        self._source, self._loader = source, loader
        self._count = 0

    def value(self, node: yaml.Node, depth: int = 0) -> Value:
        self._count_one(node, depth)
        match node:
            case yaml.MappingNode():
                self._untagged(node, "map")
                return self._mapping(node, depth)
            case yaml.SequenceNode():
                self._untagged(node, "seq")
                items = [self.value(item, depth + 1) for item in node.value]
                return Value(items, self._place(node))
        self._untagged(node, "str", "int", "float", "bool", "null")
        try:
            data = self._loader.construct_object(node)
        except (ValueError, KeyError, yaml.YAMLError):
            what = node.tag.removeprefix(_CORE)
            text = f"'{str(node.value)[:20]}' cannot be read as {what}"
            raise Problems(Problem(self._place(node), text, "put the text in quotes")) from None
        return Value(data, self._place(node), str(node.value))

    def _count_one(self, node: yaml.Node, depth: int) -> None:
        self._count += 1
        if self._count > _MOST_NODES:
            raise Problems(Problem(self._place(node), "has more values than a recipe can need"))
        if depth > _DEEPEST:
            raise Problems(Problem(self._place(node), _TOO_DEEP))

    def _untagged(self, node: yaml.Node, *known: str) -> None:
        if node.tag.removeprefix(_CORE) not in known:
            tag = node.tag.replace(_CORE, "!!")
            raise Problems(Problem(self._place(node), f"'{tag}' is no tag of a recipe"))

    def _mapping(self, node: yaml.MappingNode, depth: int) -> Value:
        data: dict[str, Value] = {}
        keys: dict[str, Place] = {}
        for key, value in self._pairs(node, depth):
            place = self._place(key)
            if not isinstance(key, yaml.ScalarNode):
                raise Problems(Problem(place, "a key must be a word, not a list or a map"))
            name = str(key.value)
            if name in data:
                first = f"first on line {keys[name].line}"
                raise Problems(Problem(place, f"the key '{name}' stands twice, {first}"))
            keys[name], data[name] = place, self.value(value, depth + 1)
        return Value(data, self._place(node), keys=keys)

    def _pairs(self, node: yaml.MappingNode, depth: int) -> Iterator[tuple[yaml.Node, yaml.Node]]:
        """Yield keys and values; those of `<<: *base` come after the map's own."""
        bases: list[yaml.Node] = []
        own = set()
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value == "<<" and not key.style:
                bases += value.value if isinstance(value, yaml.SequenceNode) else [value]
            else:
                own.add(_word(key))
                yield key, value
        for base in bases:
            if not isinstance(base, yaml.MappingNode):
                raise Problems(Problem(self._place(base), "'<<' takes a map, or a list of maps"))
            self._count_one(base, depth + 1)
            for key, value in self._pairs(base, depth + 1):
                self._count_one(key, depth)
                if _word(key) not in own:
                    own.add(_word(key))
                    yield key, value

    def _place(self, node: yaml.Node) -> Place:
        return Place(self._source, node.start_mark.line + 1, node.start_mark.column + 1)


def _syntax(source: Source, error: yaml.MarkedYAMLError) -> Problem:
    """Return a mistake of YAML itself; an open quote or bracket is shown where it opens."""
    context, problem = error.context or "", error.problem or "is not YAML"
    mark = error.problem_mark or error.context_mark
    hint = ""
    if re.search(r"while (scanning a quoted|parsing a flow)", context) and error.context_mark:
        what = "quote" if "quoted" in context else "bracket"
        end = f" (noticed on line {mark.line + 1})" if mark else ""
        mark, problem, context = error.context_mark, f"this {what} is never closed{end}", ""
    elif "mapping values are not allowed" in problem:
        problem, hint = "a ': ' where no key can stand", "put the text in quotes"
    elif "'\\t'" in problem or "\t" in _line(source, mark):
        problem, hint = "a tab where YAML wants spaces", "indent with spaces"
    elif "but found another document" in problem:
        problem, context = "a second document begins here", ""
        hint = "a recipe is one document: remove '---'"
    elif "undefined alias" in problem:
        problem = "no anchor for the alias"
        context = ""
    elif "duplicate anchor" in problem:
        problem, context = "a second anchor of this name", ""
    elif "nesting depth" in problem:
        problem, context = _TOO_DEEP, ""
    place = Place(source, mark.line + 1, mark.column + 1) if mark else Place(source, 1, 1)
    return Problem(place, f"{problem}{', ' + context if context else ''}", hint)


def _word(key: yaml.Node) -> str | None:
    return str(key.value) if isinstance(key, yaml.ScalarNode) else None


def _place_of(source: Source, before: str) -> Place:
    lines = _BREAK.split(before)
    return Place(source, len(lines), len(lines[-1]) + 1)


def _line(source: Source, mark: Any) -> str:
    if mark is None or mark.line >= len(source.lines):
        return ""
    return str(source.lines[mark.line][: mark.column + 1])


def _top(shown: str) -> Place:
    return Place(Source(shown, ()), 1, 1)


def _width(text: str) -> int:
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(unicodedata.combining(c) > 0 for c in text)


_TOO_DEEP = "is nested deeper than a recipe can need"
