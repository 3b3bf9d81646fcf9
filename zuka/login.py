"""What a login needs besides ssh: a private key of our own, and the one moment with a password."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from zuka import shell
from zuka.errors import HostError
from zuka.finding import Finding
from zuka.machines import own_key
from zuka.onbox import authorize

_ANSWERS_WITHIN = 60.0
_TYPED_WITHIN = 300.0
_OTHERS = 0o077

Say = Callable[[str], None]
"""Tells the user something that has to be known."""


def unsaid(text: str) -> None:
    """Tell nobody."""


def prepare(key: Path, say: Say) -> None:
    """Make our key where it is missing, and keep any key private; raise HostError otherwise."""
    try:
        info = key.stat()
    except OSError:
        if key != own_key():
            raise _missing(key) from None
        _make(key)
        say(_told("key-made", key=key))
        return
    if info.st_mode & _OTHERS and info.st_uid == os.getuid() and not _is_behind_a_link(key):
        key.chmod(0o600)
        say(_told("key-closed", key=key))
    if key.stat().st_mode & _OTHERS:
        raise HostError.of("access", "key-open", key=key)


def _is_behind_a_link(key: Path) -> bool:
    """Tell whether a key, or a folder of the user's on the way to it, is a link (~/.ssh in WSL)."""
    way = [key, *key.parents]
    inside = way[: way.index(Path.home())] if Path.home() in way else way[:1]
    return any(path.is_symlink() for path in inside)


def _told(verdict: str, **facts: Any) -> str:
    return Finding("access", verdict, facts).means()


def _missing(key: Path) -> HostError:
    if re.match(r"[A-Za-z]:[^\\/]", key.name):
        return HostError.of("access", "key-path-of-windows", key=key, name=key.name)
    return HostError.of("access", "no-private-key", key=key)


def _make(key: Path) -> None:
    """Write a new pair, whole or not at all; whoever is first wins."""
    key.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=key.parent) as folder:
        half = Path(folder) / key.name
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "zuka", "-f", str(half)]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
        )
        if done.returncode:
            raise OSError(done.stderr.strip())
        try:
            os.link(half, key)
        except FileExistsError:
            return
        Path(f"{half}.pub").replace(f"{key}.pub")


def public(key: Path) -> str:
    """Return a key's public half without its comment; empty when nothing tells it."""
    try:
        text = Path(f"{key}.pub").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = _derived(key).stdout
    return " ".join(text.split()[:2])


def held() -> int:
    """Return how many keys the user's agent holds."""
    try:
        done = subprocess.run(
            ["ssh-add", "-l"], capture_output=True, stdin=subprocess.DEVNULL, timeout=5, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return 0
    return 0 if done.returncode else len(done.stdout.splitlines())


def _derived(key: Path) -> subprocess.CompletedProcess[str]:
    command = ["ssh-keygen", "-y", "-P", "", "-f", str(key)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )


def why_refused(key: Path, machine: str) -> HostError | None:
    """Return what is wrong with a key that a box refused; None: it may be fine."""
    done = _derived(key)
    if done.returncode == 0:
        return None
    facts = {"machine": machine, "key": key}
    if "passphrase" in done.stderr:
        return HostError.of("access", "key-has-passphrase", **facts)
    return HostError.of("access", "key-is-none", **facts, said=done.stderr.strip()[:200])


def admit(ssh: Sequence[str], target: str, key: Path, said: str, say: Say) -> bool:
    """
    Let our key into a box by another door, after ssh ``said`` that it is refused.

    ``ssh`` are the program and its options. First the doors that the user's own ssh knows, then,
    once and only where somebody sits at a terminal, the password, which ssh itself asks for.
    """
    line = public(key)
    if not line or "Permission denied" not in said:
        return False
    command = shell.as_argument(shlex.join(authorize(line).argv).encode())
    if key == own_key() and _tried([*ssh, "-o", "BatchMode=yes"], target, command):
        say(_told("let-in-by-another-key"))
        return True
    if not re.search(r"\([^)]*(?:password|keyboard-interactive)", said) or not _somebody():
        return False
    say(_told("password-asked"))
    by_password = (
        "BatchMode=no",
        "PubkeyAuthentication=no",
        "PreferredAuthentications=keyboard-interactive,password",
    )
    first = [part for setting in by_password for part in ("-o", setting)]
    return _tried([ssh[0], *first, *ssh[1:]], target, command, within=_TYPED_WITHIN)


def _tried(
    ssh: Sequence[str], target: str, command: str, *, within: float = _ANSWERS_WITHIN
) -> bool:
    try:
        done = subprocess.run(
            [*ssh, target, command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=None if within == _TYPED_WITHIN else subprocess.DEVNULL,
            timeout=within,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def _somebody() -> bool:
    """Tell whether a person can be asked: ssh asks at the terminal, whatever is piped."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR))
    except OSError:
        return False
    return True
