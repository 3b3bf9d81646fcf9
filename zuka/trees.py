"""Local files as stages see them: what is there, by content, and what was looked at."""

from __future__ import annotations

import hashlib
import os
import stat as modes
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from zuka.errors import RecipeError
from zuka.store import digest, read_json, write_json

Stat = tuple[int, int, int, int]
"""(mtime_ns, ctime_ns, size, inode): what tells a file or folder from a changed one."""

_FORMAT = 1
_RACY = 2.0
"""Seconds; a file that changed just before it was read may change again without a trace."""
_NOT_CODE = (".git", ".zuka", ".venv", "__pycache__", "artifacts")
"""Left out where git cannot say what belongs to the code."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One name of a tree; ``digest`` is a file's SHA-256, or the text of a link."""

    name: str
    kind: Literal["file", "link", "folder"]
    size: int
    mode: int
    mtime_ns: int
    digest: str


@dataclass(frozen=True)
class Tree:
    """What lies under a folder, in the order of names."""

    root: Path
    entries: tuple[Entry, ...]

    @cached_property
    def digest(self) -> str:
        """Return 64 hex digits over names, kinds, executable bits and contents; not times."""
        rows = [[e.name, e.kind, bool(e.mode & 0o100), e.digest] for e in self.entries]
        return digest("tree", rows)

    @property
    def count(self) -> int:
        """Return how many files there are."""
        return sum(1 for entry in self.entries if entry.kind == "file")

    @property
    def size(self) -> int:
        """Return the bytes of all files."""
        return sum(entry.size for entry in self.entries if entry.kind == "file")

    def without(self, patterns: Sequence[str]) -> Tree:
        """Return the tree without what the gitignore patterns match."""
        ignored = _matcher(patterns)
        kept = (e for e in self.entries if not ignored(e.name, folder=e.kind == "folder"))
        return Tree(self.root, tuple(kept))

    def __str__(self) -> str:
        """Return the tree as it is shown."""
        from zuka.ui import size

        return f"{self.root.name} ({self.count:,} files, {size(self.size)})"


class Reader:
    """
    Reads local files for one survey, and remembers every one that it looked at.

    ``seen`` maps each absolute path to its stat when it was read, None where it was not there;
    folders as well, so that an added or removed name shows.
    """

    def __init__(self, project: Path, cache: Path) -> None:
        self.project = project
        self.seen: dict[str, Stat | None] = {}
        self._cache = cache
        self._digests: dict[str, list[Any]] | None = None
        self._is_new = False

    def tree(self, path: str, *, ignore: Sequence[str] = ()) -> Tree:
        """Return the file or folder at ``path``; raise RecipeError when it cannot be read."""
        root = self.project / path
        found = self._look(str(root))
        if found is None:
            raise RecipeError(f"no such file or folder: '{path}'")
        if not root.is_dir():
            return Tree(root.parent, (self._file(str(root), root.name),))
        return Tree(root, tuple(self._walk(str(root), "", _matcher(ignore))))

    def tracked(self, path: str) -> Tree:
        """Return what git tracks under ``path``, as it is in the working tree."""
        root = self.project / path
        names = self._git_names(root)
        if names is None:
            return self.tree(path, ignore=_NOT_CODE)
        entries = (self._entry(str(root / name), name) for name in names)
        return Tree(root, tuple(entry for entry in entries if entry is not None))

    def text(self, path: str) -> str:
        """Return a text file; raise RecipeError when it cannot be read."""
        full = self.project / path
        self._look(str(full))
        try:
            return full.read_text(encoding="utf-8")
        except OSError as error:
            raise RecipeError(f"cannot read '{path}': {error.strerror}") from None
        except UnicodeDecodeError:
            raise RecipeError(f"cannot read '{path}': it is not UTF-8 text") from None

    def fresh(self) -> list[str]:
        """Return the paths that are not as they were when they were read."""
        return [path for path, known in self.seen.items() if _stat(path) != known]

    def save(self) -> None:
        """Keep the digests for the next reader."""
        if self._is_new and self._digests is not None:
            write_json(self._cache, {"format": _FORMAT, "digests": self._digests})
            self._is_new = False

    def _look(self, path: str) -> Stat | None:
        found = _stat(path)
        self.seen.setdefault(path, found)
        return found

    def _walk(self, folder: str, prefix: str, ignored: _Matcher) -> Iterator[Entry]:
        self._look(folder)
        try:
            found = sorted(os.scandir(folder), key=lambda item: item.name)
        except OSError as error:
            raise RecipeError(f"cannot read '{folder}': {error.strerror}") from None
        for item in found:
            name = prefix + item.name
            is_folder = item.is_dir(follow_symlinks=False)
            if ignored(name, folder=is_folder):
                continue
            if is_folder:
                info = item.stat(follow_symlinks=False)
                yield Entry(name, "folder", 0, info.st_mode & 0o777, info.st_mtime_ns, "")
                yield from self._walk(item.path, name + "/", ignored)
            else:
                entry = self._entry(item.path, name)
                if entry is not None:
                    yield entry

    def _entry(self, path: str, name: str) -> Entry | None:
        try:
            info = os.lstat(path)
        except OSError:
            self.seen.setdefault(path, None)
            return None
        if modes.S_ISLNK(info.st_mode):
            # A link's own stat: `seen` compares by following, so the folder's stat stands for it.
            return Entry(name, "link", 0, 0o777, info.st_mtime_ns, os.readlink(path))
        if modes.S_ISDIR(info.st_mode):
            return None
        return self._file(path, name)

    def _file(self, path: str, name: str) -> Entry:
        for _ in range(3):
            before = self._look(path)
            info = os.stat(path)
            if not modes.S_ISREG(info.st_mode):
                raise RecipeError(f"'{path}' is not a file, a folder or a link")
            try:
                content = self._digest(path)
            except OSError as error:
                raise RecipeError(f"cannot read '{path}': {error.strerror}") from None
            after = _stat(path)
            if before == after:
                mode = info.st_mode & 0o777
                return Entry(name, "file", info.st_size, mode, info.st_mtime_ns, content)
            self.seen[path] = after
        raise RecipeError(f"'{path}' changes while it is read")

    def _digest(self, path: str) -> str:
        known, now = self._known(), _stat(path)
        row = known.get(path)
        if row is not None and now is not None and tuple(row[:4]) == now:
            return str(row[4])
        hashed = hashlib.sha256()
        with open(path, "rb") as file:
            while block := file.read(1 << 20):
                hashed.update(block)
        if now is not None and time.time() - max(now[0], now[1]) / 1e9 > _RACY:
            known[path] = [*now, hashed.hexdigest()]
            self._is_new = True
        return hashed.hexdigest()

    def _known(self) -> dict[str, list[Any]]:
        if self._digests is None:
            value = read_json(self._cache, version=_FORMAT) or {}
            rows = value.get("digests", {})
            ok = isinstance(rows, dict)
            self._digests = {p: r for p, r in rows.items() if len(r) == 5} if ok else {}  # noqa: PLR2004
        return self._digests

    def _git_names(self, root: Path) -> list[str] | None:
        """Return the names that git tracks under ``root``; None where git cannot say."""
        if not root.is_dir():
            return None
        index = _git(root, "rev-parse", "--git-path", "index")
        listed = _git(root, "ls-files", "-z", "--cached", "--", ".")
        if index is None or listed is None:
            return None
        self._look(os.path.join(str(root), os.fsdecode(index).rstrip("\n")))
        return sorted({os.fsdecode(name) for name in listed.split(b"\0") if name})


def _git(folder: Path, *arguments: str) -> bytes | None:
    try:
        done = subprocess.run(
            ["git", *arguments],
            cwd=folder,
            capture_output=True,
            check=False,
            env={**os.environ, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
        )
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


def _stat(path: str) -> Stat | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)


class _Matcher:
    """Says whether a name is ignored, by gitignore rules."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._spec: Any = None
        if patterns:
            from pathspec import GitIgnoreSpec

            self._spec = GitIgnoreSpec.from_lines(patterns)

    def __call__(self, name: str, *, folder: bool) -> bool:
        if self._spec is None:
            return False
        return bool(self._spec.match_file(name + "/" if folder else name))


_matcher = _Matcher
