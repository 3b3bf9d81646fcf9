"""The smoke kind: a short trial of the command, before the long run costs money."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from zuka.stage import Follow, Reply, Run, Site, Stage, State, Step, run_state, start_run

_SECONDS = {"s": 1, "min": 60, "h": 3600}


@dataclass(frozen=True)
class Smoke(Stage):
    """Try the command for a few steps; it has to end well in time."""

    run: str
    within: str = "10 min"

    mend = "mend what its log says, and run it again: what is done stays done"

    def inputs(self, site: Site) -> State:
        return {"run": self.run}

    def lineage(self, inputs: State) -> State:
        """Leave the trial out: trying it for longer makes no other training."""
        return {}

    def _run(self, site: Site) -> str:
        return f"{site.stage}-{site.fingerprint[:12]}"

    def desired(self, site: Site) -> State:
        return {"trial": "finished"}

    def probe(self, site: Site) -> Sequence[Run]:
        return [run_state(self._run(site))]

    def actual(self, site: Site, replies: Sequence[Reply]) -> State:
        return {"trial": replies[0].state}

    def plan(self, site: Site, desired: State, actual: State) -> Iterator[Step]:
        if desired == actual:
            return
        if actual["trial"] != "running":
            yield start_run(
                self._run(site),
                self.run,
                offers=site.offers,
            )
        number, unit = self.within.split()
        yield Follow(self._run(site), within=float(number) * _SECONDS[unit])
