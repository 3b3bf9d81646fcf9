"""The keys kind: the laptop's key opens the box, and only its owner can read either half."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from zuka.stage import Reply, Run, RunHere, Site, Stage, State, Step

_ASK = """
file=$HOME/.ssh/authorized_keys
if [ -n "$1" ] && grep -qF -- "$1" "$file" 2>/dev/null; then echo there; else echo missing; fi
for path in "$HOME/.ssh" "$file"; do
    if [ -e "$path" ]; then ls -ld "$path" | cut -c 5-10; fi
done
"""
_INSTALL = """
umask 077
mkdir -p "$HOME/.ssh" && chmod 700 "$HOME/.ssh" || exit 1
file=$HOME/.ssh/authorized_keys
if ! grep -qF -- "$1" "$file" 2>/dev/null; then
    if [ -s "$file" ] && [ -n "$(tail -c 1 "$file")" ]; then echo >>"$file" || exit 1; fi
    printf '%s\\n' "$2" >>"$file" || exit 1
fi
chmod 600 "$file"
"""


@dataclass(frozen=True)
class Keys(Stage):
    """Let the laptop's key open the box, and keep both halves private."""

    def inputs(self, site: Site) -> State:
        return {}

    def desired(self, site: Site) -> State:
        if site.access.key is None:
            return {"login": "by a key that ssh chose"}
        return {"public key on the box": _shown(_public(site.access.key)), "private": "yes"}

    def probe(self, site: Site) -> Sequence[Run]:
        text = _public(site.access.key) if site.access.key else ""
        return [Run(("sh", "-c", _ASK, "zuka", text), shown="who may log in")]

    def actual(self, site: Site, replies: Sequence[Reply]) -> State:
        key = site.access.key
        if key is None:
            return {"login": "by a key that ssh chose"}
        there, *modes = replies[0].out.splitlines() or ["missing"]
        private = all(mode == "------" for mode in modes) and not key.stat().st_mode & 0o077
        return {
            "public key on the box": _shown(_public(key)) if there == "there" else None,
            "private": "yes" if private else "no",
        }

    def plan(self, site: Site, desired: State, actual: State) -> Iterator[Step]:
        key = site.access.key
        if key is None or desired == actual:
            return
        if key.stat().st_mode & 0o077:
            yield RunHere(("chmod", "600", "--", str(key)))
        line = f"{_public(key)} zuka"
        yield Run(("sh", "-c", _INSTALL, "zuka", _public(key), line), shown="install the key")


def _shown(public: str) -> str:
    """Return a key's fingerprint, as `ssh-keygen -l` writes it."""
    try:
        raw = base64.b64decode(public.partition(" ")[2])
    except ValueError:
        raw = b""
    return f"SHA256:{base64.b64encode(hashlib.sha256(raw).digest()).decode().rstrip('=')}"


def _public(key: Path) -> str:
    """Return the public half, without its comment; empty when it lies nowhere."""
    try:
        text = Path(f"{key}.pub").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return " ".join(text.split()[:2])
