"""Read a recipe: YAML text in, checked stages with their places out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from zuka import kinds
from zuka.errors import KindError, RecipeError
from zuka.kinds import Kind
from zuka.machines import Machine
from zuka.rooms import builtin
from zuka.stage import Stage

_DOIT = ("run", "list", "info", "clean", "forget", "help", "ignore", "dumpdb", "strace")
_MORE_DOIT = ("tabcompletion", "reset-dep")
_OURS = ("init", "plan", "why", "status", "graph", "kinds", "sandbox", "rebind", "completion")
TAKEN = frozenset((*_DOIT, *_MORE_DOIT, *_OURS, "check"))
"""Names that a recipe cannot have: they are commands."""

NAME = re.compile(r"[a-z][a-z0-9_-]*")
_COMMON = ("name", "needs")
"""Keys that every stage has besides its kind's own."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A stage, and where in the recipe it stands."""

    kind: Kind
    stage: Stage
    name: str
    needs: tuple[str, ...]
    place: str
    params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Recipe:
    """A checked recipe, the files it was read from, and what it took from the environment."""

    name: str
    path: str
    machine: Machine
    stages: tuple[Placed, ...]
    vars: Mapping[str, str]
    reads: tuple[Path, ...]
    environment: Mapping[str, str | None]


def check_name(path: Path) -> str:
    """Return a recipe's name; raise RecipeError when it cannot be a task's."""
    name = path.stem
    if name in TAKEN:
        raise RecipeError(f"{path}: a recipe cannot be called '{name}': that is a command")
    if not NAME.fullmatch(name):
        raise RecipeError(f"{path}: a recipe's name is lower-case letters, digits, - and _")
    return name


def load(path: Path, project: Path, overrides: Mapping[str, str]) -> Recipe:
    """Return the recipe at ``path``; raise one RecipeError that tells every mistake."""
    from zuka.checking import found
    from zuka.places import Problems

    shown = _shown(path, project)
    name = check_name(path)
    reading = _Reading(project.resolve())
    try:
        recipe = reading.recipe(name, path, shown, overrides)
    except Problems as error:
        reading.problems += error.problems
    if reading.problems:
        raise RecipeError(found(reading.problems, shown), placed=True)
    return recipe


def _shown(path: Path, project: Path) -> str:
    try:
        return str(path.resolve().relative_to(project.resolve()))
    except ValueError:
        return str(path)


class _Reading:
    """One reading of a recipe; mistakes are collected, so that all are told at once."""

    def __init__(self, project: Path) -> None:
        from zuka.places import Problem
        from zuka.variables import Variables

        self.project = project
        self.problems: list[Problem] = []
        self.reads: list[Path] = []
        self.variables = Variables()

    def recipe(self, name: str, path: Path, shown: str, overrides: Mapping[str, str]) -> Recipe:
        frame = self._frame(path.resolve(), shown, ())
        if self.problems:
            raise self._all()
        self._define(frame, shown, overrides)
        stages = self._stages(frame.data["stages"])
        machine = self._machine(frame.data.get("machine"))
        if self.problems:
            raise self._all()
        assert machine is not None  # else there is a problem
        return Recipe(
            name,
            shown,
            machine,
            tuple(stages),
            self.variables.texts(),
            tuple(dict.fromkeys(self.reads)),
            dict(self.variables.environment),
        )

    def _all(self) -> Exception:
        from zuka.places import Problems

        return Problems()

    # -- files

    def _frame(self, path: Path, shown: str, chain: tuple[Path, ...]) -> Any:
        """Return a recipe file over what it extends."""
        from zuka.checking import check
        from zuka.places import Problem, Problems, read

        self.reads.append(path)
        frame = read(path, shown)
        schema = builtin("schemas") / "recipe.schema.json"
        self.reads.append(schema)
        mistakes = [*check(frame, json.loads(schema.read_text()), "the recipe")]
        self.problems += mistakes
        base = frame.data.get("extends") if isinstance(frame.data, dict) else None
        if base is None or mistakes:
            return frame
        other = (path.parent / base.data).resolve()
        if other in (*chain, path):
            raise Problems(Problem(base.place, f"'{base.data}' extends itself in the end"))
        if not other.is_file():
            raise Problems(Problem(base.place, f"no such recipe to extend: '{base.data}'"))
        below = self._frame(other, _shown(other, self.project), (*chain, path))
        return frame if self.problems else _merged(below, frame)

    # -- variables

    def _define(self, frame: Any, shown: str, overrides: Mapping[str, str]) -> None:
        from zuka.places import Problems

        known = list(frame.data["vars"].data) if "vars" in frame.data else []
        for name in overrides:
            if name not in known:
                hint = kinds.near(name, known) if known else "the recipe has no vars"
                raise RecipeError(f"no variable '{name}' in {shown}", hint=hint)
        for name in known:
            value = frame.data["vars"].data[name]
            try:
                if name in overrides:
                    self.variables.values[name] = value
                    self.variables.override({name: overrides[name]})
                else:
                    self.variables.define(name, value)
            except Problems as error:
                self.problems += error.problems
                self.variables.values[name] = value

    # -- stages

    def _stages(self, listed: Any) -> list[Placed]:
        from zuka.places import Problem

        found: list[tuple[Kind, Any, Any, str]] = []
        taken: dict[str, Any] = {}
        for item in listed.data:
            word, body = _entry(item)
            kind = self._kind(word)
            if kind is None:
                continue
            filled = self._fill(body, kind)
            if filled is None:
                continue
            given = filled.data.get("name")
            name = given.data if given and isinstance(given.data, str) else kind.name
            place = given.place if given else word.place
            if name in taken:
                hint = "give it a name of its own, `name: …`"
                text = f"a second stage is called '{name}', the first on line {taken[name].line}"
                self.problems.append(Problem(place, text, hint))
                continue
            taken[name] = place
            found.append((kind, filled, word, name))
        return self._placed(found)

    def _kind(self, word: Any) -> Kind | None:
        from zuka.places import Problem

        try:
            kind = kinds.find(word.data, self.project)
        except (RecipeError, KindError) as error:
            self.problems.append(Problem(word.place, str(error.args[0]), error.hint))
            return None
        self.reads += [kind.source, kind.schema_source]
        return kind

    def _fill(self, body: Any, kind: Kind) -> Any:
        """Return a stage's keys with their variables replaced and held against the schema."""
        from zuka.checking import check
        from zuka.places import Problem, Problems

        if not isinstance(body.data, dict):
            text = f"{kind.name} is {'a list' if isinstance(body.data, list) else repr(body.text)}"
            text += ", not a map of keys"
            self.problems.append(Problem(body.place, text, f"zuka kinds {kind.name} lists them"))
            return None
        properties = kind.schema.get("properties", {})
        filled = {}
        for key, value in body.data.items():
            leave = properties.get(key, {}).get("x-leave", ())
            try:
                filled[key] = self.variables.fill(value, leave)
            except Problems as error:
                self.problems += error.problems
                filled[key] = value
        body = replace(body, data=filled)
        schema = {**kind.schema, "properties": {**properties, **_common_schema()}}
        self.problems += check(body, schema, kind.name)
        return body

    def _placed(self, found: list[tuple[Kind, Any, Any, str]]) -> list[Placed]:
        defaults = _layers([(name, kind.cls.beside) for kind, _, _, name in found])
        names = list(defaults)
        stages = []
        for kind, body, word, name in found:
            needs = self._needs(body, name, names, defaults[name])
            own = {key: value for key, value in body.data.items() if key not in _COMMON}
            params = {key: value.plain() for key, value in own.items()}
            stage = kind.make(params) if not self.problems else None
            stages.append(Placed(kind, stage, name, needs, str(word.place), params))  # type: ignore[arg-type]
        self._no_cycle({placed.name: placed.needs for placed in stages}, found)
        return stages

    def _needs(
        self, body: Any, name: str, names: list[str], default: tuple[str, ...]
    ) -> tuple[str, ...]:
        from zuka.places import Problem

        given = body.data.get("needs")
        if given is None or given.data is None:
            return default
        items = given.data if isinstance(given.data, list) else [given]
        needs = []
        for item in items:
            if item.data == name:
                self.problems.append(Problem(item.place, f"'{name}' needs itself"))
            elif item.data not in names:
                hint = kinds.near(str(item.data), names)
                self.problems.append(Problem(item.place, f"no stage '{item.data}'", hint))
            else:
                needs.append(item.data)
        return tuple(dict.fromkeys(needs))

    def _no_cycle(self, needs: Mapping[str, Iterable[str]], found: Any) -> None:
        from graphlib import CycleError, TopologicalSorter

        from zuka.places import Problem

        try:
            TopologicalSorter(needs).prepare()
        except CycleError as error:
            circle = error.args[1][::-1]
            place = next(body.key("needs") for _, body, _, name in found if name == circle[0])
            text = f"stages need each other in a circle: {' -> '.join(circle)}"
            self.problems.append(Problem(place, text))

    # -- the box

    def _machine(self, value: Any) -> Machine | None:
        from zuka.machines import resolve
        from zuka.places import Problems

        self.reads.append(self.project / "machines.yaml")
        try:
            filled = self.variables.fill(value) if value is not None else None
            return resolve(filled, self.project)
        except Problems as error:
            self.problems += error.problems
            return None


def _common_schema() -> dict[str, Any]:
    name = {"type": "string", "pattern": f"^{NAME.pattern}$", "x-says": _NAME_SAYS}
    many = {"type": "array", "items": {"type": "string"}}
    return {"name": name, "needs": {"anyOf": [{"type": "string"}, many]}}


_NAME_SAYS = "a name of lower-case letters, digits, - and _ that begins with a letter"


def _entry(item: Any) -> tuple[Any, Any]:
    """Return a stage's kind and keys: `keys`, `keys:` or `keys: {…}`."""
    from zuka.places import Value

    if isinstance(item.data, str):
        return item, Value({}, item.place, keys={})
    (name, body), place = next(iter(item.data.items())), next(iter(item.keys.values()))
    word = Value(name, place, name)
    return word, Value({}, place, keys={}) if body.data is None else body


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


def _merged(below: Any, above: Any) -> Any:
    """Return two recipes as one: maps merge, stages by name, what stands above wins."""
    if not (isinstance(below.data, dict) and isinstance(above.data, dict)):
        return above
    data = dict(below.data)
    for key, value in above.data.items():
        if key == "stages" and key in data:
            data[key] = _merged_stages(data[key], value)
        elif key in data:
            data[key] = _merged(data[key], value)
        else:
            data[key] = value
    return replace(above, data=data, keys={**(below.keys or {}), **(above.keys or {})})


def _merged_stages(below: Any, above: Any) -> Any:
    stages = {_stage_name(item): item for item in below.data}
    if len(stages) < len(below.data):
        return replace(above, data=[*below.data, *above.data])  # told as a mistake later
    for item in above.data:
        name = _stage_name(item)
        stages[name] = _merged_stage(stages[name], item) if name in stages else item
    return replace(above, data=list(stages.values()))


def _merged_stage(below: Any, above: Any) -> Any:
    (word, old), (again, new) = _entry(below), _entry(above)
    if word.data != again.data:
        return above
    from zuka.places import Value

    body = _merged(old, new)
    return Value({again.data: body}, above.place, keys={again.data: again.place})


def _stage_name(item: Any) -> str:
    word, body = _entry(item)
    given = body.data.get("name") if isinstance(body.data, dict) else None
    return str(given.data if given else word.data)


def effective(stages: Iterable[Placed]) -> Iterator[dict[str, Any]]:
    """Yield each stage as plain data, for the cache of checked recipes."""
    for placed in stages:
        yield {
            "kind": placed.kind.name,
            "name": placed.name,
            "needs": list(placed.needs),
            "place": placed.place,
            "params": dict(placed.params),
        }
