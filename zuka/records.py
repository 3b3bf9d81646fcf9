"""The proofs that lie on the laptop: results that came home, and what a box is still owed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from zuka.store import read_json, sync_folder, write_json
from zuka.trees import Reader

_FORMAT = 1
RECORD = "run.json"
"""The record's name, in the folder of results that it proves."""


@dataclass(frozen=True, slots=True)
class Dues:
    """
    What a box is owed by one recipe after use.

    ``used``: a stage acted on the box, and not every finish stage has been done since.
    ``off``: the box was seen to be off, or is known to be gone; nothing is owed to it.
    ``done``: finish stages by name, with the fingerprint they were done for.
    ``box``: the id of the box; empty while it is not known.
    """

    used: bool = False
    off: bool = False
    done: Mapping[str, str] = field(default_factory=dict)
    box: str = ""

    def missing(self, stage: str, fingerprint: str) -> str:
        """Return why a finish stage is owed; empty when it is not."""
        if self.off or self.done.get(stage) == fingerprint:
            return ""
        return "owed to the box since it was used" if self.used else "not done for this recipe yet"


@dataclass(frozen=True, slots=True)
class Record:
    """One set of results: where it came from, and every file with its digest."""

    folder: Path
    fingerprint: str
    run: str
    files: Mapping[str, str]
    facts: Mapping[str, Any]
    dues: Dues

    def damage(self, reader: Reader) -> str:
        """Return what is no longer as recorded; empty when every file is."""
        here = {e.name: e.digest for e in reader.tree(str(self.folder)).entries if e.kind == "file"}
        gone = [name for name in self.files if name not in here]
        changed = [name for name in self.files if name in here and here[name] != self.files[name]]
        parts = [_some(gone, "missing"), _some(changed, "changed")]
        return ", ".join(part for part in parts if part)

    def write(self) -> None:
        """Write the record into its folder; from here on the results count."""
        facts = {
            "format": _FORMAT,
            "fingerprint": self.fingerprint,
            "run": self.run,
            "files": dict(self.files),
            "dues": asdict(self.dues),
            **self.facts,
        }
        write_json(self.folder / RECORD, facts)


def records(shelf: Path) -> Iterator[Record]:
    """Yield every record on a shelf, the newest first."""
    try:
        folders = sorted(shelf.iterdir(), key=lambda folder: folder.name)
    except OSError:
        return
    found = [_read(folder) for folder in folders if _is_published(folder)]
    whole = [record for record in found if record]
    yield from sorted(whole, key=lambda record: float(record.facts.get("at", 0)), reverse=True)


def _is_published(folder: Path) -> bool:
    """Tell results from half-made ones (a dot in front) and from the link ``latest``."""
    return folder.name[0] != "." and folder.is_dir() and not folder.is_symlink()


def _read(folder: Path) -> Record | None:
    value = read_json(folder / RECORD, version=_FORMAT)
    try:
        if value is None:
            return None
        known = {"format", "fingerprint", "run", "files", "dues"}
        return Record(
            folder,
            str(value["fingerprint"]),
            str(value["run"]),
            {str(name): str(digest) for name, digest in value["files"].items()},
            {name: fact for name, fact in value.items() if name not in known},
            Dues(**value["dues"]),
        )
    except (KeyError, TypeError, AttributeError):
        return None


def _some(names: list[str], what: str) -> str:
    if not names:
        return ""
    rest = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"{names[0]}{rest} {what}"


@dataclass(frozen=True, slots=True)
class DuesFile:
    """The dues of one recipe, in a file of the project."""

    path: Path

    def read(self, fallback: Dues | None) -> Dues:
        """Return the dues; those of the newest results stand in for a file that was deleted."""
        value = read_json(self.path, version=_FORMAT)
        if value is None:
            return fallback or Dues()
        try:
            done, box = dict(value["done"]), str(value.get("box", ""))
            return Dues(bool(value["used"]), bool(value["off"]), done, box)
        except (KeyError, TypeError, ValueError):
            return fallback or Dues()

    def write(self, dues: Dues) -> None:
        """Replace the dues."""
        write_json(self.path, {"format": _FORMAT, **asdict(dues)})


def room_for(shelf: Path, run: str) -> Path:
    """Return a folder for results that is not there yet: nothing is ever overwritten."""
    number = 1
    folder = shelf / run
    while os.path.lexists(folder):
        number += 1
        folder = shelf / f"{run}-{number}"
    return folder


def half_of(folder: Path) -> Path:
    """Return where results are brought together, with nothing there of a run that was killed."""
    half = folder.parent / f".{folder.name}.part"
    if half.is_dir() and not half.is_symlink():
        shutil.rmtree(half)
    else:
        half.unlink(missing_ok=True)
    return half


def publish(half: Path, record: Record) -> Record:
    """Give verified results their final name, with their record, and point ``latest`` at them."""
    replace(record, folder=half).write()
    shelf = record.folder.parent
    link = shelf / f".latest.{os.getpid()}.new"
    link.unlink(missing_ok=True)
    link.symlink_to(record.folder.name)
    # The link first: a kill in between leaves it dangling, and the next fetch takes this name.
    link.replace(shelf / "latest")
    half.rename(record.folder)
    sync_folder(shelf)
    return record
