"""
Reruns are exact: each row is a change, the stages that run because of it, and no others.

`zuka why --json` has to say the same before. A row begins with a project that has nothing to do,
its box off, and ends with one.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.boxes import SandboxBox
from tests.project import Project
from zuka.sandbox.home import MARK

pytestmark = pytest.mark.e2e

FINISH = ["clean", "snapshot", "poweroff"]
RESULTS = ["fetch", *FINISH]
RETRAIN = ["smoke", "train", *RESULTS]
AGAIN = ["fetch", "poweroff"]
"""The results of a run that the box still has: its clean-up and snapshot are done already."""


@dataclass(frozen=True)
class Row:
    """A change, what it makes run, and what the second run after it makes run."""

    change: Callable[[Project], Any]
    runs: list[str]
    arguments: tuple[str, ...] = ()
    code: int = 0


def edit(path: str, text: str = "# changed\n") -> Callable[[Project], None]:
    """Return a change that appends to a file."""

    def change(project: Project) -> None:
        with (project.folder / path).open("a") as file:
            file.write(text)

    return change


def edit_keeping_time(path: str) -> Callable[[Project], None]:
    """Return a change of one byte that keeps size and modification time."""

    def change(project: Project) -> None:
        file = project.folder / path
        before = file.stat()
        file.write_bytes(b"X" + file.read_bytes()[1:])
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

    return change


def touch(path: str) -> Callable[[Project], None]:
    """Return a change of a file's time alone."""
    return lambda project: os.utime(project.folder / path)


def recipe(change: Callable[[dict[str, Any]], Any]) -> Callable[[Project], None]:
    """Return a change of the recipe."""

    def apply(project: Project) -> None:
        import yaml

        path = project.folder / "recipes" / "train.yaml"
        value = yaml.safe_load(path.read_text())
        change(value)
        project.write_recipe(value)

    return apply


def stage(value: dict[str, Any], kind: str) -> dict[str, Any]:
    """Return the keys of a stage of a recipe."""
    return next(s[kind] for s in value["stages"] if isinstance(s, dict) and kind in s)


def steps(count: int) -> Callable[[Project], None]:
    """Return a change of the variable `steps`."""
    return recipe(lambda value: value["vars"].update(steps=count))


def reorder(value: dict[str, Any]) -> None:
    """Put upload, code and env in another order, and the keys of a stage."""
    stages = value["stages"]
    stages[2], stages[3], stages[4] = stages[4], stages[2], stages[3]
    train = stage(value, "train")
    train["resume"], train["run"] = train.pop("resume"), train.pop("run")


def comment(project: Project) -> None:
    """Write comments and blank lines into the recipe."""
    path = project.folder / "recipes" / "train.yaml"
    path.write_text("# a comment\n\n" + path.read_text().replace("stages:", "stages:  # all\n"))


def remove_artifacts(project: Project) -> None:
    """Delete every result."""
    shutil.rmtree(project.folder / "artifacts")


def newest(project: Project) -> Path:
    """Return the newest results."""
    return (project.folder / "artifacts" / "train" / "latest").resolve()


def on_box(change: Callable[[Path], Any]) -> Callable[[Project], None]:
    """Return a change of zuka's folder on the box."""
    return lambda project: change(project.box.home / ".zuka")


def damage_env(home: Path) -> None:
    """Delete a program of the environments."""
    for python in home.glob("env/*/bin/pip"):
        python.unlink()


def edit_data(home: Path) -> None:
    """Let a file of the data on the box grow."""
    for path in home.glob("data/*/a.txt"):
        path.chmod(0o644)
        path.write_text("something else altogether\n")


def both(*changes: Callable[[Project], Any]) -> Callable[[Project], None]:
    """Return several changes as one."""

    def change(project: Project) -> None:
        for each in changes:
            each(project)

    return change


def rebind(project: Project) -> None:
    """Accept the new box."""
    assert project.zuka("rebind", "sandbox").code == 0


ROWS = {
    "nothing": Row(lambda _: None, []),
    "a touched data file": Row(touch("data/a.txt"), []),
    "a touched program": Row(touch("train.py"), []),
    "a touched recipe": Row(touch("recipes/train.yaml"), []),
    "changed data with the old time": Row(edit_keeping_time("data/a.txt"), ["upload", *RETRAIN]),
    "an edited README": Row(edit("README.md"), []),
    "an edited train.py": Row(edit("train.py"), ["code", *RETRAIN]),
    "train.py made executable": Row(
        lambda p: (p.folder / "train.py").chmod(0o755), ["code", *RETRAIN]
    ),
    "an edited data file": Row(edit("data/b.txt"), ["upload", *RETRAIN]),
    "a data file added": Row(
        lambda p: (p.folder / "data" / "c.txt").write_text("three\n"), ["upload", *RETRAIN]
    ),
    "a data file renamed": Row(
        lambda p: (p.folder / "data" / "c.txt").rename(p.folder / "data" / "d.txt"),
        ["upload", *RETRAIN],
    ),
    "a data file removed": Row(
        lambda p: (p.folder / "data" / "b.txt").unlink(), ["upload", *RETRAIN]
    ),
    "a data file put back as it was": Row(
        lambda p: (p.folder / "data" / "b.txt").write_text("two\n# changed\n"), []
    ),
    "a comment among the requirements": Row(edit("requirements.txt", "\n# more\n"), []),
    "a requirement": Row(edit("requirements.txt", "pip>=1\n"), ["code", "env", *RETRAIN]),
    "a variable in the recipe": Row(steps(21), ["train", *RESULTS]),
    "a variable on the command line": Row(
        lambda _: None, ["train", *RESULTS], arguments=("steps=23",)
    ),
    "the variable not given any more": Row(lambda _: None, []),
    "the command's text": Row(
        recipe(lambda v: stage(v, "train").update(run="python  train.py --steps ${steps}")),
        ["train", *RESULTS],
    ),
    "the trial's text": Row(
        recipe(lambda v: stage(v, "smoke").update(run="python train.py --steps 3")), []
    ),
    "what was ordered": Row(
        recipe(lambda v: stage(v, "provision").update(disk={"free": "1 MB"})), []
    ),
    "the recipe reordered": Row(recipe(reorder), []),
    "the recipe commented": Row(comment, []),
    "a stage renamed that leaves nothing behind": Row(
        recipe(lambda v: stage(v, "smoke").update(name="trial")), []
    ),
    "an untracked file": Row(lambda p: (p.folder / "new.py").write_text("1\n"), []),
    "the file added to git": Row(
        lambda p: p.git("add", "new.py"), ["code", "trial", "train", *RESULTS]
    ),
    "a commit of what is there": Row(lambda p: p.git("commit", "-qam", "More"), []),
    "artifacts deleted": Row(remove_artifacts, AGAIN),
    "artifacts edited": Row(
        lambda p: (newest(p) / "outputs" / "weights").write_text("mine"), AGAIN
    ),
    "one artifact deleted": Row(lambda p: (newest(p) / "outputs" / "weights").unlink(), AGAIN),
    "the record deleted": Row(lambda p: (newest(p) / "run.json").unlink(), AGAIN),
    "a note written beside the results": Row(
        lambda p: (newest(p) / "note.txt").write_text("good"), []
    ),
    "the link to the newest deleted": Row(
        lambda p: (p.folder / "artifacts" / "train" / "latest").unlink(), []
    ),
    "`.zuka/` deleted": Row(lambda p: shutil.rmtree(p.folder / ".zuka"), []),
    "`.zuka/` and artifacts deleted": Row(
        both(lambda p: shutil.rmtree(p.folder / ".zuka"), remove_artifacts), AGAIN
    ),
    "the box switched on again by hand": Row(lambda p: p.box.start(), []),
    "results forgotten": Row(lambda p: p.zuka("forget", "train:fetch"), AGAIN),
    "the environment damaged, the run finished": Row(
        both(on_box(damage_env), remove_artifacts), AGAIN
    ),
    "the environment damaged, a new run": Row(
        both(on_box(damage_env), steps(24)), ["env", "train", *RESULTS]
    ),
    "the data deleted on the box, a new run": Row(
        both(on_box(lambda home: shutil.rmtree(home / "data")), steps(25)),
        ["upload", "train", *RESULTS],
    ),
    "the data edited on the box, a new run": Row(
        both(on_box(edit_data), steps(26)), ["upload", "train", *RESULTS]
    ),
    "the run's folder deleted on the box": Row(
        both(on_box(lambda home: shutil.rmtree(home / "runs")), remove_artifacts),
        ["env", "trial", "train", "fetch", "poweroff"],
    ),
    "power-off taken out of the recipe, a new run": Row(
        both(recipe(lambda v: v["stages"].remove("poweroff")), steps(27)),
        ["train", "fetch", "clean", "snapshot"],
    ),
    "a stage added at the end": Row(recipe(lambda v: v["stages"].append("poweroff")), ["poweroff"]),
    "zuka's folder on the box deleted": Row(on_box(shutil.rmtree), []),
    "another box after the fetch": Row(lambda p: p.box.replace(), []),
    "another box before the fetch": Row(remove_artifacts, [], code=3),
    "the other box accepted": Row(
        rebind, ["keys", "env", "upload", "code", "trial", "train", *RESULTS]
    ),
}


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """Return a project that has run, on a sandbox that it has switched off."""
    where = tmp_path_factory.mktemp("reruns")
    folder = where / "project"
    folder.mkdir()
    os.environ[MARK] = str(where / "box")
    box = SandboxBox(where / "box", folder)
    project = Project(folder, box)
    project.fill()
    assert project.run().code == 0
    yield project
    project.close()
    box.close()
    del os.environ[MARK]


@pytest.mark.parametrize("row", ROWS.values(), ids=list(ROWS))
def test_rerun(done: Project, row: Row) -> None:
    """A change makes just these stages run, and `why` has said so before."""
    row.change(done)
    why = done.zuka("why", "train", "--json", *row.arguments)
    ran = done.run("train", *row.arguments)
    if row.code:
        assert (row.code, row.code, []) == (why.code, ran.code, ran.ran), (why, ran)
        return
    assert row.runs == done.json(why)["runs"], why
    assert (0, row.runs) == (ran.code, ran.ran), ran
    done.ssh_calls()
    again = done.run("train", *row.arguments)

    assert (0, [], []) == (again.code, again.ran, done.ssh_calls()), again
    assert "nothing to do" in again.out


def test_rows_are_enough() -> None:
    """The table keeps its size."""
    assert len(ROWS) >= 30


def test_edited_results_are_kept(sandboxed: Project) -> None:
    """What the user wrote into results is never overwritten: new ones come beside them."""
    assert sandboxed.run().code == 0
    weights = newest(sandboxed) / "outputs" / "weights"
    weights.write_text("mine")
    assert sandboxed.run().code == 0

    assert "mine" == weights.read_text()
    assert 2 == len(sandboxed.results())
    assert newest(sandboxed) != weights.parent.parent


def test_a_file_edited_while_its_stage_runs(sandboxed: Project) -> None:
    """Data that changed under way are noticed: the stage fails, the next run sends them again."""
    programs = sandboxed.folder.parent / "slow"
    programs.mkdir()
    (programs / "tar").write_text(f'#!/bin/sh\nsleep 1.5\nexec {shutil.which("tar")} "$@"\n')
    (programs / "tar").chmod(0o755)
    value = sandboxed.recipe()
    value["machine"] = {"sandbox": {"bin": str(programs)}}
    sandboxed.write_recipe(value)
    running = sandboxed.start("run", "train")
    wait_for_event(sandboxed, "started", "train:upload")
    time.sleep(0.7)
    edit("data/a.txt")(sandboxed)
    out, err = running.communicate(timeout=60)
    assert (1, True) == (running.returncode, "changed while it ran" in err), (out, err)
    done = sandboxed.run()

    assert 0 == done.code
    assert ["upload", "code", "env", *RETRAIN] == done.ran


def test_a_program_edited_while_it_trains(sandboxed: Project) -> None:
    """The run goes on with what it was started with; the edit makes a new run afterwards."""
    sandboxed.write_recipe(sandboxed.recipe(pause=0.1))
    running = sandboxed.start("run", "train")
    wait_for_event(sandboxed, "started", "train:train")
    edit("train.py")(sandboxed)
    out, err = running.communicate(timeout=60)
    assert (0, True) == (running.returncode, "more to do already" in out), (out, err)
    done = sandboxed.run()

    assert (0, ["code", *RETRAIN]) == (done.code, done.ran), done


def test_a_box_rebooted_in_training(sandboxed: Project) -> None:
    """A run that was lost with its box goes on from its checkpoint; no step comes twice."""
    sandboxed.write_recipe(sandboxed.recipe(pause=0.1, steps=30))
    running = sandboxed.start("run", "train")
    wait_for_step(sandboxed, 8)
    sandboxed.box.preempt()
    out, err = running.communicate(timeout=120)
    assert 3 == running.returncode, (out, err)
    assert 3 == sandboxed.run().code
    sandboxed.box.start()
    done = sandboxed.run()

    assert (0, ["train", *RESULTS]) == (done.code, done.ran), done
    assert list(range(1, 31)) == sandboxed.steps()
    assert "goes on from outputs/checkpoint-" in (newest(sandboxed) / "run.log").read_text()


def test_a_failed_stage_repaired(sandboxed: Project) -> None:
    """A failure stops what comes after it, says so, and is done again when it is mended."""
    value = sandboxed.recipe()
    stage(value, "train")["run"] = "python train.py --steps 3; echo no luck >&2; exit 7"
    sandboxed.write_recipe(value)
    failed = sandboxed.run()
    assert (1, "train") == (failed.code, failed.ran[-1]), failed
    assert "failed 7" in failed.err
    assert "no luck" in failed.err
    assert "hint: mend what its log says" in failed.err
    assert "1 failed, 4 not run, THE BOX IS STILL ON" in failed.out
    assert ["train"] == sandboxed.run().ran
    sandboxed.write_recipe(sandboxed.recipe())

    assert (0, ["train", *RESULTS]) == ((done := sandboxed.run()).code, done.ran), done


def test_two_laptops_on_one_box(sandboxed: Project) -> None:
    """A second clone finds what the first one did, and fetches it."""
    assert sandboxed.run().code == 0
    other = Project(sandboxed.folder.parent / "other", sandboxed.box)
    shutil.copytree(sandboxed.folder, other.folder, ignore=shutil.ignore_patterns(".zuka", "art*"))
    assert AGAIN == other.predicted()

    assert (0, AGAIN) == ((done := other.run()).code, done.ran), done
    other.close()


def test_two_laptops_at_once(sandboxed: Project) -> None:
    """Two clones that start together train once, and both have the results."""
    value = sandboxed.recipe(pause=0.05)
    value["stages"].remove("poweroff")
    sandboxed.write_recipe(value)
    other = Project(sandboxed.folder.parent / "other", sandboxed.box)
    shutil.copytree(sandboxed.folder, other.folder)
    runs = [each.start("run", "train") for each in (sandboxed, other)]
    for run in runs:
        out, err = run.communicate(timeout=120)
        assert 0 == run.returncode, (out, err)
    other.close()

    assert list(range(1, 21)) == sandboxed.steps() == other.steps()
    logs = [(newest(each) / "run.log").read_bytes() for each in (sandboxed, other)]
    assert logs[0] == logs[1]
    assert 1 == logs[0].count(b"step 1/20\n")


def test_a_run_of_somebody_else_keeps_the_box_on(sandboxed: Project) -> None:
    """Power-off waits for nobody's training but ends nobody's either: it fails and says why."""
    long = sandboxed.recipe(pause=0.3, steps=40)
    sandboxed.write_recipe(long, "long")
    other = Project(sandboxed.folder.parent / "other", sandboxed.box)
    shutil.copytree(sandboxed.folder, other.folder)
    theirs = other.start("run", "long")
    wait_for_event(other, "started", "long:train")
    wait_for_step(sandboxed, 2)
    done = sandboxed.run()
    assert (1, "poweroff") == (done.code, done.ran[-1]), done
    assert "runs at work: train-" in done.err
    assert "1 failed, 0 not run, THE BOX IS STILL ON" in done.out
    out, err = theirs.communicate(timeout=120)
    assert 0 == theirs.returncode, (out, err)
    other.close()

    assert 0 == sandboxed.run().code
    assert not sandboxed.box.is_on()


def wait_for_event(project: Project, event: str, task: str) -> None:
    """Wait until the journal tells of an event."""
    from zuka.journal import Journal

    journal = Journal(project.folder / ".zuka" / "journal.jsonl")
    deadline = time.monotonic() + 60
    while task not in journal.last(event):
        assert time.monotonic() < deadline, f"no {event} {task}"
        time.sleep(0.02)


def wait_for_step(project: Project, step: int) -> None:
    """Wait until a run on the box has come so far."""
    deadline = time.monotonic() + 60
    runs = project.box.home / ".zuka" / "runs"
    while not any(f"step {step}/" in p.read_text() for p in runs.glob("train-*/log")):
        assert time.monotonic() < deadline
        time.sleep(0.02)
