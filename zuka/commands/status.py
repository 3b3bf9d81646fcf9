"""Show what the laptop knows."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from zuka import asking, compiled, lock
from zuka.prices import rate
from zuka.session import Session
from zuka.ui import counted, show_json

HELP = "show every recipe as the laptop knows it; asks no box"
EXAMPLES = """\
example:
  zuka status         what runs, what came home, what a box is owed; asks no box
  zuka status --json  for a machine
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("--json", action="store_true", help="for a machine")


def run(arguments: argparse.Namespace) -> int:
    """Print the state of every recipe."""
    project = Path.cwd()
    at_work = lock.held(project / ".zuka" / "lock")
    recipes = [_facts(project, path) for path in asking.recipe_paths(project)]
    if arguments.json:
        show_json({"at_work": at_work, "recipes": recipes})
        return 0
    sys.stdout.write(f"at work: {at_work or 'nothing'}\n")
    for facts in recipes:
        sys.stdout.writelines(f"{line}\n" for line in _lines(facts))
    return 0


def _facts(project: Path, path: Path) -> dict[str, Any]:
    session = Session(project, compiled.load(path, project, {}))
    now, journal = session.survey, session.grounds.journal
    last = journal.last("started", "done", "failed", "as asked")
    names = [placed.name for placed in session.recipe.stages]
    return {
        "recipe": session.recipe.name,
        "machine": session.recipe.machine.name,
        "box": session.boxes.facts(session.recipe.machine.name),
        "prices": dict(session.recipe.machine.prices),
        "power": session.power(now.dues),
        "needed": now.needed,
        "results": [str(item.record.folder) for item in now.stages.values() if item.record],
        "stages": {name: last[session.task(name)] for name in names if session.task(name) in last},
    }


def _lines(facts: dict[str, Any]) -> Iterator[str]:
    needed = len(facts["needed"])
    todo = f"{counted(needed, 'stage')} needed" if needed else "nothing to do"
    price = rate(facts["prices"]) if facts["power"] == "on" else ""
    power = f"power {facts['power']}" + (f", {price}" if price else "")
    yield f"{facts['recipe']} on {facts['machine']} ({power}): {todo}"
    if facts["box"].get("id"):
        yield f"  {'box':<12}  {facts['box']['id']}, host {facts['box'].get('host') or 'unknown'}"
    for name, event in facts["stages"].items():
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(event["at"]))
        took = f" in {event['seconds']:.1f} s" if "seconds" in event else ""
        yield f"  {name:<12}  {event['event']}{took}, {when}"
    for folder in facts["results"]:
        yield f"  results in {folder}"
