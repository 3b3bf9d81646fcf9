"""Compile recipes to doit tasks; with the reporter, the only module that knows doit."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from zuka import asking, compiled
from zuka.conduct import Conduct
from zuka.errors import Error
from zuka.reporter import Reporter
from zuka.session import Session
from zuka.ui import complain, counted

DOIT_CONFIG = {
    "backend": "zuka",
    "dep_file": ".zuka/journal.jsonl",
    "reporter": Reporter,
    # Threads: workers of their own would not share the one connection, nor a kind loaded by path.
    "par_type": "thread",
    "verbosity": 2,
    "minversion": "0.37.0",
}


def task_recipes() -> Iterator[dict[str, Any]]:
    """Yield a group for each recipe, and a task for each of its stages."""
    try:
        if not any(Path("recipes").glob("*.yaml")):
            raise asking.no_recipe(Path.cwd())
        for path in wanted(Path("recipes"), sys.argv[1:]):
            given = variables()
            recipe = compiled.load(path, Path.cwd(), given)
            for named in sys.argv[1:]:
                if named.startswith(f"{path.stem}:") and "*" not in named:  # doit's own pattern
                    asking.check_stage(named, recipe)
            yield from tasks(Session(Path.cwd(), recipe), given)
    except Error as error:
        complain(error)
        raise SystemExit(error.exit_code) from None


def wanted(room: Path, arguments: list[str]) -> list[Path]:
    """Return the recipes that the arguments name; all of them when they name none."""
    found = sorted(room.glob("*.yaml"))
    named = {argument.partition(":")[0] for argument in arguments}
    return [path for path in found if path.stem in named] or found


def variables() -> Mapping[str, str]:
    """Return the ``name=value`` arguments, as doit read them."""
    from doit import doit_cmd

    return dict(doit_cmd._CMDLINE_VARS or {})  # noqa: SLF001 - get_var cannot list them


def tasks(session: Session, variables: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Yield the doit tasks of one recipe."""
    recipe = session.recipe
    conduct = Conduct(session, variables)
    yield {
        "basename": recipe.name,
        "name": None,
        "doc": f"{counted(len(recipe.stages), 'stage')} of {recipe.path}",
        "meta": {"conduct": conduct},
    }
    for placed in recipe.stages:
        yield {
            "basename": recipe.name,
            "name": placed.name,
            "doc": placed.kind.doc.partition("\n")[0],
            "actions": [(_act, [conduct, placed.name])],
            "uptodate": [(_is_current, [session, placed.name])],
            "task_dep": [session.task(need) for need in placed.needs],
            "meta": {"conduct": conduct, "stage": placed.name, "place": placed.place},
            "io": {"capture": False},
            "verbosity": 2,
        }


def _is_current(session: Session, name: str) -> bool:
    """Tell whether a stage has nothing to do; leave when that cannot be told."""
    try:
        return not session.why(name)
    except Error as error:
        left = error
    except OSError as error:
        left = Error.here(error)
    complain(left)
    raise SystemExit(left.exit_code)


def _act(conduct: Conduct, name: str) -> Any:
    """Carry a stage out; give doit the failure as a value, so that the others are not run."""
    from doit.exceptions import TaskFailed

    error = conduct.act(name)
    return TaskFailed(str(error)) if error else {"fingerprint": conduct.session.fingerprint(name)}
