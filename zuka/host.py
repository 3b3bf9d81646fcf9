"""The door to the box: the user's OpenSSH, one master connection, one round trip a question."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import selectors
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol, assert_never

from zuka import diagnosis, shell, transfer
from zuka.boxes import BoxId
from zuka.errors import HostError, StageError
from zuka.machines import Machine
from zuka.onbox import script
from zuka.steps import Follow, Pull, Push, Reply, Run, RunHere, Step
from zuka.transfer import FileRecord

_LOOK_TAKES = 120.0
_LOGIN_TAKES = 30.0
_LONGEST_LINE = 1 << 16
_TAIL = 20
"""Lines of a failed command's output that are shown."""


class Watch(Protocol):
    """Who is told what a step does while it does it."""

    def log(self, line: str) -> None:
        """Show a line of a run's log."""
        ...

    def progress(self, done: int, total: int) -> None:
        """Show how many bytes of how many are done."""
        ...

    def note(self, text: str) -> None:
        """Show something that has to be known."""
        ...


@dataclass(frozen=True, slots=True)
class Look:
    """What a box answered in one round trip."""

    box: BoxId
    replies: tuple[tuple[Reply, ...], ...]


class Host(Protocol):
    """Where questions and steps go."""

    def look(self, questions: Sequence[Sequence[Run]]) -> Look:
        """Ask everything at once; raise HostError when the box cannot be asked."""
        ...

    def do(self, step: Step, watch: Watch) -> None:
        """Carry out one step; raise StageError when it fails."""
        ...

    def pull(self, step: Pull, into: Path, watch: Watch) -> dict[str, FileRecord]:
        """Bring results into a new folder, verified; return every file's digest."""
        ...

    def abandon(self) -> None:
        """End our own ssh clients; what runs on the box goes on."""
        ...

    def forget_master(self) -> None:
        """Close the connection, which leads nowhere any more."""
        ...


class SshHost:
    """A box behind the user's own OpenSSH."""

    def __init__(
        self, machine: Machine, state: Path, project: Path, *, patience: float = 60
    ) -> None:
        self._machine = machine
        self._project = project
        self._patience = patience
        self._known_hosts = state / "known_hosts" / machine.name
        self._socket = _socket_folder() / _short(f"{state}\0{machine}")
        self._id = secrets.token_hex(8)
        self._clients: set[subprocess.Popen[bytes]] = set()
        self._opening = threading.Lock()

    # -- what is asked and done

    def look(self, questions: Sequence[Sequence[Run]]) -> Look:
        """Ask everything at once; raise HostError when the box cannot be asked."""
        mark = shell.new_mark()
        text = self._exchange(shell.ask(questions, mark), limit=_LOOK_TAKES)
        answers = shell.Answers(text, mark)
        box, boot = answers.reply("box"), answers.reply("boot")
        replies = tuple(
            tuple(answers.reply(f"{n}.{part}") or Reply(255) for part, _ in enumerate(runs))
            for n, runs in enumerate(questions)
        )
        if box is None or boot is None or any(None in each for each in replies):
            raise HostError(
                f"{self._machine.name}: the answer of the box is cut short",
                hint="run it again; if it happens each time, look with: zuka sandbox ssh, or ssh",
            )
        return Look(BoxId(_box_id(box.out), shell.clean(boot.out.strip())), replies)

    def do(self, step: Step, watch: Watch) -> None:
        """Carry out one step; raise StageError when it fails."""
        match step:
            case Run():
                self._run(step)
            case RunHere():
                self._run_here(step)
            case Push():
                self._push(step, watch)
            case Follow():
                self._follow(step, watch)
            case Pull():
                raise AssertionError("results need a folder: call pull")
            case _:
                assert_never(step)

    def _run(self, step: Run) -> None:
        mark = shell.new_mark()
        text = self._exchange(shell.order(step, mark, self._id), limit=step.limit + 10)
        _raise_for(step, shell.Answers(text, mark).order())

    def _run_here(self, step: RunHere) -> None:
        import sh

        try:
            sh.Command(step.argv[0])(*step.argv[1:], _cwd=str(self._project), _in="")
        except sh.ErrorReturnCode as error:
            tail = error.stderr.decode(errors="replace").strip()
            raise StageError(f"'{step}' exited with {error.exit_code}\n{tail}") from None
        except sh.CommandNotFound:
            raise StageError(f"'{step.argv[0]}' is not installed here") from None

    def _push(self, step: Push, watch: Watch) -> None:
        tree, mark = step.tree, shell.new_mark()
        run = Run(
            ("sh", "-c", script("unpack.sh"), "zuka", step.target, str(tree.count), str(tree.size))
        )
        self._ensure_master()
        with self._client(shell.intake(run, mark, self._id), stdin=subprocess.PIPE) as client:
            assert client.stdin is not None
            assert client.stdout is not None
            try:
                transfer.send(tree, client.stdin, watch.progress)
                client.stdin.close()
            except BrokenPipeError:
                pass  # the box says why, below
            except StageError:
                client.kill()  # without its end the box drops what came so far
                raise
            text = client.stdout.read()
        reply = shell.Answers(text, mark).order()
        if reply is None:
            raise HostError(
                f"{self._machine.name}: the connection was cut while sending {tree}",
                hint="run it again: what was finished is kept",
            )
        _raise_for(Run(run.argv, shown=str(step)), reply)

    def pull(self, step: Pull, into: Path, watch: Watch) -> dict[str, FileRecord]:
        """Bring results into a new folder, verified; return every file's digest."""
        mark = shell.new_mark()
        run = Run(("sh", "-c", script("pack.sh"), "zuka", step.run, *step.paths))
        self._ensure_master()
        with (
            _as_file(shell.stream(run, mark, self._id)) as text,
            self._client(shell.SHELL, stdin=text) as client,
        ):
            assert client.stdout is not None
            source = _Framed(client.stdout, mark)
            if not source.begin():
                raise self._diagnosed(client)
            try:
                files = transfer.receive(source, into, watch.progress, watch.note)  # type: ignore[arg-type]
            except StageError as error:
                said = "" if source.code() == 0 else f": {self._stderr(client)}"
                raise StageError(f"{error.args[0]}{said}", hint=error.hint) from None
            if source.code() != 0:
                raise StageError(f"'{step}' failed on the box: {self._stderr(client)}")
        return files

    def _follow(self, step: Follow, watch: Watch) -> None:
        """Show a run's log from its first byte until it ends, through lost connections."""
        log, lost_since = _Log(watch), 0.0
        deadline = time.monotonic() + step.within if step.within else float("inf")
        while True:
            mark = shell.new_mark()
            before = log.count
            run = Run(("sh", "-c", script("follow.sh"), "zuka", step.run, str(before), mark))
            try:
                ended = self._follow_once(run, _Framing(mark, log), deadline)
            except HostError:
                lost_since = lost_since or time.monotonic()
                if time.monotonic() - lost_since > self._patience:
                    raise
                time.sleep(1)
                continue
            if ended:
                return
            if time.monotonic() > deadline:
                raise StageError(
                    f"run {step.run} takes longer than {step.within:.0f} s", hint="see its log"
                )
            if log.count > before:
                lost_since = 0.0
            lost_since = lost_since or time.monotonic()
            if time.monotonic() - lost_since > self._patience:
                raise HostError(
                    f"{self._machine.name}: the link is gone; run {step.run} goes on on the box",
                    hint="the same command comes back to it",
                )
            time.sleep(0.2)

    def _follow_once(self, run: Run, framing: _Framing, deadline: float) -> bool:
        """Follow until the run ends, or the connection does; tell whether the run did."""
        self._ensure_master()
        with (
            _as_file(shell.stream(run, framing.mark, None)) as text,
            self._client(shell.SHELL, stdin=text) as client,
        ):
            for block in _blocks(client, deadline):
                framing.take(block)
                if framing.ended:
                    break
        return framing.ended

    # -- the connection

    def _exchange(self, text: bytes, *, limit: float) -> bytes:
        """Send one script and return all that it printed; start a master where there is none."""
        deadline = time.monotonic() + limit
        for attempt in (1, 2):
            self._ensure_master()
            with _as_file(text) as file, self._client(shell.SHELL, stdin=file) as client:
                out = b"".join(_blocks(client, deadline))
                if time.monotonic() > deadline:
                    raise HostError(
                        f"{self._machine.name}: no answer within {limit:.0f} s",
                        hint="the box may hang; look with ssh",
                    )
                if out or client.wait() != 255:  # noqa: PLR2004 - ssh's own failures
                    return out
            # The socket was a dead master's: nothing ran, so asking again is safe.
            self.forget_master()
            if attempt == 2:  # noqa: PLR2004
                raise self._diagnosed(client)
        raise AssertionError

    def _ensure_master(self) -> None:
        with self._opening:  # of two first calls, the second would connect on its own
            if not self._socket.exists():
                self._open_master()

    def _open_master(self) -> None:
        self._known_hosts.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile() as errors:
            # All its ends are files: a master keeps what it was given for as long as it lives.
            try:
                done = subprocess.run(
                    ["ssh", "-fN", "-M", *self._options("ControlPersist=120"), self._target()],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=errors,
                    timeout=_LOGIN_TAKES,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                raise diagnosis.explain("timed out", self._machine.name) from None
            except FileNotFoundError:
                raise HostError(
                    "'ssh' is not installed here", hint="apt install openssh-client, or the like"
                ) from None
            errors.seek(0)
            said = shell.clean_lines(errors.read().decode(errors="replace"))
        if done.returncode and not self._socket.exists():
            raise diagnosis.explain(said, self._machine.name, self._keys(said))

    def _options(self, *more: str) -> list[str]:
        machine = self._machine
        settings = [
            "BatchMode=yes",
            "ConnectTimeout=10",
            "ServerAliveInterval=5",
            "ServerAliveCountMax=3",
            f"ControlPath={self._socket}",
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
        return self._machine.address or self._machine.name

    @contextlib.contextmanager
    def _client(self, command: str, *, stdin: int | IO[bytes]) -> Iterator[subprocess.Popen[bytes]]:
        """Run one command over the master; never over a connection of its own."""
        errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the client
        argv = [
            "ssh",
            *self._options("ControlMaster=no", "ProxyCommand=false"),
            self._target(),
            command,
        ]
        client = subprocess.Popen(argv, stdin=stdin, stdout=subprocess.PIPE, stderr=errors)
        self._clients.add(client)
        client.errors = errors  # type: ignore[attr-defined]
        try:
            yield client
        finally:
            client.kill()
            for pipe in (client.stdin, client.stdout):
                with contextlib.suppress(OSError):
                    if pipe:
                        pipe.close()
            client.wait()
            self._clients.discard(client)

    def _stderr(self, client: subprocess.Popen[bytes]) -> str:
        errors: IO[bytes] = client.errors  # type: ignore[attr-defined]
        errors.seek(0)
        return shell.clean_lines(errors.read(1 << 16).decode(errors="replace"))

    def _diagnosed(self, client: subprocess.Popen[bytes]) -> HostError:
        return diagnosis.explain(self._stderr(client), self._machine.name)

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

    def abandon(self) -> None:
        """End our own ssh clients; what runs on the box goes on."""
        for client in list(self._clients):
            with contextlib.suppress(OSError):
                client.kill()

    def forget_master(self) -> None:
        """Close the connection, which leads nowhere any more."""
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(
                ["ssh", "-O", "exit", *self._options(), self._target()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=5,
                check=False,
            )
        self._socket.unlink(missing_ok=True)


class _Framed:
    """The bytes between a stream's marks, as a file for tarfile."""

    def __init__(self, pipe: IO[bytes], mark: str) -> None:
        self._pipe, self._mark = pipe, mark.encode()
        self._tail = b""

    def begin(self) -> bool:
        """Skip what a login shell prints before our first mark."""
        for _ in range(1000):
            line = self._pipe.readline(1 << 16)
            if line == self._mark + b" begin\n" or line.endswith(self._mark + b" begin\n"):
                return True
            if not line:
                return False
        return False

    def read(self, size: int = -1) -> bytes:
        """Return some bytes; what comes last is remembered for the code."""
        block = self._pipe.read(size)
        self._tail = (self._tail + block)[-256:]
        return block

    def code(self) -> int | None:
        """Read to the end and return the exit code that stands there."""
        while self.read(1 << 16):
            pass
        code = self._tail.rpartition(b"\n" + self._mark + b" end ")[2].strip()
        return int(code) if code.isdigit() else None


class _Log:
    """A run's log as it comes, over as many connections as it takes: lines, and their bytes."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._line = b""
        self.count = 0

    def take(self, block: bytes) -> None:
        """Take the next bytes and show the lines that are whole."""
        self.count += len(block)
        *lines, rest = (self._line + block).replace(b"\r", b"\n").split(b"\n")
        self._line = rest[-_LONGEST_LINE:]
        for line in lines:
            self._watch.log(shell.clean(line.decode("utf-8", "replace")))


class _Framing:
    """One connection's share of a log: from the mark of its beginning to that of the end."""

    def __init__(self, mark: str, log: _Log) -> None:
        self.mark = mark
        self._begin, self._end = f"{mark} begin\n".encode(), f"\n{mark} ".encode()
        self._log = log
        self._held = b""
        self._begun = False
        self.ended = False

    def take(self, block: bytes) -> None:
        """Take the next bytes; hold back what may be the beginning of the mark."""
        self._held += block
        if not self._begun:
            _, found, after = self._held.partition(self._begin)
            if not found:
                return
            self._begun, self._held = True, after
        stop = self._held.find(self._end)
        self.ended = stop >= 0 and b"\n" in self._held[stop + 1 :]
        safe = stop if stop >= 0 else max(0, len(self._held) - len(self._end))
        self._log.take(self._held[:safe])
        self._held = self._held[safe:]


def _blocks(client: subprocess.Popen[bytes], deadline: float) -> Iterator[bytes]:
    """Yield what a client prints until it ends or the time is up; its pipe is then left."""
    assert client.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(client.stdout, selectors.EVENT_READ)
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                return
            if not selector.select(min(left, 3600)):
                continue
            block = os.read(client.stdout.fileno(), 1 << 16)
            if not block:
                return
            yield block


@contextlib.contextmanager
def _as_file(text: bytes) -> Iterator[IO[bytes]]:
    """Give a script as a file: a client can be killed without leaving anybody at a pipe."""
    with tempfile.TemporaryFile() as file:
        file.write(text)
        file.seek(0)
        yield file


def _raise_for(step: Run, reply: Reply | None) -> None:
    if reply is None:
        raise HostError(f"the connection was cut during '{step}'", hint="run it again")
    if reply.code:
        tail = "\n".join(map(shell.clean, reply.out.strip().splitlines()[-_TAIL:]))
        shown = str(step) if len(str(step)) < 500 else f"{str(step)[:500]}…"  # noqa: PLR2004
        raise StageError(f"'{shell.clean(shown)}' exited with {reply.code}\n{tail}".rstrip())


def _box_id(text: str) -> str | None:
    import json

    try:
        value = json.loads(text)
    except ValueError:
        return None
    found = value.get("id") if isinstance(value, dict) else None
    return shell.clean(found)[:64] if isinstance(found, str) else None


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
