"""The whole pipeline, on the sandbox and on a real OpenSSH server."""

from __future__ import annotations

import json
import re
import shutil
import time

import pytest

from tests.project import STAGES, Project
from zuka.journal import Journal

pytestmark = pytest.mark.e2e


def test_first_run_does_everything_and_the_second_nothing(project: Project) -> None:
    """Keys to power-off once; then one line, and no ssh at all."""
    first = project.run(doit=True)
    assert 0 == first.code, first
    assert re.fullmatch(r"\S+: first contact, host key SHA256:\S+\n", first.err), first
    assert set(STAGES) - {"provision"} >= set(first.ran) >= set(STAGES) - {"provision", "keys"}
    assert list(range(1, 21)) == project.steps()
    assert not project.box.is_on()
    names = {path.name for path in project.results()[0].iterdir()}
    assert {"outputs", "run.json", "run.log"} == names

    project.ssh_calls()
    for doit in (True, False):
        again = project.run(doit=doit)
        assert (0, 1, []) == (again.code, again.out.count("\n"), project.ssh_calls()), again


def test_deleted_artifacts_cost_one_look(project: Project) -> None:
    """Needed but nothing to change: exactly one probe round trip before the fetch."""
    recipe = project.recipe()
    recipe["stages"].remove("poweroff")
    project.write_recipe(recipe)
    assert project.run().code == 0
    project.results()[0].rename(project.folder / "elsewhere")
    project.ssh_calls()
    done = project.run()
    calls = project.ssh_calls()

    assert (0, ["fetch"]) == (done.code, done.ran), done
    logins = [call for call in calls if "-fN" in call]
    assert len(logins) <= 1
    rest = [call for call in calls if "-fN" not in call]
    assert 2 == len(rest), rest  # the look, and the fetch


def test_record_tells_where_results_come_from(project: Project) -> None:
    """The record beside the results has the run, the box, the variables and the inputs."""
    assert project.run("train", "steps=7").code == 0
    record = json.loads((project.results()[0] / "run.json").read_text())

    assert {"steps": "7"} == record["vars"]
    assert "python train.py --steps 7" == record["inputs"]["train"]["run"]
    assert {"outputs/metrics.jsonl", "outputs/weights", "run.log"} <= set(record["files"])
    assert record["box"]
    assert list(range(1, 8)) == project.steps()


def test_results_that_came_half_are_brought_anew(project: Project) -> None:
    """A kill in the middle of a fetch leaves a half folder: the next run begins it again."""
    assert 0 == project.run().code
    [folder] = project.results()
    project.box.start()
    shutil.rmtree(folder.parent)
    half = folder.parent / f".{folder.name}.part"
    (half / "outputs").mkdir(parents=True)
    (half / "outputs" / "weights.json").write_text("half")
    (half / "outputs" / "other").write_text("of another try")
    done = project.run()

    assert (0, ["fetch", "poweroff"]) == (done.code, done.ran), done
    assert [folder] == project.results()
    assert not (folder / "outputs" / "other").exists()
    assert not half.exists()


def test_a_finish_that_was_found_done_is_no_longer_owed(project: Project) -> None:
    """Two kills, one after the snapshot and one after the power-off: the silence is understood."""
    assert 0 == project.run().code
    project.box.start()
    [dues] = (project.folder / ".zuka" / "dues").glob("*.json")
    done = json.loads(dues.read_text())["done"]
    written = {"format": 1, "used": True, "off": False, "done": {"clean": done["clean"]}}
    dues.write_text(json.dumps(written))
    journal = Journal(project.folder / ".zuka" / "journal.jsonl")
    before = len(list(journal.events()))
    running = project.start("run", "train")
    while "train:poweroff" not in [event["task"] for event in list(journal.events())[before:]]:
        assert running.poll() is None, running.communicate()
        time.sleep(0.01)
    time.sleep(0.5)
    running.kill()
    running.communicate()
    while project.box.is_on():
        time.sleep(0.05)
    last = project.run()

    assert 0 == last.code, last
    assert (0, []) == ((again := project.run()).code, again.ran)
