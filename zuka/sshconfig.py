"""The user's ssh_config, as OpenSSH itself reads it; it is the only parser."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from zuka import diagnosis, shell
from zuka.errors import HostError
from zuka.finding import Finding
from zuka.machines import Machine

_ANSWERS_WITHIN = 10.0


def effective(machine: Machine, config: Path | None = None) -> dict[str, str]:
    """
    Return what ssh would do for a box: its settings, lower-case; the first of a kind counts.

    ``config`` is another file than the user's own. Runs the ``Match exec`` in it, as each login
    does; so no plan calls it. Raises HostError with the file and line that ssh names.
    """
    options = ["-p", str(machine.port)] if machine.port else []
    options += ["-l", machine.user] if machine.user else []
    options += ["-F", str(config)] if config else []
    try:
        done = subprocess.run(
            ["ssh", "-G", "-N", *options, machine.address or machine.name],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_ANSWERS_WITHIN,
            check=False,
        )
    except FileNotFoundError as error:
        raise HostError.here(error) from None
    except subprocess.TimeoutExpired:
        raise HostError.of("access", "ssh-config-hangs") from None
    if done.returncode:
        raise diagnosis.explain(shell.clean_lines(done.stderr), machine.name)
    found: dict[str, str] = {}
    for line in done.stdout.splitlines():
        key, _, value = line.partition(" ")
        found.setdefault(key, value)
    return found


def is_through(settings: Mapping[str, str]) -> bool:
    """Tell whether a box is reached through another host, or by a command of the user's."""
    return any(settings.get(key, "none") != "none" for key in ("proxyjump", "proxycommand"))


def way(settings: Mapping[str, str]) -> str:
    """Return how a box is reached in one line: user@host:port, and what lies between."""
    host = settings.get("hostname", "")
    shown = f"[{host}]" if ":" in host else host
    through = settings.get("proxyjump") or settings.get("proxycommand") or ""
    text = f"{settings.get('user', '')}@{shown}:{settings.get('port', '22')}"
    return shell.clean(f"{text} through {through}" if through not in ("", "none") else text)


def doubts(settings: Mapping[str, str]) -> Iterator[Finding]:
    """Yield what is strange in the settings of a box."""
    host, key = settings.get("hostname", ""), settings.get("identityfile", "")
    if re.search(r"[<>]|\s", host):
        yield Finding("way", "placeholder", {"host": host})
    if re.fullmatch(r"[A-Za-z]:[^\\/].*", key):
        yield Finding("way", "key-path-of-windows", {"key": key})
    if settings.get("stricthostkeychecking") in ("no", "false", "off"):
        yield Finding("way", "host-may-be-anybody")
    if settings.get("userknownhostsfile", "").split() == ["/dev/null"]:
        yield Finding("way", "hosts-forgotten")
