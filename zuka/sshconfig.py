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
_PLACEHOLDER = r"[<>{}\[\]]|^(?:your[_-]|x{3}|你的|控制台|主机|用户)"
"""What templates leave to be filled in."""


def effective(machine: Machine, config: Path | None = None) -> dict[str, str]:
    """
    Return what ssh would do for a box: its settings, lower-case; the first of a kind counts.

    Only of ``identityfile`` there is a line each.

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
        if key == "identityfile" and key in found:
            value = f"{found.pop(key)}\n{value}"
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


def refuse(name: str, settings: Mapping[str, str]) -> None:
    """Raise HostError for an address through which no program can work."""
    from zuka import platforms

    wrong = platforms.refused(settings.get("hostname", ""), settings.get("user", ""))
    if wrong:
        raise HostError(f"{name}: {wrong.means()}", hint=wrong.next())


def doubts(settings: Mapping[str, str]) -> Iterator[Finding]:
    """Yield what is strange in the settings of a box."""
    keys = settings.get("identityfile", "").splitlines()
    fields = [(name, settings.get(name, "")) for name in ("hostname", "user")]
    for field, text in [*fields, *(("identityfile", key) for key in keys)]:
        if re.search(_PLACEHOLDER, text, re.IGNORECASE):
            yield Finding("way", "placeholder", {"field": field, "text": text})
    host = settings.get("hostname", "")
    if "@" in host or re.fullmatch(r"[^:]+:\d+", host):
        yield Finding("way", "name-with-more", {"host": host})
    for key in keys:
        if re.fullmatch(r"[A-Za-z]:[^\\/].*", key):
            yield Finding("way", "key-path-of-windows", {"key": key})
        elif _is_missing(key):
            yield Finding("way", "key-missing", {"key": key})
    if settings.get("stricthostkeychecking") in ("no", "false", "off"):
        yield Finding("way", "host-may-be-anybody")
    remembered = {*settings.get("userknownhostsfile", "").split()}
    if remembered and remembered <= {"/dev/null", "none"}:
        yield Finding("way", "hosts-forgotten")


def _is_missing(key: str) -> bool:
    """Tell whether a key that the user named is not there; ssh names its own and keeps silent."""
    if re.fullmatch(r"~/\.ssh/id_\w+", key) or key == "none" or re.search(r"[%$<>{}]", key):
        return False
    return not Path(key).expanduser().exists()
