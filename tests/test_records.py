"""Results are proved by their record, and never overwritten; dues outlive `.zuka/`."""

from __future__ import annotations

import hashlib
from pathlib import Path

from zuka.records import Dues, DuesFile, Record, publish, records, room_for
from zuka.trees import Reader


def results(shelf: Path, run: str, text: str, fingerprint: str) -> Record:
    """Publish one small set of results."""
    half = shelf / f".{run}.part"
    half.mkdir(parents=True)
    (half / "weights").write_text(text)
    files = {"weights": hashlib.sha256(text.encode()).hexdigest()}
    folder = room_for(shelf, run)
    return publish(half, Record(folder, fingerprint, run, files, {"at": 1.0}, Dues()))


def test_published_results_are_found_whole(tmp_path: Path) -> None:
    """A record proves the files beside it, and ``latest`` points at them."""
    shelf = tmp_path / "artifacts" / "train"
    results(shelf, "train-1", "a", "f1")
    reader = Reader(tmp_path, tmp_path / "cache.json")

    assert [("f1", "")] == [(r.fingerprint, r.damage(reader)) for r in records(shelf)]
    assert "train-1" == str((shelf / "latest").readlink())


def test_damage_is_named(tmp_path: Path) -> None:
    """A changed file and a missing one are told apart."""
    shelf = tmp_path / "shelf"
    record = results(shelf, "train-1", "a", "f1")
    (record.folder / "weights").write_text("b")
    assert "weights changed" == record.damage(Reader(tmp_path, tmp_path / "cache.json"))
    (record.folder / "weights").unlink()
    assert "weights missing" == record.damage(Reader(tmp_path, tmp_path / "cache.json"))


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    """A second set of results of the same run gets a name of its own."""
    first = results(tmp_path, "train-1", "a", "f1")
    second = results(tmp_path, "train-1", "a", "f1")

    assert ("train-1", "train-1-2") == (first.folder.name, second.folder.name)
    assert "a" == (first.folder / "weights").read_text()


def test_half_made_results_do_not_count(tmp_path: Path) -> None:
    """A folder with a dot in front was cut short, whatever lies in it."""
    results(tmp_path, "train-1", "a", "f1").folder.rename(tmp_path / ".train-1.part")

    assert [] == list(records(tmp_path))


def test_a_record_that_is_not_ours_is_left_out(tmp_path: Path) -> None:
    """Anything may be called run.json."""
    for number, text in enumerate(["", "[]", "{", '{"format": 1}', '{"format": 9}']):
        folder = tmp_path / f"run-{number}"
        folder.mkdir()
        (folder / "run.json").write_text(text)

    assert [] == list(records(tmp_path))


def test_dues_fall_back_on_the_results(tmp_path: Path) -> None:
    """Where `.zuka/` was deleted, the newest results say that the box is off."""
    file = DuesFile(tmp_path / "dues.json")
    off = Dues(off=True, done={"poweroff": "f"})
    assert off == file.read(off)
    file.write(Dues(used=True))

    assert Dues(used=True) == file.read(off)
