"""What ssh says when it fails, what it means, and what to do next; rows of a table."""

from __future__ import annotations

import re

from zuka.errors import HostError

_TABLE: tuple[tuple[str, str, str], ...] = (
    (
        r"REMOTE HOST IDENTIFICATION HAS CHANGED|Host key verification failed",
        "another box answers here: its host key is not the pinned one{keys}; nothing was sent",
        "if you rented a new box: zuka rebind {machine}; if not, ask whoever rents it out",
    ),
    (
        r"Permission denied|Too many authentication failures",
        "the box does not accept our key",
        "put the public key into the console of whoever rents the box out, or check 'user'",
    ),
    (
        r"Connection refused",
        "the box is off, or its SSH server does not run",
        "switch it on in the console; a new port? put it into the recipe's machine",
    ),
    (
        r"timed out|Operation timed out|No route to host|Network is unreachable",
        "the box does not answer",
        "is it on, is the network up, is the address right?",
    ),
    (
        r"Could not resolve hostname",
        "the box's name is not known",
        "check the address in machines.yaml, or the alias in ~/.ssh/config",
    ),
    (
        r"UNPROTECTED PRIVATE KEY FILE|bad permissions",
        "the private key can be read by others, so ssh refuses it",
        "chmod 600 the key file",
    ),
    (
        r"Connection closed|Connection reset|Broken pipe|kex_exchange_identification",
        "the connection was cut",
        "run it again: what was finished is kept",
    ),
)


def explain(stderr: str, machine: str, keys: str = "") -> HostError:
    """Return the error that says what ssh's words mean and what to do next."""
    last = (stderr.strip().splitlines() or ["no answer"])[-1]
    for pattern, meaning, hint in _TABLE:
        if re.search(pattern, stderr):
            text = meaning.format(keys=keys, machine=machine)
            return HostError(f"{machine}: {text} (ssh: {last})", hint=hint.format(machine=machine))
    return HostError(f"{machine}: {last}", hint="try it by hand: ssh -v")
