"""The zuka command: the fast way out first, then our own commands, then doit's."""

from __future__ import annotations

import sys

from zuka import door


def main(argv: list[str] | None = None) -> int:
    """Run the command and return its exit code."""
    arguments = sys.argv[1:] if argv is None else argv
    door.leave_if_done(arguments)
    from zuka import commands
    from zuka.errors import Error
    from zuka.ui import complain

    try:
        return commands.run(arguments)
    except Error as error:
        complain(error)
        return error.exit_code
    except BrokenPipeError:
        return 141  # as a program that SIGPIPE ends
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    raise SystemExit(main())
