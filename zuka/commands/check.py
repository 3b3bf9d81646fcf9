"""Check recipes before anything is sent."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from zuka import asking, recipe
from zuka.errors import Error
from zuka.ui import complain, counted

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
    for path in arguments.recipes or asking.recipe_paths(project):
        try:
            found = recipe.load(path, project, {})
        except Error as error:
            complain(error)
            worst = max(worst, error.exit_code)
        else:
            sys.stdout.write(f"{found.path}: {counted(len(found.stages), 'stage')}, right\n")
    return worst
