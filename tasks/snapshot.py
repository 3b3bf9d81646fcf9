"""The snapshot kind: what makes the next box ready sooner, or the vendor's own image."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from zuka.stage import Reply, Run, Site, Stage, State, Step

_ASK = """
if [ -n "$3" ]; then
    if [ "$(cat "stamps/snapshot-$1" 2>/dev/null)" = done ]; then echo whole; fi
elif gzip -t "snapshots/$1.tar.gz" 2>/dev/null; then
    echo whole
fi
"""
_SAVE = """
half=tmp/snapshot.$$
mkdir -p "$half" snapshots || exit 1
if [ -n "$2" ]; then "$2/bin/python" -m pip freeze >"$half/requirements.lock" || exit 1; fi
if [ -n "$3" ]; then cp "runs/$3/command" "runs/$3/log" "$half" || exit 1; fi
tar -cf - -C "$half" . | gzip -c >"$half.tar.gz" && gzip -t "$half.tar.gz" &&
    mv -f "$half.tar.gz" "snapshots/$1.tar.gz" && rm -rf "./$half"
"""
_COMMAND = """
mkdir -p stamps && sh -c "$2" &&
    echo done >"stamps/snapshot-$1.$$" && mv -f "stamps/snapshot-$1.$$" "stamps/snapshot-$1"
"""


@dataclass(frozen=True)
class Snapshot(Stage):
    """Save the environment's lock and the run's log on the box, or run a vendor's command."""

    command: str = ""

    role = "finish"

    def inputs(self, site: Site) -> State:
        return {"command": self.command}

    def desired(self, site: Site) -> State:
        return {"snapshot": "whole"}

    def probe(self, site: Site) -> Sequence[Run]:
        name = site.fingerprint[:16]
        return [Run(("sh", "-c", _ASK, "zuka", name, "", self.command), shown="the snapshot")]

    def actual(self, site: Site, replies: Sequence[Reply]) -> State:
        return {"snapshot": replies[0].state}

    def plan(self, site: Site, desired: State, actual: State) -> Iterator[Step]:
        if desired == actual:
            return
        name = site.fingerprint[:16]
        if self.command:
            command = ("sh", "-c", _COMMAND, "zuka", name, self.command)
            yield Run(command, shown=self.command, limit=3600)
            return
        env, run = site.offers.get("env", ""), site.offers.get("run", "")
        shown = f"save snapshots/{name}.tar.gz"
        yield Run(("sh", "-c", _SAVE, "zuka", name, env, run), shown=shown, limit=600)
