"""List the stage kinds."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from zuka import kinds
from zuka.kinds import Kind
from zuka.ui import show_json

HELP = "list the stage kinds, or the keys of one"
EXAMPLES = """\
example:
  zuka kinds           every stage kind, ours and the project's own
  zuka kinds upload    the keys of one
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("kind", nargs="?", help="one kind, with its keys")
    parser.add_argument("--json", action="store_true", help="for a machine")


def run(arguments: argparse.Namespace) -> int:
    """Print the kinds."""
    project = Path.cwd()
    wanted = [arguments.kind] if arguments.kind else kinds.names(project)
    found = [kinds.find(name, project) for name in wanted]
    if arguments.json:
        show_json([_facts(kind) for kind in found])
    elif arguments.kind:
        sys.stdout.write(_page(found[0]))
    else:
        for kind in found:
            own = "  (this project's own)" if kind.own else ""
            sys.stdout.write(f"{kind.name:<10}  {kind.doc.partition(chr(10))[0]}{own}\n")
    return 0


def _facts(kind: Kind) -> dict[str, Any]:
    return {
        "kind": kind.name,
        "doc": kind.doc,
        "role": kind.cls.role,
        "own": kind.own,
        "source": str(kind.source),
        "schema": kind.schema,
    }


def _page(kind: Kind) -> str:
    lines = [kind.doc, "", f"from {kind.source}", "", *_keys(kind.schema, "  ")]
    return "\n".join(lines) + "\n"


def _keys(schema: dict[str, Any], indent: str) -> Iterator[str]:
    for key, spec in schema.get("properties", {}).items():
        mark = " (required)" if key in schema.get("required", []) else ""
        default = f" [{spec['default']}]" if spec.get("default") else ""
        such = f" Such as: {spec['examples'][0]}" if "examples" in spec else ""
        yield f"{indent}{key}{mark}{default}: {spec['description']}{such}"
        yield from _keys(spec, indent + "  ")
