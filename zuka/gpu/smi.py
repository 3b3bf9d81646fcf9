"""What nvidia-smi says, as values; and its text as lines that can be read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from zuka.shell import clean

Form = Literal["table", "csv", "list", "query", "version", "panel", ""]

MOST = 1_000_000
"""Characters of one text that are read."""
_WIDTH = 1_000
_SURROUND = re.compile(
    r"^(?:[\s>`]*)(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[\d.,]*(?:Z|[+-]\d\d:?\d\d)?\]?\s+)?"
)


class Process(NamedTuple):
    """One process on a card; its memory in MiB is None where the driver does not tell."""

    card: int
    pid: int | None
    name: str
    memory: int | None
    instance: int | None = None
    """The GPU instance (GI) of a card that is cut into slices."""


@dataclass(frozen=True, slots=True)
class Slice:
    """
    One MIG device: a part of a card, as CUDA sees it; sizes in MiB.

    Compute instances of one GPU instance share its memory: they have the same pool.
    """

    device: int
    pool: str
    profile: str = ""
    memory: int | None = None
    used: int | None = None
    uuid: str = ""


@dataclass(frozen=True, slots=True)
class Card:
    """One card; sizes in MiB and the utilisation in percent, None where they are not told."""

    index: int
    name: str = ""
    memory: int | None = None
    used: int | None = None
    utilisation: int | None = None
    uuid: str = ""
    mig: bool = False
    slices: tuple[Slice, ...] = ()
    dead: bool = False
    capability: str = ""
    faults: tuple[str, ...] = ()
    """What is wrong with its memory, as it says itself."""
    fabric: str = ""
    """The state of its link to the others (NVSwitch), where that is not up."""


@dataclass(frozen=True, slots=True)
class Cards:
    """Everything that nvidia-smi said."""

    cards: tuple[Card, ...] = ()
    driver: str = ""
    cuda: str = ""
    """The highest CUDA that the driver runs; empty when that is not known."""
    cuda_from: Literal["header", "driver table", ""] = ""
    cuda_said: str = ""
    """What stands for the CUDA version, where that is no version: ERR!, N/A."""
    processes: Literal["none", "hidden"] | tuple[Process, ...] = "hidden"
    trouble: str = ""
    """A verdict's name; empty when nvidia-smi worked."""
    said: str = ""
    """The line that tells the trouble."""
    form: Form = ""
    no_slices: bool = False
    """MIG is on, and no slice was made."""


class Part(NamedTuple):
    """What one reader found in the text."""

    form: Form
    cards: tuple[Card, ...] = ()
    driver: str = ""
    processes: Literal["none", "hidden"] | tuple[Process, ...] | None = None
    no_slices: bool = False
    cuda: str = ""


def lines_of(text: str) -> list[str]:
    """Return the text's lines without escapes, quotes and times before them; none is long."""
    text = re.sub("[\ufeff\u200b-\u200f\u2060]", "", text[:MOST])
    found = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return [_SURROUND.sub("", clean(line[:_WIDTH])).rstrip() for line in found]


def indented(text: str) -> list[str]:
    """Return the text's lines with the blanks before them."""
    found = text[:MOST].replace("\r", "").split("\n")
    return [clean(line[:_WIDTH]).rstrip() for line in found]


def bare_name(name: str) -> str:
    """Return a card's name as it is printed, without the maker before it."""
    return re.sub(r"^NVIDIA[ -]", "", re.sub(r"\s+", " ", name.strip()))


def number(text: str) -> int | None:
    """Return the whole number that a field begins with; None for N/A and the like."""
    found = re.match(r"\s*([0-9]{1,9})(?:\.[0-9]+)?(?![0-9.:-])", text)
    return int(found[1]) if found else None


def merged(parts: Iterable[Part]) -> tuple[Card, ...]:
    """Return the cards of several outputs, by index; what one does not tell, another may."""
    found: dict[int, Card] = {}
    for part in parts:
        for card in part.cards:
            found[card.index] = _joined(found[card.index], card) if card.index in found else card
    return tuple(found[index] for index in sorted(found))


def _joined(one: Card, other: Card) -> Card:
    def of(first: int | None, second: int | None) -> int | None:
        return second if first is None else first

    name = other.name if not one.name or one.name.endswith("...") else one.name
    return replace(
        one,
        name=name or one.name,
        memory=of(one.memory, other.memory),
        used=of(one.used, other.used),
        utilisation=of(one.utilisation, other.utilisation),
        uuid=one.uuid or other.uuid,
        mig=one.mig or other.mig,
        slices=_slices(one.slices, other.slices),
        dead=one.dead or other.dead,
        capability=one.capability or other.capability,
        faults=one.faults or other.faults,
        fabric=one.fabric or other.fabric,
    )


def _slices(one: tuple[Slice, ...], other: tuple[Slice, ...]) -> tuple[Slice, ...]:
    """Return the table's slices, with the profiles that only the list names."""
    if not one:
        return other
    listed = {each.device: each for each in other}
    return tuple(
        replace(each, profile=listed[each.device].profile, uuid=listed[each.device].uuid)
        if each.device in listed
        else each
        for each in one
    )


def devices(cards: Cards) -> list[Card | Slice]:
    """Return what CUDA can use: whole cards that answer, and slices."""
    return [
        each
        for card in cards.cards
        if not card.dead
        for each in (card.slices or ([] if cards.no_slices and card.mig else [card]))
    ]


def pools(card: Card) -> Iterator[tuple[str, int | None, int | None]]:
    """Yield each memory of a card once: where, total, used; a shared one is not counted twice."""
    if not card.slices:
        yield f"GPU {card.index}", card.memory, card.used
    seen: set[str] = set()
    for each in card.slices:
        if each.pool not in seen:
            seen.add(each.pool)
            yield f"GPU {card.index} MIG {each.device}", each.memory, each.used
