"""Say why each stage would run."""

from __future__ import annotations

import argparse
import sys

from zuka import asking
from zuka.ui import show_json

HELP = "say why each stage would run now; no stage runs"
EXAMPLES = """\
example:
  zuka why train             why each stage would run now, or why not
  zuka why train:env --json  one stage, for a machine
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    asking.configure(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the reasons."""
    with asking.question(arguments) as question:
        stages = [stage for stage in question.stages() if asking.is_meant(arguments, stage.name)]
    if arguments.json:
        runs = [stage.name for stage in stages if stage.why]
        facts = [stage.facts() for stage in stages]
        show_json({"recipe": question.name, "runs": runs, "stages": facts})
        return 0
    for stage in stages:
        lines = stage.why or (f"nothing: {stage.rest}",)
        for line in lines:
            sys.stdout.write(f"{question.name}:{stage.name:<12}  {line}\n")
    return 0
