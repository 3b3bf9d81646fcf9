"""Checked recipes are kept, so that YAML and schemas are read again only when a file changed."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from zuka import __version__, door, kinds, recipe
from zuka.errors import Error
from zuka.machines import Machine
from zuka.recipe import Placed, Recipe
from zuka.store import read_json, write_json

_FORMAT = 3


def load(path: Path, project: Path, overrides: Mapping[str, str]) -> Recipe:
    """Return the recipe at ``path``, as it was checked before when nothing has changed since."""
    cache = project / ".zuka" / "cache" / f"{path.stem}.json"
    key = [__version__, list(sys.version_info[:2]), str(path.resolve()), dict(overrides)]
    kept = read_json(cache, version=_FORMAT)
    with contextlib.suppress(KeyError, TypeError, ValueError, AttributeError, Error):
        # A cache that is not what we wrote is none.
        if kept is not None and kept["key"] == key and _holds(kept):
            return _thaw(kept, project)
    loaded = recipe.load(path, project, overrides)
    _keep(cache, loaded, key)
    return loaded


def _holds(kept: dict[str, Any]) -> bool:
    environment: dict[str, str | None] = kept["environment"]
    return all(os.environ.get(name) == value for name, value in environment.items()) and all(
        door.stat(name) == (tuple(known) if known else None) for name, known in kept["stats"]
    )


def _keep(cache: Path, loaded: Recipe, key: list[Any]) -> None:
    facts = {
        "format": _FORMAT,
        "key": key,
        "stats": [(str(path), known) for path, known in loaded.reads.items()],
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
        {Path(name): tuple(known) if known else None for name, known in kept["stats"]},
        kept["environment"],
    )
