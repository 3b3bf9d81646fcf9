"""Questions, answers and steps as values, so that they can be shown, compared and tested."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from zuka.trees import Tree


@dataclass(frozen=True, slots=True)
class Run:
    """Run one command on the box, in zuka's folder there, with stdin closed."""

    argv: tuple[str, ...]
    shown: str = ""
    limit: float = 60
    """Seconds after which the command counts as hung."""

    def __str__(self) -> str:
        """Return the command as it is shown."""
        return self.shown or shlex.join(self.argv)


@dataclass(frozen=True, slots=True)
class RunHere:
    """Run one command on the laptop, in the project's folder."""

    argv: tuple[str, ...]

    def __str__(self) -> str:
        """Return the command as it is shown."""
        return "here: " + shlex.join(self.argv)


@dataclass(frozen=True, slots=True)
class Push:
    """Copy local files to a folder on the box, whole or not at all; a damaged one makes room."""

    tree: Tree
    target: str

    def __str__(self) -> str:
        """Return the copy as it is shown."""
        return f"push {self.tree} -> {self.target}"


@dataclass(frozen=True, slots=True)
class Pull:
    """Copy what a run left on the box to the laptop, verified by digest, into a new folder."""

    run: str
    paths: tuple[str, ...]
    target: str

    def __str__(self) -> str:
        """Return the copy as it is shown."""
        return f"pull {' '.join(self.paths)} of {self.run} -> {self.target}"


@dataclass(frozen=True, slots=True)
class Follow:
    """Watch a run on the box until it ends, and show its log."""

    run: str
    within: float = 0
    """Seconds the run may take; 0 is no limit."""

    def __str__(self) -> str:
        """Return what is watched."""
        return f"follow {self.run}"


Step = Run | RunHere | Push | Pull | Follow


@dataclass(frozen=True, slots=True)
class Reply:
    """What the box answered to one probe; code 255 and no output: it is not there any more."""

    code: int = 0
    out: str = ""

    @property
    def state(self) -> str | None:
        """Return the state that the first line tells; None where it tells of nothing there."""
        first = self.out.partition("\n")[0].strip()
        return None if first in ("", "absent") else first
