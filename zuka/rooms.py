"""Where the built-in rooms lie, in a checkout and in a wheel."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def builtin(room: str) -> Path:
    """Return the folder that ships as ``room`` ("tasks" or "schemas")."""
    inside = _PACKAGE / room  # an installed wheel carries the rooms inside the package
    return inside if inside.is_dir() else _PACKAGE.parent / room


def homes(project: Path) -> list[Path]:
    """Return the folders that hold tasks/ and schemas/, the project's own first."""
    return list(dict.fromkeys([project.resolve(), builtin("tasks").parent]))
