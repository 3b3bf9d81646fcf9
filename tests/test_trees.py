"""Trees are told apart by names and contents alone, and what was read is known to have changed."""

from __future__ import annotations

import json
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zuka.errors import RecipeError
from zuka.trees import Entry, Reader, Tree

ODD_NAMES = [
    "new\nline",
    "-rf",
    "数字",
    "a b",
    "'\"",
    "$HOME",
    "*",
    "end\n",
    "\udcff\udcfe",
    "\\n",
    "#",
]
NAMES = st.one_of(
    st.sampled_from([*ODD_NAMES, "a", "b", "a.b", "a-b"]),
    st.binary(min_size=1, max_size=6).map(lambda raw: os.fsdecode(raw.translate(None, b"/\0"))),
).filter(lambda name: name not in ("", ".", ".."))
if sys.platform == "darwin":  # its file system takes valid text alone, and knows no case
    NAMES = st.text("abc -\n数字", min_size=1, max_size=4)
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
FILES = st.dictionaries(PATHS, st.binary(), max_size=6)


def reader(folder: Path) -> Reader:
    """Return a reader that remembers what the ones before it read."""
    return Reader(folder, folder.parent / f"{folder.name}.cache")


def names(tree: Tree) -> list[str]:
    """Return the names of a tree."""
    return [entry.name for entry in tree.entries]


def set_link(path: Path, text: str) -> None:
    """Put a link where a file or a link is."""
    path.unlink()
    path.symlink_to(text)


def write(root: Path, files: dict[str, bytes]) -> dict[str, bytes]:
    """Write files; return those whose name was not taken by a folder or a file."""
    written = {}
    for name, content in files.items():
        try:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(content)
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            continue
        written[name] = content
    return written


def grow_old() -> None:
    """Wait until files are old enough for the cache; a ctime cannot be set."""
    time.sleep(2.1)


def git(folder: Path, *arguments: str) -> None:
    """Run git as nobody in particular."""
    values = ("user.name=n", "user.email=n@example.org", "protocol.file.allow=always")
    options = [option for value in values for option in ("-c", value)]
    subprocess.run(["git", *options, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a repository in which a file and a folder are tracked."""
    made = tmp_path / "repository"
    write(made, {"train.py": b"1", "net/model.py": b"2", ".gitignore": b"*.log\n"})
    git(made, "init")
    git(made, "add", ".")
    return made


# -- what a tree is


def test_every_kind_of_entry(tmp_path: Path) -> None:
    """Files, links and folders, empty ones too, are entries; links are not followed."""
    root = tmp_path / "data"
    write(root, {"b": b"text", "sub/c": b""})
    (root / "empty").mkdir()
    (root / "a").symlink_to("/nowhere\n")
    (root / "z").symlink_to("sub")
    tree = reader(tmp_path).tree("data")

    kinds = [(e.name, e.kind, e.size) for e in tree.entries]
    assert [
        ("a", "link", 0),
        ("b", "file", 4),
        ("empty", "folder", 0),
        ("sub", "folder", 0),
        ("sub/c", "file", 0),
        ("z", "link", 0),
    ] == kinds
    assert ("/nowhere\n", "sub") == (tree.entries[0].digest, tree.entries[-1].digest)
    assert ("data (2 files, 4 B)", 2, 4) == (str(tree), tree.count, tree.size)


def test_one_file_is_a_tree(tmp_path: Path) -> None:
    """A file as a source lies in the folder above it."""
    write(tmp_path, {"data/a.bin": b"x", "data/other": b"y"})
    tree = reader(tmp_path).tree("data/a.bin")

    assert (tmp_path / "data", ["a.bin"]) == (tree.root, names(tree))


def test_a_link_as_a_source_is_followed_once(tmp_path: Path) -> None:
    """What the recipe names may be a link to a folder elsewhere."""
    write(tmp_path, {"real/a": b"x"})
    (tmp_path / "data").symlink_to("real")
    one = reader(tmp_path)

    assert reader(tmp_path).tree("real").digest == one.tree("data").digest
    write(tmp_path, {"other/a": b"x"})
    set_link(tmp_path / "data", "other")
    assert [str(tmp_path / "data"), str(tmp_path / "data" / "a")] == one.fresh()


def test_an_absolute_path_is_taken_as_it_is(tmp_path: Path) -> None:
    """Data may lie outside the project."""
    write(tmp_path, {"project/x": b"", "data/a": b"x"})

    assert ["a"] == names(reader(tmp_path / "project").tree(str(tmp_path / "data")))


@settings(max_examples=60, deadline=None)
@given(files=FILES)
def test_names_are_kept_as_they_are(files: dict[str, bytes]) -> None:
    """Newlines, dashes, Chinese and bytes that are no text come back from the disk unchanged."""
    with tempfile.TemporaryDirectory() as where:
        root = Path(where) / "data"
        root.mkdir()
        written = write(root, files)
        one = reader(root)
        tree = one.tree(".")
        one.save()

        found = {e.name: (root / e.name).read_bytes() for e in tree.entries if e.kind == "file"}
        assert written == found
        assert tree.entries == reader(root).tree(".").entries
        assert [] == one.fresh()


# -- the digest

ENTRIES = st.lists(
    st.builds(
        Entry,
        NAMES,
        st.sampled_from(["file", "link", "folder"]),
        st.just(1),
        st.sampled_from([0o644, 0o755]),
        st.integers(0, 9),
        st.sampled_from(["", "x", "y"]),
    ),
    max_size=5,
    unique_by=lambda entry: entry.name,
)


@given(entries=ENTRIES, moved=st.randoms(use_true_random=False))
def test_digest_ignores_times_and_order(entries: list[Entry], moved: random.Random) -> None:
    """The same content has the same digest, wherever, whenever and however it was listed."""
    later = [replace(entry, mtime_ns=entry.mtime_ns + 1) for entry in entries]
    moved.shuffle(later)

    one, two = Tree(Path("a"), tuple(entries)), Tree(Path("b"), tuple(later))
    assert one.digest == two.digest


def facts(entries: list[Entry]) -> set[tuple[object, ...]]:
    """Return what a digest is made from."""
    return {(e.name, e.kind, e.kind == "file" and e.mode == 0o755, e.digest) for e in entries}


@given(one=ENTRIES, two=ENTRIES)
def test_digest_ignores_nothing_else(one: list[Entry], two: list[Entry]) -> None:
    """Trees that differ in a name, a kind, an executable bit or a content differ in digest."""
    same = Tree(Path(), tuple(one)).digest == Tree(Path(), tuple(two)).digest

    assert (facts(one) == facts(two)) == same


CHANGES: dict[str, Callable[[Path], object]] = {
    "content": lambda root: (root / "a").write_bytes(b"2"),
    "added": lambda root: (root / "c").write_bytes(b""),
    "removed": lambda root: (root / "a").unlink(),
    "renamed": lambda root: (root / "a").rename(root / "c"),
    "moved": lambda root: (root / "a").rename(root / "b" / "a"),
    "executable": lambda root: (root / "a").chmod(0o755),
    "empty folder": lambda root: (root / "c").mkdir(),
    "link": lambda root: set_link(root / "l", "b"),
    "link for a file": lambda root: set_link(root / "a", "a"),
    "content under the old time": lambda root: write_with_old_time(root / "a"),
}


def write_with_old_time(path: Path) -> None:
    """Change a byte, and neither size nor modification time."""
    path.write_bytes(b"2")
    os.utime(path, ns=(0, 0))


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_change_shows(tmp_path: Path, change: Callable[[Path], object]) -> None:
    """Every change gives another digest, and is noticed by stats alone."""
    root = tmp_path / "data"
    write(root, {"a": b"1", "b/x": b"1"})
    (root / "l").symlink_to("a")
    os.utime(root / "a", ns=(0, 0))
    one = reader(tmp_path)
    before = one.tree("data").digest
    one.save()
    change(root)

    assert before != reader(tmp_path).tree("data").digest
    assert [] != one.fresh()
    assert before == one.tree("data").digest  # what this survey stands on


def test_touched_is_not_changed(tmp_path: Path) -> None:
    """A new time is noticed, and makes no other digest."""
    write(tmp_path, {"data/a": b"1"})
    one = reader(tmp_path)
    before = one.tree("data").digest
    os.utime(tmp_path / "data" / "a", ns=(1, 1))

    assert [str(tmp_path / "data" / "a")] == one.fresh()
    assert before == reader(tmp_path).tree("data").digest


def test_no_change_is_too_quick(tmp_path: Path) -> None:
    """A write, or a new name, right after the reading shows, though the clock ticks slowly."""
    file = tmp_path / "data" / "a"
    write(tmp_path, {"data/a": b"0000"})
    for turn in range(40):
        file.write_bytes(b"%04d" % turn)
        one = reader(tmp_path)
        one.tree("data")
        file.write_bytes(b"%04d" % (turn + 1))
        assert [str(file)] == one.fresh()
        folder = reader(tmp_path)
        folder.tree("data")
        (tmp_path / "data" / f"new{turn}").touch()
        assert str(tmp_path / "data") in folder.fresh()


# -- what cannot be read


def refused(do: Callable[[], object]) -> str:
    """Return the message of the RecipeError that must come."""
    with pytest.raises(RecipeError) as caught:
        do()
    return str(caught.value)


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    """A path that is not there is an error of the recipe, and is noticed when it comes."""
    (tmp_path / "loose").symlink_to("nowhere")
    write(tmp_path, {"file": b""})
    one = reader(tmp_path)
    ways: list[Callable[[str], object]] = [one.tree, one.tracked, one.text]
    for path in ("nowhere", "loose", "file/below", "a\0b"):
        for read in ways:
            assert f"no such file or folder: '{path}'" == refused(partial(read, path))

    (tmp_path / "nowhere").mkdir()
    assert [str(tmp_path / "nowhere"), str(tmp_path / "loose")] == one.fresh()


def test_odd_files_are_named(tmp_path: Path) -> None:
    """Pipes, sockets and devices are never opened."""
    write(tmp_path, {"data/a": b""})
    os.mkfifo(tmp_path / "data" / "pipe\n")
    message = refused(lambda: reader(tmp_path).tree("data"))
    assert "'data/pipe?' is a pipe, not a file, folder or link" == message
    assert "it is not a file" in refused(lambda: reader(tmp_path).text("data/pipe\n"))
    assert ["a"] == names(reader(tmp_path).tree("data", ignore=["pipe*"]))

    with tempfile.TemporaryDirectory() as short, socket.socket(socket.AF_UNIX) as made:
        made.bind(f"{short}/s")
        assert "'s' is a socket" in refused(lambda: reader(Path(short)).tree("s"))
    assert "'/dev/null' is a device" in refused(lambda: reader(tmp_path).tree("/dev/null"))


def test_what_may_not_be_read_is_named(tmp_path: Path) -> None:
    """A file without permission is an error, and none when it is ignored."""
    write(tmp_path, {"data/secret": b"", "data/a": b""})
    (tmp_path / "data" / "secret").chmod(0)
    if os.access(tmp_path / "data" / "secret", os.R_OK):
        pytest.skip("root may read everything")
    message = refused(lambda: reader(tmp_path).tree("data"))

    assert "cannot read 'data/secret': Permission denied" == message
    assert ["a"] == names(reader(tmp_path).tree("data", ignore=["secret"]))


def test_text_must_be_text(tmp_path: Path) -> None:
    """A text file is read as UTF-8."""
    write(tmp_path, {"good": "数字\n".encode(), "bad": b"\xff"})

    assert "数字\n" == reader(tmp_path).text("good")
    message = refused(lambda: reader(tmp_path).text("bad"))
    assert "cannot read 'bad': it is not UTF-8 text" == message


def test_a_loop_of_links_is_an_error(tmp_path: Path) -> None:
    """A link to itself cannot be followed."""
    (tmp_path / "loop").symlink_to("loop")

    assert "cannot read 'loop': " in refused(lambda: reader(tmp_path).tree("loop"))


NOISE = """
import sys
with open(sys.argv[1], "ab", 0) as file:
    while True:
        file.truncate(0)
        file.write(b"1")
"""


def test_a_file_that_changes_all_the_time(tmp_path: Path) -> None:
    """A file that is never the same before and after it is read has no digest."""
    write(tmp_path, {"data/log": b"0" * 1000})
    noisy = subprocess.Popen([sys.executable, "-c", NOISE, str(tmp_path / "data" / "log")])
    try:
        deadline = time.monotonic() + 10
        while (tmp_path / "data" / "log").stat().st_size == 1000 and time.monotonic() < deadline:
            time.sleep(0.01)
        message = refused(lambda: reader(tmp_path).tree("data"))
    finally:
        noisy.kill()
        noisy.wait()

    assert "'data/log' changes while it is read" == message


# -- the cache


@pytest.fixture
def cached(tmp_path: Path) -> Path:
    """Return a project whose one file is in the cache of digests."""
    root = tmp_path / "project"
    write(root, {"a": b"1"})
    grow_old()
    one = reader(root)
    one.tree(".")
    one.save()
    return root


def test_known_files_are_not_read_again(cached: Path) -> None:
    """The digest of a file that has not changed comes from the cache; a changed file is read."""
    cache = cached.parent / "project.cache"
    value = json.loads(cache.read_bytes())
    value["digests"][str(cached / "a")][4] = "f" * 64
    cache.write_text(json.dumps(value))
    assert "f" * 64 == reader(cached).tree(".").entries[0].digest

    times = (cached / "a").stat()
    (cached / "a").write_bytes(b"2")
    os.utime(cached / "a", ns=(times.st_atime_ns, times.st_mtime_ns))
    assert "f" * 64 != reader(cached).tree(".").entries[0].digest


def test_young_files_are_not_kept(tmp_path: Path) -> None:
    """A file that changed a moment ago is read again the next time."""
    write(tmp_path / "p", {"a": b"1"})
    one = reader(tmp_path / "p")
    one.tree(".")
    one.save()

    assert not (tmp_path / "p.cache").exists()


def test_files_that_are_gone_leave_the_cache(cached: Path) -> None:
    """The cache does not grow for ever."""
    cache = cached.parent / "project.cache"
    (cached / "a").rename(cached / "b")
    grow_old()
    one = reader(cached)
    one.tree(".")
    one.save()

    assert [str(cached / "b")] == list(json.loads(cache.read_bytes())["digests"])


BROKEN = [
    b"",
    b"[]",
    b"{",
    b"\xff",
    b'{"format": 1}',
    b'{"format": 9, "digests": {"x": 1}}',
    b'{"format": 1, "digests": [1]}',
    b'{"format": 1, "digests": {"PATH": 1}}',
    b'{"format": 1, "digests": {"PATH": [1, 2, 3, 4, null]}}',
    b'{"format": 1, "digests": {"PATH": [1, 2, 3, 4, "short"]}}',
]


@pytest.mark.parametrize("content", BROKEN)
def test_a_broken_cache_is_an_empty_one(tmp_path: Path, content: bytes) -> None:
    """Whatever lies where the cache should be, the digests are right."""
    write(tmp_path / "p", {"a": b"1"})
    good = reader(tmp_path / "p").tree(".").digest
    path = os.fsencode(tmp_path / "p" / "a")
    (tmp_path / "p.cache").write_bytes(content.replace(b"PATH", path))

    assert good == reader(tmp_path / "p").tree(".").digest


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    """The cache saves time, and nothing else."""
    write(tmp_path, {"p/a": b"1", "in-the-way": b""})
    grow_old()
    one = Reader(tmp_path / "p", tmp_path / "in-the-way" / "cache")
    one.tree(".")
    one.save()

    assert b"" == (tmp_path / "in-the-way").read_bytes()


# -- what is ignored


def test_ignored_folders_are_not_entered(tmp_path: Path) -> None:
    """What is ignored is not even looked at."""
    write(tmp_path / "p", {"a": b"", "raw/x": b"", "deep/raw/y": b"", "deep/raw.txt": b""})
    os.mkfifo(tmp_path / "p" / "raw" / "pipe")
    one = reader(tmp_path / "p")

    assert ["a", "deep", "deep/raw.txt"] == names(one.tree(".", ignore=["raw/"]))
    assert [] == [path for path in one.seen if "/raw/" in path or path.endswith("/raw")]


PATTERNS = st.lists(
    st.sampled_from(
        ["a", "/a", "b/", "*.b", "!a", "!a.b", "**/b", "a/**", "/a/*", "!/a/b/a", "[a", "#x", ""]
    ),
    max_size=4,
)


@settings(max_examples=60, deadline=None)
@given(files=FILES, patterns=PATTERNS)
def test_ignored_before_or_after_is_the_same(files: dict[str, bytes], patterns: list[str]) -> None:
    """Patterns leave the same tree, given while it is read or afterwards."""
    with tempfile.TemporaryDirectory() as where:
        root = Path(where) / "data"
        root.mkdir()
        write(root, files)
        one = reader(root)

        assert one.tree(".", ignore=patterns).entries == one.tree(".").without(patterns).entries


@pytest.mark.parametrize(
    ("patterns", "left"),
    [
        (["a"], ["a\n", "b", "b/x.md", "n\n", "n\n/c"]),
        (["*.md"], ["a", "a\n", "b", "n\n", "n\n/a", "n\n/c"]),
        (["b"], ["a", "a\n", "n\n", "n\n/a", "n\n/c"]),
        (["n?"], ["a", "a\n", "b", "b/x.md"]),
        (["*", "!a"], ["a"]),
        (["/b/*", "!/b/x.md"], ["a", "a\n", "b", "b/x.md", "n\n", "n\n/a", "n\n/c"]),
        (["b", "!b/x.md"], ["a", "a\n", "n\n", "n\n/a", "n\n/c"]),
    ],
)
def test_patterns_are_gits(tmp_path: Path, patterns: list[str], left: list[str]) -> None:
    """Patterns mean what they mean to git, also for names with a newline."""
    write(tmp_path / "p", {"a": b"", "a\n": b"", "b/x.md": b"", "n\n/a": b"", "n\n/c": b""})

    assert left == names(reader(tmp_path / "p").tree(".", ignore=patterns))


def test_nothing_comes_back_into_an_ignored_folder(tmp_path: Path) -> None:
    """As with git, a file cannot be kept when a folder above it is ignored."""
    write(tmp_path / "p", {"d/e/f": b""})
    one, patterns = reader(tmp_path / "p"), ["/d/*", "!/d/e/f"]

    assert ["d"] == names(one.tree(".", ignore=patterns)) == names(one.tree(".").without(patterns))


def test_a_pattern_that_is_none_is_an_error(tmp_path: Path) -> None:
    """A pattern without a meaning is an error of the recipe."""
    write(tmp_path, {"a": b""})

    assert "not a gitignore pattern" in refused(lambda: reader(tmp_path).tree(".", ignore=["!"]))


# -- what git tracks


def test_tracked_is_the_working_tree(repository: Path) -> None:
    """Changes that are not committed count; what is not added does not, nor what is deleted."""
    one = reader(repository)
    assert [".gitignore", "net/model.py", "train.py"] == names(one.tracked("."))
    write(repository, {"train.py": b"changed", "new.py": b"", "x.log": b"", "net/model.py": b"3"})
    before = reader(repository).tracked("train.py").digest
    (repository / "net" / "model.py").unlink()
    two = reader(repository)

    assert [".gitignore", "train.py"] == names(two.tracked("."))
    assert before == two.tree("train.py").digest
    assert [] == two.fresh()
    write(repository, {"net/model.py": b"back"})
    assert [str(repository / "net" / "model.py")] == two.fresh()


def test_tracked_below_the_top(repository: Path) -> None:
    """A folder of a repository has names of its own."""
    assert ["model.py"] == names(reader(repository).tracked("net"))
    assert ["model.py"] == names(reader(repository / "net").tracked("."))


def test_an_added_file_is_noticed(repository: Path) -> None:
    """`git add` changes nothing but the index, and that is looked at."""
    write(repository, {"new.py": b""})
    one = reader(repository)
    one.tracked(".")
    git(repository, "add", "new.py")

    assert [str(repository / ".git" / "index")] == one.fresh()
    assert "new.py" in names(reader(repository).tracked("."))


@pytest.mark.skipif(sys.platform == "darwin", reason="its names are text")
def test_odd_names_are_tracked(repository: Path) -> None:
    """Names come as they are, without the quotes that git puts around them."""
    write(repository, dict.fromkeys(ODD_NAMES, b""))
    git(repository, "add", ".")
    tree = reader(repository).tracked(".").without([".gitignore", "net", "train.py"])

    assert sorted(ODD_NAMES) == names(tree)


def test_tracked_links_are_links(repository: Path) -> None:
    """A link is its text; another text is noticed; nothing behind a link to a folder counts."""
    (repository / "net" / "link").symlink_to("one")
    git(repository, "add", ".")
    one = reader(repository)
    assert ("link", "one") == (one.tracked(".").entries[1].kind, one.tracked(".").entries[1].digest)
    set_link(repository / "net" / "link", "two")
    assert [str(repository / "net")] == one.fresh()

    (repository / "net").rename(repository.parent / "away")
    (repository / "net").symlink_to(repository.parent / "away")
    assert [".gitignore", "train.py"] == names(reader(repository).tracked("."))


def test_submodules_are_left_out(repository: Path, tmp_path: Path) -> None:
    """A repository inside is not part of the code."""
    git(repository, "commit", "-m", "m")
    git(tmp_path, "init", "outer")
    git(tmp_path / "outer", "submodule", "add", str(repository), "sub")

    assert [".gitmodules"] == names(reader(tmp_path / "outer").tracked("."))


@pytest.mark.parametrize("without", ["repository", "program"])
def test_without_git_it_is_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, without: str
) -> None:
    """Where git cannot say what is tracked, all but the folders of tools is."""
    left_out = [".git/x", ".zuka/x", ".venv/x", "artifacts/x", "a/__pycache__/x"]
    write(tmp_path / "p", dict.fromkeys(["train.py", "a/b", ".env", *left_out], b""))
    if without == "program":
        shutil.rmtree(tmp_path / "p" / ".git")
        git(tmp_path / "p", "init")
        monkeypatch.setenv("PATH", str(tmp_path))

    assert [".env", "a", "a/b", "train.py"] == names(reader(tmp_path / "p").tracked("."))


def test_a_repository_made_later_is_noticed(tmp_path: Path) -> None:
    """`git init` above the code changes what belongs to it."""
    write(tmp_path, {"p/code/train.py": b""})
    one = reader(tmp_path / "p")
    one.tracked("code")
    git(tmp_path, "init")

    assert [str(tmp_path / ".git")] == one.fresh()


def test_nothing_tracked_is_an_error(repository: Path) -> None:
    """A training without its program would only fail later."""
    write(repository, {"other/train.py": b""})

    assert "git tracks nothing in 'other'\n  hint: git add what belongs" == refused(
        lambda: reader(repository).tracked("other")
    )


def test_a_broken_repository_is_an_error(repository: Path) -> None:
    """Where git fails, what it would have left out must not be sent."""
    (repository / ".git" / "index").write_bytes(b"broken")

    assert "git cannot list" in refused(lambda: reader(repository).tracked("."))


def test_the_variables_of_a_hook_do_not_count(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Inside a git hook of another repository, the project's own is asked."""
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_INDEX_FILE", "/nowhere/index")

    assert 3 == reader(repository).tracked(".").count
