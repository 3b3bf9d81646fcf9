"""Ways into a box: a key of our own, a jump host, an agent, one password."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.boxes import SshdBox
from tests.conftest import make_box
from tests.e2e.test_host import Notes
from zuka import doctor, login
from zuka.errors import HostError
from zuka.host import SshHost
from zuka.machines import Machine, own_key
from zuka.onbox import authorize

pytestmark = pytest.mark.e2e


@pytest.fixture
def sshd(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SshdBox]:
    """Return a real sshd, and a configuration folder of our own."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    made = make_box("sshd", tmp_path, folder, monkeypatch)
    assert isinstance(made, SshdBox)
    made.start()
    yield made
    made.close()


@pytest.fixture
def agent(sshd: SshdBox, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the socket of an agent that holds the box's key."""
    socket = sshd.sockets / "agent"
    process = subprocess.Popen(["ssh-agent", "-D", "-a", str(socket)], stdout=subprocess.DEVNULL)
    while not socket.exists():
        time.sleep(0.02)
    monkeypatch.setenv("SSH_AUTH_SOCK", str(socket))
    subprocess.run(["ssh-add", "-q", str(sshd.root / "client_key")], check=True)
    yield socket
    process.kill()
    process.wait()


def reach(box: SshdBox, folder: Path, key: Path, **facts: str) -> tuple[SshHost, list[str]]:
    """Return a door to the box, and what it tells."""
    said: list[str] = []
    facts = {"address": box.address, "user": os.environ.get("USER", "root"), **facts}
    name = facts.pop("name", "mygpu")
    machine = Machine(name, port=box.port, key=key, **facts)  # type: ignore[arg-type]
    return SshHost(machine, folder / ".zuka", folder, say=said.append), said


def test_the_host_key_is_shown_at_first_contact(sshd: SshdBox, folder: Path) -> None:
    """Once, as the console shows it, so that it can be compared."""
    host, said = reach(sshd, folder, sshd.root / "client_key")
    host.look([])
    host.forget_master()
    host.look([])
    host.forget_master()
    command = ["ssh-keygen", "-lf", str(sshd.root / "host_key.pub")]
    listed = subprocess.check_output(command, text=True).split()

    assert [f"mygpu: first contact, host key {listed[1]}"] == said


def test_a_key_that_others_can_read_is_closed(sshd: SshdBox, folder: Path) -> None:
    """Ssh would refuse it; nothing but its mode is changed."""
    key = sshd.root / "client_key"
    key.chmod(0o644)
    host, said = reach(sshd, folder, key)
    host.look([])
    host.forget_master()

    assert 0o600 == key.stat().st_mode & 0o777
    assert "to others" in said[0]


@pytest.mark.parametrize("is_folder", [False, True])
def test_a_mode_is_not_changed_through_a_link(
    sshd: SshdBox, folder: Path, monkeypatch: pytest.MonkeyPatch, *, is_folder: bool
) -> None:
    """What is behind a link is somebody else's to change (WSL's /mnt/c, also as ~/.ssh)."""
    monkeypatch.setenv("HOME", str(folder))
    key = sshd.root / "client_key"
    key.chmod(0o644)
    (folder / "link").symlink_to(sshd.root if is_folder else key)
    named = folder / "link" / "client_key" if is_folder else folder / "link"
    host, _ = reach(sshd, folder, named)
    with pytest.raises(HostError, match="others can read the private key") as caught:
        host.look([])

    assert "~/.ssh" in caught.value.hint
    assert 0o644 == key.stat().st_mode & 0o777


def test_another_key_lets_our_own_in(sshd: SshdBox, folder: Path, agent: Path) -> None:
    """Where the user names no key, zuka makes one, and the user's agent installs it once."""
    (sshd.home / ".ssh").mkdir(mode=0o755)
    (sshd.home / ".ssh" / "authorized_keys").write_text("ssh-ed25519 AAAAold Li\nSHA256:xyz")
    host, said = reach(sshd, folder, own_key())
    host.look([])
    host.forget_master()
    os.environ["SSH_AUTH_SOCK"] = "/nowhere"
    host.look([])
    host.forget_master()
    lines = (sshd.home / ".ssh" / "authorized_keys").read_text().splitlines()

    assert agent
    assert ["ssh-ed25519 AAAAold Li", "SHA256:xyz"] == lines[:2]
    assert [f"{login.public(own_key())} zuka"] == lines[2:]
    assert 0o600 == own_key().stat().st_mode & 0o777
    assert 0o700 == (sshd.home / ".ssh").stat().st_mode & 0o777
    assert 1 == sum("let zuka's own in" in line for line in said)


@pytest.mark.parametrize("is_made", [False, True])
def test_a_question_lets_no_key_in(
    sshd: SshdBox, folder: Path, agent: Path, *, is_made: bool
) -> None:
    """`zuka plan` changes nothing: it comes in as the user does, makes no key, and leaves none."""
    if is_made:
        login.prepare(own_key(), login.unsaid)
    machine = Machine("mygpu", sshd.address, sshd.port, os.environ.get("USER", "root"), own_key())
    said: list[str] = []
    host = SshHost(machine, folder / ".zuka", folder, say=said.append, asks=True)
    host.look([])
    host.forget_master()

    assert agent
    assert 1 == len(said), said  # the host key
    assert is_made == own_key().exists()
    assert not (sshd.home / ".ssh").exists()


def test_a_refused_key_is_shown_to_be_pasted(sshd: SshdBox, folder: Path) -> None:
    """Nobody sits here and nobody else's key opens: the line for the console is the next step."""
    host, _ = reach(sshd, folder, own_key())
    with pytest.raises(HostError, match="does not accept") as caught:
        host.look([])

    assert login.public(own_key()) in caught.value.hint


def test_a_passphrase_goes_through_the_agent(sshd: SshdBox, folder: Path) -> None:
    """Nothing asks for it; the error names the command that does."""
    key = sshd.root / "client_key"
    change = ["ssh-keygen", "-q", "-p", "-P", "", "-N", "secret words", "-f", str(key)]
    subprocess.run(change, check=True, stdout=subprocess.DEVNULL)
    host, _ = reach(sshd, folder, key)
    with pytest.raises(HostError, match="has a passphrase, and no agent holds it") as caught:
        host.look([])

    assert f"ssh-add {key}" == caught.value.hint


def test_a_held_passphrase_is_none(sshd: SshdBox, folder: Path, agent: Path) -> None:
    """With the key in the agent, the file's passphrase does not matter."""
    key = sshd.root / "client_key"
    change = ["ssh-keygen", "-q", "-p", "-P", "", "-N", "secret words", "-f", str(key)]
    subprocess.run(change, check=True, stdout=subprocess.DEVNULL)
    host, _ = reach(sshd, folder, key)
    host.look([])
    host.forget_master()
    assert agent


def test_a_missing_public_half_is_derived(sshd: SshdBox) -> None:
    """The private key tells it; nothing is written beside a key of the user's."""
    key = sshd.root / "client_key"
    want = " ".join(Path(f"{key}.pub").read_text().split()[:2])
    Path(f"{key}.pub").unlink()

    assert want == login.public(key)
    assert not Path(f"{key}.pub").exists()


WRONG_KEYS = [
    ("nowhere", "no private key at .*nowhere", "ssh-keygen -t ed25519"),
    ("C:Usersstukey.pem", "no private key at", "lost its backslashes"),
    ("client_key.pub", "is no private key", "is it the public half"),
]


@pytest.mark.parametrize(("name", "message", "hint"), WRONG_KEYS)
def test_a_wrong_key_is_named(
    sshd: SshdBox, folder: Path, name: str, message: str, hint: str
) -> None:
    """A mistake in 'key' is told as one, not as a box that does not let us in."""
    host, _ = reach(sshd, folder, sshd.root / name)
    with pytest.raises(HostError, match=message) as caught:
        host.look([])

    assert hint in caught.value.hint


@pytest.mark.parametrize("hops", [1, 2])
def test_a_jump_host_is_passed(
    sshd: SshdBox, tmp_path: Path, folder: Path, agent: Path, hops: int
) -> None:
    """Each hop is pinned in a file of ours, and nothing of the user's ssh is touched."""
    key = sshd.root / "client_key.pub"
    bastions = [SshdBox(tmp_path / f"bastion{n}") for n in range(hops)]
    for bastion in bastions:
        (bastion.root / "authorized_keys").write_text(key.read_text())
        bastion.start()
    try:
        user = os.environ.get("USER", "root")
        jump = ",".join(f"{user}@127.0.0.1:{bastion.port}" for bastion in bastions)
        host, said = reach(sshd, folder, sshd.root / "client_key", jump=jump, name="box.7")
        host.look([])
        host.forget_master()
        pinned = (folder / ".zuka" / "known_hosts" / "box.7.jump").read_text()

        assert hops == pinned.count("ssh-ed25519")
        assert "first contact" in said[0]
    finally:
        for bastion in bastions:
            bastion.close()
    assert agent


def test_a_jump_host_that_refuses_is_named(sshd: SshdBox, tmp_path: Path, folder: Path) -> None:
    """It is the host on the way that has to be mended, so the box's console is no next step."""
    bastion = SshdBox(tmp_path / "bastion")
    (bastion.root / "authorized_keys").write_text("")
    bastion.start()
    try:
        jump = f"{os.environ.get('USER', 'root')}@127.0.0.1:{bastion.port}"
        host, _ = reach(sshd, folder, sshd.root / "client_key", jump=jump)
        with pytest.raises(HostError, match="host on the way") as caught:
            host.look([])
    finally:
        bastion.close()

    assert "127.0.0.1" in str(caught.value)
    assert "ssh-copy-id" in caught.value.hint


def test_a_box_that_is_off_behind_a_jump_host(
    sshd: SshdBox, tmp_path: Path, folder: Path, agent: Path
) -> None:
    """The host on the way does its part: it is the box that has to be switched on."""
    bastion = SshdBox(tmp_path / "bastion")
    key = sshd.root / "client_key"
    (bastion.root / "authorized_keys").write_text(Path(f"{key}.pub").read_text())
    bastion.start()
    sshd.stop()
    try:
        jump = f"{os.environ.get('USER', 'root')}@127.0.0.1:{bastion.port}"
        host, _ = reach(sshd, folder, key, jump=jump)
        with pytest.raises(HostError, match="the box is off"):
            host.look([])
    finally:
        bastion.close()
    assert agent


def test_a_line_that_is_no_key_is_told(sshd: SshdBox, folder: Path) -> None:
    """It is left alone, and the user is told which one it is."""
    (sshd.home / ".ssh").mkdir(mode=0o700, exist_ok=True)
    (sshd.home / ".ssh" / "authorized_keys").write_text("SHA256:\x1b[31mxyz\n")
    host, _ = reach(sshd, folder, sshd.root / "client_key")
    notes = Notes()
    host.look([])
    host.do(authorize("ssh-ed25519 AAAAnew"), notes)
    host.forget_master()

    assert ["line 1 of ~/.ssh/authorized_keys is no key; it is left alone"] == notes.notes


OURS = "ssh-ed25519 AAAAnew"
LISTS = [
    ("", 1, []),
    ("ssh-ed25519 AAAAold Li", 1, []),
    (f"ssh-ed25519 AAAAold Li{OURS} zuka", 1, ["line 1 of ~/.ssh/authorized_keys holds several"]),
    (f"ssh-rsa AAAAold Li {OURS} zuka\n", 1, ["line 1 of ~/.ssh/authorized_keys holds several"]),
    (f"# {OURS} zuka\n", 1, []),
    (f"{OURS} zuka\r\n", 0, []),
    (f"{OURS}", 0, []),
    (f"  {OURS} else\n", 0, []),
    (f'no-pty,command="ls a" {OURS} zuka\n', 0, []),
    ("SHA256:xyz\r\nAAAAold Li\r\n", 1, ["line 1 of", "line 2 of"]),
]
"""What may stand there, how many lines are added, what is told."""


@pytest.mark.parametrize(("text", "added", "told"), LISTS)
def test_a_list_of_keys_as_hands_leave_it(
    sshd: SshdBox, folder: Path, text: str, added: int, told: list[str]
) -> None:
    """Our line is added where no line of the list is it, once; nothing else of it changes."""
    (sshd.home / ".ssh").mkdir(mode=0o755)
    file = sshd.home / ".ssh" / "authorized_keys"
    file.write_bytes(text.encode())
    host, _ = reach(sshd, folder, sshd.root / "client_key")
    notes = Notes()
    host.look([])
    host.do(authorize(OURS), notes)
    host.do(authorize(OURS), Notes())
    host.forget_master()
    got = file.read_bytes().decode()

    assert got.startswith(text)
    assert added == len(got.splitlines()) - len(text.splitlines())
    assert not added or got.endswith(f"\n{OURS} zuka\n") or got == f"{OURS} zuka\n"
    assert len(told) == len(notes.notes), notes.notes
    assert all(want in note for want, note in zip(told, notes.notes, strict=True))
    assert (0o700, 0o600) == (file.parent.stat().st_mode & 0o777, file.stat().st_mode & 0o777)


def test_a_way_of_no_use_is_refused_before_a_packet(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An alias whose host gives terminals alone (RunPod's proxy) is refused by its address."""
    config = Path(__file__).parent.parent / "diagnosis/6-ssh-config/6-runpod-two-ways.conf"
    spy = tmp_path / "spy" / "ssh"
    spy.parent.mkdir()
    spy.write_text(
        f"#!/bin/sh\necho \"$*\" >>'{tmp_path}/log'\n"
        f"exec '{shutil.which('ssh')}' -F '{config}' \"$@\"\n"
    )
    spy.chmod(0o755)
    monkeypatch.setenv("PATH", f"{spy.parent}:{os.environ['PATH']}")
    host = SshHost(Machine("runpod"), folder / ".zuka", folder)
    with pytest.raises(HostError, match=r"ssh\.runpod\.io") as caught:
        host.look([])

    assert "TCP" in caught.value.hint
    assert ["-G -N runpod"] == (tmp_path / "log").read_text().splitlines()
    *_, last = doctor.walk(Machine("runpod"), folder)

    assert ("ssh_config", "bad") == (last.step, last.level)


def configure(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Let ssh read another ssh_config than the user's."""
    (folder / "ssh_config").write_text(text)
    program = tmp_path / "configured" / "ssh"
    program.parent.mkdir()
    real = shutil.which("ssh")
    program.write_text(f"#!/bin/sh\nexec '{real}' -F '{folder}/ssh_config' \"$@\"\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")


@pytest.mark.parametrize("kind", ["LocalForward", "RemoteForward"])
def test_ports_of_the_users_are_left_to_them(
    sshd: SshdBox, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """A tunnel in ssh_config is for the user's own login, which may hold its port already."""
    text = (
        f"Host mygpu\n  {kind} 127.0.0.1:{sshd.port} localhost:6006\n"
        f"  ExitOnForwardFailure yes\n  HostName 127.0.0.1\n  Port {sshd.port}\n"
        f"  User {os.environ.get('USER', 'root')}\n  IdentityFile {sshd.root}/client_key\n"
    )
    configure(folder, tmp_path, monkeypatch, text)
    host = SshHost(Machine("mygpu"), folder / ".zuka", folder)
    host.look([])
    host.forget_master()


def test_an_agent_with_many_keys(
    sshd: SshdBox, tmp_path: Path, folder: Path, agent: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The box hangs up before the right one; how many there are is told, and one key alone goes."""
    for number in range(7):
        key = tmp_path / f"key{number}"
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)]
        subprocess.run(command, check=True)
    subprocess.run(["ssh-add", "-q", "-D"], check=True)
    subprocess.run(["ssh-add", "-q", *map(str, tmp_path.glob("key?"))], check=True)
    host = f"Host mygpu\n  HostName 127.0.0.1\n  Port {sshd.port}\n"
    configure(folder, tmp_path, monkeypatch, host)
    with pytest.raises(HostError, match=r"holds too many \(7\)"):
        SshHost(Machine("mygpu"), folder / ".zuka", folder).look([])
    alone, _ = reach(sshd, folder, sshd.root / "client_key")
    alone.look([])
    alone.forget_master()
    assert agent


SERVER = """
import asyncio, sys
import asyncssh
from pathlib import Path

HOME = Path(sys.argv[1])

class Login(asyncssh.SSHServer):
    def begin_auth(self, user): return True
    def public_key_auth_supported(self): return True
    def password_auth_supported(self): return True
    def validate_password(self, user, password): return password == "rented"
    def validate_public_key(self, user, key):
        file = HOME / ".ssh" / "authorized_keys"
        return file.exists() and key.export_public_key().split()[1] in file.read_bytes()

async def session(process):
    env = {"HOME": str(HOME), "PATH": "/bin:/usr/bin"}
    child = await asyncio.create_subprocess_shell(process.command, stdin=-1, stdout=-1, env=env)
    out, _ = await child.communicate(await process.stdin.read())
    process.stdout.write(out)
    process.exit(child.returncode)

async def main():
    key = asyncssh.generate_private_key("ssh-ed25519")
    server = await asyncssh.listen("127.0.0.1", 0, server_factory=Login, server_host_keys=[key],
                                   process_factory=session, encoding=None)
    print(server.get_port(), flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""
ASKS = """
import sys
from pathlib import Path
from zuka.host import SshHost
from zuka.machines import Machine, own_key
from zuka.onbox import authorize
from zuka import login
machine = Machine("mygpu", "127.0.0.1", int(sys.argv[1]), "root", own_key())
host = SshHost(machine, Path(".zuka"), Path("."), say=print)
host.look([])
print("INSIDE")
host.forget_master()
"""


@pytest.fixture
def server(folder: Path) -> Iterator[tuple[int, Path]]:
    """Return the port of a server that knows one password, and the home folder behind it."""
    home = folder / "home"
    home.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(home)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    yield int(process.stdout.readline()), home
    process.kill()
    process.wait()


def typed(argv: list[str], folder: Path, answers: list[str]) -> str:
    """Run a program at a terminal of its own, answer each prompt, return all that it showed."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execv(argv[0], argv)
    shown = b""
    killer = threading.Timer(60, os.kill, (pid, 9))
    killer.start()
    while True:
        try:
            select.select([terminal], [], [])
            block = os.read(terminal, 4096)
        except OSError:
            break
        if not block:
            break
        shown += block
        if block.rstrip().endswith(b"assword:") and answers:
            os.write(terminal, f"{answers.pop(0)}\n".encode())
    killer.cancel()
    os.waitpid(pid, 0)
    return shown.decode()


def test_one_password_lets_the_key_in(
    server: tuple[int, Path], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ssh itself asks, at the terminal; a second time nothing does."""
    port, home = server
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    argv = [sys.executable, "-c", ASKS, str(port)]
    first = typed(argv, folder, ["wrong", "rented"])
    second = typed(argv, folder, [])

    assert "asks for its password once" in first
    assert "INSIDE" in first, first
    assert "INSIDE" in second
    assert "assword" not in second
    assert 1 == (home / ".ssh" / "authorized_keys").read_text().count("ssh-ed25519")


def test_nobody_at_a_terminal_is_asked_nothing(
    server: tuple[int, Path], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a script, a box that knows only a password is an error with the line to paste."""
    port, _ = server
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    done = subprocess.run(
        [sys.executable, "-c", ASKS, str(port)],
        check=False,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        start_new_session=True,
    )

    assert "INSIDE" not in done.stdout
    assert "give this line to the console" in done.stderr
