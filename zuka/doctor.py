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
from zuka.finding import Finding, Level, language
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
    yield Walked("ssh_config", "good", sshconfig.way(settings))
    for text, hint in sshconfig.doubts(settings):
        yield Walked("ssh_config", "warn", text, hint)
    if machine.jump or sshconfig.is_through(settings):
        return  # what lies behind another host cannot be seen from here
    host, port = settings["hostname"], int(settings["port"])
    addresses = _named("name", _resolved, host, port)
    yield Walked("name", "good", f"{host} is {', '.join(dict.fromkeys(addresses))}")
    yield Walked("port", "good", f"{port} answers: {_named('port', _greeted, host, port)}")


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
        hint = (
            "is it written as the console shows it? is your network up? a name of your own takes"
            " its address with: zuka rebind NAME -p PORT USER@ADDRESS"
        )
        raise HostError(f"nobody knows the name '{host}': {error}", hint=hint) from None
    return [str(each[4][0]) for each in found]


def _greeted(host: str, port: int) -> str:
    from zuka.shell import clean

    try:
        with socket.create_connection((host, port), timeout=_CONNECTS_WITHIN) as connection:
            connection.settimeout(_CONNECTS_WITHIN)
            greeting = connection.recv(256)
    except OSError as error:
        hint = "is the box on? is the port the one of today? consoles give a new one at each start"
        raise HostError(f"{host}, port {port}: {error}", hint=hint) from None
    text = clean(greeting.decode("utf-8", "replace").splitlines()[0] if greeting else "")
    if not text.startswith("SSH-"):
        said = f"what answers is no SSH server: '{text}'" if text else "the port answers nothing"
        raise HostError(said, hint="is it the SSH port? 6006 and 8888 are for web pages")
    return text


def _inside(machine: Machine, project: Path) -> Iterator[Walked]:
    told: list[str] = []
    host = SshHost(machine, project / ".zuka", project, say=told.append)
    began = time.monotonic()
    look = host.look([[checkup.run()]])
    took = time.monotonic() - began
    for text in told:
        yield Walked("login", "good", text)
    yield Walked("login", "good", f"a command ran, all in {took:.1f} s")
    known = f"its id is {look.box.id}" if look.box.id else "zuka was never here"
    yield Walked("box", "good", known)
    found = checkup.read(look.replies[0][0].out, (), time.time(), machine.address)
    yield Walked(
        "programs", "good", f"{' '.join(sorted(found.tools)) or 'none of those that help'}"
    )
    for each in checkup.findings(found, {"platform": machine.platform, "profile": machine.profile}):
        yield _walked(each)


def _walked(finding: Finding) -> Walked:
    tongue = language()
    hint = "" if finding.level == "good" else finding.next(tongue)
    return Walked(finding.kind, finding.level, finding.means(tongue), hint)
