"""The poweroff kind: the box is told to go, and has to be gone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from zuka.stage import (
    RecipeError,
    Reply,
    Run,
    Site,
    Stage,
    State,
    Step,
    power_off,
    running_runs,
    who_rents,
)

_GONE = 255
"""The code of a reply that never came: ssh's own."""
_MARKS = "marks"
"""What the box answered about its platform; nothing is wanted of it."""


@dataclass(frozen=True)
class Poweroff(Stage):
    """Switch the box off when everything is home, and see that it is gone."""

    command: str = ""

    role = "finish"
    survives_silence = True
    mend = (
        "switch it off where you rented it, then say `zuka rebind NAME`;"
        " or give poweroff the command that does it here"
    )

    def inputs(self, site: Site) -> State:
        own = self.command or site.access.profile.get("power_off")
        if site.access.platform == "lab" and not own:
            text = "a lab's machine is not ours to switch off"
            raise RecipeError(text, hint="leave poweroff out, or give it a command")
        return {"command": self.command}

    def desired(self, site: Site) -> State:
        return {"runs at work": "none", "power": "off"}

    def probe(self, site: Site) -> Sequence[Run]:
        return [running_runs(), who_rents()]

    def actual(self, site: Site, replies: Sequence[Reply]) -> State:
        if replies[0].code == _GONE:
            return {"runs at work": "none", "power": "off"}
        marks = replies[1].out if len(replies) > 1 else ""
        return {"runs at work": replies[0].state or "none", "power": "on", _MARKS: marks}

    def plan(self, site: Site, desired: State, actual: State) -> Iterator[Step]:
        # Another recipe's run, or another laptop's, is not ours to end: then this stage fails.
        if actual["power"] == "on" and actual["runs at work"] == "none":
            yield self._off(site, actual)

    def _off(self, site: Site, actual: State) -> Run:
        marks, access = actual.get(_MARKS) or "", site.access
        return power_off(self.command, marks, access.address, access.platform, access.profile)
