"""What doit tells while it runs tasks, as zuka says it: a line a stage, and how it ended."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import IO, Any

from zuka.conduct import Conduct
from zuka.errors import Error, StageError
from zuka.lock import Lock
from zuka.ui import View, complain, view


class Reporter:
    """Begin and end the runs of the recipes that were selected, and show their stages."""

    desc = "zuka: a line a stage, with the reason and the time"

    def __init__(self, outstream: IO[str], options: Any) -> None:
        del options
        self._stream = outstream
        self._view: View | None = None
        self._conducts: list[Conduct] = []
        self._began: dict[str, float] = {}

    # -- the calls that doit makes, in its words

    def initialize(self, tasks: Mapping[str, Any], selected: Sequence[str]) -> None:
        """Begin: one run at a time in a project, and Ctrl-C leaves by the door."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) != signal.SIG_IGN:  # as under nohup
                signal.signal(number, self._detach)
        chosen: dict[str, list[str]] = {}
        lock: Lock | None = None
        for task in (tasks[name] for name in selected):
            conduct = _conduct(task)
            if conduct is not None and conduct not in self._conducts:
                self._conducts.append(conduct)
            if conduct is not None:
                chosen.setdefault(conduct.name, []).extend([task.meta.get("stage")])
        try:
            for conduct in self._conducts:
                names = chosen[conduct.name]
                lock = lock or Lock(conduct.session.grounds.state / "lock")
                self._say(conduct.begin(() if None in names else tuple(names), lock))
        except Error as error:
            complain(error)
            raise SystemExit(error.exit_code) from None

    def get_status(self, task: Any) -> None:
        """Say nothing: the look is quick."""

    def execute_task(self, task: Any) -> None:
        """Say that a stage begins."""
        conduct = _conduct(task)
        if conduct is None or not task.actions:
            return
        if self._view is None:
            self._view = view(self._stream)
        conduct.view = self._view
        self._began[task.name] = time.monotonic()
        self._view.now(task.name, conduct.begin_stage(task.meta["stage"]))

    def add_success(self, task: Any) -> None:
        """Say that a stage is as asked now."""
        conduct = _conduct(task)
        if conduct is not None and task.actions:
            self._end(conduct, task, "ok", conduct.reasons[task.meta["stage"]])

    def add_failure(self, task: Any, fail: Any) -> None:
        """Say why a stage failed; of those that wait for it, nothing."""
        if type(fail).__name__ == "UnmetDependency":
            return
        conduct = _conduct(task)
        if conduct is None:
            sys.stderr.write(f"{task.name}: {fail.get_msg()}\n")
            return
        self._end(conduct, task, "FAILED", "")
        # Anything but an Error is a bug of ours, and is shown as one.
        error = conduct.failures.setdefault(task.meta["stage"], StageError(fail.get_msg()))
        sys.stderr.write(f"{task.meta['place']}: {task.name} failed\n{error}\n")

    def skip_uptodate(self, task: Any) -> None:
        """Say that a stage was looked at; nothing is said of one that is not needed."""
        conduct = _conduct(task)
        if conduct and task.actions and conduct.session.was_asked(task.meta["stage"]):
            conduct.session.accept(task.meta["stage"])
            self._say(f"{task.name:<20}  as asked")
            self._remark(conduct, task)

    def skip_ignore(self, task: Any) -> None:
        """Say that the user told doit to leave a stage out."""
        self._say(f"{task.name:<20}  left out: you said `doit ignore`")

    def cleanup_error(self, exception: Any) -> None:
        """Show an error of a teardown."""
        sys.stderr.write(exception.get_msg())

    def runtime_error(self, msg: str) -> None:
        """Show an error of doit's own."""
        sys.stderr.write(msg)

    def teardown_task(self, task: Any) -> None:
        """Say nothing: no task of ours has a teardown."""

    def complete_run(self) -> None:
        """End: say how, and leave with the code of the worst error."""
        if sys.exc_info()[0] is None:
            for conduct in self._conducts:
                self._say(conduct.end())
        if self._view:
            self._view.close()
        errors = [error for conduct in self._conducts for error in conduct.failures.values()]
        if errors:
            raise SystemExit(max(error.exit_code for error in errors))

    # -- our own

    def _say(self, text: str) -> None:
        if text and self._view:
            self._view.line(text)
        elif text:
            self._stream.write(f"{text}\n")
            self._stream.flush()

    def _end(self, conduct: Conduct, task: Any, how: str, text: str) -> None:
        conduct.end_stage(task.meta["stage"])
        seconds = time.monotonic() - self._began.get(task.name, time.monotonic())
        if self._view:
            self._view.end(task.name)
        self._say(f"{task.name:<20}  {how:<6} {seconds:6.1f} s  {text}".rstrip())
        self._remark(conduct, task)

    def _remark(self, conduct: Conduct, task: Any) -> None:
        for line in conduct.session.remarks(task.meta["stage"]):
            self._say(f"  {line}")

    def _detach(self, number: int, _frame: FrameType | None) -> None:
        """Leave at once, as a kill would; doit would wait for threads, and print a traceback."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if self._view:
            self._view.close()
        for conduct in self._conducts:
            sys.stderr.write(f"\n{conduct.detach()}\n")
        sys.stderr.flush()
        os._exit(128 + number)


def _conduct(task: Any) -> Conduct | None:
    conduct = (task.meta or {}).get("conduct")
    return conduct if isinstance(conduct, Conduct) else None
