"""The embedded box behaves like a rented one, to the user's own ssh, tmux, rsync and scp."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from zuka import sandbox
from zuka.errors import HostError
from zuka.machines import Machine

pytestmark = pytest.mark.e2e


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a project whose sandbox is its own."""
    monkeypatch.setenv("ZUKA_SANDBOX", str(tmp_path / "box"))
    yield tmp_path
    sandbox.down(tmp_path)
    shutil.rmtree(sandbox.home_of(tmp_path).sockets, ignore_errors=True)


def options(machine: Machine, folder: Path, *more: str) -> list[str]:
    """Return ssh's options for a box."""
    settings = [
        f"IdentityFile={machine.key}",
        "IdentitiesOnly=yes",
        "BatchMode=yes",
        "LogLevel=ERROR",
        f"UserKnownHostsFile={folder}/known",
        "StrictHostKeyChecking=accept-new",
        *more,
    ]
    return [part for setting in settings for part in ("-o", setting)]


def ssh(
    machine: Machine, folder: Path, command: str, *, stdin: bytes = b"", more: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[bytes]:
    """Run a command in the box."""
    argv = ["ssh", *options(machine, folder, *more), "-p", str(machine.port), "127.0.0.1", command]
    return subprocess.run(argv, capture_output=True, check=False, timeout=30, input=stdin)


def test_a_folder_on_the_path_that_cannot_be_read(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `su` leaves them there; root can read everything, but no name is as long as this one."""
    closed = project / "closed"
    closed.mkdir(mode=0)
    monkeypatch.setenv("PATH", f"{closed}/bin:/{'x' * 300}/bin", prepend=os.pathsep)
    box = sandbox.rent(project)

    assert b"here\n" == ssh(box, project, "echo here").stdout


def test_commands_run_in_its_own_home(project: Path) -> None:
    """Exit codes, signals, binary streams, and a PATH without virtual environments."""
    box = sandbox.rent(project)
    assert 37 == ssh(box, project, "exit 37").returncode
    assert 0 != ssh(box, project, "kill -TERM $$").returncode
    blob = bytes(range(256)) * 4000
    assert blob == ssh(box, project, "cat", stdin=blob).stdout
    done = ssh(box, project, "echo out; echo err >&2")
    assert (b"out\n", b"err\n") == (done.stdout, done.stderr)
    home = sandbox.home_of(project)
    assert f"{home.disk}\n" == ssh(box, project, "echo $HOME; true").stdout.decode()
    path = ssh(box, project, "echo $PATH").stdout.decode()
    assert str(Path(sys.executable).parent) not in path or sys.prefix == sys.base_prefix
    assert b"/dev/" in ssh(box, project, "tty", more=("RequestTTY=force",)).stdout


@pytest.mark.skipif(not shutil.which("rsync"), reason="no rsync here")
def test_files_travel_by_every_road(project: Path) -> None:
    """rsync, scp, sftp and a tar pipe."""
    box = sandbox.rent(project)
    (project / "data").mkdir()
    (project / "data" / "a b").write_bytes(os.urandom(3_000_000))
    home = sandbox.home_of(project).disk
    shell = " ".join(f"'{word}'" for word in ["ssh", *options(box, project), "-p", str(box.port)])
    subprocess.run(
        ["rsync", "-a", "-e", shell, "data/", "127.0.0.1:by-rsync"], cwd=project, check=True
    )
    scp = ["scp", "-q", *options(box, project), "-P", str(box.port)]
    subprocess.run([*scp, "data/a b", "127.0.0.1:by-scp"], cwd=project, check=True)
    subprocess.run([*scp, "-O", "data/a b", "127.0.0.1:by-old-scp"], cwd=project, check=True)
    wanted = (project / "data" / "a b").read_bytes()

    for name in ("by-rsync/a b", "by-scp", "by-old-scp"):
        assert wanted == (home / name).read_bytes(), name


def test_a_key_that_it_does_not_know_is_refused(project: Path) -> None:
    """Only the console's key, and what stands in its authorized_keys."""
    box = sandbox.rent(project)
    make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(project / "other")]
    subprocess.run(make, check=True)
    other = Machine("other", "127.0.0.1", box.port, box.user, project / "other")
    assert 255 == ssh(other, project, "true").returncode
    folder = sandbox.home_of(project).disk / ".ssh"
    folder.mkdir()
    shutil.copy(project / "other.pub", folder / "authorized_keys")

    assert 0 == ssh(other, project, "true").returncode


def test_preemption_kills_all_and_keeps_the_disk(project: Path) -> None:
    """Everything dies at once; it is not on again before somebody says so."""
    box = sandbox.rent(project)
    loop = "(while :; do date +%N >beat; sleep 0.05; done) </dev/null >/dev/null 2>&1 &"
    ssh(box, project, f"echo kept >file; {loop}")
    beat = sandbox.home_of(project).disk / "beat"
    time.sleep(0.3)
    sandbox.preempt(project)
    last = beat.read_text()
    time.sleep(0.3)
    assert last == beat.read_text()
    with pytest.raises(HostError, match="sandbox up"):
        sandbox.rent(project)
    again = sandbox.up(project)

    assert box.port == again.port
    assert b"kept\n" == ssh(again, project, "cat file").stdout


def test_another_box_at_the_same_address(project: Path) -> None:
    """Another host key, an empty disk, the same port."""
    box = sandbox.rent(project)
    ssh(box, project, "echo kept >file")
    sandbox.replace(project)
    changed = ssh(box, project, "true")
    assert (255, True) == (changed.returncode, b"CHANGED" in changed.stderr)
    (project / "known").unlink()

    assert 1 == ssh(box, project, "test -e file").returncode


@pytest.mark.parametrize("command", ["shutdown -h now", "poweroff", "sudo -n shutdown -h now"])
def test_it_can_switch_itself_off(project: Path, command: str) -> None:
    """Power-off from inside ends everything; the next rent switches it on again."""
    box = sandbox.rent(project)
    assert 0 == ssh(box, project, f"({command}) && exit 0").returncode
    deadline = time.monotonic() + 10
    while sandbox.state(project).state != "off":
        assert time.monotonic() < deadline
        time.sleep(0.05)

    assert box.port == sandbox.rent(project).port
    assert "on" == sandbox.state(project).state


def test_a_shutdown_in_some_minutes_can_be_cancelled(project: Path) -> None:
    """`shutdown +5`, then `shutdown -c`."""
    box = sandbox.rent(project)
    ssh(box, project, "ZUKA_SANDBOX_MINUTE=1 shutdown +1")
    ssh(box, project, "shutdown -c")
    time.sleep(1.5)

    assert "on" == sandbox.state(project).state


def test_two_that_rent_at_once_get_one_box(project: Path) -> None:
    """There is never more than one server of a box."""
    code = "from pathlib import Path; from zuka import sandbox; print(sandbox.rent(Path('.')).port)"
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", code],
            cwd=project,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
        )
        for _ in range(4)
    ]
    ports = {run.communicate(timeout=60)[0] for run in runs}

    assert 1 == len(ports)


def test_programs_of_a_folder_come_first(project: Path) -> None:
    """`bin` puts stand-ins on its PATH, also while it is on."""
    programs = project / "programs"
    programs.mkdir()
    (programs / "nvidia-smi").write_text("#!/bin/sh\necho NVIDIA GeForce RTX 4090, 24564\n")
    (programs / "nvidia-smi").chmod(0o755)
    sandbox.rent(project)
    box = sandbox.rent(project, bin=programs)
    assert b"NVIDIA GeForce RTX 4090, 24564\n" == ssh(box, project, "nvidia-smi").stdout
    box = sandbox.rent(project)

    assert b"RTX 4090" not in ssh(box, project, "nvidia-smi").stdout


def test_it_ends_when_its_folder_is_gone(project: Path) -> None:
    """Nobody is left behind when a project's box is deleted."""
    sandbox.rent(project)
    pid = sandbox.state(project).pid
    shutil.rmtree(sandbox.home_of(project).root)
    deadline = time.monotonic() + 10
    while _alive(pid):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    import psutil

    return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)


def test_a_port_that_somebody_took_is_given_up(project: Path) -> None:
    """A box that was off comes back at another port, rather than not at all."""
    first = sandbox.up(project).port
    sandbox.down(project)
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", first or 0))
        taken.listen()
        second = sandbox.up(project).port

    assert first != second
    assert "on" == sandbox.state(project).state
