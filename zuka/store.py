"""Small files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path
from typing import Any


def write_whole(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Replace ``path`` by ``data``, durably: a reader sees the old file or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.new")
    try:
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            new.unlink()
        raise
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_json(path: Path, value: Any, *, mode: int = 0o644) -> None:
    """Replace ``path`` by ``value`` as JSON."""
    import json

    write_whole(path, json.dumps(value, indent=1, sort_keys=True).encode() + b"\n", mode=mode)


def read_json(path: Path, *, version: int) -> dict[str, Any] | None:
    """Return the object in ``path``; None when there is none that this version can read."""
    import json

    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) and value.get("format") == version else None


def digest(name: str, value: Any) -> str:
    """Return the SHA-256 of ``value`` as canonical JSON under a record name, 64 hex digits."""
    import hashlib
    import json

    text = json.dumps([name, 1, value], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
