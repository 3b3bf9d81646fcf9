"""What is left out, by the rules of .gitignore; the one matcher for everything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from zuka.errors import RecipeError


class Matcher:
    """Says whether a name is ignored, by gitignore rules: all in an ignored folder is."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._spec: Any = None
        self._folders: dict[str, bool] = {"": False}
        if patterns:
            from pathspec import GitIgnoreSpec

            try:
                self._spec = GitIgnoreSpec.from_lines(map(_one_line, patterns))
            except ValueError as error:
                raise RecipeError(f"not a gitignore pattern: {error}") from None

    def __call__(self, name: str, *, folder: bool) -> bool:
        if self._spec is None:
            return False
        above = name.rpartition("/")[0]
        if above not in self._folders:
            self._folders[above] = self(above, folder=True)
        slash = "/" if folder else ""
        return self._folders[above] or bool(self._spec.match_file(_one_line(name) + slash))


def _one_line(text: str) -> str:
    """Return text in which a newline is a character like others: to pathspec it ends a name."""
    return text.replace("\n", "\0")
