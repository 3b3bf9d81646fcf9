"""The train kind: the long run, which lives on the box and is found again by its name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from zuka.stage import Follow, Reply, Run, Site, Stage, State, Step, run_state, start_run


@dataclass(frozen=True)
class Train(Stage):
    """Run the training on the box until it ends, whatever becomes of the laptop meanwhile."""

    run: str
    resume: str = ""
    checkpoint: str = "outputs/checkpoint-*"

    mend = "mend what its log says, and run it again: what is done stays done"

    def inputs(self, site: Site) -> State:
        return {"run": self.run}

    def _run(self, site: Site) -> str:
        return f"{site.stage}-{site.fingerprint[:12]}"

    def offers(self, site: Site) -> Mapping[str, str]:
        return {"run": self._run(site), f"run:{site.stage}": self._run(site)}

    def desired(self, site: Site) -> State:
        return {"run": "finished"}

    def probe(self, site: Site) -> Sequence[Run]:
        return [run_state(self._run(site))]

    def actual(self, site: Site, replies: Sequence[Reply]) -> State:
        return {"run": replies[0].state}

    def plan(self, site: Site, desired: State, actual: State) -> Iterator[Step]:
        if desired == actual:
            return
        if actual["run"] != "running":
            yield start_run(
                self._run(site),
                self.run,
                offers=site.offers,
                resume=self.resume,
                checkpoint=self.checkpoint,
            )
        yield Follow(self._run(site))
