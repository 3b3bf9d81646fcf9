"""Checked recipes are kept, so that YAML and schemas are read again only when a file changed."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from zuka import __version__, door, kinds, recipe
from zuka.machines import Machine
from zuka.recipe import Placed, Recipe
from zuka.store import read_json, write_json

_FORMAT = 1


def load(path: Path, project: Path, overrides: Mapping[str, str]) -> Recipe:
    """Return the recipe at ``path``, as it was checked before when nothing has changed since."""
    cache = project / ".zuka" / "cache" / f"{path.stem}.json"
    key = [__version__, list(sys.version_info[:2]), str(path.resolve()), dict(overrides)]
    kept = read_json(cache, version=_FORMAT)
    if kept is not None and kept.get("key") == key and _holds(kept):
        return _thaw(kept, project)
    loaded = recipe.load(path, project, overrides)
    _keep(cache, loaded, key, project)
    return loaded


def _holds(kept: dict[str, Any]) -> bool:
    environment: dict[str, str | None] = kept["environment"]
    return all(os.environ.get(name) == value for name, value in environment.items()) and all(
        door.stat(name) == (tuple(known) if known else None) for name, known in kept["stats"]
    )


def _keep(cache: Path, loaded: Recipe, key: list[Any], project: Path) -> None:
    # A kind of the project's own may come to shadow ours at any time: its absence is kept too.
    own = [project / "tasks" / f"{placed.kind.name}.py" for placed in loaded.stages]
    paths = dict.fromkeys(str(path) for path in (*loaded.reads, *own))
    stats = [(name, door.stat(name)) for name in paths]
    facts = {
        "format": _FORMAT,
        "key": key,
        "stats": stats,
        "environment": dict(loaded.environment),
        "name": loaded.name,
        "path": loaded.path,
        "machine": loaded.machine.facts(),
        "vars": dict(loaded.vars),
        "stages": list(recipe.effective(loaded.stages)),
    }
    try:
        write_json(cache, facts)
    except (OSError, TypeError):
        return  # a cache that cannot be kept costs time, no more


def _thaw(kept: dict[str, Any], project: Path) -> Recipe:
    found = {row["kind"]: kinds.find(row["kind"], project) for row in kept["stages"]}
    stages = tuple(
        Placed(
            found[row["kind"]],
            found[row["kind"]].make(row["params"]),
            row["name"],
            tuple(row["needs"]),
            row["place"],
            row["params"],
        )
        for row in kept["stages"]
    )
    return Recipe(
        kept["name"],
        kept["path"],
        Machine.from_facts(kept["machine"]),
        stages,
        kept["vars"],
        tuple(Path(name) for name, _ in kept["stats"]),
        kept["environment"],
    )
