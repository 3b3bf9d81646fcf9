"""Boxes as students really rent them: each runs the whole job, or is refused with the way out."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.boxes import SshdBox
from tests.conftest import make_box
from tests.project import STAGES, Project

pytestmark = pytest.mark.e2e

NOISE = """echo 'Welcome! 欢迎使用'
printf '\\033[31m+---- AutoDL ----+\\033[0m\\n'
echo 'bash: warning: setlocale: LC_ALL: cannot change locale (zh_CN.UTF-8)' >&2
"""
TOOLS = (
    "awk cat chmod cksum cp cut date df dirname env expr false find grep gzip gunzip head id kill"
    " ln ls mkdir mktemp mv nohup od printf ps pwd readlink rm rmdir sed sh sha256sum sleep sort"
    " stat tail tar test touch tr true uname wc xargs"
)
"""What every Debian and Alpine image has."""


@pytest.fixture
def make(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Project]]:
    """Return a maker of projects on a real sshd that is changed as asked."""
    made: list[Project] = []

    def maker(**changes: str) -> Project:
        shutil.rmtree(tmp_path / "box", ignore_errors=True)
        make_box("sshd", tmp_path, folder, monkeypatch)  # skips or fails where there is none
        shutil.rmtree(tmp_path / "box")
        project = Project(folder, SshdBox(tmp_path / "box", **changes))
        project.fill()
        made.append(project)
        return project

    yield maker
    for project in made:
        project.close()
        project.box.close()


def programs(folder: Path, *more: str) -> str:
    """Return a PATH of a folder that holds the tools of a bare image, and what else is named."""
    folder.mkdir()
    for name in (*TOOLS.split(), *more):
        found = shutil.which(name)
        if found:
            (folder / name).symlink_to(Path(found).resolve())
    python = Path(sys.executable).resolve()
    (folder / "python3").symlink_to(python)
    return str(folder)


def stand_in(folder: Path, name: str, text: str) -> None:
    """Put a program of ours among the box's."""
    (folder / name).unlink(missing_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


def is_refused(project: Project, *words: str) -> None:
    """Check that the box is refused with the reason and the way out, before anything is sent."""
    project.box.start()
    done = project.run()

    assert done.code in (1, 3), done.out + done.err
    assert not {"upload", "code", "env"} & set(done.ran)
    for word in (*words, "hint: "):
        assert word in done.err


def runs_to_the_end(project: Project) -> None:
    """Check that the whole job is done, once."""
    project.box.start()
    done = project.run()
    assert 0 == done.code, done.out + done.err
    assert set(STAGES) - {"provision"} <= set(done.ran)
    assert list(range(1, 21)) == project.steps()
    again = project.run()
    assert (0, []) == (again.code, again.ran)


@pytest.mark.parametrize("shell", ["fish", "tcsh", "bash", "dash", "busybox sh"])
def test_any_login_shell(make: Callable[..., Project], shell: str) -> None:
    """The login shell is told one line that each of them understands."""
    name, *rest = shell.split()
    found = shutil.which(name)
    if not found:
        pytest.skip(f"no {name} here")
    runs_to_the_end(make(login=" ".join([found, *rest])))


def test_a_profile_that_prints(make: Callable[..., Project], tmp_path: Path) -> None:
    """Banners, colours and warnings before our words are skipped, in both streams."""
    loud = tmp_path / "loud"
    loud.write_text(f'#!/bin/sh\n{NOISE}exec /bin/sh "$@"\n')
    loud.chmod(0o755)
    runs_to_the_end(make(login=str(loud)))


BASHRC = {
    "returns early": "case $- in *i*) ;; *) return;; esac\nexport A=1\n",
    "prints": "echo 'conda: (base)'; printf '\\033]0;title\\007'; echo warning >&2\n",
    "fails": "false\nset -e\nset +e\nunset HOMEX\ncd /nowhere 2>/dev/null\n",
    "goes elsewhere": "cd /\numask 077\nmkdir -p ~/work ~/runs\nexport CDPATH=$HOME:/:/tmp\n",
    "sets variables": "export GREP_OPTIONS=-i POSIXLY_CORRECT=1 TAR_OPTIONS=-v GZIP=-9"
    " BLOCK_SIZE=human-readable QUOTING_STYLE=c TIME_STYLE=iso TMPDIR=/nowhere ENV=/nowhere\n"
    "export PYTHONHOME=/nowhere PIP_USER=1 PIP_TARGET=/nowhere LANG=xx_YY LC_ALL=zh_CN.GBK\n",
    "is strict and loud": "set -efuC\ntrap 'echo bye' EXIT\nyes Welcome | head -c 300000\n",
    "starts tmux": '[ -n "$TMUX" ] || tmux new -A -s ssh_tmux\n',  # Vast.ai's images
    "aliases": "shopt -s expand_aliases\nalias ls='ls --color' rm='rm -i' cp='cp -i' tar=false\n",
}


@pytest.mark.parametrize("kind", BASHRC)
def test_a_bashrc(make: Callable[..., Project], kind: str) -> None:
    """Nothing that a profile sets is needed, and nothing that it does is in the way."""
    project = make(login="/bin/bash")
    (project.box.home / ".bashrc").write_text(BASHRC[kind] + "touch ~/bashrc-was-read\n")
    (project.box.home / ".profile").write_text("exit 3\n")
    runs_to_the_end(project)

    assert (project.box.home / "bashrc-was-read").exists() or kind == "returns early"


@pytest.mark.parametrize(
    "line", ["exec cat", "exit 0", "read -r answer", "cat", "head -c 3", "exec >/dev/null"]
)
def test_a_bashrc_in_the_way(make: Callable[..., Project], line: str) -> None:
    """What keeps commands, or their input, from us is told at the first word, with the file."""
    project = make(login="/bin/bash")
    (project.box.home / ".bashrc").write_text(f"{line}\n")
    is_refused(project, "runs no commands", "~/.bashrc")


HOMES = {
    "full": ('mount -t tmpfs -o size=16k none "$1"\nyes >"$1/big" || :', "No space left on device"),
    "no inodes": ('mount -t tmpfs -o nr_inodes=2 none "$1"\n: >"$1/a"', "No space left on device"),
    "read-only": ('mount --bind "$1" "$1"\nmount -o remount,ro,bind "$1"', "Read-only"),
}


@pytest.mark.skipif(os.getuid() != 0 or not shutil.which("unshare"), reason="only root mounts")
@pytest.mark.parametrize("kind", HOMES)
def test_a_home_without_room(make: Callable[..., Project], kind: str) -> None:
    """A home that takes nothing is told with the system's own reason, before anything is sent."""
    mounts, reason = HOMES[kind]
    is_refused(make(mounts=mounts), "no folder ~/.zuka", reason)


def test_no_home(make: Callable[..., Project]) -> None:
    """Nothing is ever put at the root of the file system instead."""
    is_refused(make(variables="HOME="), "HOME")


def test_a_home_with_an_odd_name(make: Callable[..., Project]) -> None:
    """No name is taken for syntax."""
    runs_to_the_end(make(house="我的 ho'me $(false) `x` %h"))


def test_a_login_without_a_path(make: Callable[..., Project], tmp_path: Path) -> None:
    """Where a profile broke the PATH, the system's own programs are found all the same."""
    (tmp_path / "few").mkdir()
    for name in ("python3", "env"):
        (tmp_path / "few" / name).symlink_to(sys.executable if "py" in name else "/usr/bin/env")
    runs_to_the_end(make(path=f":{tmp_path}/few::"))


def test_behind_a_jump_host(make: Callable[..., Project], tmp_path: Path) -> None:
    """The whole job goes through the host between, which runs nothing and keeps nothing."""
    project = make()
    assert isinstance(project.box, SshdBox)
    bastion = SshdBox(tmp_path / "bastion", settings="PermitTTY no\nForceCommand /bin/false")
    key = project.box.root / "client_key"
    (bastion.root / "authorized_keys").write_text(Path(f"{key}.pub").read_text())
    bastion.start()
    socket = bastion.sockets / "agent"
    agent = subprocess.Popen(["ssh-agent", "-D", "-a", str(socket)], stdout=subprocess.DEVNULL)
    try:
        while not socket.exists():
            time.sleep(0.02)
        environment = {**os.environ, "SSH_AUTH_SOCK": str(socket)}
        subprocess.run(["ssh-add", "-q", str(key)], check=True, env=environment)
        project.extra["SSH_AUTH_SOCK"] = str(socket)
        machine = project.box.machine()
        jump = f"{machine['user']}@127.0.0.1:{bastion.port}"
        project.write_recipe({**project.recipe(), "machine": {**machine, "jump": jump}})
        runs_to_the_end(project)
    finally:
        agent.kill()
        agent.wait()
        bastion.close()


@pytest.mark.parametrize("term", ["xterm-kitty", "dumb", ""])
def test_an_unknown_terminal(make: Callable[..., Project], term: str) -> None:
    """Tmux is started without a terminal."""
    project = make()
    project.extra["TERM"] = term
    runs_to_the_end(project)


def test_a_broken_locale(make: Callable[..., Project]) -> None:
    """The laptop's locale, sent along, is none of the box's."""
    project = make(settings="AcceptEnv LANG LC_*")
    project.extra.update(LANG="zh_CN.UTF-8", LC_ALL="zh_CN.GB18030")
    runs_to_the_end(project)


def test_a_bare_box(make: Callable[..., Project], tmp_path: Path) -> None:
    """No tmux, no sudo, no git, no rsync, no systemd, no setsid, no timeout, no cksum."""
    runs_to_the_end(make(path=programs(tmp_path / "programs")))


def test_a_tmux_that_fails(make: Callable[..., Project], tmp_path: Path) -> None:
    """A tmux that is there and cannot start is as good as none."""
    path = programs(tmp_path / "programs", "setsid")
    stand_in(
        tmp_path / "programs", "tmux", "echo 'error creating /tmp/tmux-0: No space' >&2; exit 1"
    )
    runs_to_the_end(make(path=path))


def test_no_python(make: Callable[..., Project], tmp_path: Path) -> None:
    """The job needs Python: that is said by the check, before anything is sent."""
    path = programs(tmp_path / "programs")
    stand_in(tmp_path / "programs", "python3", "exit 127")
    project = make(path=path)
    project.box.start()
    done = project.run()

    assert 1 == done.code
    assert "python" in done.out + done.err
    assert not (project.box.home / ".zuka" / "data").exists()


SETTINGS = [
    "AllowTcpForwarding no\nAllowStreamLocalForwarding no\nPermitOpen none\nX11Forwarding no",
    "MaxSessions 1",
    "MaxSessions 2",
    "PermitTTY no",
    "AllowAgentForwarding no\nPermitTunnel no\nGatewayPorts no\nCompression no",
    "ClientAliveInterval 1\nClientAliveCountMax 3",
]


@pytest.mark.parametrize("settings", SETTINGS)
def test_a_strict_server(make: Callable[..., Project], settings: str) -> None:
    """Nothing but a session with a command is asked of sshd, and one at a time."""
    runs_to_the_end(make(settings=settings))


def test_one_session_and_three_threads(make: Callable[..., Project]) -> None:
    """Where the server allows one session, stages that run side by side wait for each other."""
    project = make(settings="MaxSessions 1")
    project.box.start()
    done = project.run("-n", "3", "train")

    assert 0 == done.code, done.out + done.err
    assert list(range(1, 21)) == project.steps()


def test_ipv6(make: Callable[..., Project]) -> None:
    """An address of the new kind is an address."""
    runs_to_the_end(make(address="::1"))


@pytest.mark.parametrize("shell", ["/usr/sbin/nologin", "/bin/false"])
def test_an_account_without_a_shell(make: Callable[..., Project], shell: str) -> None:
    """Nothing can be done there; what the box says is shown, with the way out."""
    project = make(login=shell)
    project.box.start()
    done = project.run()

    assert 3 == done.code, done.out + done.err
    assert "runs no commands" in done.err
    assert "hint" in done.err


def test_a_proxy_that_gives_a_terminal_alone(make: Callable[..., Project], tmp_path: Path) -> None:
    """RunPod's own proxy runs no commands: refused, with the address that does."""
    proxy = tmp_path / "proxy"
    proxy.write_text('#!/bin/sh\necho "Error: Your SSH client doesn\'t support PTY"\nexit 1\n')
    proxy.chmod(0o755)
    project = make(login=str(proxy))
    project.box.start()
    done = project.run()

    assert 3 == done.code, done.out + done.err
    assert "PTY" in done.err
    assert "direct TCP" in done.err or "SSH over exposed TCP" in done.err


def test_a_terminal_between(make: Callable[..., Project], tmp_path: Path) -> None:
    """A terminal changes bytes: no archive would come through it whole."""
    if not shutil.which("script"):
        pytest.skip("no script here")
    wrapper = tmp_path / "wrapper"
    wrapper.write_text('#!/bin/sh\nexec script -qec "$2" /dev/null\n')
    wrapper.chmod(0o755)
    is_refused(make(login=str(wrapper)), "terminal")


@pytest.mark.parametrize("ends", ["echo interactive login is required >&2", "kill -9 $PPID"])
def test_a_jump_server_that_wants_a_terminal(
    make: Callable[..., Project], tmp_path: Path, ends: str
) -> None:
    """It lets us in and ends the session, with a word or without: there is no use in trying."""
    login = tmp_path / "login"
    login.write_text(f"#!/bin/sh\n{ends}\nexit 1\n")
    login.chmod(0o755)
    is_refused(make(login=str(login)), "runs no commands", "`jump")


def test_nothing_of_the_users_changes(make: Callable[..., Project], tmp_path: Path) -> None:
    """On the box only our folder and the key's line are new; on the laptop, only ours."""
    project = make()
    home = tmp_path / "laptop"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "config").write_text("Host *\n  ServerAliveInterval 7\n")
    project.extra.update(HOME=str(home), XDG_CONFIG_HOME="", XDG_STATE_HOME="")
    box = project.box.home
    (box / ".bashrc").write_text("# mine\n")
    (box / ".ssh").mkdir(mode=0o700)
    (box / ".ssh" / "authorized_keys").write_text("# mine\n")
    (box / ".ssh" / "authorized_keys").chmod(0o600)
    laptop, there = tree(home), tree(box)
    runs_to_the_end(project)
    changed = {name for name in there if tree(box).get(name) != there[name]}

    assert laptop == {name: text for name, text in tree(home).items() if ".cache" not in name}
    assert {".ssh/authorized_keys"} == changed
    lines = (box / ".ssh" / "authorized_keys").read_text().splitlines()
    assert "# mine" == lines[0]
    assert {".zuka"} == {path.name for path in box.iterdir()} - {".bashrc", ".ssh", ".cache"}


CONFIGS = {
    "for a person": "RequestTTY force\nRemoteCommand tmux\nLogLevel DEBUG3\nControlMaster auto\n"
    "ControlPath ~/.ssh/%C\nSendEnv *\nSetEnv LC_ALL=xx\nCompression yes\nForwardAgent yes\n"
    "BatchMode no\nPermitLocalCommand yes\nLocalCommand echo hi\nInclude nowhere/*\n",
    "for one command": "IgnoreUnknown StdinNull,ForkAfterAuthentication,SessionType\n"
    "StdinNull yes\nForkAfterAuthentication yes\nSessionType subsystem\nPubkeyAuthentication no\n"
    'PreferredAuthentications password\nMatch exec "echo noise; cat; true"\nRequestTTY force\n',
}


def configured(project: Project, text: str) -> None:
    """Let ssh have this for the user's ssh_config; its home is the one of the password file."""
    config, spy = project.folder.parent / "ssh config", project.folder.parent / "spy" / "ssh"
    config.write_text(f"Host *\n{text}")
    spy.write_text(spy.read_text().replace('"$@"', f'-F "{config}" "$@"'))


@pytest.mark.parametrize("kind", CONFIGS)
def test_an_ssh_config(make: Callable[..., Project], kind: str) -> None:
    """What the user told ssh for work by hand does not reach our commands."""
    project = make()
    configured(project, CONFIGS[kind])
    runs_to_the_end(project)


def test_nothing_in_common(make: Callable[..., Project]) -> None:
    """What OpenSSH does not count among its errors is told as well."""
    project = make()
    configured(project, "HostKeyAlgorithms ssh-rsa\n")
    is_refused(project, "no algorithm in common")


@pytest.mark.parametrize("program", ["ssh", "ssh-keygen"])
def test_a_laptop_without(make: Callable[..., Project], tmp_path: Path, program: str) -> None:
    """A program that this laptop lacks is told with its name, before a packet is sent."""
    project = make()
    (tmp_path / "few").mkdir()
    for name in {"ssh", "ssh-keygen", "git", "sh", "env", "uname"} - {program}:
        (tmp_path / "few" / name).symlink_to(str(shutil.which(name)))
    project.extra["PATH"] = str(tmp_path / "few")
    is_refused(project, f"'{program}' is not installed here")


def test_a_laptop_whose_home_takes_nothing(make: Callable[..., Project]) -> None:
    """Where no key of ours can be made, the system's own reason is told."""
    project = make()
    project.extra["XDG_CONFIG_HOME"] = "/proc/nowhere"
    machine = {key: value for key, value in project.box.machine().items() if key != "key"}
    project.write_recipe({**project.recipe(), "machine": machine})
    is_refused(project, "on this laptop", "/proc/nowhere")


def tree(folder: Path) -> dict[str, str]:
    """Return every file under a folder with its mode and text, but for what is zuka's."""
    found = {}
    for path in folder.rglob("*"):
        name = str(path.relative_to(folder))
        if path.is_file() and not name.startswith(".zuka"):
            found[name] = f"{path.stat().st_mode:o} {path.read_bytes()!r}"
    return found


def test_the_tests_make_a_bare_path(tmp_path: Path) -> None:
    """What is not named is not there."""
    path = programs(tmp_path / "programs")
    command = ["env", "-i", f"PATH={path}", "/bin/sh", "-c", "command -v tmux git rsync sudo"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)

    assert "" == done.stdout
