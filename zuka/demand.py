"""Which stages are needed: decided on the laptop first, then by the box's answers; pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter

from zuka.stage import Role


@dataclass(frozen=True, slots=True)
class Standing:
    """One stage as the laptop sees it."""

    name: str
    role: Role
    needs: tuple[str, ...]
    missing: str = ""
    """Why a product is not proved, or why a finish is owed; empty when it is neither."""
    chosen: bool = False
    """The user named this stage."""


def demand(stages: Sequence[Standing]) -> dict[str, str]:
    """
    Return the needed stages with the reason; a stage that is absent is not needed.

    A product is needed when its proof is missing. A finish is needed when it is owed, or when the
    box is going to be used. Groundwork is needed by what is made from it: a missing product, a
    stage that the user named, or, where a recipe has no product behind it, by itself.
    """
    needs = {stage.name: stage.needs for stage in stages}
    reasons = _goals(stages)
    finish = {stage.name for stage in stages if stage.role == "finish"}
    used = [name for name in reasons if name not in finish]
    for name in upstream(used, needs):
        reasons.setdefault(name, "a stage that is needed is made from it")
    if used:
        for name in finish:
            reasons.setdefault(name, "owed to the box after use")
    return {stage.name: reasons[stage.name] for stage in stages if stage.name in reasons}


def still_needed(stages: Sequence[Standing], as_asked: Collection[str]) -> set[str]:
    """
    Return the needed stages once the box has answered which of them are as asked.

    What is as asked lets go of what it was made from: the results of a finished run are fetched
    although its environment is gone. What is not as asked needs everything before it.
    """
    needs = {stage.name: stage.needs for stage in stages}
    reasons, goals = demand(stages), _goals(stages)
    products = [s for s in stages if s.role == "product" and s.name in reasons]
    wanted = {need for product in products for need in product.needs}
    wanted.update(s.name for s in stages if s.role == "groundwork" and s.name in goals)
    behind = upstream([name for name in wanted if name not in as_asked], needs)
    finish = {s.name for s in stages if s.role == "finish"}
    return {name for name in reasons if name in goals or name in wanted | behind | finish}


def ordered(needs: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the names, each after what it needs, else in the order given."""
    return list(TopologicalSorter(needs).static_order())


def upstream(names: Iterable[str], needs: Mapping[str, Sequence[str]]) -> set[str]:
    """Return everything that the named stages are made from, directly or not."""
    found: set[str] = set()
    left = list(names)
    while left:
        new = [need for need in needs[left.pop()] if need not in found]
        found.update(new)
        left += new
    return found


def _goals(stages: Sequence[Standing]) -> dict[str, str]:
    needs = {stage.name: stage.needs for stage in stages}
    proved = upstream([stage.name for stage in stages if stage.role == "product"], needs)
    reasons = {stage.name: _goal(stage, proved) for stage in stages}
    return {name: reason for name, reason in reasons.items() if reason}


def _goal(stage: Standing, proved: Collection[str]) -> str:
    if stage.missing:
        return stage.missing
    if stage.role == "product":
        return ""
    if stage.chosen:
        return "you named it"
    if stage.role == "groundwork" and stage.name not in proved:
        return "nothing on the laptop proves it"
    return ""
