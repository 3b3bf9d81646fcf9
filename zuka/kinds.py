"""Find stage kinds: one file per kind, in the project's tasks folder or in ours."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import json
import sys
import traceback
from dataclasses import dataclass, fields
from pathlib import Path
from types import ModuleType
from typing import Any

from zuka.errors import KindError, RecipeError
from zuka.rooms import builtin, homes
from zuka.stage import Stage


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
        known = {field.name for field in fields(self.cls)}
        values = {**defaults, **params}
        return self.cls(**{key: frozen(value) for key, value in values.items() if key in known})


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
            if _schema(home, source.stem).is_file()
        }
    )


def find(name: str, project: Path) -> Kind:
    """Return the kind called ``name``; a file of the project's own wins."""
    for home in homes(project):
        source = home / "tasks" / f"{name}.py"
        if source.is_file() and _schema(home, name).is_file():
            return load(name, source, _schema(home, name))
    for home in homes(project):
        if (home / "tasks" / f"{name}.py").is_file():
            source = home / "tasks" / f"{name}.py"
            raise KindError(f"{source}: has no schema", hint=f"write {_schema(home, name)}")
    raise RecipeError(f"no stage kind '{name}'", hint=near(name, names(project)))


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
    module = _module(source)
    classes = [
        found
        for _, found in inspect.getmembers(module, inspect.isclass)
        if issubclass(found, Stage) and found.__module__ == module.__name__
    ]
    if len(classes) != 1:
        raise KindError(f"{source}: defines {len(classes)} stage kinds, not 1")
    return Kind(name, classes[0], contract, source, schema)


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
    except Exception as error:  # noqa: BLE001 - whatever a user's file does
        del sys.modules[name]
        line = _line(error, source)
        raise KindError(f"{source}{line}: {type(error).__name__}: {error}") from None
    return module


def _line(error: Exception, source: Path) -> str:
    if isinstance(error, SyntaxError):
        return f":{error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(source)]
    return f":{lines[-1]}" if lines else ""
