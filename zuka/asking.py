"""A question about a recipe: what would run, and why; for the commands that change nothing."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zuka import compiled
from zuka.errors import RecipeError
from zuka.kinds import near
from zuka.recipe import Recipe
from zuka.session import Session


@dataclass(frozen=True)
class Asked:
    """One stage, as it stands."""

    name: str
    kind: str
    place: str
    role: str
    why: tuple[str, ...]
    rest: str
    """Why it would not run."""
    steps: tuple[str, ...]
    seconds: float

    def facts(self) -> dict[str, Any]:
        """Return the stage for a machine."""
        return {
            "stage": self.name,
            "kind": self.kind,
            "place": self.place,
            "role": self.role,
            "runs": bool(self.why),
            "why": list(self.why),
            "rest": "" if self.why else self.rest,
            "steps": list(self.steps) if self.why else [],
            "seconds": self.seconds or None,
        }


@dataclass(frozen=True)
class Question:
    """A recipe that is asked about."""

    session: Session

    @property
    def name(self) -> str:
        """Return the recipe's name."""
        return self.session.recipe.name

    def stages(self) -> Iterator[Asked]:
        """Yield every stage, in the order of the recipe."""
        done = self.session.grounds.journal.last("done")
        for placed in self.session.recipe.stages:
            seconds = done.get(self.session.task(placed.name), {}).get("seconds", 0)
            why = self.session.why(placed.name)
            yield Asked(
                placed.name,
                placed.kind.name,
                placed.place,
                placed.stage.role,
                why,
                self._rest(placed.name),
                tuple(map(str, self.session.steps(placed.name))) if why else (),
                float(seconds),
            )

    def _rest(self, name: str) -> str:
        role = self.session.survey.stages[name].placed.stage.role
        if name in self.session.survey.needed:
            return "the box is as asked" if self.session.was_asked(name) else "not needed any more"
        words = {"product": "the results are here", "finish": "nothing is owed to the box"}
        return words.get(role, "what is made from it is here already")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that name a recipe, a stage and variables."""
    parser.add_argument("recipe", nargs="?", help="a recipe, or one stage: train, train:env")
    parser.add_argument("variables", nargs="*", metavar="name=value", help="variables")
    parser.add_argument("--json", action="store_true", help="for a machine")


@contextmanager
def question(arguments: argparse.Namespace) -> Iterator[Question]:
    """Open a question; a sandbox that is switched on for it is switched off after it."""
    project = Path.cwd()
    recipe = compiled.load(recipe_path(project, arguments.recipe), project, given(arguments))
    check_stage(arguments.recipe, recipe)
    session = Session(project, recipe, asks=True)
    was_off = session.is_off and recipe.machine.sandbox
    try:
        yield Question(session)
    finally:
        if was_off and "machine" in session.__dict__:
            from zuka import sandbox

            session.host.forget_master()
            sandbox.down(project)


def given(arguments: argparse.Namespace) -> Mapping[str, str]:
    """Return the variables that the arguments give."""
    for argument in arguments.variables:
        if "=" not in argument:
            raise RecipeError(f"'{argument}' is not name=value", hint="zuka why train epochs=40")
    return dict(argument.split("=", 1) for argument in arguments.variables)


def check_stage(named: str | None, recipe: Recipe) -> None:
    """Raise RecipeError when what is named as ``recipe:stage`` has no such stage."""
    stage, names = (named or "").partition(":")[2], [placed.name for placed in recipe.stages]
    if stage and stage not in names:
        raise RecipeError(f"no stage '{stage}' in {recipe.path}", hint=near(stage, names))


def is_meant(arguments: argparse.Namespace, stage: str) -> bool:
    """Tell whether the arguments speak of this stage."""
    named = (arguments.recipe or "").partition(":")[2]
    return named in ("", stage)


def recipe_path(project: Path, named: str | None) -> Path:
    """Return the recipe that is named, or the only one; raise RecipeError with those there are."""
    found = recipe_paths(project)
    stem = named.partition(":")[0] if named else ""
    if not stem and len(found) == 1:
        return found[0]
    for path in found:
        if path.stem == stem:
            return path
    names = [path.stem for path in found]
    if stem:
        raise RecipeError(f"no recipe '{stem}'", hint=near(stem, names))
    raise RecipeError("which recipe?", hint=f"there is: {', '.join(names)}")


def recipe_paths(project: Path) -> list[Path]:
    """Return the recipes of a project; raise RecipeError when there are none."""
    found = sorted((project / "recipes").glob("*.yaml"))
    if not found:
        raise no_recipe(project)
    return found


def no_recipe(project: Path) -> RecipeError:
    """Return the error of a folder without recipes; where they are, if a folder above has some."""
    for folder in project.resolve().parents:
        if any((folder / "recipes").glob("*.yaml")):
            return RecipeError(
                "no recipe in this folder", hint=f"the project is above: cd {folder}"
            )
    text = "no recipe here: there is no recipes/*.yaml"
    return RecipeError(text, hint="zuka init makes one")
