"""One reading of a recipe: mistakes are collected, so that all are told at once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

from zuka import door, kinds
from zuka.checking import check, unsound
from zuka.errors import KindError, RecipeError
from zuka.kinds import Kind
from zuka.machines import Machine, resolve
from zuka.merging import entry, merged
from zuka.nodes import read, scalar
from zuka.places import Place, Problem, Problems, Value
from zuka.recipe import NAME, Placed, Recipe, shown_in
from zuka.rooms import builtin
from zuka.stage import Stage
from zuka.variables import Variables

_LONGEST = 64
"""Letters of a stage's name: it becomes part of names of folders on the box."""

_COMMON: dict[str, Any] = {
    "name": {
        "type": "string",
        "pattern": f"^{NAME.pattern}$",
        "maxLength": _LONGEST,
        "x-says": "a name of lower-case letters, digits, - and _ that begins with a letter",
    },
    "needs": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
}
"""Keys that every stage has besides its kind's own."""


@dataclass(frozen=True, slots=True)
class _Found:
    """A stage as it is written, before it is known what it needs."""

    kind: Kind
    word: Value
    body: Value
    name: str


class Reading:
    """One reading of a recipe of a project; ``problems`` are the mistakes so far."""

    def __init__(self, project: Path) -> None:
        self.problems: list[Problem] = []
        self._project = project
        self._reads: dict[Path, door.Stat] = {}
        self._variables = Variables()
        self._unread: set[str] = set()
        """Names of stages that could not be read: what needs them is not wrong for that."""
        self._box: dict[str, Any] = {}
        """The schema of ``machine``."""

    def recipe(self, name: str, path: Path, overrides: Mapping[str, str]) -> Recipe:
        """Return the recipe; raise Problems, which may be empty when ``problems`` are not."""
        shown = shown_in(self._project, path)
        frame = self._frame(path.resolve(), ())
        if self.problems:
            raise Problems
        self._define(frame, shown, overrides)
        stages = self._stages(frame.data["stages"])
        machine = self._machine(frame.data.get("machine"))
        if self.problems or machine is None:
            raise Problems
        return Recipe(
            name,
            shown,
            machine,
            tuple(stages),
            self._variables.texts(),
            dict(self._reads),
            dict(self._variables.environment),
        )

    def _note(self, *paths: Path) -> None:
        """Remember what a file is before it is read, so that a later change is seen."""
        for path in paths:
            self._reads.setdefault(path, door.stat(str(path)))

    # -- files

    def _frame(self, path: Path, chain: tuple[Path, ...]) -> Value:
        """Return a recipe file over what it extends."""
        schema = builtin("schemas") / "recipe.schema.json"
        self._note(path, schema)
        frame = read(path, shown_in(self._project, path))
        contract = json.loads(schema.read_text(encoding="utf-8"))
        self._box = contract["properties"]["machine"]
        contract["properties"]["machine"] = {}  # checked when its variables are known
        mistakes = [*check(frame, contract, "the recipe")]
        self.problems += mistakes
        base = frame.data.get("extends") if isinstance(frame.data, dict) else None
        if base is None or mistakes:
            return frame
        below = self._frame(_base(path, base, chain), (*chain, path))
        return frame if self.problems else merged(below, frame)

    # -- variables

    def _define(self, frame: Value, shown: str, overrides: Mapping[str, str]) -> None:
        written = dict(frame.data["vars"].data) if "vars" in frame.data else {}
        for name, text in overrides.items():
            if name not in written:
                hint = kinds.near(name, [*written]) if written else "the recipe has no vars"
                raise RecipeError(f"no variable '{name}' in {shown}", hint=hint)
            written[name] = scalar(text, written[name].place)
        self._variables.written = written
        for name in written:
            try:
                self._variables.find(name)
            except Problems as error:
                self.problems += error.problems

    # -- stages

    def _stages(self, listed: Value) -> list[Placed]:
        found: dict[str, _Found] = {}
        places: dict[str, Place] = {}
        for item in listed.data:
            word, body = entry(item)
            stage = self._stage(word, body)
            if stage is None:
                continue
            place = stage.body.data["name"].place if "name" in stage.body.data else word.place
            if stage.name in found:
                first = places[stage.name].line
                text = f"a second stage is called '{stage.name}', the first on line {first}"
                hint = "give it a name of its own, `name: …`"
                self.problems.append(Problem(place, text, hint))
                continue
            places[stage.name], found[stage.name] = place, stage
        return self._placed(found)

    def _stage(self, word: Value, body: Value) -> _Found | None:
        kind = self._kind(word)
        given = body.data.get("name") if isinstance(body.data, dict) else None
        name = given.data if given and isinstance(given.data, str) else word.data
        if kind is None or not isinstance(body.data, dict):
            self._unread.add(name)
            if kind is not None:
                got = "a list" if isinstance(body.data, list) else repr(body.text)
                text, hint = f"{kind.name} is {got}, not a map of keys", f"zuka kinds {kind.name}"
                self.problems.append(Problem(body.place, text, f"{hint} lists them"))
            return None
        filled = self._fill(body, kind)
        given = filled.data.get("name")
        name = given.data if given and isinstance(given.data, str) else kind.name
        return _Found(kind, word, filled, name)

    def _kind(self, word: Value) -> Kind | None:
        # Also where it could come to lie: a kind of the project's own wins as soon as it is there.
        self._note(*(path for pair in kinds.pairs_of(word.data, self._project) for path in pair))
        try:
            kind = kinds.find(word.data, self._project)
        except (RecipeError, KindError) as error:
            self.problems.append(Problem(word.place, str(error.args[0]), error.hint))
            return None
        wrong = unsound(kind.schema) if kind.own else ""
        if wrong:
            text = f"{kind.schema_source}: is no JSON Schema: {wrong}"
            self.problems.append(Problem(word.place, text))
        return None if wrong else kind

    def _fill(self, body: Value, kind: Kind) -> Value:
        """Return a stage's keys with their variables replaced and held against the schema."""
        properties = kind.schema.get("properties", {})
        filled, told = {}, set()
        for key, value in body.data.items():
            leave = properties.get(key, {}).get("x-leave", ())
            try:
                filled[key] = self._variables.fill(value, leave)
            except Problems as error:
                self.problems += error.problems
                filled[key] = value
                told |= {*value.places()}
        body = replace(body, data=filled)
        schema = {**kind.schema, "properties": {**properties, **_COMMON}}
        mistakes = check(body, schema, kind.name)
        self.problems += [each for each in mistakes if each.place not in told]
        return body

    def _placed(self, found: Mapping[str, _Found]) -> list[Placed]:
        defaults = _layers([(name, each.kind.cls.beside) for name, each in found.items()])
        stages = []
        for name, each in found.items():
            needs = self._needs(each, [*found], defaults[name])
            own = {key: value for key, value in each.body.data.items() if key not in _COMMON}
            params = {key: value.plain() for key, value in own.items()}
            stage = self._made(each, params)
            placed = Placed(each.kind, stage, name, needs, str(each.word.place), params)  # type: ignore[arg-type]
            stages.append(placed)
        self._no_cycle({placed.name: placed.needs for placed in stages}, found)
        return stages

    def _made(self, found: _Found, params: dict[str, Any]) -> Stage | None:
        if self.problems:
            return None  # the recipe is refused anyway
        try:
            return found.kind.make(params)
        except KindError as error:
            self.problems.append(Problem(found.word.place, str(error.args[0]), error.hint))
            return None

    def _needs(self, found: _Found, names: list[str], default: tuple[str, ...]) -> tuple[str, ...]:
        given = found.body.data.get("needs")
        if given is None:
            return default
        needs = []
        for item in given.data if isinstance(given.data, list) else [given]:
            if item.data == found.name:
                self.problems.append(Problem(item.place, f"'{found.name}' needs itself"))
            elif item.data in names:
                needs.append(item.data)
            elif isinstance(item.data, str) and item.data not in self._unread:
                hint = kinds.near(item.data, names)
                self.problems.append(Problem(item.place, f"no stage '{item.data}'", hint))
        return tuple(dict.fromkeys(needs))

    def _no_cycle(self, needs: Mapping[str, Iterable[str]], found: Mapping[str, _Found]) -> None:
        try:
            TopologicalSorter(needs).prepare()
        except CycleError as error:
            circle = error.args[1][::-1]
            place = found[circle[0]].body.key("needs")
            text = f"stages need each other in a circle: {' -> '.join(circle)}"
            self.problems.append(Problem(place, text))

    # -- the box

    def _machine(self, value: Value | None) -> Machine | None:
        self._note(self._project / "machines.yaml", builtin("schemas") / "machines.schema.json")
        try:
            if value is None:
                return resolve(None, self._project)
            filled = self._variables.fill(value)
            around = Value({"machine": filled}, filled.place)
            mistakes = [*check(around, {"properties": {"machine": self._box}}, "the recipe")]
            self.problems += mistakes
            return None if mistakes else resolve(filled, self._project)
        except Problems as error:
            self.problems += error.problems
            return None


def _base(path: Path, base: Value, chain: tuple[Path, ...]) -> Path:
    """Return the recipe that one extends."""
    missing = Problems(Problem(base.place, f"no such recipe to extend: '{base.data}'"))
    try:
        other = path.parent.joinpath(str(base.data)).resolve()
        if not other.is_file():
            raise missing
    except (OSError, ValueError):
        raise missing from None  # a text that no file can be called
    if other in (*chain, path):
        raise Problems(Problem(base.place, f"'{base.data}' extends itself in the end"))
    return other


def _layers(stages: list[tuple[str, bool]]) -> dict[str, tuple[str, ...]]:
    """Return what each stage needs by its place: the layer of neighbours before its own."""
    needs: dict[str, tuple[str, ...]] = {}
    before: tuple[str, ...] = ()
    layer: list[str] = []
    beside = False
    for name, may_stand_beside in stages:
        if not (beside and may_stand_beside) and layer:
            before, layer = tuple(layer), []
        needs[name] = before
        layer.append(name)
        beside = may_stand_beside
    return needs
