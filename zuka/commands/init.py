"""Begin a project."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

HELP = "write dodo.py, recipes/train.yaml, machines.yaml, .gitignore; never over what is there"
EXAMPLES = """\
example:
  zuka init           in a new or an old folder: what is there already is left alone
  git add -A && git commit -m "Add the workflow"
  zuka plan train
"""

_TEMPLATES = Path(__file__).resolve().parent.parent / "templates"
_NAMES = {"gitignore": ".gitignore"}
"""Templates whose own name would make a tool act on them here."""
_JOB = ("train.py", "requirements.txt")
"""A job to start from, written only where there is no program yet."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("folder", nargs="?", type=Path, default=Path(), help="the project's folder")


def run(arguments: argparse.Namespace) -> int:
    """Write the files that are not there yet, and say which."""
    project: Path = arguments.folder
    has_job = any(path.name != "dodo.py" for path in project.glob("*.py"))
    found = (path for path in _TEMPLATES.rglob("*") if path.is_file() and path.suffix != ".pyc")
    for template in sorted(found):
        name = template.relative_to(_TEMPLATES).as_posix()
        if name in _JOB and has_job:
            continue
        target = project / _NAMES.get(name, name)
        sys.stdout.write(f"{_write(template, target):<8}  {target}\n")
    sys.stdout.write("next: read recipes/train.yaml, then `zuka plan train` and `zuka run train`\n")
    return 0


def _write(template: Path, target: Path) -> str:
    """Write a file that is not there yet; return what was done."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with target.open("x", encoding="utf-8") as file:
            file.write(template.read_text(encoding="utf-8"))
    except FileExistsError:
        return "kept"
    return "wrote"
