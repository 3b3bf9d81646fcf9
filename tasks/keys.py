"""The keys kind: the laptop's key opens the box, and only its owner can read either half."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from zuka.stage import Reply, Run, Site, Stage, State, Step, authorize, key_state

_CHOSEN = {"login": "by a key that ssh chose"}


@dataclass(frozen=True)
class Keys(Stage):
    """Let the laptop's key open the box, and keep both halves private."""

    def inputs(self, site: Site) -> State:
        return {}

    def desired(self, site: Site) -> State:
        public = site.access.public_key
        if not public:
            return _CHOSEN
        return {"public key on the box": _shown(public), "private": "yes"}

    def probe(self, site: Site) -> Sequence[Run]:
        public = site.access.public_key or "none"
        return [key_state(public)]

    def actual(self, site: Site, replies: Sequence[Reply]) -> State:
        public = site.access.public_key
        if not public:
            return _CHOSEN
        there, *modes = replies[0].out.splitlines() or ["no"]
        return {
            "public key on the box": _shown(public) if there == "there" else None,
            "private": "yes" if all(mode == "------" for mode in modes) else "no",
        }

    def plan(self, site: Site, desired: State, actual: State) -> Iterator[Step]:
        if desired != actual:
            yield authorize(site.access.public_key)


def _shown(public: str) -> str:
    """Return a key's fingerprint, as `ssh-keygen -l` writes it."""
    try:
        raw = base64.b64decode(public.partition(" ")[2])
    except ValueError:
        raw = b""
    return f"SHA256:{base64.b64encode(hashlib.sha256(raw).digest()).decode().rstrip('=')}"
