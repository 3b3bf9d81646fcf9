"""Read ``nvidia-smi -q``, as text and as XML: in both, facts below headings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from zuka.gpu.smi import MOST, Card, Part, Process, Slice, bare_name, indented, number

Fact = tuple[str, str]
"""A name below its headings, as "fb_memory_usage/total", and what it says; a heading says ""."""

_CARD = re.compile(r"GPU [0-9A-Fa-f]{4,8}:")
_TAG = re.compile(r"<(/?)([a-z][a-z0-9_]{0,60})(?:\s[^<>]{0,200})?>([^<]{0,1000})")
_DEEPEST = 12
_FOLDED = ("mig_devices", "process_info", "compute_processes")
"""Headings that only one of the two forms has."""
_SAME = {
    "gpu_uuid": "uuid",
    "current_mig": "current",
    "gpu": "gpu_util",
    "pid": "process_id",
    "process_name": "name",
    "used_gpu_memory": "used_memory",
    "remapped_row_pending": "pending",
    "remapped_row_failure": "remapping_failure_occurred",
    "pending_retirement": "pending_page_blacklist",
}
"""Names as XML writes them or as the text does: one for both."""
_RESET = {"gpu_reset_status/reset_required": ("yes",), "gpu_recovery_action": ("reset", "reboot")}
_WORN = {
    "remapped_rows/pending": "row remapping pending",
    "remapped_rows/remapping_failure_occurred": "row remapping failed",
    "retired_pages/pending_page_blacklist": "page retirement pending",
}
_UNCORRECTED = re.compile(r"ecc_errors/volatile/(?:\w*uncorrectable\w*|double_bit/total)")
_FABRIC = {"fabric/state": ("completed", "n/a"), "fabric/status": ("success", "n/a")}
"""What a link between cards says that is up, or that there is none of."""


def read_query(text: str) -> Part | None:
    """Return what ``nvidia-smi -q`` says, with ``-x`` or without; None for any other text."""
    if "<nvidia_smi_log" in text or "<gpu id=" in text:
        facts = [*_of_xml(text[:MOST])]
    elif "NVSMI LOG" in text:
        facts = [*_of_text(indented(text))]
    else:
        return None
    starts = [at for at, (name, _) in enumerate(facts) if name == "gpu"]
    ends = [*starts[1:], len(facts)]
    head = dict(facts[: starts[0] if starts else len(facts)])
    each = [facts[start + 1 : end] for start, end in zip(starts, ends, strict=False)]
    cards = tuple(_card(index, own) for index, own in enumerate(each))
    driver, cuda = head.get("driver_version", ""), head.get("cuda_version", "")
    return Part("query", cards, driver, _processes(each), cuda=cuda)


def _of_text(lines: Iterable[str]) -> Iterator[Fact]:
    """Yield the facts of the text, whose headings are told by the blanks before them."""
    path: list[tuple[int, str]] = []
    for line in filter(None, lines):
        depth = len(line) - len(line.lstrip())
        if _CARD.match(line):
            path = []
            yield "gpu", ""
            continue
        path = [each for each in path if each[0] < depth][:_DEEPEST]
        name, colon, value = (part.strip() for part in line.partition(" : "))
        if not colon:
            path.append((depth, line.strip()))
        yield _named([*(name for _, name in path), *([name] if colon else [])]), value


def _of_xml(text: str) -> Iterator[Fact]:
    """Yield the facts of the XML; no entity is ever expanded, whatever is broken is passed over."""
    path: list[str] = []
    for closes, tag, said in _TAG.findall(text):
        if closes:
            path = path[: path.index(tag)] if tag in path else path
            continue
        if tag == "gpu":
            path = []
            yield "gpu", ""
        elif tag != "nvidia_smi_log":
            path = [*path[:_DEEPEST], tag]
            yield _named(path), said.strip()


def _named(path: Sequence[str]) -> str:
    names = [re.sub(r"\W+", "_", name.strip().lower()) for name in path]
    kept = [name for name in names if name not in _FOLDED]
    return "/".join([*kept[:-1], *(_SAME.get(name, name) for name in kept[-1:])])


def _card(index: int, facts: Sequence[Fact]) -> Card:
    told: dict[str, str] = {}
    for name, value in facts:
        told.setdefault(name, value)
    return Card(
        index=index,
        name=bare_name(told.get("product_name", "")),
        memory=number(told.get("fb_memory_usage/total", "")),
        used=number(told.get("fb_memory_usage/used", "")),
        utilisation=number(told.get("utilization/gpu_util", "")),
        uuid=told.get("uuid", ""),
        mig=told.get("mig_mode/current", "") == "Enabled",
        slices=tuple(_slice(index, own) for own in _groups(facts, "mig_device/")),
        dead=any(
            word in told.get(key, "").lower() for key, said in _RESET.items() for word in said
        ),
        faults=tuple(_faults(told)),
        fabric=next((told[key] for key, up in _FABRIC.items() if _is_down(told, key, up)), ""),
    )


def _is_down(told: Mapping[str, str], key: str, up: Sequence[str]) -> bool:
    return bool(told.get(key)) and told[key].lower() not in up


def _faults(told: Mapping[str, str]) -> Iterator[str]:
    errors = sum(number(said) or 0 for name, said in told.items() if _UNCORRECTED.fullmatch(name))
    if errors:
        yield f"uncorrectable ECC errors: {errors}"
    for key, fault in _WORN.items():
        if told.get(key) == "Yes":
            yield fault


def _slice(card: int, told: Mapping[str, str]) -> Slice:
    device = number(told.get("index", "")) or 0
    return Slice(
        device=device,
        pool=f"{card}/{told.get('gpu_instance_id', f'device {device}')}",
        memory=number(told.get("fb_memory_usage/total", "")),
        used=number(told.get("fb_memory_usage/used", "")),
    )


def _processes(cards: Sequence[Sequence[Fact]]) -> tuple[Process, ...] | None:
    """Return the processes of all cards; None where none is told, which may mean either."""
    found = [
        Process(
            card=index,
            pid=number(told["process_id"]),
            name=told.get("name", ""),
            memory=number(told.get("used_memory", "")),
            instance=number(told.get("gpu_instance_id", "")),
        )
        for index, facts in enumerate(cards)
        for told in _groups(facts, "processes/")
        if "process_id" in told
    ]
    return tuple(found) or None


def _groups(facts: Iterable[Fact], below: str) -> list[dict[str, str]]:
    """Return the facts below a heading that comes several times, each time as a map."""
    found: list[dict[str, str]] = []
    for name, value in facts:
        key = name.removeprefix(below)
        if key == name or not value:
            continue
        if not found or key in found[-1]:
            found.append({})
        found[-1][key] = value
    return found
