"""The commands that change nothing, and doit's own: what they say, for people and machines."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.project import STAGES, Project
from zuka import commands

pytestmark = pytest.mark.e2e


def test_help_shows_an_example(sandboxed: Project) -> None:
    """Every command has a help text with an example."""
    overview = sandboxed.zuka("--help").out
    for name in commands.names():
        assert f"  {name}" in overview
        assert "example:" in sandboxed.zuka(name, "--help").out, name


def test_a_mistyped_command_has_a_hint(sandboxed: Project) -> None:
    """Nothing is run, and the nearest name is told."""
    done = sandboxed.zuka("pln", "train")

    assert (2, "") == (done.code, done.out)
    assert "no command 'pln'" in done.err
    assert "did you mean 'plan'?" in done.err


@pytest.mark.parametrize("command", ["why", "plan", "graph"])
def test_a_mistyped_recipe_has_a_hint(sandboxed: Project, command: str) -> None:
    """The recipes there are stand in the hint."""
    done = sandboxed.zuka(command, "trian")

    assert (2, True) == (done.code, "did you mean 'train'?" in done.err), done


@pytest.mark.parametrize("words", ["why", "plan", "graph", "run", "run --doit"])
def test_a_mistyped_stage_has_a_hint(sandboxed: Project, words: str) -> None:
    """The nearest stage stands in the hint, and it is not said that nothing is to do."""
    command, *doit = words.split()
    done = sandboxed.zuka(command, "train:evn", doit=bool(doit))

    assert (2, "") == (done.code, done.out), done
    assert "did you mean 'env'?" in done.err


@pytest.mark.parametrize("command", ["plan", "why", "run", "status"])
def test_a_file_that_is_not_there_is_told_at_its_stage(sandboxed: Project, command: str) -> None:
    """Where the stage stands, and what its paths are relative to; nothing is sent."""
    (sandboxed.folder / "requirements.txt").unlink()
    done = sandboxed.zuka(command, *(["train"] if command != "status" else []))

    assert 2 == done.code, done
    assert done.err.startswith("recipes/train.yaml:"), done.err
    assert "requirements.txt" in done.err
    assert "hint: its paths are relative to the project's folder" in done.err


@pytest.mark.parametrize("words", ["doctor mygpu", "rebind mygpu", "rebind mygpu --ssh-config"])
def test_a_mistake_in_machines_is_shown_at_its_place(sandboxed: Project, words: str) -> None:
    """Commands that read no recipe show it as those do that read one."""
    (sandboxed.folder / "machines.yaml").write_text("machines:\n  mygpu: {adress: a}\n")
    done = sandboxed.zuka(*words.split())

    assert (2, True) == (done.code, done.err.startswith("machines.yaml:2:10: ")), done
    assert "did you mean 'address'?" in done.err
    assert "2 mistakes in machines.yaml" in done.err


def test_a_name_that_was_never_met_is_not_rebound(sandboxed: Project) -> None:
    """A slip of the keyboard would be taken for done, and the box refused all the same."""
    (sandboxed.folder / "machines.yaml").write_text("machines:\n  mygpu: {address: a}\n")
    done = sandboxed.zuka("rebind", "mygqu")

    assert (2, "") == (done.code, done.out), done
    assert "did you mean 'mygpu'?" in done.err
    assert 0 == sandboxed.zuka("rebind", "mygpu").code


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("buffered", [True, False])
@pytest.mark.parametrize("command", ["kinds", "--help", "completion"])
def test_a_full_disk_is_no_traceback(sandboxed: Project, command: str, *, buffered: bool) -> None:
    """It is this laptop's trouble, and is said so."""
    environment = {**sandboxed.environment, "PYTHONUNBUFFERED": "" if buffered else "1"}
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "zuka", command],
            cwd=sandboxed.folder,
            env=environment,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    assert (1, False) == (done.returncode, "Traceback" in done.stderr), done
    assert "hint: is this disk full" in done.stderr


@pytest.mark.parametrize("command", ["check", "status", "plan", "list"])
def test_a_folder_without_recipes_is_told(sandboxed: Project, command: str) -> None:
    """That nothing is wrong with no recipe at all would be no answer."""
    (sandboxed.folder / "recipes" / "train.yaml").unlink()
    done = sandboxed.zuka(command)

    assert (2, True) == (done.code, "zuka init makes one" in done.err), done


def test_a_mistyped_variable_is_refused_by_every_door(sandboxed: Project) -> None:
    """Doit itself would ignore it."""
    doits = sandboxed.run("train", "step=3", doit=True)
    for done in (doits, sandboxed.zuka("why", "train", "step=3")):
        assert (2, True) == (done.code, "did you mean 'steps'" in done.err), done


def test_plan_and_why_ask_and_leave_the_box_off(sandboxed: Project) -> None:
    """They tell every step with its reason, change nothing, and switch the box off again."""
    plan = sandboxed.zuka("plan", "train")
    assert 0 == plan.code, plan
    assert "push data" in plan.out
    assert "data: absent -> whole" in plan.out
    assert not sandboxed.box.is_on()
    assert not (sandboxed.box.home / ".zuka").exists()
    facts = sandboxed.json(sandboxed.zuka("plan", "train", "--json"))
    assert {"stage", "why", "steps", "seconds", "place"} <= set(facts["stages"][0])
    assert 0 == sandboxed.run().code
    assert "nothing to do" in sandboxed.zuka("plan", "train").out
    sandboxed.ssh_calls()
    assert 0 == sandboxed.zuka("why", "train").code

    assert [] == sandboxed.ssh_calls(), "nothing is needed, so nobody is asked"


def test_status_asks_nobody(sandboxed: Project) -> None:
    """It tells power, results and the last events from the laptop alone."""
    assert "10 stages needed" not in sandboxed.zuka("status").out
    assert 0 == sandboxed.run().code
    sandboxed.ssh_calls()
    facts = sandboxed.json(sandboxed.zuka("status", "--json"))["recipes"][0]
    assert ("train", "off", {}) == (facts["recipe"], facts["power"], facts["needed"])
    assert "done" == facts["stages"]["poweroff"]["event"]
    assert "nothing to do" in sandboxed.zuka("status").out

    assert [] == sandboxed.ssh_calls()


def test_graph(sandboxed: Project) -> None:
    """Drawn as text, as Mermaid, and for a machine."""
    drawn = sandboxed.zuka("graph", "train").out
    assert "keys -> provision -> code   -> smoke -> train -> fetch" in drawn
    mermaid = sandboxed.zuka("graph", "train", "--format", "mermaid").out
    assert mermaid.startswith("flowchart LR\n")
    assert "    code --> smoke\n" in mermaid
    facts = sandboxed.json(sandboxed.zuka("graph", "train", "--json"))

    assert list(STAGES) == [row["stage"] for row in facts]


def test_completion(sandboxed: Project) -> None:
    """Commands, then recipes and stages."""
    for shell in ("bash", "zsh", "fish"):
        assert "zuka completion --words" in sandboxed.zuka("completion", shell).out
    assert {"why", "run"} <= set(sandboxed.zuka("completion", "--words", "1").out.split())

    assert {"train", "train:env"} <= set(sandboxed.zuka("completion", "--words", "2").out.split())


def test_doits_own_commands_keep_working(sandboxed: Project) -> None:
    """list, info, forget, ignore and clean, through both programs."""
    for doit in (True, False):
        listed = sandboxed.zuka("list", "--all", doit=doit)
        assert (0, True) == (listed.code, "train:poweroff" in listed.out), listed
        told = sandboxed.zuka("info", "train:env", doit=doit)
        assert "train:env" in told.out, told  # doit says 1 for a task that is to be run
        assert 0 == sandboxed.zuka("clean", "train", doit=doit).code
    assert 0 == sandboxed.run().code
    assert 0 == sandboxed.zuka("forget", "train:fetch", doit=True).code
    assert ["fetch", "poweroff"] == sandboxed.predicted()
    assert 0 == sandboxed.run().code
    assert 0 == sandboxed.zuka("ignore", "train:snapshot", doit=True).code

    assert [] == sandboxed.predicted()


def test_one_stage_and_what_it_needs(sandboxed: Project) -> None:
    """A stage that is named is done although its product is here."""
    first = sandboxed.run("train:env")
    assert (0, ["keys", "env"]) == (first.code, first.ran), first
    assert "box left on" in first.out or "stages wait" in first.out
    again = sandboxed.run("train:env", doit=True)
    assert (0, []) == (again.code, again.ran), again
    whole = sandboxed.run()

    rest = ["upload", "code", "smoke", "train", "fetch", "clean", "snapshot", "poweroff"]
    assert rest == whole.ran


def test_side_by_side(project: Project) -> None:
    """`-n 3` does the same, on each box."""
    done = project.run("-n", "3", "train", doit=True)
    assert 0 == done.code, done
    assert {"upload", "code", "env"} <= set(done.ran)
    assert list(range(1, 21)) == project.steps()
    project.ssh_calls()

    assert (0, []) == (project.run().code, project.ssh_calls())


def test_piped_output_has_no_escapes(sandboxed: Project) -> None:
    """What goes into a file can be read there."""
    done = sandboxed.run()

    assert "\x1b" not in done.out + done.err


def test_no_recipe_here(sandboxed: Project) -> None:
    """An empty folder is told what to do."""
    import shutil

    shutil.rmtree(sandboxed.folder / "recipes")
    for command in ("plan", "why", "graph"):
        done = sandboxed.zuka(command)
        assert (2, True) == (done.code, "zuka init" in done.err)
    assert "zuka init" in sandboxed.run().err


def test_machine_that_does_not_answer(sandboxed: Project) -> None:
    """Exit code 3, what ssh said, what it means, and what to do."""
    value = sandboxed.recipe()
    value["machine"] = {"address": "127.0.0.1", "port": 9, "user": "root"}
    sandboxed.write_recipe(value)
    done = sandboxed.run()

    assert (3, []) == (done.code, done.ran)
    assert "the box is off, or its SSH server does not run" in done.err
    assert "hint:" in done.err
    json.dumps(done.err)
