"""The zuka command: the fast way out first, then our own commands, then doit's."""

from __future__ import annotations

import sys

from zuka import door


def main(argv: list[str] | None = None) -> int:
    """Run the command and return its exit code."""
    arguments = sys.argv[1:] if argv is None else argv
    try:
        door.leave_if_done(arguments)
        return _run(arguments)
    except BrokenPipeError:
        _drop_what_nobody_takes()
        return 141  # as a program that SIGPIPE ends
    except KeyboardInterrupt:
        return 130  # also while modules are still loaded


def _run(arguments: list[str]) -> int:
    from zuka import commands
    from zuka.errors import Error
    from zuka.ui import complain

    try:
        code = commands.run(arguments)
        sys.stdout.flush()  # here, where a full disk or a closed pipe is still answered
    except BrokenPipeError:
        raise
    except Error as error:
        complain(error)
        return error.exit_code
    except OSError as error:
        complain(Error.here(error))
        _drop_what_nobody_takes()
        return Error.exit_code
    return code


def _drop_what_nobody_takes() -> None:
    """Let what standard output still holds go: Python would try again at its end, and complain."""
    import os

    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    raise SystemExit(main())
