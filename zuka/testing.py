"""Helpers for people who write stage kinds: replay a case without a box."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zuka.kinds import Kind, frozen
from zuka.stage import Reply, Site
from zuka.trees import Reader

_OF_ACCESS = ("public_key", "address", "platform", "profile")


@dataclass(frozen=True, slots=True)
class Access:
    """How the box of a case is reached."""

    public_key: str = ""
    address: str = ""
    platform: str = ""
    profile: Mapping[str, Any] = field(default_factory=dict)
    is_off: bool = False


def replay(kind: Kind, case: Mapping[str, Any], folder: Path) -> dict[str, list[str]]:
    """
    Return what ``kind`` would ask, say and do in the situation that ``case`` describes.

    A case has ``params`` (the stage's keys), ``files`` (name to text, written into ``folder``),
    ``site`` (fingerprint, offers, public_key, …) and ``replies`` (code, out) in the probes' order.
    """
    for name, text in case.get("files", {}).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o600)
        os.utime(path, (0, 0))
    given = case.get("site", {})
    access = Access(**{key: given[key] for key in _OF_ACCESS if key in given})
    reader = Reader(folder, folder / ".cache.json")
    fingerprint = given.get("fingerprint", "f" * 64)
    offers = given.get("offers", {})
    site = Site(folder, "train", kind.name, reader, access, offers, fingerprint)
    stage = kind.make({key: frozen(value) for key, value in case.get("params", {}).items()})
    desired = stage.desired(site)
    actual = stage.actual(site, [Reply(**reply) for reply in case.get("replies", [])])

    def shown(items: Any) -> list[str]:
        return [str(item).replace(str(folder), ".") for item in items]

    return {
        "probe": shown(stage.probe(site)),
        "explain": shown(stage.explain(desired, actual)),
        "plan": shown(stage.plan(site, desired, actual)),
    }
