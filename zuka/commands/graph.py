"""Draw the stages of a recipe."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from zuka import asking, compiled
from zuka.demand import ordered
from zuka.recipe import Placed, Recipe
from zuka.ui import show_json

HELP = "draw the stages of a recipe and what each needs"
EXAMPLES = """\
example:
  zuka graph train                    drawn as text
  zuka graph train --format mermaid   for a README on a forge that draws it
"""

_SHAPES = {"groundwork": "[{}]", "product": "([{}])", "finish": "{{{{{}}}}}"}
"""Mermaid's brackets: a box, a stadium, a hexagon."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    asking.configure(parser)
    parser.add_argument("--format", choices=("text", "mermaid"), default="text", help="how")


def run(arguments: argparse.Namespace) -> int:
    """Draw the graph; no connection is made."""
    project = Path.cwd()
    path = asking.recipe_path(project, arguments.recipe)
    recipe = compiled.load(path, project, asking.given(arguments))
    asking.check_stage(arguments.recipe, recipe)
    if arguments.json:
        show_json(
            [{"stage": p.name, "kind": p.kind.name, "needs": list(p.needs)} for p in recipe.stages]
        )
        return 0
    draw = mermaid if arguments.format == "mermaid" else text
    sys.stdout.writelines(f"{line}\n" for line in draw(recipe))
    return 0


def mermaid(recipe: Recipe) -> Iterator[str]:
    """Yield a Mermaid flowchart."""
    yield "flowchart LR"
    for placed in recipe.stages:
        yield f"    {placed.name}{_SHAPES[placed.stage.role].format(_label(placed))}"
    for placed in recipe.stages:
        for need in placed.needs:
            yield f"    {need} --> {placed.name}"


def text(recipe: Recipe) -> Iterator[str]:
    """Yield the graph from the left to the right, a column a layer, an arrow between them."""
    layers = _layers(recipe.stages)
    height = max(len(layer) for layer in layers)
    widths = [max(len(_label(placed)) for placed in layer) for layer in layers]
    for row in range(height):
        cells = []
        for layer, width in zip(layers, widths, strict=True):
            top = (height - len(layer)) // 2
            label = _label(layer[row - top]) if 0 <= row - top < len(layer) else ""
            cells.append(label.ljust(width))
        yield (" -> " if row == (height - 1) // 2 else "    ").join(cells).rstrip()
    yield from _crossings(layers)


def _crossings(layers: Sequence[Sequence[Placed]]) -> Iterator[str]:
    """Yield, in words, the needs that the columns alone do not show."""
    before: tuple[str, ...] = ()
    for layer in layers:
        for placed in layer:
            if set(placed.needs) != set(before):
                yield f"{placed.name} needs {', '.join(placed.needs) or 'nothing'}"
        before = tuple(placed.name for placed in layer)


def _label(placed: Placed) -> str:
    same = placed.name == placed.kind.name
    return placed.name if same else f"{placed.name} ({placed.kind.name})"


def _layers(stages: Sequence[Placed]) -> list[list[Placed]]:
    """Return the stages by how many steps lie before them."""
    by_name = {placed.name: placed for placed in stages}
    depth: dict[str, int] = {}
    for name in ordered({placed.name: placed.needs for placed in stages}):
        depth[name] = max((depth[need] + 1 for need in by_name[name].needs), default=0)
    layers: list[list[Placed]] = [[] for _ in range(max(depth.values()) + 1)]
    for placed in stages:
        layers[depth[placed.name]].append(placed)
    return layers
