"""The process behind the sandbox: an SSH server that runs real commands in the box's home."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import getpass
import os
import pty
import random
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import asyncssh
import psutil

from zuka.sandbox.home import MARK, Home, kill_all
from zuka.store import write_json

_BLOCK = 1 << 18
_WINDOW = 1 << 24
_PORTS = range(20_000, 32_000)
"""Below those that Linux and macOS give to connections that go out."""
_SHARED = ("PIP_", "UV_", "SSL_CERT_", "REQUESTS_CA_", "http_proxy", "https_proxy", "no_proxy")
"""What a real box has of its own: where packages come from."""


class Box:
    """One box that is switched on."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.stop = asyncio.Event()
        self.again = False

    async def serve(self, port: int) -> None:
        """Answer until the power is switched off, or the box's folder is gone."""
        if not self.home.host_key.exists():
            asyncssh.generate_private_key("ssh-ed25519").write_private_key(str(self.home.host_key))
            self.home.host_key.chmod(0o600)
        listener = await self._listen(port)
        self._announce("on", listener.get_port())
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop.set)
        while not self.stop.is_set() and self.home.host_key.exists():
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self.stop.wait(), timeout=0.5)
        await asyncio.sleep(0.05)  # the client that said `poweroff` hears that it was done
        port = listener.get_port()
        self._announce("stopping", port)
        listener.close()
        kill_all(self.home.root)
        self._announce("off", port)
        os._exit(0)

    async def _listen(self, port: int) -> asyncssh.SSHAcceptor:
        """Take the box's port; when somebody else has taken it meanwhile, another one."""
        for choice in filter(None, (port, *random.sample(_PORTS, 50))):
            with contextlib.suppress(OSError):
                return await self._listen_at(choice)
        return await self._listen_at(0)

    async def _listen_at(self, port: int) -> asyncssh.SSHAcceptor:
        return await asyncssh.listen(
            "127.0.0.1",
            port,
            server_factory=lambda: _Login(self.home),
            encoding=None,
            server_host_keys=[str(self.home.host_key)],
            process_factory=self.session,
            sftp_factory=lambda channel: _Files(channel, self.home.disk),
            line_editor=False,
            allow_scp=False,
            window=_WINDOW,
            max_pktsize=_BLOCK,
            login_timeout=20,
            compression_algs=["none"],
            reuse_address=True,
        )

    def _announce(self, state: str, port: int) -> None:
        if not self.home.root.exists():
            return  # the box's folder was deleted, and is not to be made again
        born = psutil.Process().create_time()
        facts = {"format": 1, "state": state, "port": port, "pid": os.getpid(), "born": born}
        write_json(self.home.state, {**facts, "since": time.time()})

    def environment(self, asked: Mapping[str, str]) -> dict[str, str]:
        """Return the environment of a login."""
        home, user = self.home, getpass.getuser()
        front = [str(home.programs.resolve())] if home.programs.exists() else []
        path = [*front, str(home.shims), str(home.disk / ".local/bin"), *_system_path()]
        own = {
            "HOME": str(home.disk),
            "USER": user,
            "LOGNAME": user,
            "SHELL": "/bin/sh",
            "PATH": os.pathsep.join(path),
            "LANG": "C.UTF-8",
            "TMPDIR": str(home.root / "tmp"),
            "TMUX_TMPDIR": str(home.sockets),
            f"{MARK}_BOX": str(home.root),
            f"{MARK}_PID": str(os.getpid()),
        }
        shared = {name: os.environ[name] for name in os.environ if name.startswith(_SHARED)}
        kept = {k: v for k, v in asked.items() if k in ("TERM", "LANG") or k.startswith("LC_")}
        return {**shared, **own, **kept}

    async def session(self, process: asyncssh.SSHServerProcess[bytes]) -> None:
        """Run the command of one channel, or a login shell."""
        argv = ["/bin/sh", "-c", process.command] if process.command else ["/bin/sh", "-l"]
        asked = {_text(name): _text(value) for name, value in process.env.items()}
        try:
            environment = self.environment(asked)
            if process.term_type is not None:
                code = await _in_terminal(process, argv, environment, self.home.disk)
            else:
                code = await _in_pipes(process, argv, environment, self.home.disk)
        except (OSError, asyncssh.Error) as error:
            sys.stderr.write(f"session {process.command!r}: {error!r}\n")
            with contextlib.suppress(OSError, asyncssh.Error):
                process.stderr.write(f"sandbox: {error}\n".encode())
            code = 255
        with contextlib.suppress(OSError, asyncssh.Error):
            if code < 0:
                process.exit_with_signal(signal.Signals(-code).name[3:])
            else:
                process.exit(code)


class _Login(asyncssh.SSHServer):
    """Who may come in: the console's key, and whatever stands in the box's authorized_keys."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def begin_auth(self, username: str) -> bool:
        return True

    def public_key_auth_supported(self) -> bool:
        return True

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        offered = key.export_public_key().split()[:2]
        for path in (self._home.login_keys, self._home.disk / ".ssh" / "authorized_keys"):
            with contextlib.suppress(OSError):
                for line in path.read_bytes().splitlines():
                    fields = line.split()
                    if any(fields[n : n + 2] == offered for n in range(len(fields))):
                        return True
        return False

    def connection_requested(self, *_: Any) -> bool:
        return True

    def server_requested(self, *_: Any) -> bool:
        return True


class _Files(asyncssh.SFTPServer):
    """Real paths; relative ones begin in the box's home."""

    def __init__(self, channel: asyncssh.SSHServerChannel[bytes], disk: Path) -> None:
        super().__init__(channel)
        self._disk = os.fsencode(disk)

    def map_path(self, path: bytes) -> bytes:
        return os.path.join(self._disk, path)  # noqa: PTH118 - bytes

    def reverse_map_path(self, path: bytes) -> bytes:
        return path

    def realpath(self, path: bytes) -> bytes:
        return os.path.normpath(self.map_path(path))

    def exit(self) -> None:
        self.channel.exit(0)  # else scp says 1 after a good copy


def _text(value: str | bytes) -> str:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value


def _system_path() -> list[str]:
    """Return the user's PATH without virtual environments: the box is another machine."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    # Not Path.exists: it raises on a folder of somebody else's, as `su` leaves them on PATH.
    return [f for f in folders if f and not os.path.exists(Path(f).parent / "pyvenv.cfg")]  # noqa: PTH110


async def _in_pipes(
    process: asyncssh.SSHServerProcess[bytes], argv: list[str], env: dict[str, str], cwd: Path
) -> int:
    child = await asyncio.create_subprocess_exec(
        *argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd,
        env=env,
        start_new_session=True,
        limit=_BLOCK,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stderr is not None
    feeding = asyncio.create_task(_feed(process, child.stdin))
    await asyncio.gather(
        _drain(child.stdout, process.stdout),
        _drain(child.stderr, process.stderr),
    )
    code = await child.wait()
    feeding.cancel()
    return code


async def _drain(source: asyncio.StreamReader, sink: asyncssh.SSHWriter[bytes]) -> None:
    """Pass a stream on; when the client is gone, let the command meet a closed pipe."""
    with contextlib.suppress(OSError, asyncssh.Error):
        while block := await source.read(_BLOCK):
            sink.write(block)
            await sink.drain()


async def _feed(process: asyncssh.SSHServerProcess[bytes], sink: asyncio.StreamWriter) -> None:
    try:
        while True:
            try:
                block = await process.stdin.read(_BLOCK)
            except (asyncssh.BreakReceived, asyncssh.TerminalSizeChanged):
                continue
            if not block:
                break
            sink.write(block)
            await sink.drain()
    except (OSError, asyncssh.SignalReceived, asyncssh.Error):
        pass
    finally:
        with contextlib.suppress(OSError):
            sink.close()


async def _in_terminal(
    process: asyncssh.SSHServerProcess[bytes], argv: list[str], env: dict[str, str], cwd: Path
) -> int:
    master, slave = pty.openpty()
    _resize(master, *process.term_size)
    child = await asyncio.create_subprocess_exec(
        *argv,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        cwd=cwd,
        env={**env, "TERM": process.term_type or "dumb"},
        preexec_fn=_own_terminal,
    )
    os.close(slave)
    typing = asyncio.create_task(_type(process, master))
    loop = asyncio.get_running_loop()
    shown: asyncio.Future[None] = loop.create_future()

    def show() -> None:
        try:
            block = os.read(master, 1 << 16)
        except OSError:
            block = b""
        with contextlib.suppress(OSError, asyncssh.Error):
            process.stdout.write(block)
        if not block:
            loop.remove_reader(master)
            if not shown.done():
                shown.set_result(None)

    loop.add_reader(master, show)
    code = await child.wait()
    await asyncio.wait([shown], timeout=1)
    typing.cancel()
    loop.remove_reader(master)
    os.close(master)
    return code


async def _type(process: asyncssh.SSHServerProcess[bytes], master: int) -> None:
    while True:
        try:
            block = await process.stdin.read(1 << 16)
        except asyncssh.TerminalSizeChanged as change:
            _resize(master, change.width, change.height, change.pixwidth, change.pixheight)
            continue
        except asyncssh.BreakReceived:
            continue
        except (asyncssh.SignalReceived, asyncssh.Error):
            return
        if not block:
            return
        os.write(master, block)


def _own_terminal() -> None:
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _resize(terminal: int, width: int, height: int, across: int, down: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, across, down))


def main() -> None:
    """Serve the box whose folder and port are given; port 0 takes a free one."""
    home = Home(Path(sys.argv[1]))
    os.umask(0o022)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    asyncio.run(Box(home).serve(int(sys.argv[2])))


if __name__ == "__main__":
    main()
