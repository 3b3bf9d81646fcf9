"""
Everything zuka raises on purpose, and what the process exits with.

Error                 1   a run that could not do what was asked
+ StageError          1   a stage failed on the box
+ RecipeError         2   the recipe, or another file of the project, is wrong; nothing was sent
+ KindError           2   a file in a tasks or schemas folder is wrong
+ HostError           3   the box cannot be reached, or cannot be asked
  + CrowdedError      3   the box takes no further session just now; nothing ran
  + StrangerError     3   another box answers under a known name; nothing was sent to it
+ BusyError           3   another run of the same project holds the lock
DetachedError       130   Ctrl-C; what runs on the box goes on
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from typing_extensions import Self


class Error(Exception):
    """Base of every error that is shown without a traceback."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        """Keep the hint apart, so that it is printed on its own line."""
        super().__init__(message)
        self.hint = hint

    @classmethod
    def of(cls, kind: str, verdict: str, **facts: Any) -> Self:
        """Return the error that a row of the catalogue words, in the user's language."""
        from zuka.finding import Finding

        found = Finding(kind, verdict, facts)
        return cls(found.means(), hint=found.next())

    @classmethod
    def here(cls, error: OSError) -> Self:
        """Return the error for what this laptop refuses: a program, a disk, a folder."""
        if error.filename in ("ssh", "ssh-keygen"):
            return cls.of("access", "program-missing", program=error.filename)
        return cls.of("access", "laptop-refuses", said=error)

    def __str__(self) -> str:
        """Return the message, and the next step under it."""
        message = str(self.args[0])
        return f"{message}\n  hint: {self.hint}" if self.hint else message


class StageError(Error):
    """A stage failed on the box."""


class RecipeError(Error):
    """
    The recipe, or another file of the project, is wrong; nothing was sent.

    ``placed``: the message begins with a place that terminals and editors make a link.
    """

    exit_code = 2

    def __init__(self, message: str, *, hint: str = "", placed: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.placed = placed


class KindError(Error):
    """A file in a tasks or schemas folder is wrong."""

    exit_code = 2


class HostError(Error):
    """The box cannot be reached, or cannot be asked."""

    exit_code = 3


class CrowdedError(HostError):
    """The box takes no further session just now; nothing ran."""


class StrangerError(HostError):
    """Another box answers under a known name; nothing was sent to it."""


class BusyError(Error):
    """Another run of the same project holds the lock."""

    exit_code = 3


class DetachedError(Error):
    """The user pressed Ctrl-C; what runs on the box goes on."""

    exit_code = 130
