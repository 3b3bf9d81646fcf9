"""The code kind: what git tracks, as it is in the working tree, under the digest of its content."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from zuka.stage import Push, Reply, Run, Site, Stage, State, Step, Tree, tree_state

_DOCUMENTATION = (
    "*.md",
    "*.rst",
    "LICENSE*",
    "COPYING*",
    "AUTHORS*",
    "/docs/",
    ".gitignore",
    ".gitattributes",
    ".editorconfig",
    ".github/",
    "/requirements*.txt",
)
"""What travels with the code but makes no other program of it: env answers for requirements."""
_WORKFLOW = ("/dodo.py", "/machines.yaml", "/recipes/*.yaml")
"""What is no part of the program, at the top of a project: a recipe counts by what it says."""


@dataclass(frozen=True)
class Code(Stage):
    """Send what git tracks, with the changes that are not committed; runs work in a copy of it."""

    source: str = "."
    ignore: tuple[str, ...] = ()

    beside = True

    def inputs(self, site: Site) -> State:
        tree = self._tree(site)
        return {"tree": tree.digest, "program": tree.without(_DOCUMENTATION).digest}

    def lineage(self, inputs: State) -> State:
        """Leave documentation out: an edited README makes no other training."""
        return {"program": inputs["program"]}

    def _tree(self, site: Site) -> Tree:
        top = (site.project / self.source).resolve() == site.project.resolve()
        return site.tracked(self.source).without((*self.ignore, *(_WORKFLOW if top else ())))

    def _place(self, site: Site) -> str:
        return f"code/{self._tree(site).digest[:16]}"

    def offers(self, site: Site) -> Mapping[str, str]:
        return {"code": self._place(site)}

    def desired(self, site: Site) -> State:
        return {"code": "whole"}

    def probe(self, site: Site) -> Sequence[Run]:
        return [tree_state(self._place(site))]

    def actual(self, site: Site, replies: Sequence[Reply]) -> State:
        return {"code": replies[0].state}

    def plan(self, site: Site, desired: State, actual: State) -> Iterator[Step]:
        if desired != actual:
            yield Push(self._tree(site), self._place(site))
