"""Local files are told by content; what was looked at is remembered exactly."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zuka.errors import RecipeError
from zuka.trees import Entry, Reader, Tree


def reader(folder: Path) -> Reader:
    """Return a reader of a project."""
    return Reader(folder, folder / ".cache.json")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return a project with some data."""
    (tmp_path / "data" / "deep").mkdir(parents=True)
    (tmp_path / "data" / "a").write_text("1")
    (tmp_path / "data" / "deep" / "b").write_text("2")
    return tmp_path


def test_digest_is_of_content_not_of_time(data: Path) -> None:
    """A touched file is the same, another content at the old time is not."""
    before = reader(data).tree("data").digest
    os.utime(data / "data" / "a")
    assert before == reader(data).tree("data").digest
    stat = (data / "data" / "a").stat()
    (data / "data" / "a").write_text("3")
    os.utime(data / "data" / "a", ns=(stat.st_atime_ns, stat.st_mtime_ns))

    assert before != reader(data).tree("data").digest


CHANGES = {
    "a file added": lambda d: (d / "c").write_text(""),
    "an empty folder added": lambda d: (d / "empty").mkdir(),
    "a file removed": lambda d: (d / "a").unlink(),
    "a file renamed": lambda d: (d / "a").rename(d / "z"),
    "a file moved": lambda d: (d / "a").rename(d / "deep" / "a"),
    "a file made executable": lambda d: (d / "a").chmod(0o755),
    "a file made a link": lambda d: ((d / "a").unlink(), (d / "a").symlink_to("deep/b")),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=list(CHANGES))
def test_every_change_shows(data: Path, change: object) -> None:
    """It shows in the digest, and in what the first reader saw."""
    first = reader(data)
    before = first.tree("data").digest
    assert [] == first.fresh()
    change(data / "data")  # type: ignore[operator]

    assert before != reader(data).tree("data").digest
    assert first.fresh()


ROWS = st.tuples(st.text(min_size=1), st.text())


@given(st.lists(ROWS, unique_by=lambda row: row[0], max_size=6))
def test_digest_takes_nothing_for_something_else(rows: list[tuple[str, str]]) -> None:
    """Names and contents that run together in another way make another digest."""
    entries = tuple(Entry(name, "file", 0, 0o644, 0, text) for name, text in rows)
    joined = tuple(Entry(name + text, "file", 0, 0o644, 0, "") for name, text in rows)
    times = tuple(Entry(name, "file", 0, 0o644, 9, text) for name, text in rows)
    tree = Tree(Path(), entries)

    assert tree.digest == Tree(Path("elsewhere"), times).digest
    assert (tree.digest == Tree(Path(), joined).digest) == (entries == joined)


def test_odd_names_are_kept(tmp_path: Path) -> None:
    """Names are bytes: newlines, dashes and broken UTF-8 are names."""
    for name in (b"-rf", b"a\nb", b"\xff\xfe", "训练".encode(), b" "):
        (tmp_path / "data").mkdir(exist_ok=True)
        with open(os.path.join(os.fsencode(tmp_path / "data"), name), "w") as file:  # noqa: PTH118, PTH123
            file.write("x")
    names = {os.fsencode(entry.name) for entry in reader(tmp_path).tree("data").entries}

    assert {b"-rf", b"a\nb", b"\xff\xfe", "训练".encode(), b" "} == names


def test_ignored_files_are_not_even_read(data: Path) -> None:
    """What the rules of .gitignore match is not there."""
    (data / "data" / "secret").write_text("x")
    (data / "data" / "secret").chmod(0)
    found = reader(data)
    tree = found.tree("data", ignore=["secret", "deep/"])

    assert ["a"] == [entry.name for entry in tree.entries]
    assert str(data / "data" / "secret") not in found.seen


def test_a_fifo_is_refused_by_name(data: Path) -> None:
    """Reading it would wait for ever."""
    os.mkfifo(data / "data" / "pipe")
    with pytest.raises(RecipeError, match="pipe' is not a file, a folder or a link"):
        reader(data).tree("data")


def test_missing_things_are_named(data: Path) -> None:
    """A mistyped path is no traceback."""
    with pytest.raises(RecipeError, match="no such file or folder: 'dota'"):
        reader(data).tree("dota")
    with pytest.raises(RecipeError, match="cannot read 'dota'"):
        reader(data).text("dota")


def test_digests_are_remembered_by_stat(data: Path) -> None:
    """A second reader hashes nothing that has not changed."""
    old = time.time() - 60
    for path in (data / "data").rglob("*"):
        os.utime(path, (old, old))
    time.sleep(2.1)  # what has just changed is not trusted
    first = reader(data)
    first.tree("data")
    first.save()
    assert (data / ".cache.json").exists()
    second = reader(data)
    second.tree("data")
    assert not second._is_new
    (data / ".cache.json").write_text("{torn")

    assert 2 == reader(data).tree("data").count


def test_tracked_is_what_git_tracks(data: Path) -> None:
    """Files in the index, as they are in the folder; others stay."""
    subprocess.run(["git", "init", "-q"], cwd=data, check=True)
    (data / "train.py").write_text("old")
    subprocess.run(["git", "add", "train.py", "data/a"], cwd=data, check=True)
    (data / "train.py").write_text("new")
    first = reader(data)
    names = [entry.name for entry in first.tracked(".").entries]
    assert ["data/a", "train.py"] == names
    assert ["a"] == [entry.name for entry in reader(data).tracked("data").entries]
    subprocess.run(["git", "add", "data/deep/b"], cwd=data, check=True)

    assert first.fresh(), "the index is looked at"
    (data / "train.py").unlink()
    assert ["data/a", "data/deep/b"] == [e.name for e in reader(data).tracked(".").entries]
