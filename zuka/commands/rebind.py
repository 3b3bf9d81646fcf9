"""Accept another box under a known name."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from zuka.boxes import Boxes
from zuka.lock import Lock
from zuka.records import Dues, DuesFile

HELP = "accept another box under a known name; nothing is owed to the old one"
EXAMPLES = """\
example:
  zuka rebind mygpu    the next box that answers under this name is taken for it
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("machine", help="the name in the recipe, such as mygpu or sandbox")


def run(arguments: argparse.Namespace) -> int:
    """Forget the old box's keys and what it was owed."""
    state = Path.cwd() / ".zuka"
    Lock(state / "lock").take(f"rebind {arguments.machine}")
    Boxes(state / "boxes").forget(arguments.machine)
    (state / "known_hosts" / arguments.machine).unlink(missing_ok=True)
    for path in sorted((state / "dues").glob("*.json")):
        dues = DuesFile(path).read(None)
        DuesFile(path).write(Dues(used=False, off=True, done=dues.done))
    sys.stdout.write(
        f"{arguments.machine}: the next box that answers is taken for it;"
        " what the new one lacks is done again by the next run\n"
    )
    return 0
