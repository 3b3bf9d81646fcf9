"""Check recipes before anything is sent."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from zuka import recipe
from zuka.errors import Error
from zuka.ui import complain

HELP = "check recipes; every mistake with its place, nothing is sent"
EXAMPLES = """\
example:
  zuka check                     every recipe of the project
  zuka check recipes/train.yaml  one of them, for a pre-commit hook
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("recipes", nargs="*", type=Path, help="recipe files; none is all of them")


def run(arguments: argparse.Namespace) -> int:
    """Check each recipe; return the worst exit code."""
    project, worst = Path.cwd(), 0
    for path in arguments.recipes or sorted((project / "recipes").glob("*.yaml")):
        try:
            count = len(recipe.load(path, project, {}).stages)
        except Error as error:
            complain(error)
            worst = max(worst, error.exit_code)
        else:
            sys.stdout.write(f"{path}: {count} stages, right\n")
    return worst
