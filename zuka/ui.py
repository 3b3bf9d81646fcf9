"""All that a person sees while stages run: a line a stage, live on a terminal, plain when piped."""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from typing import IO, Any, Protocol

_EVERY = 10.0
"""Seconds between two lines about the same long work, when nobody can see a line change."""


class View(Protocol):
    """Where stages are shown."""

    def line(self, text: str) -> None:
        """Show a line that stays."""
        ...

    def now(self, task: str, text: str) -> None:
        """Show what a stage does now; the next call replaces it."""
        ...

    def end(self, task: str) -> None:
        """Take away what a stage did."""
        ...

    def close(self) -> None:
        """Leave the terminal as it was."""
        ...


@dataclass
class PlainView:
    """Lines for a pipe or a file: no escape codes, and not a line for every step."""

    stream: IO[str]
    _last: dict[str, float] = field(default_factory=dict)

    def line(self, text: str) -> None:
        self.stream.write(text + "\n")
        self.stream.flush()

    def now(self, task: str, text: str) -> None:
        before = self._last.setdefault(task, time.monotonic())
        if time.monotonic() - before >= _EVERY:
            self._last[task] = time.monotonic()
            self.line(f"{task:<20}  ...  {text}")

    def end(self, task: str) -> None:
        self._last.pop(task, None)

    def close(self) -> None:
        self._last.clear()


class LiveView:
    """Lines that stay, and under them one that changes for each stage at work."""

    def __init__(self, stream: IO[str]) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text

        self._text = Text
        self._console = Console(file=stream, highlight=False, soft_wrap=True)
        self._live = Live(console=self._console, refresh_per_second=8, transient=True)
        self._now: dict[str, str] = {}
        self._guard = threading.Lock()
        self._live.start()

    def line(self, text: str) -> None:
        with self._guard:
            self._console.print(self._text(text, no_wrap=False))

    def now(self, task: str, text: str) -> None:
        with self._guard:
            self._now[task] = text
            self._show()

    def end(self, task: str) -> None:
        with self._guard:
            self._now.pop(task, None)
            self._show()

    def close(self) -> None:
        self._live.stop()

    def _show(self) -> None:
        width = max(self._console.width - 1, 20)
        lines = [f"{task:<20}  ...  {text}"[:width] for task, text in self._now.items()]
        self._live.update(self._text("\n".join(lines), style="dim"))


def view(stream: IO[str]) -> View:
    """Return the view that fits the stream."""
    if stream.isatty():
        return LiveView(stream)
    return PlainView(stream)


@dataclass(frozen=True)
class StageWatch:
    """What one stage tells while it works, shown under its name."""

    task: str
    shown: View
    tail: deque[str] = field(default_factory=lambda: deque(maxlen=20))
    """The newest lines of a run's log, to be shown when it fails."""

    def log(self, line: str) -> None:
        """Show the newest line of a run's log."""
        if line.strip():
            self.tail.append(line.rstrip())
            self.shown.now(self.task, line.strip())

    def progress(self, done: int, total: int) -> None:
        """Show how much of a transfer is done, in bytes."""
        share = f"{100 * done // total} %" if total else "0 %"
        self.shown.now(self.task, f"{share} of {size(total)}")

    def note(self, text: str) -> None:
        """Show a line that stays."""
        self.shown.line(f"{self.task:<20}  note   {text}")


def size(count: float) -> str:
    """Return a number of bytes as people read it."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":  # noqa: PLR2004 - SI units
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    raise AssertionError


def counted(number: int, thing: str) -> str:
    """Return a number of things: "1 stage", "2 stages"."""
    return f"{number} {thing}" + ("" if number == 1 else "s")


def complain(error: BaseException, stream: IO[str] | None = None) -> None:
    """Show an error and its next step, without a traceback; one with a place begins with it."""
    who = "" if getattr(error, "placed", False) else "zuka: "
    (stream or sys.stderr).write(f"{who}{error}\n")


def say_aside(text: str) -> None:
    """Show a line that has to be known, and is no part of what a pipe carries on."""
    sys.stderr.write(f"{text}\n")


def show_json(value: Any) -> None:
    """Print a value for a machine."""
    import json

    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")
