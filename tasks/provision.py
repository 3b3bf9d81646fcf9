"""The provision kind: is this the box that was ordered? It looks, and changes nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from zuka.stage import Reply, Run, Site, Stage, State, Step

_GPU = """
if command -v timeout >/dev/null 2>&1; then limit='timeout 20'; else limit=; fi
$limit nvidia-smi --query-gpu=name,memory.total --format=csv,noheader,nounits
"""
_DISK = "df -Pk . | tail -n 1"
_PYTHON = "python3 -c 'import sys; print(\"%d.%d.%d\" % sys.version_info[:3])'"
_UNITS = {"kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}
_CARD = 0.05
"""A 24 GB card reports 24,564 MiB or 23,028 MiB: sizes are sold rounded."""


@dataclass(frozen=True)
class Provision(Stage):
    """Check that the box is as ordered: card, memory, disk, Python."""

    gpu: Mapping[str, Any] = field(default_factory=dict)
    disk: Mapping[str, Any] = field(default_factory=dict)
    python: str = ""

    def inputs(self, site: Site) -> State:
        return self._ordered()

    def lineage(self, inputs: State) -> State:
        return {}

    def desired(self, site: Site) -> State:
        return self._ordered()

    def _ordered(self) -> dict[str, str]:
        wanted = {f"gpu {key}": str(value) for key, value in self.gpu.items()}
        wanted |= {f"disk {key}": str(value) for key, value in self.disk.items()}
        return {**wanted, "python": self.python} if self.python else wanted

    def probe(self, site: Site) -> Sequence[Run]:
        return [
            Run(("sh", "-c", script if wanted else ":"), shown=what)
            for what, script, wanted in (
                ("which cards", _GPU, self.gpu),
                ("how much disk", _DISK, self.disk),
                ("which Python", _PYTHON, self.python),
            )
        ]

    def actual(self, site: Site, replies: Sequence[Reply]) -> State:
        """Echo what was ordered where it is met, else tell what was found."""
        cards = [line.rsplit(",", 1) for line in replies[0].out.splitlines() if "," in line]
        names = [name.strip() for name, _ in cards]
        memory = [_number(mib) * 1024 * 1024 for _, mib in cards]
        fields = replies[1].out.split()
        free = _number(fields[3]) * 1024 if len(fields) > 3 else 0  # noqa: PLR2004 - df's column
        found = {
            "gpu name": (", ".join(names), bool(names) and all(map(self._is_named, names))),
            "gpu count": (str(len(cards)), len(cards) == self.gpu.get("count")),
            "gpu memory": (_sizes(memory), bool(memory) and min(memory) >= self._memory()),
            "disk free": (_sizes([free]), free >= _bytes(str(self.disk.get("free", "0 B")))),
            "python": (replies[2].out.strip(), self._python_fits(replies[2].out.strip())),
        }
        return {
            key: wanted if found[key][1] else found[key][0] or "none"
            for key, wanted in self._ordered().items()
        }

    def plan(self, site: Site, desired: State, actual: State) -> Iterator[Step]:
        """Yield nothing: no command makes another box of this one."""
        yield from ()

    def _is_named(self, name: str) -> bool:
        """Compare models exactly: a 4090 is not a 4090 D, an A800 is no A100."""
        return _words(str(self.gpu.get("name", ""))) == _words(name)

    def _memory(self) -> float:
        return _bytes(str(self.gpu.get("memory", "0 B"))) * (1 - _CARD)

    def _python_fits(self, version: str) -> bool:
        operator, wanted = self.python[:2], self.python[2:].strip()
        if not re.fullmatch(r"\d+(\.\d+)*", version):
            return False
        have, want = _numbers(version), _numbers(wanted or "0")
        return have >= want if operator == ">=" else have[: len(want)] == want


def _words(name: str) -> list[str]:
    """Return a model's name as words, without the maker's, the card's form and its memory."""
    bare = re.sub(r"\b(nvidia|geforce|tesla|pcie|sxm\d?|hbm\d?e?|\d+ ?gb)\b", " ", name.lower())
    return re.findall(r"[a-z]+|\d+", bare)


def _number(text: str) -> float:
    found = re.search(r"\d+(\.\d+)?", text)
    return float(found[0]) if found else 0.0


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def _bytes(text: str) -> float:
    unit = text.strip().split()[-1] if " " in text.strip() else "B"
    return _number(text) * _UNITS.get(unit, 1)


def _sizes(sizes: Sequence[float]) -> str:
    return ", ".join(f"{size / 1e9:.1f} GB" for size in sizes)
