"""The boxes met: their identity, so that a stranger at a known address is noticed."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from zuka.errors import StrangerError
from zuka.store import read_json, write_json

_FORMAT = 1


def stranger(machine: str, ids: str = "") -> StrangerError:
    """Return the error for a box that is not the known one."""
    return StrangerError.of("access", "stranger", machine=machine, ids=ids)


@dataclass(frozen=True, slots=True)
class BoxId:
    """Who answered: the random id in zuka's folder there, this boot of it, its host name."""

    id: str | None
    boot: str = ""
    host: str = ""
    """In a container, the container's own id."""


@dataclass(frozen=True, slots=True)
class Boxes:
    """One small file a machine, in the project's ``.zuka/boxes``."""

    folder: Path

    def path(self, machine: str) -> Path:
        """Return the file of the box under this name."""
        return self.folder / f"{machine}.json"

    def names(self) -> list[str]:
        """Return the names under which boxes were met."""
        return sorted(path.stem for path in self.folder.glob("*.json"))

    def known(self, machine: str) -> str | None:
        """Return the id of the box last used under this name."""
        found = self._read(machine).get("id")
        return str(found) if found else None

    def is_rebound(self, machine: str) -> bool:
        """Tell whether the user said that another box may answer under this name."""
        return bool(self._read(machine).get("rebound"))

    def facts(self, machine: str) -> dict[str, Any]:
        """Return all that is known of the box: id, boot, host, since (seconds since 1970)."""
        return {key: value for key, value in self._read(machine).items() if key != "format"}

    def _read(self, machine: str) -> dict[str, Any]:
        return read_json(self.path(machine), version=_FORMAT) or {}

    def check(self, machine: str, met: BoxId) -> None:
        """Raise StrangerError when another box than the known one answers."""
        value = self._read(machine)
        known = value.get("id")
        if known and met.id and known != met.id and not value.get("rebound"):
            raise stranger(machine, f" (id {met.id} ≠ {known})")

    def remember(self, machine: str, met: BoxId) -> None:
        """Write down the box that was used."""
        value = self._read(machine)
        same = all(value.get(name) == told for name, told in asdict(met).items())
        if met.id and (not same or value.get("rebound")):
            write_json(self.path(machine), {"format": _FORMAT, **asdict(met), "since": time.time()})

    def rebind(self, machine: str) -> None:
        """Take the next box that answers for this one; what is known of the old one is kept."""
        value = self._read(machine)
        if value.get("id"):
            write_json(self.path(machine), {**value, "rebound": True})
