"""What happened in this project, as one append-only file: a line an event, durable at once."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_COMPACT_AT = 1_000_000
"""Bytes; above this the file keeps only the last event of each sort."""


@dataclass(frozen=True, slots=True)
class Journal:
    """Events of every stage: started, done, failed, as asked, forgotten, ignored."""

    path: Path

    def add(self, event: str, task: str, **facts: Any) -> None:
        """Append one event; it survives any kill from here on."""
        import json

        line = json.dumps({"at": round(time.time(), 3), "event": event, "task": task, **facts})
        self.path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            # A kill in the middle of a write leaves a torn line: ours starts on a line of its own.
            torn = (
                os.fstat(descriptor).st_size
                and os.pread(descriptor, 1, os.fstat(descriptor).st_size - 1) != b"\n"
            )
            os.write(descriptor, (b"\n" if torn else b"") + line.encode() + b"\n")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def events(self) -> Iterator[dict[str, Any]]:
        """Yield every whole event, oldest first."""
        import json

        try:
            lines = self.path.read_bytes().splitlines()
        except OSError:
            return
        for line in lines:
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if isinstance(event, dict) and "event" in event and "task" in event:
                yield event

    def last(self, *events: str) -> dict[str, dict[str, Any]]:
        """Return the newest event of each task, among the sorts given."""
        return {event["task"]: event for event in self.events() if event["event"] in events}

    def compact(self) -> None:
        """Drop what newer events have replaced, when the file has grown large."""
        import json

        from zuka.store import write_whole

        if not self.path.exists() or self.path.stat().st_size < _COMPACT_AT:
            return
        kept = {(event["task"], event["event"]): event for event in self.events()}
        events = sorted(kept.values(), key=lambda event: float(event.get("at", 0)))
        write_whole(self.path, b"".join(json.dumps(event).encode() + b"\n" for event in events))
