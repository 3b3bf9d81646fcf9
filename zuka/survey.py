"""The local pass: what a recipe is made from now, what is proved, what is needed; no connection."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from zuka.demand import Standing, demand, ordered
from zuka.errors import RecipeError
from zuka.journal import Journal
from zuka.recipe import Placed, Recipe
from zuka.records import Dues, DuesFile, Record, records
from zuka.stage import Access, Product, Site, State
from zuka.store import digest
from zuka.trees import Reader


@dataclass(frozen=True)
class Surveyed:
    """One stage with its place among the others, and its proof where that lies on the laptop."""

    placed: Placed
    site: Site
    inputs: State
    record: Record | None = None

    @property
    def shelf(self) -> Path:
        """Return the folder that a product's results lie in, a folder a run."""
        assert isinstance(self.placed.stage, Product)
        return self.site.project / self.placed.stage.shelf() / self.site.recipe


@dataclass(frozen=True)
class Survey:
    """A recipe as the laptop sees it."""

    recipe: Recipe
    stages: Mapping[str, Surveyed]
    standings: tuple[Standing, ...]
    dues: Dues
    reader: Reader

    @cached_property
    def needs(self) -> dict[str, tuple[str, ...]]:
        """Return what each stage needs."""
        return {name: item.placed.needs for name, item in self.stages.items()}

    @cached_property
    def needed(self) -> dict[str, str]:
        """Return the needed stages with the reason."""
        return demand(self.standings)


@dataclass(frozen=True)
class Grounds:
    """What a survey stands on: the project, and how its box is reached."""

    project: Path
    access: Access

    @property
    def state(self) -> Path:
        """Return the folder of what zuka remembers here; it may be deleted at any time."""
        return self.project / ".zuka"

    @property
    def journal(self) -> Journal:
        """Return the project's journal."""
        return Journal(self.state / "journal.jsonl")

    def reader(self) -> Reader:
        """Return a reader of local files that remembers digests."""
        return Reader(self.project, self.state / "cache" / "digests.json")

    def dues(self, recipe: str) -> DuesFile:
        """Return the file of what a box is owed by ``recipe``."""
        return DuesFile(self.state / "dues" / f"{recipe}.json")


def survey(grounds: Grounds, recipe: Recipe, chosen: Collection[str] = ()) -> Survey:
    """Read every local input of ``recipe`` and decide what is needed."""
    reader = grounds.reader()
    stages = {item.placed.name: item for item in _surveyed(grounds, recipe, reader)}
    newest = _newest(stages.values())
    dues = grounds.dues(recipe.name).read(newest.dues if newest else None)
    dues = replace(dues, off=dues.off or grounds.access.is_off)
    forgotten = _forgotten(grounds.journal)

    def standing(name: str, item: Surveyed) -> Standing:
        missing = _missing(item, dues, newest, reader, stages)
        if item.placed.stage.role != "groundwork" and f"{recipe.name}:{name}" in forgotten:
            missing = missing or "you said to forget it"
        role, needs = item.placed.stage.role, item.placed.needs
        return Standing(name, role, needs, missing, name in chosen)

    standings = tuple(standing(name, item) for name, item in stages.items())
    reader.save()
    return Survey(recipe, stages, standings, dues, reader)


def _surveyed(grounds: Grounds, recipe: Recipe, reader: Reader) -> Iterator[Surveyed]:
    by_name = {placed.name: placed for placed in recipe.stages}
    descent: dict[str, frozenset[str]] = {}
    offers: dict[str, dict[str, str]] = {}
    for name in ordered({name: placed.needs for name, placed in by_name.items()}):
        placed = by_name[name]
        given = {k: v for need in placed.needs for k, v in offers[need].items()}
        site = Site(grounds.project, recipe.name, name, reader, grounds.access, given)
        inputs = _inputs(placed, site)
        above = frozenset[str]().union(*(descent[need] for need in placed.needs))
        site = replace(site, fingerprint=_digest("stage", placed, inputs, above))
        lineage = placed.stage.lineage(inputs)
        own = frozenset([_digest("lineage", placed, lineage, above)])
        descent[name] = own if lineage else above
        offers[name] = {**given, **placed.stage.offers(site)}
        yield Surveyed(placed, site, inputs, _record(placed, site))


def _inputs(placed: Placed, site: Site) -> State:
    """Return what a stage is made from; an error of it stands at the stage's place."""
    try:
        return placed.stage.inputs(site)
    except RecipeError as error:
        text = str(error.args[0])
        hint = error.hint or "its paths are relative to the project's folder"
        raise RecipeError(f"{placed.place}: {text}", hint=hint, placed=True) from None


def _digest(name: str, placed: Placed, values: State, above: Collection[str]) -> str:
    return digest(name, [placed.kind.name, dict(values), sorted(above)])


def _record(placed: Placed, site: Site) -> Record | None:
    """Return the newest results of a product for just this fingerprint."""
    if not isinstance(placed.stage, Product):
        return None
    shelf = site.project / placed.stage.shelf() / site.recipe
    same = (record for record in records(shelf) if record.fingerprint == site.fingerprint)
    return next(same, None)


def _newest(stages: Collection[Surveyed]) -> Record | None:
    """Return the newest results of this recipe, of whatever fingerprint."""
    shelves = {item.shelf for item in stages if isinstance(item.placed.stage, Product)}
    found = [record for shelf in shelves for record in records(shelf)]
    return max(found, key=lambda record: float(record.facts.get("at", 0)), default=None)


def _missing(
    item: Surveyed,
    dues: Dues,
    newest: Record | None,
    reader: Reader,
    stages: Mapping[str, Surveyed],
) -> str:
    """Return why a product is not proved or a finish is owed; empty when it is neither."""
    match item.placed.stage.role:
        case "product" if item.record:
            return item.record.damage(reader)
        case "product":
            return "; ".join(["no results of this version here", *_changes(newest, stages)])
        case "finish":
            return dues.missing(item.placed.name, item.site.fingerprint)
        case _:
            return ""


def _changes(newest: Record | None, stages: Mapping[str, Surveyed]) -> Iterator[str]:
    """Yield what differs between the newest results' inputs and those of now."""
    before: Any = newest.facts.get("inputs", {}) if newest else {}
    for name, item in stages.items():
        was = before.get(name, {})
        for key, now in item.placed.stage.lineage(item.inputs).items():
            if was.get(key) != now and was:
                yield f"{name}.{key}: {_short(was.get(key))} -> {_short(now)}"


def _short(value: object) -> str:
    text = str(value)
    return text[:12] if len(text) == 64 else text[:200]  # noqa: PLR2004 - the length of a digest


def _forgotten(journal: Journal) -> set[str]:
    last = journal.last("done", "forgotten")
    return {task for task, event in last.items() if event["event"] == "forgotten"}
