"""The clean kind: what zuka left half-made on the box goes; nothing else is touched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from zuka.stage import Reply, Run, Site, Stage, State, Step

_ASK = """
find tmp -mindepth 1 -maxdepth 1 2>/dev/null | wc -l
cat "stamps/clean-$1" 2>/dev/null
"""
_CLEAN = """
mkdir -p stamps
# A half-made copy that is younger may be another laptop's, on its way just now.
find tmp -mindepth 1 -maxdepth 1 -mmin +10 -exec rm -rf -- {} + 2>/dev/null
echo done >"stamps/clean-$1.$$" && mv -f "stamps/clean-$1.$$" "stamps/clean-$1"
"""


@dataclass(frozen=True)
class Clean(Stage):
    """Remove what zuka left half-made on the box, once after each version of the results."""

    role = "finish"

    def inputs(self, site: Site) -> State:
        return {}

    def desired(self, site: Site) -> State:
        return {"cleaned": "done"}

    def probe(self, site: Site) -> Sequence[Run]:
        return [Run(("sh", "-c", _ASK, "zuka", site.fingerprint[:16]), shown="what is left over")]

    def actual(self, site: Site, replies: Sequence[Reply]) -> State:
        stamp = replies[0].out.splitlines()[1:2]
        return {"cleaned": stamp[0] if stamp else None}

    def plan(self, site: Site, desired: State, actual: State) -> Iterator[Step]:
        if desired != actual:
            command = ("sh", "-c", _CLEAN, "zuka", site.fingerprint[:16])
            yield Run(command, shown="remove what is half-made", limit=600)
