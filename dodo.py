"""The project's workflow: every recipe in recipes/ is a group of tasks, `doit run train`."""

import sys

from zuka import door

door.leave_if_done(sys.argv[1:])  # a run with nothing to do ends here

from zuka.graph import DOIT_CONFIG, task_recipes  # noqa: E402

__all__ = ["DOIT_CONFIG", "task_recipes"]
