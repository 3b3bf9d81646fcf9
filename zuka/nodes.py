"""YAML 1.2 as it is written: every value remembers its file, line and column."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
import yamlcore

from zuka.places import Place, Problem, Problems, Source, Value

_MOST_NODES = 100_000
"""Values of one file; more come from an alias that repeats itself."""

_DEEPEST = 50
"""Lists and maps inside each other; more are a mistake."""

_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")  # where YAML itself counts a line
_CORE = "tag:yaml.org,2002:"

_LOADER: Any = getattr(yamlcore, "CCoreLoader", yamlcore.CoreLoader)
_TOO_DEEP = "is nested deeper than a recipe can need"


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
        text = f"the character U+{ord(strange[0]):04X} cannot stand in YAML"
        raise Problems(Problem(place, text))
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
        self._open: list[yaml.Node] = []

    def value(self, node: yaml.Node, depth: int = 0) -> Value:
        self._count_one(node, depth)
        if any(node is each for each in self._open):
            raise Problems(Problem(self._place(node), "an alias of this stands inside it"))
        if not isinstance(node, yaml.ScalarNode):
            self._open.append(node)
            value = self._inside(node, depth)
            self._open.pop()
            return value
        self._untagged(node, "str", "int", "float", "bool", "null")
        try:
            data = self._loader.construct_object(node)
        except (ValueError, KeyError, yaml.YAMLError):
            what = "true or false" if node.tag.endswith(":bool") else "a number"
            text = f"'{str(node.value)[:20]}' cannot be read as {what}"
            raise Problems(Problem(self._place(node), text, "write it in quotes")) from None
        return Value(data, self._place(node), str(node.value))

    def _inside(self, node: yaml.Node, depth: int) -> Value:
        if isinstance(node, yaml.MappingNode):
            self._untagged(node, "map")
            return self._mapping(node, depth)
        self._untagged(node, "seq")
        return Value([self.value(item, depth + 1) for item in node.value], self._place(node))

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
        return _mark(self._source, node.start_mark)


_SAYS = (
    ("mapping values are not allowed", "a ': ' where no key can stand", "put the text in quotes"),
    ("incompatible YAML", "no version of YAML that can be read", ""),
    ("another document", "a second document begins here", "a recipe is one document: remove '---'"),
    ("undefined alias", "no anchor for the alias", ""),
    ("duplicate anchor", "a second anchor of this name", ""),
    ("nesting depth", _TOO_DEEP, ""),
    (
        "escape",
        "a backslash that means nothing in double quotes",
        "use single quotes, or write \\\\",
    ),
    (
        "while parsing a block mapping",
        "no key of the map above can stand here",
        "the keys of one map begin in the same column",
    ),
)
"""What PyYAML says, and what is meant by it, with the hint; the first that fits."""


def _syntax(source: Source, error: yaml.MarkedYAMLError) -> Problem:
    """Return a mistake of YAML itself; an open quote or bracket is shown where it opens."""
    context, problem = error.context or "", error.problem or "is not YAML"
    mark = error.problem_mark or error.context_mark
    opens = error.context_mark or mark
    noticed = f" (noticed on line {mark.line + 1})" if mark else ""
    if "while parsing a flow" in context:
        text = f"this bracket is never closed, or a comma is missing{noticed}"
        return Problem(_mark(source, opens), text)
    if "while scanning a quoted" in context and "unexpected" in problem:
        return Problem(_mark(source, opens), f"this quote is never closed{noticed}")
    if "\t" in problem or "\t" in _line(source, mark):
        text = "a tab where YAML wants spaces"
        return Problem(_mark(source, mark), text, "indent with spaces")
    for word, text, hint in _SAYS:
        if word in f"{problem}, {context}":
            return Problem(_mark(source, mark), text, hint)
    return Problem(_mark(source, mark), f"{problem}{', ' + context if context else ''}")


def _mark(source: Source, mark: Any) -> Place:
    return Place(source, mark.line + 1, mark.column + 1) if mark else Place(source, 1, 1)


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
