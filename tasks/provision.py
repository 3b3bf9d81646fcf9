"""The provision kind: is this the box that was ordered? It looks, and changes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from zuka.stage import Judged, Reply, Run, Site, Stage, State, Step, checkup, judge

_AS_ORDERED = "as ordered"


@dataclass(frozen=True)
class Provision(Stage):
    """Check that the box is as ordered: card, memory, disk, processors, Python, what it reaches."""

    gpu: Mapping[str, Any] = field(default_factory=dict)
    disk: Mapping[str, Any] = field(default_factory=dict)
    cpus: int = 0
    memory: str = ""
    shm: str = ""
    python: str = ""
    reach: tuple[str, ...] = ()

    def inputs(self, site: Site) -> State:
        return {}

    def desired(self, site: Site) -> State:
        return {"box": _AS_ORDERED}

    def probe(self, site: Site) -> Sequence[Run]:
        return [checkup(self.reach)]

    def actual(self, site: Site, replies: Sequence[Reply]) -> State:
        return {"box": "\n".join(self._judged(site, replies).wrong) or _AS_ORDERED}

    def _judged(self, site: Site, replies: Sequence[Reply]) -> Judged:
        order = {
            "gpu": self.gpu,
            "disk": self.disk,
            "cpus": self.cpus,
            "memory": self.memory,
            "shm": self.shm,
            "python": self.python,
            "platform": site.access.platform,
            "profile": site.access.profile,
        }
        return judge(replies[0].out, order, self.reach, site.access.address)

    def explain(self, desired: State, actual: State) -> Iterator[str]:
        if desired != actual:
            yield from (actual["box"] or "the box says nothing").split("\n")

    def remarks(self, site: Site, replies: Sequence[Reply]) -> Iterator[str]:
        """Yield the verdict, and each thing that is to be known or mended, on one screen."""
        yield from self._judged(site, replies).screen

    def plan(self, site: Site, desired: State, actual: State) -> Iterator[Step]:
        """Yield nothing: no command makes another box of this one."""
        yield from ()
