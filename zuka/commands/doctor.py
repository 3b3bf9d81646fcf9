"""Walk the way to a box."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path

from zuka.errors import HostError
from zuka.finding import MARKS
from zuka.machines import Machine, resolve
from zuka.ui import show_json

HELP = "walk from a box's name to its programs, and stop at the first thing that is wrong"
EXAMPLES = """\
example:
  zuka doctor mygpu         a name in machines.yaml, an alias of ssh_config, or sandbox
  zuka doctor mygpu --json  for a machine
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("machine", help="the box's name")
    parser.add_argument("--json", action="store_true", help="for a machine")


def run(arguments: argparse.Namespace) -> int:
    """Print each step as it is done; exit with 3 where the box cannot be asked."""
    from zuka.doctor import walk

    steps = []
    for walked in walk(_machine(arguments.machine), Path.cwd()):
        steps.append(walked)
        if not arguments.json:
            sys.stdout.write(f"{MARKS[walked.level]}  {walked.step:<10}  {walked.text}\n")
            if walked.next:
                sys.stdout.write(f"{'':<18}-> {walked.next}\n")
            sys.stdout.flush()
    if arguments.json:
        show_json({"machine": arguments.machine, "steps": [*map(dataclasses.asdict, steps)]})
    if steps[-1].level != "bad":
        return 0
    return HostError.exit_code


def _machine(name: str) -> Machine:
    from zuka import sandbox
    from zuka.places import Place, Source, Value

    found = resolve(Value(name, Place(Source("the command line", ()), 1, 1), name), Path.cwd())
    return sandbox.rent(Path.cwd()) if found.sandbox else found
