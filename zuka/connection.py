"""The connection to a box: the user's own ssh, one explicit master, clients that can be killed."""

from __future__ import annotations

import contextlib
import hashlib
import os
import selectors
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from zuka import diagnosis, shell
from zuka.errors import HostError
from zuka.machines import Machine

_LOGIN_TAKES = 30.0
_SSH_FAILED = 255


@dataclass(frozen=True)
class Client:
    """One running ssh that speaks over the master."""

    process: subprocess.Popen[bytes]
    errors: IO[bytes]

    @property
    def stdin(self) -> IO[bytes]:
        """Return the pipe into the command."""
        assert self.process.stdin is not None  # it was asked for
        return self.process.stdin

    @property
    def stdout(self) -> IO[bytes]:
        """Return the pipe out of the command."""
        assert self.process.stdout is not None  # it always has one
        return self.process.stdout

    def said(self) -> str:
        """Return what ssh or the command said on its standard error, as it may be shown."""
        self.errors.seek(0)
        return shell.clean_lines(self.errors.read(1 << 16).decode(errors="replace"))

    def kill(self) -> None:
        """End this client; what runs on the box goes on."""
        self.process.kill()

    def blocks(self, deadline: float) -> Iterator[bytes]:
        """Yield what comes until the end, or until the time is up; the pipe is then left."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.stdout, selectors.EVENT_READ)
            while (left := deadline - time.monotonic()) > 0:
                if not selector.select(min(left, 3600)):
                    continue
                block = os.read(self.stdout.fileno(), 1 << 16)
                if not block:
                    return
                yield block


class Connection:
    """How one box is reached; threads may share it."""

    def __init__(self, machine: Machine, state: Path) -> None:
        self.machine = machine
        self.socket = _socket_folder() / _short(f"{state}\0{machine}")
        self._known_hosts = state / "known_hosts" / machine.name
        self._clients: set[subprocess.Popen[bytes]] = set()
        self._opening = threading.Lock()

    def exchange(self, text: bytes, *, limit: float) -> bytes:
        """
        Send one script and return all that it printed; raise HostError when none came in time.

        The socket may be a dead master's: then nothing ran, and asking once more is safe.
        """
        deadline = time.monotonic() + limit
        for last in (False, True):
            with as_file(text) as file, self.client(shell.SHELL, stdin=file) as client:
                out = b"".join(client.blocks(deadline))
                if time.monotonic() > deadline:
                    raise HostError(
                        f"{self.machine.name}: no answer within {limit:.0f} s",
                        hint="the box may hang; look with ssh",
                    )
                if out or client.process.wait() != _SSH_FAILED:
                    return out
                if last:
                    raise self.diagnosed(client)
            self.close()
        raise AssertionError

    @contextlib.contextmanager
    def client(self, command: str, *, stdin: int | IO[bytes]) -> Iterator[Client]:
        """Run one command over the master, never over a connection of its own."""
        self._ensure_master()
        options = self._options("ControlMaster=no", "ProxyCommand=false")
        argv = ["ssh", *options, self._target(), command]
        with tempfile.TemporaryFile() as errors:
            process = subprocess.Popen(argv, stdin=stdin, stdout=subprocess.PIPE, stderr=errors)
            self._clients.add(process)
            try:
                yield Client(process, errors)
            finally:
                process.kill()
                for pipe in (process.stdin, process.stdout):
                    with contextlib.suppress(OSError):
                        if pipe:
                            pipe.close()
                process.wait()
                self._clients.discard(process)

    def diagnosed(self, client: Client) -> HostError:
        """Return the error that says what a client's last words mean."""
        return diagnosis.explain(client.said(), self.machine.name)

    def abandon(self) -> None:
        """End our own ssh clients; what runs on the box goes on."""
        for process in list(self._clients):
            with contextlib.suppress(OSError):
                process.kill()

    def close(self) -> None:
        """End the master, which leads nowhere any more."""
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(
                ["ssh", "-O", "exit", *self._options(), self._target()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=5,
                check=False,
            )
        self.socket.unlink(missing_ok=True)

    def _ensure_master(self) -> None:
        with self._opening:  # of two first calls, the second would connect on its own
            if not self.socket.exists():
                self._open_master()

    def _open_master(self) -> None:
        self._known_hosts.parent.mkdir(parents=True, exist_ok=True)
        argv = ["ssh", "-fN", "-M", *self._options("ControlPersist=120"), self._target()]
        with tempfile.TemporaryFile() as errors:
            # All its ends are files: a master keeps what it was given for as long as it lives.
            nothing = subprocess.DEVNULL
            try:
                code = subprocess.run(
                    argv,
                    stdin=nothing,
                    stdout=nothing,
                    stderr=errors,
                    timeout=_LOGIN_TAKES,
                    check=False,
                ).returncode
            except subprocess.TimeoutExpired:
                raise diagnosis.explain("timed out", self.machine.name) from None
            except FileNotFoundError:
                raise HostError(
                    "'ssh' is not installed here", hint="apt install openssh-client, or the like"
                ) from None
            errors.seek(0)
            said = shell.clean_lines(errors.read().decode(errors="replace"))
        if code and not self.socket.exists():
            raise diagnosis.explain(said, self.machine.name, self._keys(said))

    def _options(self, *more: str) -> list[str]:
        machine = self.machine
        settings = [
            "BatchMode=yes",
            "ConnectTimeout=10",
            "ServerAliveInterval=5",
            "ServerAliveCountMax=3",
            f"ControlPath={self.socket}",
            f"UserKnownHostsFile={_word(self._known_hosts)}",
            "GlobalKnownHostsFile=/dev/null",
            "StrictHostKeyChecking=accept-new",
            f"HostKeyAlias=zuka-{machine.name}",
            "HashKnownHosts=no",
            "UpdateHostKeys=no",
            "ForwardAgent=no",
            "ForwardX11=no",
            "RequestTTY=no",
            "EscapeChar=none",
            "Compression=no",
            "LogLevel=ERROR",
            "PermitLocalCommand=no",
            "RemoteCommand=none",
            *more,
        ]
        if machine.key:
            settings += [f"IdentityFile={_word(machine.key)}", "IdentitiesOnly=yes"]
        options = [part for setting in settings for part in ("-o", setting)]
        options += ["-p", str(machine.port)] if machine.port else []
        options += ["-l", machine.user] if machine.user else []
        return options

    def _target(self) -> str:
        return self.machine.address or self.machine.name

    def _keys(self, said: str) -> str:
        """Return the pinned and the offered host key's fingerprint, where both are known."""
        import re

        offered = re.search(r"(SHA256:\S+?)\.?(?:\s|$)", said)
        pinned = subprocess.run(
            ["ssh-keygen", "-lf", str(self._known_hosts)],
            capture_output=True,
            text=True,
            check=False,
        ).stdout.split()
        if not offered or len(pinned) < 2:  # noqa: PLR2004 - bits, then the fingerprint
            return ""
        return f" (pinned {pinned[1]}, offered {offered[1]})"


@contextlib.contextmanager
def as_file(text: bytes) -> Iterator[IO[bytes]]:
    """Give a script as a file: a client can be killed without leaving anybody at a pipe."""
    with tempfile.TemporaryFile() as file:
        file.write(text)
        file.seek(0)
        yield file


def _word(path: Path) -> str:
    """Return a path as one word of ssh's own configuration language."""
    text = str(path).replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{text}"'


def _short(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _socket_folder() -> Path:
    """Return a folder of ours whose name is short: a socket's path has about 100 bytes."""
    folder = Path(f"/tmp/zuka-{os.getuid()}")  # noqa: S108 - owner and mode are checked
    folder.mkdir(mode=0o700, exist_ok=True)
    info = folder.lstat()
    if folder.is_symlink() or info.st_uid != os.getuid() or info.st_mode & 0o077:
        raise HostError(f"{folder} is not a private folder of yours", hint="remove it")
    return folder
