"""Read a recipe: YAML text in, checked stages with their places out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zuka.errors import RecipeError
from zuka.kinds import Kind
from zuka.machines import Machine
from zuka.stage import Stage

if TYPE_CHECKING:
    from zuka.door import Stat

_DOIT = ("run", "list", "info", "clean", "forget", "help", "ignore", "dumpdb", "strace")
_MORE_DOIT = ("tabcompletion", "reset-dep")
_OURS = ("init", "plan", "why", "status", "graph", "kinds", "sandbox", "rebind", "completion")
_LOOKS = ("doctor", "diagnose", "check")
TAKEN = frozenset((*_DOIT, *_MORE_DOIT, *_OURS, *_LOOKS))
"""Names that a recipe cannot have: they are commands."""

NAME = re.compile(r"[a-z][a-z0-9_-]*")


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
    reads: Mapping[Path, Stat]
    """The files as they were just before they were read; None: it was not there."""
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
    from zuka.reading import Reading

    name = check_name(path)
    reading = Reading(project.resolve())
    try:
        return reading.recipe(name, path, overrides)
    except Problems as error:
        problems = [*reading.problems, *error.problems]
        raise RecipeError(found(problems, shown_in(project, path)), placed=True) from None


def shown_in(project: Path, path: Path) -> str:
    """Return a path as messages show it: relative to the project, when it lies in there."""
    try:
        return str(path.resolve().relative_to(project.resolve()))
    except ValueError:
        return str(path)


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
