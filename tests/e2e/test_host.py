"""The door to the box, through the user's own ssh, to the sandbox and to a real sshd."""

from __future__ import annotations

import contextlib
import os
import secrets
import shlex
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import psutil
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.boxes import Box
from zuka.connection import Client, Connection
from zuka.errors import HostError, StageError, StrangerError
from zuka.host import SshHost
from zuka.machines import Machine
from zuka.stage import run_state, start_run, tree_state
from zuka.steps import Follow, Pull, Push, Run
from zuka.trees import Reader

pytestmark = pytest.mark.e2e

TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30)
NAME = st.text(
    st.characters(exclude_characters="\0/", exclude_categories=["Cs"]), min_size=1, max_size=30
).filter(lambda name: name not in (".", ".."))
MANY = settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


class Notes:
    """A watch that keeps what it is told."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.notes: list[str] = []

    def log(self, line: str) -> None:
        self.lines.append(line)

    def progress(self, done: int, total: int) -> None:
        assert 0 <= done <= total

    def note(self, text: str) -> None:
        self.notes.append(text)


def machine(box: Box, folder: Path) -> Machine:
    """Return how a box is reached."""
    if box.name == "sandbox":
        from zuka import sandbox

        return sandbox.rent(folder)
    facts = box.machine()
    return Machine("sshd", facts["address"], facts["port"], facts["user"], Path(facts["key"]))


@pytest.fixture
def host(box: Box, folder: Path) -> Iterator[SshHost]:
    """Return a door to each box."""
    made = SshHost(machine(box, folder), folder / ".zuka", folder, patience=8)
    yield made
    made.abandon()
    made.forget_master()


@MANY
@given(words=st.lists(TEXT, max_size=6))
def test_argv_arrives_as_it_is(host: SshHost, words: list[str]) -> None:
    """Metacharacters, newlines, dashes and Chinese arrive through the real host."""
    look = host.look([[Run(("printf", "%s\\0", "first", *words))], []])

    assert "".join(f"{word}\0" for word in ("first", *words)) == look.replies[0][0].out


@MANY
@given(text=TEXT, name=NAME, link=NAME)
def test_commands_and_names_arrive_as_they_are(
    host: SshHost, folder: Path, text: str, name: str, link: str
) -> None:
    """A run's command, a tree's names, and the name of a link in the work folder."""
    source = folder / f"source-{secrets.token_hex(8)}"
    source.mkdir()
    try:
        (source / name).write_text(text, encoding="utf-8", newline="")
    except OSError:
        return  # too long for this file system
    if link.encode() == name.encode():
        link = f"x{link}"[:30]
    unique, notes = secrets.token_hex(8), Notes()
    place = f"data/{unique}"
    host.do(Push(Reader(folder, folder / ".c.json").tree(source.name), place), notes)
    said = shlex.quote(text)
    command = f"mkdir outputs; printf %s {said} >outputs/said; cat ./{shlex.quote(link)}/*  # end"
    command = command.replace("/*", f"/{shlex.quote(name)} >outputs/{shlex.quote('x' + name[:9])}")
    host.do(start_run(f"r-{unique}", command, offers={f"link:{link}": place}), notes)
    host.do(Follow(f"r-{unique}", within=20), notes)
    into = folder / f"results-{unique}"
    kept = host.pull(Pull(f"r-{unique}", ("outputs",), ""), into, notes)

    assert text.encode() == (into / "outputs" / "said").read_bytes()
    assert text.encode() == (into / "outputs" / f"x{name[:9]}").read_bytes()
    assert {"run.log", "outputs/said", f"outputs/x{name[:9]}"} == set(kept)


def test_one_round_trip_whatever_is_asked(host: SshHost) -> None:
    """A thousand questions are one exchange."""
    look = host.look([[Run(("echo", str(number)))] for number in range(1000)])

    assert [str(number) for number in range(1000)] == [each[0].out.strip() for each in look.replies]
    assert look.box.id is None, "a look leaves nothing behind"
    host.do(Run(("true",)), Notes())
    assert host.look([]).box.id


def test_a_failed_command_is_told(host: SshHost) -> None:
    """The command, its exit code, the end of what it said, harmless to a terminal."""
    said = "printf 'no \\033[31m\\007luck\\n' >&2; exit 7"
    with pytest.raises(StageError, match=r"(?s)'say it' exited with 7\n.*no \?luck") as told:
        host.do(Run(("sh", "-c", said), "say it"), Notes())

    assert "\x1b" not in str(told.value)


def test_a_hanging_command_ends_in_time(host: SshHost) -> None:
    """A command that outlives its limit is ended, on the box as well."""
    began = time.monotonic()
    with pytest.raises((StageError, HostError)):
        host.do(Run(("sleep", "97531"), limit=1), Notes())

    assert time.monotonic() - began < 15
    deadline = time.monotonic() + 5
    while any("97531" in line for _, line in processes()):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def processes() -> Iterator[tuple[psutil.Process, list[str]]]:
    """Yield the processes that live, each with its command line."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):  # others end while one looks
            if process.status() != psutil.STATUS_ZOMBIE:
                yield process, process.cmdline()


def test_a_killed_master_is_replaced(host: SshHost) -> None:
    """A dead connection's socket is no trap."""
    host.look([])
    for process, line in processes():
        if f"ControlPath={host._connection.socket}" in line and "-fN" in line:
            process.kill()
    time.sleep(0.2)
    assert host._connection.socket.exists()

    assert "on\n" == host.look([[Run(("echo", "on"))]]).replies[0][0].out


def test_another_box_at_the_address_is_not_spoken_to(host: SshHost, box: Box) -> None:
    """A changed host key stops everything, and both fingerprints are shown."""
    host.do(Run(("true",)), Notes())
    host.forget_master()
    box.replace()
    with pytest.raises(HostError, match="another box answers here") as told:
        host.do(Run(("touch", "was-here")), Notes())

    assert 2 == str(told.value).count("SHA256:")
    assert "zuka rebind" in str(told.value)
    assert not (box.home / ".zuka").exists()


@pytest.mark.parametrize("step", ["run", "push", "pull", "follow"])
def test_a_box_with_a_copied_host_key_gets_nothing(
    host: SshHost, box: Box, folder: Path, step: str
) -> None:
    """Images are sold with their host keys baked in: the box's own id counts as well."""
    host.do(start_run("r", "echo secret >out; sleep 60"), Notes())
    host.look([])
    shutil.rmtree(box.home / ".zuka")
    (box.home / ".zuka").mkdir()
    (box.home / ".zuka" / "box.json").write_text('{"format": 1, "id": "0123456789abcdef"}\n')
    (folder / "data").write_text("private")
    before = listing(box.home)
    tree = Reader(folder, folder / ".zuka" / "cache.json").tree("data")
    acts: dict[str, Callable[[], object]] = {
        "run": lambda: host.do(Run(("touch", "mine")), Notes()),
        "push": lambda: host.do(Push(tree, "data/x"), Notes()),
        "pull": lambda: host.pull(Pull("r", ("out",), ""), folder / "results", Notes()),
        "follow": lambda: host.do(Follow("r"), Notes()),
    }
    with pytest.raises(StrangerError, match="another box answers"):
        acts[step]()

    assert before == listing(box.home)


def listing(home: Path) -> list[str]:
    """Return every path under a box's home folder, but for sockets of its own."""
    return sorted(str(path) for path in home.rglob("*") if "tmux" not in str(path))


def test_a_push_is_whole_or_not_at_all(host: SshHost, box: Box, folder: Path) -> None:
    """A tree that was cut on its way is not there; damage afterwards is seen."""
    (folder / "data").mkdir()
    for number in range(50):
        (folder / "data" / str(number)).write_bytes(os.urandom(20_000))
    tree = Reader(folder, folder / ".c.json").tree("data")
    (folder / "data" / "49").write_text("changed")
    with pytest.raises(StageError, match="'49' changed while it was sent"):
        host.do(Push(tree, "data/one"), Notes())
    time.sleep(0.5)
    assert "absent\n" == host.look([[tree_state("data/one")]]).replies[0][0].out
    assert [] == list((box.home / ".zuka").glob("tmp/*"))

    tree = Reader(folder, folder / ".c.json").tree("data")
    host.do(Push(tree, "data/one"), Notes())
    assert "whole\n" == host.look([[tree_state("data/one")]]).replies[0][0].out
    host.do(Push(tree, "data/one"), Notes())
    (box.home / ".zuka" / "data" / "one" / "7").unlink()
    assert "changed\n" == host.look([[tree_state("data/one")]]).replies[0][0].out


def test_a_run_is_started_once(host: SshHost) -> None:
    """Ten starts at once make one run; its log has every line once."""
    command = "for n in 1 2 3 4 5 6 7 8; do echo line $n; sleep 0.2; done"
    threads = [
        threading.Thread(target=host.do, args=(start_run("once", command), Notes()))
        for _ in range(6)
    ]
    host.do(Run(("true",)), Notes())
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    notes = Notes()
    host.do(Follow("once", within=30), notes)

    assert [f"line {n}" for n in range(1, 9)] == notes.lines
    assert "finished" == state(host, "once")


def state(host: SshHost, run: str) -> str:
    """Return the state of a run."""
    return host.look([[run_state(run)]]).replies[0][0].out.splitlines()[0]


def test_states_are_told_apart(host: SshHost, box: Box) -> None:
    """absent, running, finished, failed N, lost; a lost run goes on from its checkpoint."""
    assert "absent" == state(host, "r")
    host.do(start_run("ok", "true"), Notes())
    host.do(Follow("ok"), Notes())
    host.do(start_run("bad", "exit 41"), Notes())
    host.do(Follow("bad"), Notes())
    assert ("finished", "failed 41") == (state(host, "ok"), state(host, "bad"))
    command = "echo begin >>out; touch cp-1; sleep 0.1; touch 'cp-2 x'; sleep 300"
    resume = "&& echo never; "
    host.do(start_run("r", command), Notes())
    assert "running" == state(host, "r")
    time.sleep(0.5)
    box.preempt()
    box.start()
    host.forget_master()
    assert "lost" == state(host, "r")
    again = start_run("r", "echo resumed", resume='"$checkpoint"', checkpoint="cp-*")
    host.do(again, Notes())
    notes = Notes()
    host.do(Follow("r", within=20), notes)

    assert ["--- zuka: goes on from cp-2 x", "resumed cp-2 x"] == notes.lines
    assert resume
    assert "finished" == state(host, "r")


def test_following_survives_a_lost_connection(host: SshHost) -> None:
    """Every byte of the log comes once, though the client is killed under way."""
    host.do(
        start_run("long", "n=0; while [ $n -lt 40 ]; do n=$((n+1)); echo $n; sleep 0.1; done"),
        Notes(),
    )
    notes = Notes()
    following = threading.Thread(target=host.do, args=(Follow("long", within=60), notes))
    following.start()
    for _ in range(3):
        time.sleep(0.8)
        host.abandon()
    following.join(timeout=60)

    assert [str(n) for n in range(1, 41)] == notes.lines


def test_a_hostile_log_is_only_text(host: SshHost) -> None:
    """Escapes, our own words and endless lines in a log confuse nobody."""
    command = "printf 'zuka-%024d end 0\\n\\033[2J\\033]0;x\\007evil\\n' 0"
    command += "; head -c 300000 /dev/zero"
    host.do(start_run("evil", command), Notes())
    notes = Notes()
    host.do(Follow("evil", within=20), notes)

    assert f"zuka-{0:024d} end 0" == notes.lines[0]
    assert "evil" == notes.lines[1]
    assert not any("\x1b" in line for line in notes.lines)


class Busybox(Connection):
    """A connection to a box whose login shell, and every program, is busybox."""

    front = ""

    def client(
        self, command: str, *, stdin: int | IO[bytes]
    ) -> contextlib._GeneratorContextManager[Client, None, None]:
        return super().client(self.front + shlex.quote(command), stdin=stdin)


@pytest.mark.skipif(not shutil.which("busybox"), reason="no busybox here")
def test_the_scripts_need_no_more_than_busybox(box: Box, folder: Path) -> None:
    """A box whose every program is busybox runs a whole job, without tmux."""
    programs = folder.parent / "busybox"
    programs.mkdir()
    listed = subprocess.run(["busybox", "--list"], capture_output=True, text=True, check=True)
    for name in listed.stdout.split():
        (programs / name).symlink_to(str(shutil.which("busybox")))
    (programs / "tmux").write_text("#!/bin/sh\nexit 127\n")
    (programs / "tmux").chmod(0o755)
    front = f"PATH='{programs}' exec '{shutil.which('busybox')}' sh -c "
    (folder / "data").mkdir()
    (folder / "data" / "a").write_text("1")
    host = SshHost(machine(box, folder), folder / ".zuka", folder, patience=8)
    host._connection = Busybox(machine(box, folder), folder / ".zuka")
    host._connection.front = front
    notes = Notes()
    host.do(Push(Reader(folder, folder / ".c.json").tree("data"), "data/one"), notes)
    assert "whole\n" == host.look([[tree_state("data/one")]]).replies[0][0].out
    command = "mkdir outputs; cp data/a outputs/b; echo ok"
    host.do(start_run("r", command, offers={"link:data": "data/one"}), notes)
    host.do(Follow("r", within=20), notes)
    kept = host.pull(Pull("r", ("outputs",), ""), folder / "results", notes)

    assert {"run.log", "outputs/b"} == set(kept)
    assert "ok" in notes.lines
    host.forget_master()
