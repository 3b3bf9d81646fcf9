"""The journal keeps every event through kills, and doit's memory is made of it."""

from __future__ import annotations

from pathlib import Path

from zuka.backend import Backend
from zuka.journal import Journal


def test_a_torn_line_costs_only_itself(tmp_path: Path) -> None:
    """A kill in the middle of a write loses that event and no other."""
    journal = Journal(tmp_path / "journal.jsonl")
    journal.add("done", "train:keys")
    with journal.path.open("ab") as file:
        file.write(b'{"event": "done", "task": "train:up')
    journal.add("done", "train:env")

    assert ["train:keys", "train:env"] == [event["task"] for event in journal.events()]


def test_compacting_keeps_the_newest_of_each(tmp_path: Path) -> None:
    """A large journal shrinks to the last event of each sort and task."""
    journal = Journal(tmp_path / "journal.jsonl")
    filler = "x" * 1000
    journal.path.write_text(
        "".join(
            f'{{"at": {n}, "event": "done", "task": "train:t{n % 3}", "filler": "{filler}"}}\n'
            for n in range(1100)
        )
    )
    journal.compact()

    assert {"train:t0": 1098, "train:t1": 1099, "train:t2": 1097} == {
        task: event["at"] for task, event in journal.last("done").items()
    }
    assert journal.path.stat().st_size < 10_000


def test_forget_and_ignore_last(tmp_path: Path) -> None:
    """What the user told doit is remembered by the next process; nothing else is."""
    path = tmp_path / "journal.jsonl"
    first = Backend(str(path))
    first.set("train:env", "ignore:", "1")
    first.set("train:env", "result:", "something")
    first.remove("train:fetch")
    second = Backend(str(path))

    assert "1" == second.get("train:env", "ignore:")
    assert second.get("train:env", "result:") is None
    assert not second.in_("train:env")
    assert ["train:fetch"] == list(Journal(path).last("forgotten"))
    second.remove("train:env")
    assert Backend(str(path)).get("train:env", "ignore:") is None
