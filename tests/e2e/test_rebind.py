"""A name takes another address: the same box is known again, another one begins anew."""

from __future__ import annotations

import getpass
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.boxes import SshdBox
from tests.conftest import make_box
from tests.project import Project
from tests.wan import wan

pytestmark = pytest.mark.e2e


@pytest.fixture
def named(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Project, SshdBox]]:
    """Return a project whose recipe names its box, which is a real sshd."""
    box = make_box("sshd", tmp_path, folder, monkeypatch)
    assert isinstance(box, SshdBox)
    project = Project(folder, box)
    project.fill()
    project.write_recipe({**project.recipe(), "machine": "mygpu"})
    box.start()
    yield project, box
    project.close()
    box.close()


def reach(project: Project, box: SshdBox, port: int) -> None:
    """Write where the box is."""
    lines = ["machines:", "  mygpu:  # rented", "    address: 127.0.0.1", f"    port: {port}"]
    lines += [f"    user: {getpass.getuser()}", f"    key: {box.root / 'client_key'}"]
    (project.folder / "machines.yaml").write_text("\n".join(lines) + "\n")


def dues(project: Project) -> Any:
    """Return what the box is owed."""
    return json.loads((project.folder / ".zuka" / "dues" / "train.json").read_text())


def test_the_same_box_at_another_port(named: tuple[Project, SshdBox]) -> None:
    """What was done stays done, and what is owed stays owed: the box is not left on."""
    project, box = named
    with wan(("127.0.0.1", box.port), 0) as way:
        reach(project, box, way.port)
        assert 0 == project.run("train:fetch").code
    assert dues(project)["used"]
    assert 3 == project.run().code
    done = project.zuka("rebind", "mygpu", "ssh", "-p", str(box.port), "root@127.0.0.1")
    assert 0 == done.code, done
    assert "# rented" in (project.folder / "machines.yaml").read_text()
    last = project.run()

    assert (0, ["clean", "snapshot", "poweroff"]) == (last.code, last.ran), last
    assert not box.is_on()


def test_another_box(named: tuple[Project, SshdBox], tmp_path: Path) -> None:
    """A new box gets what a missing product needs, and is not owed what the old one was."""
    project, old = named
    reach(project, old, old.port)
    assert 0 == project.run("train:fetch").code
    old.preempt()
    new = SshdBox(tmp_path / "new")
    new.start()
    try:
        (new.root / "authorized_keys").write_text((old.root / "client_key.pub").read_text())
        way = ["-p", str(new.port), f"{getpass.getuser()}@127.0.0.1"]
        assert 0 == project.zuka("rebind", "mygpu", *way).code
        rest = project.run()
        assert (0, []) == (rest.code, rest.ran), rest
        assert not (new.home / ".zuka").exists()
        again = project.run("train", "steps=21")

        assert 0 == again.code, again
        assert {"upload", "code", "env", "train", "fetch", "poweroff"} <= set(again.ran)
        assert not new.is_on()
    finally:
        new.close()


def test_what_was_seen_off_is_not_the_next_box(named: tuple[Project, SshdBox]) -> None:
    """A recipe goes to a box of another name, which fails the order: it is on, and that is said."""
    project, box = named
    reach(project, box, box.port)
    assert 0 == project.run().code
    assert "(power off)" in project.zuka("status").out
    machine = {**box.machine(), "port": box.port}
    value = {**project.recipe(), "machine": machine}
    value["stages"][1] = {"provision": {"disk": {"free": "900 TB"}}}
    project.write_recipe(value)
    assert "(power unknown)" in project.zuka("status").out
    box.start()
    plan = project.zuka("plan", "train", "steps=22")
    failed = project.run("train", "steps=22")

    assert (1, ["provision"]) == (failed.code, failed.ran), failed
    assert "THE BOX IS STILL ON; mend it and say `doit run train steps=22` again" in failed.out
    assert "then     stop, if it is still so: provision cannot change it" in plan.out


WRONG = [["-p", "22022"], ["root@<host>"], ["'"], ["-p", "99999", "root@a"]]


@pytest.mark.parametrize("words", WRONG)
def test_what_is_no_address_changes_nothing(
    named: tuple[Project, SshdBox], words: list[str]
) -> None:
    """A slip of the copying hand is an error, before anything is written."""
    project, box = named
    reach(project, box, box.port)
    before = (project.folder / "machines.yaml").read_text()
    done = project.zuka("rebind", "mygpu", *words)

    assert 2 == done.code, done
    assert "hint" in done.err
    assert before == (project.folder / "machines.yaml").read_text()


SLIPS = [
    ["-p", "22022", "root@203.0.113.7", "mygpu"],
    ["../../x"],
    ["../../x", "root@203.0.113.7"],
    ["ssh -p 22022 root@203.0.113.7"],
    ["sandbox", "root@203.0.113.7"],
    ["mygpv"],
]


@pytest.mark.parametrize("words", SLIPS)
def test_a_name_that_no_recipe_can_mean(folder: Path, words: list[str]) -> None:
    """The name is checked before anything is written, and a near one is told."""
    before = "machines:\n  mygpu: {address: 203.0.113.7}\n"
    (folder / "machines.yaml").write_text(before)
    command = [sys.executable, "-m", "zuka", "rebind", *words]
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)

    assert (2, "") == (done.returncode, done.stdout), done
    assert "hint" in done.stderr
    assert before == (folder / "machines.yaml").read_text()
    if words == ["mygpv"]:
        assert "mygpu" in done.stderr
