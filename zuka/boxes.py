"""The boxes met: their identity, so that a stranger at a known address is noticed."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from zuka.errors import HostError
from zuka.store import read_json, write_json

_FORMAT = 1


@dataclass(frozen=True, slots=True)
class BoxId:
    """Who answered: the random id in zuka's folder there, and this boot of it."""

    id: str | None
    boot: str = ""


@dataclass(frozen=True, slots=True)
class Boxes:
    """One small file a machine, in the project's ``.zuka/boxes``."""

    folder: Path

    def _path(self, machine: str) -> Path:
        return self.folder / f"{machine}.json"

    def known(self, machine: str) -> str | None:
        """Return the id of the box last used under this name."""
        value = read_json(self._path(machine), version=_FORMAT)
        return str(value["id"]) if value and value.get("id") else None

    def check(self, machine: str, met: BoxId) -> None:
        """Raise HostError when another box than the known one answers."""
        known = self.known(machine)
        if known and met.id and known != met.id:
            raise HostError(
                f"another box answers for '{machine}': its id is {met.id}, not {known};"
                " nothing was sent",
                hint=f"if you rented a new one: zuka rebind {machine}",
            )

    def remember(self, machine: str, met: BoxId) -> None:
        """Write down the box that was used."""
        if met.id and met.id != self.known(machine):
            facts = {"format": _FORMAT, "id": met.id, "boot": met.boot, "since": time.time()}
            write_json(self._path(machine), facts)

    def forget(self, machine: str) -> None:
        """Forget the box; the next one that answers is taken for it."""
        self._path(machine).unlink(missing_ok=True)
