"""Boxes for end-to-end tests: the sandbox, and a real OpenSSH server on loopback."""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Any, Protocol

import psutil

from zuka import sandbox
from zuka.sandbox.home import kill_all

SHARED = ("PIP_", "UV_", "SSL_CERT_", "REQUESTS_CA_")
MARK = "ZUKA_SANDBOX_BOX"


_POWER_OFF = """#!/bin/sh
# What a power-off does to everything that runs: the server, its logins, and what they started.
root={root}
server=$(cat "$root/sshd.pid")
children() {{ grep -lx "PPid:.$1" /proc/[0-9]*/status 2>/dev/null | cut -d / -f 3; }}
logins=$(for child in $(children "$server"); do echo "$child"; children "$child"; done)
(
    sleep 0.1
    kill -KILL "$server" $logins
    for process in /proc/[0-9]*; do
        if [ "${{process#/proc/}}" != "$$" ] && tr '\\0' '\\n' <"$process/environ" 2>/dev/null |
            grep -qxF "{mark}=$root"; then
            kill -KILL "${{process#/proc/}}"
        fi
    done
) </dev/null >/dev/null 2>&1 &
"""


class Box(Protocol):
    """What a test may do to a box, whichever it is."""

    name: str
    home: Path
    """What the box calls its home folder."""
    env: dict[str, str]
    """What zuka's environment needs to find it."""

    def machine(self) -> Any:
        """Return what a recipe says under ``machine``."""
        ...

    def start(self) -> None:
        """Switch it on."""
        ...

    def stop(self) -> None:
        """Switch it off, everything in it ends."""
        ...

    def preempt(self) -> None:
        """Kill everything in it at once; the disk stays."""
        ...

    def replace(self) -> None:
        """Put another box at the same address."""
        ...

    def is_on(self) -> bool:
        """Tell whether it answers."""
        ...

    def close(self) -> None:
        """Leave nothing behind."""
        ...


class SandboxBox:
    """The embedded box."""

    name = "sandbox"

    def __init__(self, root: Path, project: Path) -> None:
        self.root, self._project = root, project
        self.home = root / "home"
        self.env = {"ZUKA_SANDBOX": str(root)}

    def machine(self) -> Any:
        return "sandbox"

    def start(self) -> None:
        sandbox.up(self._project)

    def stop(self) -> None:
        sandbox.down(self._project)

    def preempt(self) -> None:
        sandbox.preempt(self._project)

    def replace(self) -> None:
        sandbox.replace(self._project)

    def is_on(self) -> bool:
        return sandbox.state(self._project).state == "on"

    def close(self) -> None:
        sandbox.down(self._project)
        shutil.rmtree(sandbox.home_of(self._project).sockets, ignore_errors=True)


class SshdBox:
    """A real sshd with its own home, host key and programs, run as the user of the test."""

    name = "sshd"
    address = "127.0.0.1"
    settings = ""
    """Lines of sshd_config that come before the others; the first of a kind wins."""
    login = "/bin/sh"
    """How the login shell is started; `-c` and the command follow."""
    path = ""
    """The box's whole PATH; empty: what this machine has."""
    variables = ""
    """More of a login's environment, as words of a shell."""
    house = "home"
    """What the home folder is called."""
    mounts = ""
    """Shell text that root runs before the server, whose mounts are its own; `$1` is the home."""

    def __init__(self, root: Path, **changes: str) -> None:
        self.root = root
        for name, value in changes.items():
            setattr(self, name, value)
        self.home = root / self.house
        self.env: dict[str, str] = {}
        self.port = _free_port(self.address)
        self.sockets = Path(f"/tmp/zt-{os.getpid()}-{self.port}")
        self._server: subprocess.Popen[bytes] | None = None
        for folder in (root, self.home, root / "bin", self.sockets):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        _key(root / "client_key")
        _key(root / "host_key")
        self._write()

    def machine(self) -> Any:
        return {
            "address": self.address,
            "port": self.port,
            "user": getpass.getuser(),
            "key": str(self.root / "client_key"),
        }

    def start(self) -> None:
        if self._server is not None and self._server.poll() is None:
            return
        log = self.root / "sshd.log"
        server = ["/usr/sbin/sshd", "-D", "-f", str(self.root / "sshd_config"), "-E", str(log)]
        if self.mounts:
            text = f'{self.mounts}\nshift; exec "$@"'
            server = ["unshare", "-m", "sh", "-ec", text, "sh", str(self.home), *server]
        self._server = subprocess.Popen(server, stdin=subprocess.DEVNULL)
        (self.root / "sshd.pid").write_text(str(self._server.pid))
        deadline = time.monotonic() + 10
        while not self.is_on():
            if time.monotonic() > deadline or self._server.poll() is not None:
                raise RuntimeError(log.read_text() if log.exists() else "sshd does not start")
            time.sleep(0.02)

    def stop(self) -> None:
        self._kill(signal.SIGTERM)

    def preempt(self) -> None:
        self._kill(signal.SIGKILL)

    def replace(self) -> None:
        was_on = self.is_on()
        self.preempt()
        shutil.rmtree(self.home)
        self.home.mkdir(mode=0o700)
        for name in ("host_key", "host_key.pub"):
            (self.root / name).unlink()
        _key(self.root / "host_key")
        if was_on:
            self.start()

    def is_on(self) -> bool:
        try:
            with socket.create_connection((self.address, self.port), timeout=2) as connection:
                return connection.recv(4) == b"SSH-"
        except OSError:
            return False

    def close(self) -> None:
        self.preempt()
        shutil.rmtree(self.sockets, ignore_errors=True)

    def _kill(self, number: int) -> None:
        if self._server is None:
            return
        try:
            children = psutil.Process(self._server.pid).children(recursive=True)
        except psutil.Error:
            children = []
        for child in children:
            with contextlib.suppress(psutil.Error):
                child.send_signal(number)
        if self._server.poll() is None:
            self._server.send_signal(number)
        self._server.wait(timeout=10)
        for child in children:
            try:
                child.kill()
            except psutil.Error:
                continue
        kill_all(self.root)

    def _write(self) -> None:
        python = shutil.which("python3") or ""
        folder = Path(python).resolve().parent
        own = {
            "HOME": str(self.home),
            "USER": getpass.getuser(),
            "SHELL": "/bin/sh",
            "PATH": f"{self.root}/bin:{self.path or f'{folder}:/usr/local/bin:/usr/bin:/bin'}",
            "TMUX_TMPDIR": str(self.sockets),
            MARK: str(self.root),
            "LANG": "C.UTF-8",
        }
        shared = {name: os.environ[name] for name in os.environ if name.startswith(SHARED)}
        words = " ".join(_quoted(f"{name}={value}") for name, value in {**shared, **own}.items())
        (self.root / "login").write_text(
            f"#!/bin/sh\ncd {_quoted(str(self.home))} || exit 1\n"
            # With SSH_CLIENT in its environment, bash reads .bashrc for a command, too.
            f'exec env -i {words} SSH_CLIENT="$SSH_CLIENT" {self.variables} {self.login} -c'
            ' "${SSH_ORIGINAL_COMMAND:-exec /bin/sh -l}"\n'
        )
        _program(self.root / "login")
        for name in ("shutdown", "poweroff"):
            text = _POWER_OFF.format(root=_quoted(str(self.root)), mark=MARK)
            (self.root / "bin" / name).write_text(text)
            _program(self.root / "bin" / name)
        (self.root / "authorized_keys").write_text((self.root / "client_key.pub").read_text())
        (self.root / "sshd_config").write_text(
            f"{self.settings}\nPort {self.port}\nListenAddress {self.address}\n"
            f"HostKey {self.root}/host_key\n"
            f'AuthorizedKeysFile {self.root}/authorized_keys "{self.home}/.ssh/authorized_keys"\n'
            "UsePAM no\nStrictModes no\nPasswordAuthentication no\nPidFile none\n"
            f"KbdInteractiveAuthentication no\nForceCommand {self.root}/login\n"
            "PermitRootLogin prohibit-password\nMaxStartups 100\n"
        )


def _free_port(address: str) -> int:
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as taken:
        taken.bind((address, 0))
        return int(taken.getsockname()[1])


def _key(path: Path) -> None:
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)


def _program(path: Path) -> None:
    path.chmod(0o755)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
