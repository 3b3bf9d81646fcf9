"""What a stage kind is: the one module a kind's file needs to import."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

from zuka.checkup import Judged, judge
from zuka.checkup import run as checkup
from zuka.errors import RecipeError
from zuka.onbox import authorize, key_state, run_state, running_runs, start_run, tree_state
from zuka.power import power_off, who_rents
from zuka.steps import Follow, Pull, Push, Reply, Run, RunHere, Step
from zuka.trees import Reader, Tree

__all__ = [
    "Access",
    "Follow",
    "Judged",
    "Product",
    "Pull",
    "Push",
    "Reader",
    "RecipeError",
    "Reply",
    "Role",
    "Run",
    "RunHere",
    "Site",
    "Stage",
    "State",
    "Step",
    "Tree",
    "authorize",
    "checkup",
    "judge",
    "key_state",
    "power_off",
    "run_state",
    "running_runs",
    "start_run",
    "tree_state",
    "who_rents",
]

State = Mapping[str, str | None]
"""Named facts about one stage; ``None`` means "not there"."""

Role = Literal["groundwork", "product", "finish"]
"""Where a stage's proof lies: on the box, on the laptop, or in what the box is owed after use."""


class Access(Protocol):
    """What a kind may know of how the box is reached."""

    @property
    def public_key(self) -> str:
        """Return the public half of the key that opens the box; empty: it is the choice of ssh."""
        ...

    @property
    def address(self) -> str:
        """Return where the box is reached; empty where an alias of ssh_config tells it."""
        ...

    @property
    def platform(self) -> str:
        """Return who rents the box out, as machines.yaml names it; empty: it does not."""
        ...

    @property
    def profile(self) -> Mapping[str, Any]:
        """Return what the user knows better of the box than its platform's profile does."""
        ...

    @property
    def is_off(self) -> bool:
        """Tell whether whoever rents the box out says that it is off; asks nobody over a net."""
        ...


@dataclass(frozen=True)
class Site:
    """Where a stage stands: its project, the files it reads, what earlier stages offer."""

    project: Path
    recipe: str
    stage: str
    reader: Reader
    access: Access
    offers: Mapping[str, str] = field(default_factory=dict)
    fingerprint: str = ""
    """Digest of this stage's inputs and of all it descends from; empty while they are read."""

    def tree(self, path: str, *, ignore: Sequence[str] = ()) -> Tree:
        """Return the local file or folder at ``path``; raise RecipeError when it is not there."""
        return self.reader.tree(path, ignore=ignore)

    def tracked(self, path: str) -> Tree:
        """Return what git tracks under ``path``, as it is in the working tree."""
        return self.reader.tracked(path)

    def text(self, path: str) -> str:
        """Return a local text file; raise RecipeError when it cannot be read."""
        return self.reader.text(path)


@dataclass(frozen=True)
class Stage:
    """
    Base of every stage kind.

    A kind is a frozen dataclass whose fields are the keys of its schema. Nothing here talks to the
    box: a kind says what it is made from (inputs), what it wants (desired), what to ask (probe),
    reads the answer (actual), compares (explain) and proposes (plan).
    """

    role: ClassVar[Role] = "groundwork"
    beside: ClassVar[bool] = False
    """Neighbours in a recipe that are all ``beside`` do not need each other."""
    survives_silence: ClassVar[bool] = False
    """After this stage acted, a box that does not answer is an answer (power-off)."""
    mend: ClassVar[str] = "run it again; `zuka doctor` looks at the box"
    """What a person does next when this stage acted and the box is still not as asked."""

    def inputs(self, site: Site) -> State:
        """Return what this stage is made from: the recipe's values and local files, alone."""
        raise NotImplementedError

    def lineage(self, inputs: State) -> State:
        """Return the part of ``inputs`` that later stages descend from; empty: none of it."""
        return inputs

    def offers(self, site: Site) -> Mapping[str, str]:
        """Return what later stages may use, by name: places on the box, the run's id."""
        return {}

    def desired(self, site: Site) -> State:
        """Return the state that the recipe asks for."""
        raise NotImplementedError

    def probe(self, site: Site) -> Sequence[Run]:
        """Return commands that only read; they may run at any time, any number of times."""
        raise NotImplementedError

    def actual(self, site: Site, replies: Sequence[Reply]) -> State:
        """Read the replies to the probe; same keys as ``desired``. Pure."""
        raise NotImplementedError

    def plan(self, site: Site, desired: State, actual: State) -> Iterator[Step]:
        """Yield the steps from ``actual`` to ``desired``, in order; none when they are equal."""
        raise NotImplementedError

    def remarks(self, site: Site, replies: Sequence[Reply]) -> Iterator[str]:
        """Yield lines worth knowing about what was found, though nothing may have to be done."""
        yield from ()

    def explain(self, desired: State, actual: State) -> Iterator[str]:
        """Yield one line per difference; no line means up to date."""
        for key, want in desired.items():
            have = actual.get(key)
            if have != want:
                yield f"{key}: {have or 'absent'} -> {want or 'absent'}"


@dataclass(frozen=True)
class Product(Stage):
    """
    Base of the kinds that bring results home.

    The proof is on the laptop: the engine keeps a record beside the results (fingerprint, every
    file's digest) and compares. So a product has no probe, and its state is ``{"results": …}``.
    """

    role: ClassVar[Role] = "product"

    def shelf(self) -> str:
        """Return the folder that results are kept in, relative to the project."""
        raise NotImplementedError

    def desired(self, site: Site) -> State:
        """Ask for results that are all here and as recorded."""
        return {"results": "whole"}

    def probe(self, site: Site) -> Sequence[Run]:
        """Ask nothing of the box: the engine reads the record on the laptop."""
        return ()

    def actual(self, site: Site, replies: Sequence[Reply]) -> State:
        """Say that nothing is known; the engine answers from the record instead."""
        return {"results": None}
