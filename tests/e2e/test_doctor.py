"""The way to a box, step by step, and how few round trips it takes."""

from __future__ import annotations

import getpass
import json
import re
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.boxes import SshdBox
from tests.conftest import make_box
from tests.project import Project
from tests.wan import wan
from zuka import doctor
from zuka.machines import Machine

pytestmark = pytest.mark.e2e


@pytest.fixture
def sshd(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SshdBox]:
    """Return a real sshd that is on."""
    made = make_box("sshd", tmp_path, folder, monkeypatch)
    assert isinstance(made, SshdBox)
    made.start()
    yield made
    made.close()


def reached(box: SshdBox, **changes: object) -> Machine:
    """Return how the box is reached, with something else."""
    facts = {
        "address": "127.0.0.1",
        "port": box.port,
        "user": getpass.getuser(),
        "key": box.root / "client_key",
        **changes,
    }
    return Machine("mygpu", **facts)  # type: ignore[arg-type]


def test_a_good_box(sshd: SshdBox, folder: Path) -> None:
    """Every step is told, in its order."""
    steps = [*doctor.walk(reached(sshd), folder)]

    assert ["ssh_config", "name", "port", "login"] == [each.step for each in steps][:4]
    assert "bad" not in {each.level for each in steps}
    assert any(each.step == "programs" and "tar" in each.text for each in steps)


def test_a_box_in_chinese(sshd: SshdBox, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every step is told in the user's language, and so is the first bad one."""
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    good = [*doctor.walk(reached(sshd), folder)]
    *_, closed = doctor.walk(reached(sshd, key=folder / "no such key"), folder)

    told = [text for each in (*good, closed) for text in (each.text, each.next) if text]
    assert [text for text in told if not re.search("[\u4e00-\u9fff]", text)] == []


def test_a_name_that_nobody_knows(sshd: SshdBox, folder: Path) -> None:
    """It stops where the name is looked up."""
    *_, last = doctor.walk(reached(sshd, address="no-such-box.invalid"), folder)

    assert ("name", "bad") == (last.step, last.level)
    assert last.next


def test_a_port_where_nobody_listens(sshd: SshdBox, folder: Path) -> None:
    """It stops at the port, and says what consoles do with ports."""
    sshd.stop()
    *_, last = doctor.walk(reached(sshd), folder)

    assert ("port", "bad") == (last.step, last.level)
    assert "port" in last.next


@pytest.mark.parametrize(
    ("greeting", "words"), [(b"HTTP/1.1 400 Bad Request\r\n", "no SSH server"), (b"", "nothing")]
)
def test_a_port_of_something_else(sshd: SshdBox, folder: Path, greeting: bytes, words: str) -> None:
    """A web page's port, and one that says nothing, are told apart from SSH's."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def greet() -> None:
            connection, _ = server.accept()
            connection.sendall(greeting)
            connection.close()

        threading.Thread(target=greet, daemon=True).start()
        *_, last = doctor.walk(reached(sshd, port=server.getsockname()[1]), folder)

    assert ("port", "bad") == (last.step, last.level)
    assert words in last.text


def test_an_error_that_nobody_knows(sshd: SshdBox, folder: Path) -> None:
    """The doctor does not send to the doctor: it shows how to hear what ssh itself says."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def babble() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                connection.sendall(b"SSH-2.0-babble\r\n" + b"\x00\x00\x00\x0c\x0a\x15" + bytes(60))

        threading.Thread(target=babble, daemon=True).start()
        port = server.getsockname()[1]
        *_, last = doctor.walk(reached(sshd, port=port), folder)

    assert ("login", "bad") == (last.step, last.level), last
    assert f"ssh -v -p {port} -i " in last.next


def test_a_key_that_is_refused(sshd: SshdBox, folder: Path) -> None:
    """It stops at the login, with what to do about the key."""
    (sshd.root / "authorized_keys").write_text("")
    *_, last = doctor.walk(reached(sshd), folder)

    assert ("login", "bad") == (last.step, last.level)
    assert "console" in last.next


def test_the_command(project: Project) -> None:
    """For people a line a step, for machines all of them; the exit code is that of a run."""
    if project.box.name == "sandbox":
        name = "sandbox"
    else:
        facts = "".join(f"    {key}: {value}\n" for key, value in project.box.machine().items())
        (project.folder / "machines.yaml").write_text(f"machines:\n  mygpu:\n{facts}")
        name = "mygpu"
    project.box.start()
    shown, plain = project.zuka("doctor", name), project.zuka("doctor", name, "--json")
    project.box.stop()

    assert 0 == shown.code, shown
    assert "ssh_config" in shown.out
    steps = json.loads(plain.out)["steps"]
    assert {"step", "level", "text", "next"} == steps[0].keys()
    assert all(each["level"] != "bad" for each in steps)
    if name == "mygpu":
        assert 3 == project.zuka("doctor", name).code


def test_a_good_box_is_provisioned_in_two_round_trips(sshd: SshdBox, folder: Path) -> None:
    """One connection; once it is open, the question goes up, and the answer comes down."""
    project = Project(folder, sshd)
    project.fill()
    with wan(("127.0.0.1", sshd.port), rtt=0.1) as way:
        facts = {**sshd.machine(), "port": way.port}
        recipe = {"zuka": 1, "machine": facts, "stages": [{"provision": {"python": ">=3.8"}}]}
        project.write_recipe(recipe)
        assert 0 == project.run().code
        before = way.turns
        done = project.run()
        assert 0 == done.code, done

        assert 1 == way.connections
        assert way.turns - before <= 3  # the third is a goodbye, which nobody waits for
    project.close()
