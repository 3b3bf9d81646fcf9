"""One run at a time in a project; the kernel frees the lock of a killed one."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from pathlib import Path

from zuka.errors import BusyError


class Lock:
    """The project's lock, held from ``take`` until the process ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor = -1

    def take(self, doing: str) -> None:
        """Hold the lock; raise BusyError that names the holder when another process does."""
        if self._descriptor >= 0:
            self.say(doing)
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise BusyError(
                f"another run is at work here: {holder(self._path)}",
                hint="wait for it, or press Ctrl-C there: what runs on the box goes on",
            ) from None
        self.say(doing)

    def say(self, doing: str) -> None:
        """Write down what the holder does now, for whoever is refused."""
        if self._descriptor < 0:
            return
        since = time.strftime("%Y-%m-%d %H:%M:%S")
        text = f"pid {os.getpid()}, {doing}, since {since}\n".encode()
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, text, 0)


def holder(path: Path) -> str:
    """Return who holds the lock, as they wrote it."""
    with contextlib.suppress(OSError):
        return path.read_text(encoding="utf-8").strip() or "a run that has just begun"
    return "a run that has just begun"


def held(path: Path) -> str:
    """Return who holds the lock now; empty when nobody does."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return holder(path)
    finally:
        os.close(descriptor)
    return ""
