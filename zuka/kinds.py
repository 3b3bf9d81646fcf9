"""Find stage kinds: one file per kind, in the project's tasks folder or in ours."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import json
import re
import sys
import traceback
from dataclasses import dataclass, fields
from pathlib import Path
from types import ModuleType
from typing import Any

from zuka.errors import KindError, RecipeError
from zuka.rooms import builtin, homes
from zuka.stage import Stage

_EVERY = ("name", "needs")
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")


@dataclass(frozen=True, slots=True)
class Kind:
    """A stage kind, and the two files that it is made of."""

    name: str
    cls: type[Stage]
    schema: dict[str, Any]
    source: Path
    schema_source: Path

    @property
    def doc(self) -> str:
        """Return the class's docstring."""
        return inspect.getdoc(self.cls) or ""

    @property
    def own(self) -> bool:
        """Tell whether the kind is the project's own, not ours."""
        return self.source.parent != builtin("tasks")

    def make(self, params: dict[str, Any]) -> Stage:
        """Return a stage with these keys, and the schema's defaults for the others."""
        properties = self.schema.get("properties", {})
        defaults = {key: spec["default"] for key, spec in properties.items() if "default" in spec}
        values = {**defaults, **params}
        try:
            return self.cls(**{key: frozen(value) for key, value in values.items()})
        except TypeError as error:
            raise KindError(f"{self.source}: {error}") from None


def frozen(value: Any) -> Any:
    """Return lists as tuples, all the way down."""
    return tuple(frozen(item) for item in value) if isinstance(value, list) else value


def names(project: Path) -> list[str]:
    """Return every kind's name; a file without a schema is somebody else's (invoke's, celery's)."""
    return sorted(
        {
            source.stem
            for home in homes(project)
            for source in (home / "tasks").glob("*.py")
            if _NAME.fullmatch(source.stem) and _schema(home, source.stem).is_file()
        }
    )


def find(name: str, project: Path) -> Kind:
    """Return the kind called ``name``; a file of the project's own wins."""
    pairs = [pair for pair in pairs_of(name, project) if pair[0].is_file()]
    for source, schema in pairs:
        if schema.is_file():
            return load(name, source, schema)
    for source, schema in pairs:
        raise KindError(f"{source}: has no schema", hint=f"write {schema}")
    raise RecipeError(f"no stage kind '{name}'", hint=near(name, names(project)))


def pairs_of(name: str, project: Path) -> list[tuple[Path, Path]]:
    """Return where a kind's two files may lie, the project's own first."""
    if not _NAME.fullmatch(name):
        return []  # a word that leads out of the room, or is too long for a file
    return [(home / "tasks" / f"{name}.py", _schema(home, name)) for home in homes(project)]


def near(name: str, known: list[str]) -> str:
    """Return the hint for a mistyped name: the nearest one, else all that there are."""
    from difflib import get_close_matches

    found = get_close_matches(name, known, n=1)
    return f"did you mean '{found[0]}'?" if found else f"there is: {', '.join(known)}"


def load(name: str, source: Path, schema: Path) -> Kind:
    """Return the kind that two files make; raise KindError when they do not."""
    try:
        contract = json.loads(schema.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise KindError(f"{schema}: is not JSON: {error}") from None
    properties = contract.get("properties", {}) if isinstance(contract, dict) else None
    if not isinstance(properties, dict) or not all(
        isinstance(p, dict) for p in [*properties.values()]
    ):
        raise KindError(f"{schema}: is not a map with 'properties', each a map")
    module = _module(source)
    classes = [
        found
        for _, found in inspect.getmembers(module, inspect.isclass)
        if issubclass(found, Stage) and found.__module__ == module.__name__
    ]
    if len(classes) != 1:
        raise KindError(f"{source}: defines {len(classes)} stage kinds, not 1")
    kind = Kind(name, classes[0], contract, source, schema)
    _same_keys(kind)
    return kind


def _same_keys(kind: Kind) -> None:
    """Refuse a kind whose class and schema differ: a key that is accepted must do something."""
    for key in _EVERY:
        if key in kind.schema.get("properties", {}):
            raise KindError(f"{kind.schema_source}: '{key}' is a key of every stage already")
    keys, known = set(kind.schema.get("properties", {})), {each.name for each in fields(kind.cls)}
    for key in sorted(keys - known):
        raise KindError(f"{kind.source}: {kind.cls.__name__} has no field '{key}' of the schema")
    for key in sorted(known - keys):
        raise KindError(f"{kind.schema_source}: has no property '{key}' of {kind.cls.__name__}")


def _schema(home: Path, name: str) -> Path:
    return home / "schemas" / f"{name}.schema.json"


def _module(source: Path) -> ModuleType:
    # Flat, since pickle would look for the parent of a dotted name; and one a file.
    path = hashlib.sha256(str(source).encode("utf-8", "surrogateescape")).hexdigest()[:12]
    name = f"zuka_kind_{source.stem}_{path}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, source)
    assert spec is not None
    assert spec.loader is not None  # a path that ends in .py always has a loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # a dataclass looks its own module up while it is made
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a user's file does
        del sys.modules[name]
        line = _line(error, source)
        raise KindError(f"{source}{line}: {type(error).__name__}: {error}") from None
    return module


def _line(error: BaseException, source: Path) -> str:
    if isinstance(error, SyntaxError) and error.filename == str(source):
        return f":{error.lineno}" if error.lineno else ""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(source)]
    return f":{lines[-1]}" if lines else ""
