"""The way to a box, a step at a time; the first step that fails is the one to mend."""

from __future__ import annotations

import shlex
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zuka import checkup, sshconfig
from zuka.errors import HostError
from zuka.finding import Finding, Level
from zuka.host import SshHost
from zuka.machines import Machine

_CONNECTS_WITHIN = 10.0


@dataclass(frozen=True, slots=True)
class Walked:
    """One step: what was looked at, how it is, and what to do where it is not well."""

    step: str
    level: Level
    text: str
    next: str = ""


def walk(machine: Machine, project: Path) -> Iterator[Walked]:
    """Yield each step from the name to the box's programs; the last one is the first bad one."""
    try:
        yield from _outside(machine)
        yield from _inside(machine, project)
    except HostError as error:
        # Elsewhere an error that nobody knows leads to the doctor; here it is time for ssh's own.
        unknown = error.hint == f"zuka doctor {machine.name}"
        hint = f"what ssh itself says: {_by_hand(machine)}" if unknown else error.hint
        yield Walked(_at(error), "bad", str(error.args[0]), hint)


def _step(step: str, verdict: str, **facts: Any) -> Walked:
    """Return a step that a row of the catalogue words."""
    return _walked(Finding("way", verdict, facts), step)


def _by_hand(machine: Machine) -> str:
    """Return the command with which a person goes the same way."""
    if machine.sandbox:
        return "zuka sandbox ssh -- true"
    key = ["-i", str(machine.key)] if machine.key else []
    jump = ["-J", machine.jump] if machine.jump else []
    port = ["-p", str(machine.port)] if machine.port else []
    who = f"{machine.user}@" if machine.user else ""
    words = [*port, *key, *jump, f"{who}{machine.address or machine.name}", "true"]
    return shlex.join(["ssh", "-v", *words])


def _at(error: HostError) -> str:
    return str(getattr(error, "step", "login"))


def _outside(machine: Machine) -> Iterator[Walked]:
    settings = _named("ssh_config", sshconfig.effective, machine)
    yield _step("ssh_config", "settings", way=sshconfig.way(settings))
    for doubt in sshconfig.doubts(settings):
        yield _walked(doubt, "ssh_config")
    _named("ssh_config", sshconfig.refuse, machine.name, settings)
    if machine.jump or sshconfig.is_through(settings):
        return  # what lies behind another host cannot be seen from here
    host, port = settings["hostname"], int(settings["port"])
    addresses = _named("name", _resolved, host, port)
    yield _step("name", "name", host=host, addresses=", ".join(dict.fromkeys(addresses)))
    yield _step("port", "port", port=port, greeting=_named("port", _greeted, host, port))


def _named(step: str, act: Any, *arguments: Any) -> Any:
    """Do one step; an error of it carries the step's name."""
    try:
        return act(*arguments)
    except HostError as error:
        error.step = step  # type: ignore[attr-defined]
        raise


def _resolved(host: str, port: int) -> list[str]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise HostError.of("way", "name-unknown", host=host, said=error) from None
    return [str(each[4][0]) for each in found]


def _greeted(host: str, port: int) -> str:
    try:
        with socket.create_connection((host, port), timeout=_CONNECTS_WITHIN) as connection:
            connection.settimeout(_CONNECTS_WITHIN)
            greeting = connection.recv(256)
    except OSError as error:
        raise HostError.of("way", "port-closed", host=host, port=port, said=error) from None
    text = greeting.decode("utf-8", "replace").splitlines()[0] if greeting else ""
    if not text.startswith("SSH-"):
        raise HostError.of("way", "port-of-another" if text else "port-mute", greeting=text)
    return text


def _inside(machine: Machine, project: Path) -> Iterator[Walked]:
    told: list[str] = []
    host = SshHost(machine, project / ".zuka", project, say=told.append)
    began = time.monotonic()
    look = host.look([[checkup.run()]])
    took = time.monotonic() - began
    for text in told:
        yield Walked("login", "good", text)
    yield _step("login", "login", seconds=f"{took:.1f}")
    yield _step("box", "box" if look.box.id else "box-new", id=look.box.id)
    found = checkup.read(look.replies[0][0].out, (), time.time(), machine.address)
    tools = " ".join(sorted(found.tools))
    yield _step("programs", "programs" if tools else "programs-none", tools=tools)
    for each in checkup.findings(found, {"platform": machine.platform, "profile": machine.profile}):
        yield _walked(each, each.kind)


def _walked(finding: Finding, step: str) -> Walked:
    hint = "" if finding.level == "good" else finding.next()
    return Walked(step, finding.level, finding.means(), hint)
