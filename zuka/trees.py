"""Local files as stages see them: what is there, by content, and what was looked at."""

from __future__ import annotations

import hashlib
import os
import stat as modes
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from zuka.errors import RecipeError
from zuka.git import git
from zuka.ignore import Matcher
from zuka.store import digest, read_json, write_whole

Stat = tuple[int, int, int, int]
"""(mtime_ns, ctime_ns, size, inode): what tells a file or folder from a changed one."""

_FORMAT = 1
_RACY = 2.0
"""Seconds; a file this young is hashed again next time: some disks count whole seconds."""
_TICK = 0.02
"""Seconds; two changes within one tick of the kernel's clock leave the same times."""
_TRIES = 3
_NOT_CODE = (".git", ".zuka", ".venv", "__pycache__", "artifacts")
"""Left out where git cannot say what belongs to the code."""
_ODD = {modes.S_IFIFO: "a pipe", modes.S_IFSOCK: "a socket"}


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
    """What lies under a folder, in the order of names: a folder before what is in it."""

    root: Path
    entries: tuple[Entry, ...]

    @cached_property
    def digest(self) -> str:
        """Return 64 hex digits over names, kinds, executable bits and contents; not times."""
        rows = [
            [e.name, e.kind, e.kind != "file" or bool(e.mode & 0o100), e.digest]
            for e in sorted(self.entries, key=_name)
        ]
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
        ignored = Matcher(patterns)
        kept = (e for e in self.entries if not ignored(e.name, folder=e.kind == "folder"))
        return Tree(self.root, tuple(kept))

    def __str__(self) -> str:
        """Return the tree as it is shown."""
        from zuka.shell import clean
        from zuka.ui import size

        return f"{clean(self.root.name)} ({self.count:,} files, {size(self.size)})"


class Reader:
    """
    Reads local files for one survey, and remembers every one that it looked at.

    ``seen`` maps each absolute path to its stat when it was read, None where it was not there;
    folders as well, so that an added or removed name shows. A tree is read once: whoever asks
    again gets what the survey stands on, and ``fresh`` tells whether that still holds.
    """

    def __init__(self, project: Path, cache: Path) -> None:
        self.project = project.absolute()
        self.seen: dict[str, Stat | None] = {}
        self._cache = cache
        self._trees: dict[tuple[str, tuple[str, ...] | None], Tree] = {}
        self._digests: dict[str, list[Any]] | None = None
        self._is_new = False

    def tree(self, path: str, *, ignore: Sequence[str] = ()) -> Tree:
        """Return the file or folder at ``path``; raise RecipeError when it cannot be read."""
        key = (path, tuple(ignore))
        if key not in self._trees:
            root = self.project / path
            info = self._look(str(root))
            if info is None:
                raise _missing(path)
            if modes.S_ISDIR(info.st_mode):
                self._trees[key] = _tree(root, self._walk(str(root), Matcher(ignore)))
            else:
                self._trees[key] = Tree(root.parent, (self._file(str(root), root.name),))
        return self._trees[key]

    def tracked(self, path: str) -> Tree:
        """
        Return what git tracks under ``path``, as it is in the working tree.

        Submodules are left out. Without git, it is all but hidden folders of tools and results.
        """
        key = (path, None)
        if key not in self._trees:
            root = self.project / path
            names = self._git_names(root) if root.is_dir() else None
            if names is None:
                return self.tree(path, ignore=_NOT_CODE)
            if not names:
                raise RecipeError(f"git tracks nothing in '{path}'", hint="git add what belongs")
            self._trees[key] = _tree(root, self._working(root, names))
        return self._trees[key]

    def text(self, path: str) -> str:
        """Return a text file; raise RecipeError when it cannot be read."""
        full = self.project / path
        info = self._look(str(full))
        if info is None:
            raise _missing(path)
        if not modes.S_ISREG(info.st_mode):
            raise RecipeError(f"cannot read '{path}': it is not a file")
        try:
            return full.read_text(encoding="utf-8")
        except OSError as error:
            raise RecipeError(f"cannot read '{path}': {error.strerror}") from None
        except UnicodeDecodeError:
            raise RecipeError(f"cannot read '{path}': it is not UTF-8 text") from None

    def fresh(self) -> list[str]:
        """Return the paths that are not as they were when they were read."""
        return [path for path, known in list(self.seen.items()) if _stat(path) != known]

    def save(self) -> None:
        """Keep the digests for the next reader."""
        if not self._is_new or self._digests is None:
            return
        import json

        kept = {p: row for p, row in self._digests.items() if p in self.seen or os.path.lexists(p)}
        text = json.dumps({"format": _FORMAT, "digests": kept}, separators=(",", ":"))
        with suppress(OSError):  # it only saves time
            write_whole(self._cache, text.encode())
            self._is_new = False

    # -- looking: before anything is read, so that a change meanwhile shows

    def _look(self, path: str) -> os.stat_result | None:
        """Remember how a path is, behind links; None: it is not there."""
        try:
            info = _settled(path)
        except (FileNotFoundError, NotADirectoryError, ValueError):
            self.seen.setdefault(path, None)
            return None
        except OSError as error:
            raise self._unreadable(path, error) from None
        self.seen.setdefault(path, _key(info))
        return info

    def _walk(self, root: str, ignored: Matcher) -> Iterator[Entry]:
        waiting = [(root, "")]
        while waiting:
            folder, prefix = waiting.pop()
            self._look(folder)
            try:
                found = list(os.scandir(folder))
            except OSError as error:
                raise self._unreadable(folder, error) from None
            for item in found:
                name = prefix + item.name
                if ignored(name, folder=item.is_dir(follow_symlinks=False)):
                    continue
                entry = self._entry(item.path, name)
                if entry is not None:
                    yield entry
                    if entry.kind == "folder":
                        waiting.append((item.path, name + "/"))

    def _working(self, root: Path, names: Iterable[str]) -> Iterator[Entry]:
        """Yield what the working tree has of the tracked names."""
        linked: dict[str, bool] = {"": False}
        for name in names:
            path = f"{root}/{name}"
            if self._is_linked(str(root), name.rpartition("/")[0], linked):
                continue  # to git, a file behind a link to a folder is deleted
            entry = self._entry(path, name)
            if entry is None or entry.kind == "folder":
                continue
            if entry.kind == "link":
                self._look(os.path.dirname(path))  # `seen` is behind links: this tells a new text
            yield entry

    def _is_linked(self, root: str, folder: str, known: dict[str, bool]) -> bool:
        if folder not in known:
            above = self._is_linked(root, folder.rpartition("/")[0], known)
            known[folder] = above or os.path.islink(f"{root}/{folder}")
            if known[folder]:
                self._look(os.path.dirname(f"{root}/{folder}"))
        return known[folder]

    def _entry(self, path: str, name: str) -> Entry | None:
        """Return what is at a path; None when it is gone."""
        try:
            info = os.lstat(path)
            if modes.S_ISLNK(info.st_mode):
                return Entry(name, "link", 0, 0o777, info.st_mtime_ns, os.readlink(path))
        except (FileNotFoundError, NotADirectoryError):
            self.seen.setdefault(path, None)
            return None
        except OSError as error:
            raise self._unreadable(path, error) from None
        if modes.S_ISDIR(info.st_mode):
            return Entry(name, "folder", 0, info.st_mode & 0o777, info.st_mtime_ns, "")
        return self._file(path, name)

    # -- contents

    def _file(self, path: str, name: str) -> Entry:
        for _ in range(_TRIES):
            try:
                info = _settled(path)
                content = self._digest(path, info) if modes.S_ISREG(info.st_mode) else ""
            except OSError as error:
                raise self._unreadable(path, error) from None
            if content == "":
                what = _ODD.get(modes.S_IFMT(info.st_mode), "a device")
                raise RecipeError(f"'{self._named(path)}' is {what}, not a file, folder or link")
            if content:
                self.seen.setdefault(path, _key(info))
                mode = info.st_mode & 0o777
                return Entry(name, "file", info.st_size, mode, info.st_mtime_ns, content)
        raise RecipeError(f"'{self._named(path)}' changes while it is read")

    def _digest(self, path: str, info: os.stat_result) -> str | None:
        """Return the digest of a file's content; None when it is not as in ``info`` any more."""
        known, key, began = self._known(), _key(info), time.time()
        row = known.get(path)
        if row is not None and tuple(row[:4]) == key:
            return str(row[4])
        hashed = hashlib.sha256()
        with open(path, "rb") as file:
            if _key(os.fstat(file.fileno())) != key:
                return None
            while block := file.read(1 << 20):
                hashed.update(block)
            if _key(os.fstat(file.fileno())) != key:
                return None
        if all(abs(began - moment / 1e9) > _RACY for moment in key[:2]):
            known[path] = [*key, hashed.hexdigest()]
            self._is_new = True
        return hashed.hexdigest()

    def _known(self) -> dict[str, list[Any]]:
        if self._digests is None:
            value = read_json(self._cache, version=_FORMAT) or {}
            rows = value.get("digests")
            rows = rows.items() if isinstance(rows, dict) else ()
            self._digests = {path: row for path, row in rows if _is_row(row)}
        return self._digests

    # -- git

    def _git_names(self, root: Path) -> list[str] | None:
        """Return the names that git tracks under ``root``; None where there is no git."""
        real = Path(os.path.realpath(root))
        for folder in (real, *real.parents):
            mark = str(folder / ".git")
            if os.path.lexists(mark):
                break
            self.seen.setdefault(mark, None)  # a repository made later changes the answer
        index = git(root, "rev-parse", "--git-path", "index")
        if index is None:
            return None
        self._look(os.path.join(root, os.fsdecode(index.removesuffix(b"\n"))))
        listed = git(root, "ls-files", "-z", "--cached", "--", ".") or b""
        return sorted({os.fsdecode(name) for name in listed.split(b"\0") if name})

    # -- words

    def _named(self, path: str) -> str:
        from zuka.shell import clean

        return clean(path.removeprefix(f"{self.project}/"))

    def _unreadable(self, path: str, error: OSError) -> RecipeError:
        return RecipeError(f"cannot read '{self._named(path)}': {error.strerror}")


def _missing(path: str) -> RecipeError:
    return RecipeError(f"no such file or folder: '{path}'")


def _tree(root: Path, entries: Iterable[Entry]) -> Tree:
    return Tree(root, tuple(sorted(entries, key=_name)))


def _name(entry: Entry) -> str:
    return entry.name


def _is_row(row: object) -> bool:
    match row:
        case [int(), int(), int(), int(), str(text)]:
            return len(text) == hashlib.sha256().digest_size * 2
        case _:
            return False


def _key(info: os.stat_result) -> Stat:
    return (info.st_mtime_ns, info.st_ctime_ns, info.st_size, info.st_ino)


def _stat(path: str) -> Stat | None:
    try:
        return _key(os.stat(path))
    except (OSError, ValueError):
        return None


def _settled(path: str) -> os.stat_result:
    """Return a path's stat once it is so old that the next change must show in it."""
    for _ in range(_TRIES):
        info = os.stat(path)
        age = time.time() - info.st_ctime_ns / 1e9
        if not 0 <= age < _TICK:
            break
        time.sleep(_TICK - age)
    return info
