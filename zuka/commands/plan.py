"""Show what would be done."""

from __future__ import annotations

import argparse
import sys

from zuka import asking
from zuka.prices import cost
from zuka.ui import counted, show_json

HELP = "show what would be done, step by step; no stage runs"
EXAMPLES = """\
example:
  zuka plan train              what would be done, why, and how long it took the last time
  zuka plan train epochs=40    with a variable of the recipe
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    asking.configure(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the plan."""
    with asking.question(arguments) as question:
        stages = [stage for stage in question.stages() if asking.is_meant(arguments, stage.name)]
    ahead = [stage for stage in stages if stage.why]
    if arguments.json:
        show_json({"recipe": question.name, "stages": [stage.facts() for stage in ahead]})
        return 0
    if not ahead:
        sys.stdout.write(f"{question.name}: nothing to do\n")
    for stage in ahead:
        took = f"  (took {stage.seconds:.0f} s the last time)" if stage.seconds else ""
        sys.stdout.write(f"{question.name}:{stage.name}{took}\n")
        sys.stdout.writelines(f"    because  {line}\n" for line in stage.why)
        steps = stage.steps or (f"stop, if it is still so: {stage.kind} cannot change it",)
        sys.stdout.writelines(f"    then     {step}\n" for step in steps)
    known = sum(stage.seconds for stage in ahead)
    if known:
        money = cost(question.session.recipe.machine.prices, known)
        about = f"about {known:.0f} s" + (f", {money}" if money else "")
        sys.stdout.write(f"{question.name}: {counted(len(ahead), 'stage')}, {about}\n")
    return 0
