"""Questions to the user's own git."""

from __future__ import annotations

import os
from pathlib import Path

from zuka.errors import RecipeError

_GIT_NOISE = {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR"}
"""Set inside git's hooks, where they speak of another folder."""


def git(folder: Path, *arguments: str) -> bytes | None:
    """Return what git prints; None where there is no git, or no repository."""
    import subprocess

    quiet = ("-c", "core.quotepath=off", "-c", "core.fsmonitor=false")
    rest = {name: value for name, value in os.environ.items() if name not in _GIT_NOISE}
    try:
        done = subprocess.run(
            ["git", *quiet, *arguments],
            cwd=folder,
            env={**rest, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except OSError:
        return None
    said = os.fsdecode(done.stderr).strip()
    if done.returncode == 0:
        return done.stdout
    if "not a git repository" in said:
        return None
    first, _, last = said.partition("\n")  # of several lines, the last one is git's advice
    hint = last.rpartition("\n")[2].strip()
    raise RecipeError(f"git cannot list '{folder}': {first}", hint=hint)
