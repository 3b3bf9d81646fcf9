"""Files on their way: a tree into a stream, and a stream from a box, strictly, into files."""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from zuka.errors import StageError
from zuka.shell import clean
from zuka.trees import Entry, Tree

_BLOCK = 1 << 18
LOG = "run.log"
"""What a run's log is called among its results."""


@dataclass(frozen=True, slots=True)
class FileRecord:
    """One file that came home, and its digest as it lies here."""

    size: int
    sha256: str


def send(tree: Tree, out: IO[bytes], progress: Callable[[int, int], None]) -> None:
    """Write a tree as a gzipped tar; raise StageError when a file is not as it was read."""
    done = 0
    with (
        gzip.GzipFile(fileobj=out, mode="wb", compresslevel=1) as packed,
        tarfile.open(
            fileobj=packed,
            mode="w|",
            format=tarfile.GNU_FORMAT,
            encoding="utf-8",
            errors="surrogateescape",
        ) as archive,
    ):
        for entry in tree.entries:
            info = _info(entry)
            if entry.kind != "file":
                archive.addfile(info)
                continue
            with (tree.root / entry.name).open("rb") as file:
                hashing = _Hashing(file)
                try:
                    archive.addfile(info, hashing)
                except OSError as error:
                    if isinstance(error, BrokenPipeError):
                        raise
                    raise _changed(entry) from None
                if file.read(1) or hashing.hash.hexdigest() != entry.digest:
                    raise _changed(entry)
            done += entry.size
            progress(done, tree.size)


class _Hashing:
    """A file that is hashed while it is read."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.hash = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        block = self._file.read(size)
        self.hash.update(block)
        return block


def _changed(entry: Entry) -> StageError:
    return StageError(f"'{clean(entry.name)}' changed while it was sent", hint="run it again")


def _info(entry: Entry) -> tarfile.TarInfo:
    info = tarfile.TarInfo(entry.name)
    info.mtime = entry.mtime_ns // 1_000_000_000
    match entry.kind:
        case "file":
            info.size = entry.size
            info.mode = 0o755 if entry.mode & 0o100 else 0o644
        case "folder":
            info.type, info.mode = tarfile.DIRTYPE, 0o755
        case "link":
            info.type, info.linkname, info.mode = tarfile.SYMTYPE, entry.digest, 0o777
    return info


def receive(
    stream: IO[bytes],
    into: Path,
    progress: Callable[[int, int], None],
    note: Callable[[str], None],
) -> dict[str, FileRecord]:
    """
    Unpack what a box sent into a new folder; return every file with its digest.

    The first member lists the digests that the box computed; a file that is not in it, is larger
    than the disk it asks for, or has another digest, is refused with StageError. Names must lie
    inside the folder. Links and devices are left out, with a note.
    """
    into.mkdir(parents=True)
    kept: dict[str, FileRecord] = {}
    expected: dict[str, str] = {}
    done = 0
    try:
        with tarfile.open(
            fileobj=stream, mode="r|", encoding="utf-8", errors="surrogateescape"
        ) as archive:
            for member in archive:
                if not expected:
                    expected = _list(archive, member)
                    continue
                name = _inside(member.name)
                if member.isdir():
                    (into / name).mkdir(parents=True, exist_ok=True)
                elif member.isreg():
                    if name not in expected:
                        raise StageError(f"the box sent '{clean(name)}' without a digest")
                    kept[name] = _store(archive, member, into / name)
                    done += member.size
                    progress(done, max(done, member.size))
                else:
                    note(f"'{clean(name)}' is a link or a device: left out")
    except (tarfile.TarError, EOFError) as error:
        raise StageError(f"what the box sent is cut short or no archive: {error}") from None
    _compare(expected, kept)
    _sync(into)
    return kept


def _list(archive: tarfile.TarFile, member: tarfile.TarInfo) -> dict[str, str]:
    """Read the first member: lines of `sha256sum`, which escapes odd names with a backslash."""
    file = archive.extractfile(member) if member.isreg() else None
    if file is None or member.size > 1 << 28:
        raise StageError("the box sent no list of digests")
    found = {}
    for line in file.read().decode("utf-8", "surrogateescape").split("\n"):
        match = re.fullmatch(r"(\\?)([0-9a-f]{64}) [ *](.+)", line)
        if match:
            name = re.sub(r"\\(.)", _unescaped, match[3]) if match[1] else match[3]
            found[_inside(name)] = match[2]
    if not found:
        raise StageError("the box sent an empty list of digests")
    return found


def _unescaped(match: re.Match[str]) -> str:
    return {"n": "\n", "r": "\r"}.get(match[1], match[1])


def _inside(name: str) -> str:
    """Return a member's name below the results; refuse one that leads elsewhere."""
    parts = [part for part in PurePosixPath(name).parts if part != "."]
    if parts[:1] == ["work"]:
        parts = parts[1:]
    elif parts == ["log"]:
        parts = [LOG]
    if name.startswith("/") or ".." in parts or "\0" in name:
        raise StageError(f"the box sent a name that leads elsewhere: '{clean(name)}'")
    return "/".join(parts) or "."


def _store(archive: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> FileRecord:
    path.parent.mkdir(parents=True, exist_ok=True)
    source = archive.extractfile(member)
    assert source is not None  # a regular member has content
    hashed, size = hashlib.sha256(), 0
    # O_EXCL and O_NOFOLLOW: a name that comes twice, or through a link, is an attack.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    try:
        descriptor = os.open(path, flags, 0o755 if member.mode & 0o100 else 0o644)
    except FileExistsError:
        raise StageError(f"the box sent '{clean(path.name)}' twice") from None
    with os.fdopen(descriptor, "wb") as file:
        while block := source.read(_BLOCK):
            hashed.update(block)
            size += len(block)
            file.write(block)
        file.flush()
        os.fsync(file.fileno())
    return FileRecord(size, hashed.hexdigest())


def _compare(expected: dict[str, str], kept: dict[str, FileRecord]) -> None:
    missing = sorted(set(expected) - set(kept))
    if missing:
        raise StageError(f"'{clean(missing[0])}' did not arrive", hint="run it again")
    for name, record in kept.items():
        if record.sha256 != expected[name]:
            raise StageError(
                f"'{clean(name)}' is not what the box said that it is", hint="run it again"
            )


def _sync(folder: Path) -> None:
    from zuka.store import sync_folder

    for path in _folders(folder):
        sync_folder(path)


def _folders(folder: Path) -> Iterator[Path]:
    yield folder
    for path in folder.rglob("*"):
        if path.is_dir():
            yield path
