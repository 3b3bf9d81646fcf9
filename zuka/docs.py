"""Write the reference pages from schemas, docstrings and help texts: python -m zuka.docs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from zuka import commands, errors, kinds
from zuka.kinds import Kind

_ROOT = Path(__file__).resolve().parent.parent


def pages() -> dict[str, str]:
    """Return every generated page, by its path in the repository."""
    return {
        "docs/reference/kinds.md": "\n".join(_kinds()),
        "docs/reference/commands.md": "\n".join(_commands()),
        "docs/reference/exit-codes.md": "\n".join(_codes()),
    }


def _kinds() -> Iterator[str]:
    yield "# Stage kinds\n"
    yield "Every stage also takes `name` (its own name) and `needs` (what it waits for instead).\n"
    for name in kinds.names(_ROOT):
        yield from _kind(kinds.find(name, _ROOT))


def _kind(kind: Kind) -> Iterator[str]:
    yield f"## {kind.name}\n"
    yield f"{kind.doc}\n"
    yield f"Role: {kind.cls.role}.\n"
    rows = list(_rows(kind.schema, ""))
    if rows:
        yield "| key | type | default | meaning |"
        yield "| --- | --- | --- | --- |"
        yield from rows
        yield ""


def _rows(schema: dict[str, Any], above: str) -> Iterator[str]:
    for key, spec in schema.get("properties", {}).items():
        needed = "required" if key in schema.get("required", []) else ""
        default = (
            f"`{spec['default']}`" if spec.get("default") not in (None, "", [], {}) else needed
        )
        example = f" For example `{spec['examples'][0]}`." if "examples" in spec else ""
        yield f"| `{above}{key}` | {spec['type']} | {default} | {spec['description']}{example} |"
        yield from _rows(spec, f"{above}{key}.")


def _commands() -> Iterator[str]:
    yield "# Commands\n"
    yield "Recipes are tasks of doit too: `doit run train`, `doit list`, `doit info train:env`.\n"
    for name in commands.names():
        module = commands.module(name)
        yield f"## zuka {name}\n\n{module.HELP[0].upper()}{module.HELP[1:]}.\n"
        yield f"```text\n{module.EXAMPLES.removeprefix('example:')[1:].rstrip()}\n```\n"
    for name, text in commands.DOIT.items():
        yield f"## zuka {name}\n\n{text[0].upper()}{text[1:]}.\n"


def _codes() -> Iterator[str]:
    yield "# Exit codes\n"
    yield "0 is fine. Otherwise:\n"
    yield "```text"
    yield (errors.__doc__ or "").strip()
    yield "```\n"


def main() -> int:
    """Write the pages."""
    for name, text in pages().items():
        path = _ROOT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"wrote {name}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
