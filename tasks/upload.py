"""The upload kind: a local file or folder, on the box under the digest of its content."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from zuka.stage import Push, Reply, Run, Site, Stage, State, Step, Tree, tree_state

_ASIDE = 'mkdir -p tmp && mv "./$1" "tmp/damaged.$$" && rm -rf "./tmp/damaged.$$"'


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
        found = replies[0].out.strip()
        return {"data": None if found in ("", "absent") else found}

    def plan(self, site: Site, desired: State, actual: State) -> Iterator[Step]:
        if desired == actual:
            return
        if actual["data"] is not None:
            aside = ("sh", "-c", _ASIDE, "zuka", self._place(site))
            yield Run(aside, shown=f"remove the damaged {self._place(site)}", limit=600)
        yield Push(self._tree(site), self._place(site))
