"""
The embedded box: a real SSH server on loopback, with its own home, disk and power switch.

zuka talks to it just as to a rented box. It lies outside the project, so that it survives the
project's ``.zuka``, one box a project. Imports nothing heavy: the server is a process of its own.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from zuka.errors import HostError
from zuka.machines import SANDBOX, Machine
from zuka.sandbox.home import Home, home_of
from zuka.store import read_json, write_json

__all__ = ["State", "down", "home_of", "preempt", "rent", "replace", "state", "up"]

_START_TAKES = 20.0
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class State:
    """How the box is: "never", "on", "stopping", "off" or "preempted"."""

    state: str
    port: int = 0
    pid: int = 0
    since: float = 0.0


def rent(project: Path, *, bin: Path | None = None) -> Machine:  # noqa: A002 - the recipe's word
    """Return the project's box, switched on; raise HostError when it was taken away."""
    home = home_of(project)
    with _alone(home):
        if _state(home).state == "preempted":
            raise HostError.of("access", "sandbox-taken-away")
        _start(home, bin)
        return _machine(home)


def up(project: Path, *, bin: Path | None = None) -> Machine:  # noqa: A002 - the recipe's word
    """Switch the box on, whatever became of it before."""
    home = home_of(project)
    with _alone(home):
        _start(home, bin)
        return _machine(home)


def down(project: Path) -> None:
    """Power the box off: every process in it ends, the disk stays."""
    _end(project, "off")


def preempt(project: Path) -> None:
    """Take the box away as a provider does: everything is killed at once, the disk stays."""
    _end(project, "preempted")


def replace(project: Path) -> None:
    """Put another box at the same address: new host key, empty disk; on if the old one was."""
    home = home_of(project)
    with _alone(home):
        was_on = _state(home).state == "on"
        _kill(home)
        for path in (home.disk, home.host_key, home.login_keys):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        _write(home, "off")
        if was_on:
            _start(home, None)


def state(project: Path) -> State:
    """Return how the box is; one that died without a word counts as preempted."""
    return _state(home_of(project))


def _end(project: Path, how: str) -> None:
    home = home_of(project)
    with _alone(home):
        if _state(home).state != "never":
            _kill(home)
            _write(home, how)


@contextlib.contextmanager
def _alone(home: Home) -> Iterator[None]:
    """Let one process at a time start or end the box."""
    home.make()
    with home.lock.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _state(home: Home) -> State:
    value = read_json(home.state, version=_FORMAT)
    if value is None:
        return State("never")
    found = State(value["state"], value["port"], value["pid"], value["since"])
    if found.state in ("on", "stopping") and not _lives(found.pid, value["born"]):
        dead = "preempted" if found.state == "on" else "off"
        return State(dead, found.port, 0, found.since)
    return found


def _lives(pid: int, born: float) -> bool:
    import psutil

    try:
        process = psutil.Process(pid)
        return bool(process.create_time() == born and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def _machine(home: Home) -> Machine:
    import getpass

    port = _state(home).port
    return Machine(
        SANDBOX,
        address="127.0.0.1",
        port=port,
        user=getpass.getuser(),
        key=home.console_key,
        sandbox=True,
    )


def _start(home: Home, folder: Path | None) -> None:
    """Start the server when it is not on; raise HostError when it does not come up."""
    home.set_programs(folder)
    while (now := _state(home)).state == "stopping":
        time.sleep(0.02)
    if now.state == "on":
        return
    home.furnish()
    with home.log.open("ab") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "zuka.sandbox.server", str(home.root), str(now.port)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            cwd=home.root,
            env=_server_environment(),
        )
    deadline = time.monotonic() + _START_TAKES
    while time.monotonic() < deadline:
        port = _announced(home, server.pid)
        if port and _answers(port):
            return
        if server.poll() is not None:
            break
        time.sleep(0.02)
    tail = home.log.read_text(errors="replace").strip().splitlines()[-1:]
    facts = {"said": " ".join(tail), "log": home.log}
    raise HostError.of("access", "sandbox-does-not-start", **facts)


def _server_environment() -> dict[str, str]:
    """Return the environment of the server: it finds this very zuka."""
    package = str(Path(__file__).resolve().parent.parent.parent)
    paths = [package, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def _announced(home: Home, pid: int) -> int:
    value = read_json(home.state, version=_FORMAT)
    same = value is not None and value["pid"] == pid and value["state"] == "on"
    return int(value["port"]) if value is not None and same else 0


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=2) as connection:
            return connection.recv(4) == b"SSH-"
    except OSError:
        return False


def _kill(home: Home) -> None:
    """Kill the server, then everything in the box, until nothing of it is left."""
    import psutil

    from zuka.sandbox.home import kill_all

    now = read_json(home.state, version=_FORMAT)
    if now is not None and _lives(now["pid"], now["born"]):
        with contextlib.suppress(psutil.Error):
            psutil.Process(now["pid"]).kill()
    kill_all(home.root)


def _write(home: Home, how: str) -> None:
    port = _state(home).port
    facts = {"format": _FORMAT, "state": how, "port": port, "pid": 0, "born": 0}
    write_json(home.state, {**facts, "since": time.time()})
