"""The connection to a box: the user's own ssh, one explicit master, clients that can be killed."""

from __future__ import annotations

import contextlib
import hashlib
import os
import selectors
import shlex
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from zuka import diagnosis, login, shell
from zuka.boxes import stranger
from zuka.errors import CrowdedError, HostError, StrangerError
from zuka.finding import Finding
from zuka.machines import Machine, own_key

_LOGIN_TAKES = 30.0
_CLOSES_WITHIN = 2.0
"""Seconds between the end of a command's output and its exit code, on a link that lives."""
_SSH_FAILED = 255
_ALONE_AT_MOST, _MOMENT = 50, 0.1
"""Times that the only session is asked for again, and the seconds between."""
_LONGEST_ARGUMENT = 100_000
"""Bytes; Linux takes 131,072 in one argument, here and on the box."""


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

    def __init__(
        self, machine: Machine, state: Path, say: login.Say = login.unsaid, *, asks: bool = False
    ) -> None:
        self.machine = machine
        self._say = say
        self._key, self._asks = machine.key, asks
        self.socket = _socket_folder() / _short(f"{state}\0{machine}")
        self._known_hosts = state / "known_hosts" / machine.name
        self._clients: set[subprocess.Popen[bytes]] = set()
        self._opening = threading.Lock()
        self._turn = threading.Condition()
        self._most = 0
        """Sessions that the server was seen to allow at a time; 0: as many as were asked for."""
        self._alone = 0
        """Times in a row that the server refused the only session."""

    def exchange(self, text: bytes, *, limit: float, shortest: bool = False) -> bytes:
        """
        Send one script and return all that it printed; raise HostError when none came in time.

        The socket may be a dead master's: then nothing ran, and asking once more is safe.
        ``shortest`` saves a round trip: the script, which everybody may see, goes as an argument.
        """
        deadline = time.monotonic() + limit
        argument = shell.heard(text) if shortest else ""
        fits = 0 < len(argument) < _LONGEST_ARGUMENT
        for last in (False, True):
            with (
                as_file(shell.SPOKEN if fits else text) as file,
                self.client(argument if fits else shell.SHELL, stdin=file) as client,
            ):
                out = b"".join(client.blocks(deadline))
                if time.monotonic() > deadline:
                    facts = {"machine": self.machine.name, "seconds": round(limit)}
                    raise HostError.of("access", "no-answer", **facts)
                self.refuse_a_stranger(client)
                if out:
                    self._alone = 0
                    return out
                code, said = client.process.wait(), client.said()
                if code != _SSH_FAILED or (last and not said):
                    # A script of ours prints before it does anything.
                    raise diagnosis.runs_nothing(said.encode(), self.machine.name)
                error = self.diagnosed(client)
                if last or isinstance(error, CrowdedError):
                    raise error
            self.close()
        raise AssertionError

    @contextlib.contextmanager
    def client(self, command: str, *, stdin: int | IO[bytes]) -> Iterator[Client]:
        """Run one command over the master alone: ssh_config was heard when it opened."""
        self._ensure_master()
        if self._alone:
            time.sleep(_MOMENT)  # a session counts on the server for a moment after its end
        alone = ["-F", "/dev/null", *_spelled("ControlMaster=no", "ProxyCommand=false")]
        argv = ["ssh", *alone, *self._options(), self._target(), command]
        with tempfile.TemporaryFile() as errors:
            with self._turn:
                self._turn.wait_for(lambda: not self._most or len(self._clients) < self._most)
                process = subprocess.Popen(argv, stdin=stdin, stdout=subprocess.PIPE, stderr=errors)
                self._clients.add(process)
            try:
                yield Client(process, errors)
            finally:
                self._end(process)

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """End a client, and let the next one have its session."""
        process.kill()
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                if pipe:
                    pipe.close()
        process.wait()
        with self._turn:
            self._clients.discard(process)
            self._turn.notify()

    def diagnosed(self, client: Client) -> HostError:
        """Return the error that says what a client's last words mean."""
        said = client.said()
        others = len(self._clients) - 1
        if "session request failed" not in said:
            self._alone = 0
        elif others or self._alone < _ALONE_AT_MOST:
            self._most = max(others, 1)
            self._alone = 0 if others else self._alone + 1
            return CrowdedError.of("access", "crowded", machine=self.machine.name, count=others)
        return diagnosis.explain(said, self.machine.name)

    def raise_if_crowded(self, client: Client) -> None:
        """Raise CrowdedError when a command never ran because others did."""
        error = self.diagnosed(client)
        if isinstance(error, CrowdedError):
            raise error

    def refuse_a_stranger(self, client: Client) -> None:
        """Raise StrangerError when a command ended because the box is not the one it is for."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            if client.process.wait(_CLOSES_WITHIN) == shell.STRANGER:
                raise stranger(self.machine.name)

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
        key, known = self._key, self._known_hosts.exists()
        if not known:
            self._refuse_the_way()
        if key and (not self._asks or key.exists() or key != own_key()):
            login.prepare(key, self._say)
        said = self._log_in()
        if not known and self._known_hosts.exists():
            facts = {"machine": self.machine.name, "key": self._pinned()}
            self._say(Finding("access", "first-contact", facts).means())
        if said and key and not _is_of_a_hop(said) and self._opens_another_door(key, said):
            said = self._log_in() and said  # what was said of our own key counts
        if said:
            raise self._refused(said)

    def _opens_another_door(self, key: Path, said: str) -> bool:
        """Let our key in, or take the user's where we only ask; tell whether to try once more."""
        if self._asks:
            self._key = None
            return key == own_key() and "Permission denied" in said
        return login.admit(["ssh", *self._base()], self._target(), key, said, self._say)

    def _refuse_the_way(self) -> None:
        """Raise HostError for an address through which no program can work."""
        from zuka import sshconfig

        # An alias tells nothing, its HostName does.
        sshconfig.refuse(self.machine.name, sshconfig.effective(self.machine))

    def _log_in(self) -> str:
        """Open the master; return what ssh said when it could not."""
        said = ""
        for loud in ((), ("LogLevel=INFO",)):  # "Unable to negotiate" is no error to OpenSSH
            options = [*_spelled(*loud), *self._options("ControlPersist=120")]
            code, said = _ssh(["ssh", "-fN", "-M", *options, self._target()])
            if not code or self.socket.exists():
                return ""
            if said:
                break
        if "exchange_identification" in said and self._is_behind_another():
            # A master sends its way's own words to nowhere (OpenSSH, ssh_proxy_connect).
            alone = _spelled("ControlPath=none", "ControlMaster=no", "ControlPersist=no")
            said = _ssh(["ssh", "-n", *alone, *self._options(), self._target(), "exit"])[1] or said
        return said or "no answer"

    def _is_behind_another(self) -> bool:
        """Tell whether the box is reached through a host, or by a command of the user's."""
        from zuka import sshconfig

        return bool(self.machine.jump) or sshconfig.is_through(sshconfig.effective(self.machine))

    def _refused(self, said: str) -> HostError:
        """Return the error that says why nobody was let in."""
        agent = login.held() if "Too many authentication failures" in said else 0
        error = diagnosis.explain(said, self.machine.name, self._keys(said), agent=agent)
        if "HOST IDENTIFICATION HAS CHANGED" in said:
            return StrangerError(error.args[0], hint=error.hint)
        key = self.machine.key
        if not key or "Permission denied" not in said or _is_of_a_hop(said):
            return error
        wrong = login.why_refused(key, self.machine.name)
        facts = {"said": error.args[0], "line": f"{login.public(key)} zuka"}
        return wrong or HostError.of("access", "key-unknown", **facts)

    def _options(self, *more: str) -> list[str]:
        key = self._key
        by_key = ("PubkeyAuthentication=yes", "PreferredAuthentications=publickey")
        own = [f"IdentityFile={_word(key)}", "IdentitiesOnly=yes", *by_key] if key else []
        return [*self._base(), *_spelled("BatchMode=yes", *own, *more)]

    def _base(self) -> list[str]:
        """Return the options that every ssh of ours has, whoever logs in."""
        machine = self.machine
        options = _spelled(
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
            "ClearAllForwardings=yes",  # a port of the user's may be taken, or is for their own ssh
            "RequestTTY=no",
            "EscapeChar=none",
            "Compression=no",
            "LogLevel=ERROR",
            "PermitLocalCommand=no",
            "RemoteCommand=none",
        )
        if machine.jump:
            options += _spelled(f"ProxyCommand={_through(machine.jump, self._known_hosts)}")
        options += ["-p", str(machine.port)] if machine.port else []
        options += ["-l", machine.user] if machine.user else []
        return options

    def _target(self) -> str:
        return self.machine.address or self.machine.name

    def _keys(self, said: str) -> str:
        """Return the pinned and the offered host key's fingerprint, where both are known."""
        import re

        offered, pinned = re.search(r"(SHA256:\S+?)\.?(?:\s|$)", said), self._pinned()
        return f" (pinned {pinned}, offered {offered[1]})" if offered and pinned else ""

    def _pinned(self) -> str:
        """Return the fingerprint of the host key that this box is known by."""
        command = ["ssh-keygen", "-lf", str(self._known_hosts)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return next((word for word in done.stdout.split() if word.startswith("SHA256:")), "")


def _ssh(argv: Sequence[str]) -> tuple[int, str]:
    """Run ssh to its end; return its code and its words, made harmless; raise HostError."""
    nothing = subprocess.DEVNULL
    with tempfile.TemporaryFile() as errors:
        # All its ends are files: a master keeps what it was given for as long as it lives.
        try:
            code = subprocess.run(
                argv,
                stdin=nothing,
                stdout=nothing,
                stderr=errors,
                timeout=_LOGIN_TAKES,
                check=False,
                start_new_session=True,  # without a terminal, no jump host can ask anything
            ).returncode
        except subprocess.TimeoutExpired:
            return 255, "timed out"
        except FileNotFoundError as error:
            raise HostError.here(error) from None
        errors.seek(0)
        return code, shell.clean_lines(errors.read().decode(errors="replace"))


@contextlib.contextmanager
def as_file(text: bytes) -> Iterator[IO[bytes]]:
    """Give a script as a file: a client can be killed without leaving anybody at a pipe."""
    with tempfile.TemporaryFile() as file:
        file.write(text)
        file.seek(0)
        yield file


def _spelled(*settings: str) -> list[str]:
    return [part for setting in settings for part in ("-o", setting)]


def _through(jump: str, known_hosts: Path) -> str:
    """Return the command that leads through hosts, each reached as the user's own ssh does."""
    settings = (
        "BatchMode=yes",
        "ConnectTimeout=10",
        f"UserKnownHostsFile={_word(known_hosts.with_name(f'{known_hosts.name}.jump'))}",
        "StrictHostKeyChecking=accept-new",
        "ControlMaster=no",
        "ControlPath=none",
        "ForwardAgent=no",
        "RequestTTY=no",
        "LogLevel=INFO",  # it tells a box that is off from a hop that forwards nothing
    )
    command = ""
    for host in jump.split(","):
        before = _spelled(f"ProxyCommand={command}") if command else []
        words = shlex.join(["ssh", *_spelled(*settings), *before]).replace("%", "%%")
        command = f"{words} -W '[%h]:%p' {shlex.quote(f'ssh://{host}')}"
    return command


def _is_of_a_hop(said: str) -> bool:
    """Tell whether a host on the way refused us: the box itself never said a word to ssh."""
    found = diagnosis.recognise(said)
    return found is not None and found.verdict == "jump-refused"


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
        raise HostError.of("access", "folder-not-private", folder=folder)
    return folder
