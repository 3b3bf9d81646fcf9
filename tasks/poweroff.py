"""The poweroff kind: the box is told to go, and has to be gone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from zuka.stage import Reply, Run, Site, Stage, State, Step, running_runs

_GONE = 255
"""The code of a reply that never came: ssh's own."""
_OFF = """
command=$1
if [ -z "$command" ]; then
    if command -v shutdown >/dev/null 2>&1; then command='shutdown -h now'
    elif command -v poweroff >/dev/null 2>&1; then command=poweroff
    else
        echo "this box has neither shutdown nor poweroff: give poweroff a 'command'"
        exit 1
    fi
    if [ "$(id -u)" != 0 ] && command -v sudo >/dev/null 2>&1; then command="sudo -n $command"; fi
fi
# In a moment, so that this very connection can say that it was told.
(sleep 1; exec sh -c "$command") </dev/null >poweroff.log 2>&1 &
"""


@dataclass(frozen=True)
class Poweroff(Stage):
    """Switch the box off when everything is home, and see that it is gone."""

    command: str = ""

    role = "finish"
    survives_silence = True

    def inputs(self, site: Site) -> State:
        return {"command": self.command}

    def desired(self, site: Site) -> State:
        return {"runs at work": "none", "power": "off"}

    def probe(self, site: Site) -> Sequence[Run]:
        return [running_runs()]

    def actual(self, site: Site, replies: Sequence[Reply]) -> State:
        if replies[0].code == _GONE:
            return {"runs at work": "none", "power": "off"}
        return {"runs at work": replies[0].state or "none", "power": "on"}

    def plan(self, site: Site, desired: State, actual: State) -> Iterator[Step]:
        # Another recipe's run, or another laptop's, is not ours to end: then this stage fails.
        if desired != actual and actual["runs at work"] == "none":
            shown = self.command or "shutdown -h now"
            yield Run(("sh", "-c", _OFF, "zuka", self.command), shown=shown)
