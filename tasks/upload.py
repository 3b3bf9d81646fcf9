"""The upload kind: a local file or folder, on the box under the digest of its content."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from zuka.stage import Push, Reply, Run, Site, Stage, State, Step, Tree, tree_state


@dataclass(frozen=True)
class Upload(Stage):
    """Copy a local file or folder to the box; runs see it under the name `target`."""

    source: str
    target: str
    ignore: tuple[str, ...] = ()

    beside = True

    def inputs(self, site: Site) -> State:
        return {"tree": self._tree(site).digest, "target": self.target}

    def _tree(self, site: Site) -> Tree:
        return site.tree(self.source, ignore=self.ignore)

    def _place(self, site: Site) -> str:
        return f"data/{self._tree(site).digest[:16]}"

    def offers(self, site: Site) -> Mapping[str, str]:
        tree, place = self._tree(site), self._place(site)
        is_file = (site.project / self.source).is_file()
        return {f"link:{self.target}": f"{place}/{tree.entries[0].name}" if is_file else place}

    def desired(self, site: Site) -> State:
        return {"data": "whole"}

    def probe(self, site: Site) -> Sequence[Run]:
        return [tree_state(self._place(site))]

    def actual(self, site: Site, replies: Sequence[Reply]) -> State:
        return {"data": replies[0].state}

    def plan(self, site: Site, desired: State, actual: State) -> Iterator[Step]:
        if desired != actual:
            yield Push(self._tree(site), self._place(site))
