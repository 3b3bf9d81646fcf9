"""
The fast way out: a run that has nothing to do ends here, before doit is imported.

After a run with nothing left to do, the verdict file keeps the stat of every file that it stands
on: recipe, inputs, results, what is owed. As long as none differs, neither does the verdict.
Imports nothing that Python has not loaded already, but marshal.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    Stat = tuple[int, int, int, int] | None

_FORMAT = 1


def leave_if_done(arguments: Sequence[str]) -> None:
    """End the process with 0 when ``run RECIPE [name=value …]`` has nothing to do."""
    if not arguments or arguments[0] != "run":
        return
    names = [argument for argument in arguments[1:] if "=" not in argument]
    if len(names) != 1 or names[0][:1] == "-":
        return
    variables = sorted(argument for argument in arguments[1:] if "=" in argument)
    asked = [names[0], *variables]
    text = _holds(_file(os.getcwd(), asked), asked)
    if text is not None:
        sys.stdout.write(text)
        sys.stdout.flush()
        raise SystemExit(0)


def _file(project: str, asked: Sequence[str]) -> str:
    name = "\0".join(asked).encode("utf-8", "surrogateescape").hex()
    return f"{project}/.zuka/verdict/{name[:200]}"


def _holds(path: str, asked: Sequence[str]) -> str | None:
    """Return what to print when the verdict in ``path`` is for just this, and still holds."""
    import marshal

    try:
        with open(path, "rb") as file:
            kept, stats, environment, text = marshal.loads(file.read())  # noqa: S302
        if kept != _key(asked):
            return None
        for name, known in stats:
            if known != stat(name):
                return None
        for name, value in environment:
            if os.environ.get(name) != value:
                return None
    except (OSError, ValueError, EOFError, TypeError):
        return None
    return str(text)


def stat(path: str) -> Stat:
    """Return what tells a file or folder from a changed one; None when it is not there."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)


def _key(asked: Sequence[str]) -> tuple[object, ...]:
    from zuka import __version__

    return (_FORMAT, __version__, sys.version_info[:2], *asked)


def write(
    project: str,
    asked: Sequence[str],
    stands_on: tuple[Iterable[tuple[str, Stat]], Mapping[str, str | None]],
    text: str,
) -> None:
    """
    Keep the verdict that there is nothing to do.

    ``asked`` is the recipe and its sorted variables; ``stands_on`` are the stats of all files, and
    the values of all variables of the environment, that it depends on.
    """
    import marshal
    from pathlib import Path

    from zuka.store import write_whole

    stats, environment = stands_on
    verdict: Any = (_key(asked), list(stats), list(environment.items()), text)
    write_whole(Path(_file(project, asked)), marshal.dumps(verdict))
