"""The env kind: a virtual environment on the box, named after what is to be in it."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from zuka.stage import (
    Follow,
    RecipeError,
    Reply,
    Run,
    Site,
    Stage,
    State,
    Step,
    run_state,
    start_run,
    tree_state,
)

_ELSEWHERE = ("-r", "--requirement", "-c", "--constraint", "-e", "--editable", "./", "../", "/")
"""Lines that mean files which are not on the box."""
_BUILD = """
set -eu
cd ../../..
rm -rf {place}
{python} -m venv {place} || {{
    echo "this box's Python makes no environments: install python3-venv, or name another 'python'"
    exit 1
}}
printf '%s\\n' {requirements} >{place}/requirements.txt
unset PIP_TARGET PIP_PREFIX PIP_ROOT
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_USER=0
if grep -q '[^[:space:]]' {place}/requirements.txt; then
    {place}/bin/python -m pip install --no-cache-dir -r {place}/requirements.txt
fi
{place}/bin/python -c 'import sys; print("environment ready, Python", sys.version.split()[0])'
"""


@dataclass(frozen=True)
class Env(Stage):
    """Build a clean virtual environment from a requirements file, once for each content of it."""

    requirements: str = "requirements.txt"
    python: str = "python3"

    beside = True
    mend = "mend what its log says, and run it again: what is done stays done"

    def inputs(self, site: Site) -> State:
        return {"requirements": self._lines(site), "python": self.python}

    def _lines(self, site: Site) -> str:
        """Return the lines that matter: no comments, no blank ones."""
        found = []
        for number, text in enumerate(site.text(self.requirements).splitlines(), start=1):
            line = text.split(" #")[0].strip()
            if line.startswith(_ELSEWHERE):
                place = f"{self.requirements}:{number}"
                hint = "write what it stands for into this file"
                raise RecipeError(f"{place}: '{line}' points at other local files", hint=hint)
            if line and not line.startswith("#"):
                found.append(line)
        return "\n".join(found)

    def _digest(self, site: Site) -> str:
        text = "\0".join(["env", "1", self.python, self._lines(site)])
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def _place(self, site: Site) -> str:
        return f"env/{self._digest(site)}"

    def _run(self, site: Site) -> str:
        return f"env-{self._digest(site)}"

    def offers(self, site: Site) -> Mapping[str, str]:
        return {"env": self._place(site)}

    def desired(self, site: Site) -> State:
        return {"environment": "whole"}

    def probe(self, site: Site) -> Sequence[Run]:
        return [tree_state(self._place(site)), run_state(self._run(site))]

    def actual(self, site: Site, replies: Sequence[Reply]) -> State:
        tree, run = replies[0].state, replies[1].state
        if run == "finished":
            return {"environment": tree}
        return {"environment": run and f"its build {run}"}

    def plan(self, site: Site, desired: State, actual: State) -> Iterator[Step]:
        if desired == actual:
            return
        if actual["environment"] != "its build running":
            command = _BUILD.format(
                place=shlex.quote(self._place(site)),
                python=shlex.quote(self.python),
                requirements=shlex.quote(self._lines(site)),
            )
            run, place = self._run(site), self._place(site)
            yield start_run(run, command, makes=place, again=True, shown="venv and pip install")
        yield Follow(self._run(site))
