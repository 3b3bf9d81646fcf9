"""What comes over a connection in pieces: a run's log, and an archive between its marks."""

from __future__ import annotations

from collections.abc import Callable
from typing import IO

from zuka import shell

_LONGEST_LINE = 1 << 16
_MOST_NOISE = 1 << 26
"""Bytes; a profile that prints more than that before each command is no profile."""


class Framed:
    """The bytes between a stream's marks, as a file for tarfile."""

    def __init__(self, pipe: IO[bytes], mark: str) -> None:
        self._pipe, self._mark = pipe, mark.encode()
        self._tail = b""

    def begin(self) -> bool:
        """Skip what a login shell prints before our first mark."""
        skipped = 0
        while skipped < _MOST_NOISE and (line := self._pipe.readline(1 << 16)):
            if line.endswith(self._mark + b" begin\n"):
                return True
            skipped += len(line)
        return False

    def read(self, size: int = -1) -> bytes:
        """Return some bytes; what comes last is remembered for the code."""
        block = self._pipe.read(size)
        self._tail = (self._tail + block)[-256:]
        return block

    def code(self) -> int | None:
        """Read to the end and return the exit code that stands there."""
        while self.read(1 << 16):
            pass
        code = self._tail.rpartition(b"\n" + self._mark + b" end ")[2].strip()
        return int(code) if code.isdigit() else None


class Log:
    """A run's log as it comes, over as many connections as it takes: lines, and their bytes."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show
        self._line = b""
        self.count = 0

    def take(self, block: bytes) -> None:
        """Take the next bytes and show the lines that are whole."""
        self.count += len(block)
        *lines, rest = (self._line + block).replace(b"\r", b"\n").split(b"\n")
        self._line = rest[-_LONGEST_LINE:]
        for line in lines:
            self._show(shell.clean(line.decode("utf-8", "replace")))


class Framing:
    """One connection's share of a log: from the mark of its beginning to that of the end."""

    def __init__(self, mark: str, log: Log) -> None:
        self.mark = mark
        self._begin, self._end = f"{mark} begin\n".encode(), f"\n{mark} ".encode()
        self._log = log
        self._held = b""
        self._begun = False
        self.ended = False

    def take(self, block: bytes) -> None:
        """Take the next bytes; hold back what may be the beginning of the mark."""
        self._held += block
        if not self._begun:
            _, found, after = self._held.partition(self._begin)
            if not found:
                return
            self._begun, self._held = True, after
        stop = self._held.find(self._end)
        self.ended = stop >= 0 and b"\n" in self._held[stop + 1 :]
        safe = stop if stop >= 0 else max(0, len(self._held) - len(self._end))
        self._log.take(self._held[:safe])
        self._held = self._held[safe:]
