"""One run at a time in a project; Ctrl-C detaches; a killed run leaves no lock."""

from __future__ import annotations

import re
import signal
import time

import pytest

from tests.e2e.test_host import processes
from tests.e2e.test_reruns import wait_for_event, wait_for_step
from tests.project import Project

pytestmark = pytest.mark.e2e


def test_a_second_run_is_refused_at_once(sandboxed: Project) -> None:
    """It says who holds the lock, what that one does and since when."""
    sandboxed.write_recipe(sandboxed.recipe(pause=0.1, steps=60))
    first = sandboxed.start("run", "train")
    wait_for_step(sandboxed, 2)
    second = sandboxed.run(doit=True)
    assert (3, []) == (second.code, second.ran)
    assert re.search(
        rf"pid {first.pid}, stage train:train, since \d{{4}}-\d\d-\d\d \d\d:\d\d", second.err
    ), second.err
    assert f"pid {first.pid}" in sandboxed.zuka("status").out
    assert 0 == sandboxed.zuka("why", "train").code
    first.kill()
    first.communicate()

    assert 0 == sandboxed.run().code
    assert list(range(1, 61)) == sandboxed.steps()


@pytest.mark.parametrize("doit", [True, False])
def test_ctrl_c_detaches(project: Project, *, doit: bool) -> None:
    """Ctrl-C says how to come back; the box trains on; the next run attaches to it."""
    project.write_recipe(project.recipe(pause=0.1))
    running = project.start("run", "train", "steps=80", doit=doit)
    wait_for_step(project, 3)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=5)
    assert 130 == running.returncode, (out, err)
    assert "detached from train:train; what runs on the box goes on" in err
    assert "come back: doit run train steps=80\n" in err
    assert "Traceback" not in err
    wait_for_step(project, 10)
    done = project.run("train", "steps=80", doit=doit)

    assert (0, "train") == (done.code, done.ran[0]), done
    assert list(range(1, 81)) == project.steps()


def test_ctrl_c_at_once(sandboxed: Project) -> None:
    """While modules are still loaded, Ctrl-C is no traceback either."""
    for hundredths in range(4, 24, 2):
        running = sandboxed.start("plan", "train")
        time.sleep(hundredths / 100)
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=30)

        assert running.returncode in (0, 130, -signal.SIGINT), err
        assert "in main" not in err


def test_detached_before_training(sandboxed: Project) -> None:
    """Ctrl-C in the building of the environment leaves it alone, too."""
    running = sandboxed.start("run", "train")
    wait_for_event(sandboxed, "started", "train:env")
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=5)
    assert 130 == running.returncode, err
    done = sandboxed.run()

    assert 0 == done.code, done


def test_two_recipes_in_one_run(sandboxed: Project) -> None:
    """One process holds the lock once, however many recipes it runs."""
    other = sandboxed.recipe(steps=4)
    sandboxed.write_recipe(other, "second")
    done = sandboxed.run("train", "second", doit=True)

    assert 0 == done.code, done
    assert {"train", "second"} == {p.name for p in (sandboxed.folder / "artifacts").iterdir()}


def test_a_trial_that_takes_too_long_is_stopped(project: Project) -> None:
    """It fails in time, and nothing of it goes on on the box."""
    value = project.recipe()
    trial = next(s["smoke"] for s in value["stages"] if isinstance(s, dict) and "smoke" in s)
    trial.update(run="sleep 86399 & sleep 86398", within="2 s")
    project.write_recipe(value)
    done = project.run()
    assert (1, "smoke") == (done.code, done.ran[-1]), done
    assert "took longer than 2 s and was stopped" in done.err
    lines = [" ".join(line) for _, line in processes()]

    assert not [line for line in lines if "sleep 8639" in line]


def test_another_reporter_of_doits(sandboxed: Project) -> None:
    """`doit run -r json` does the same work, under the same lock."""
    done = sandboxed.run("-r", "executed-only", "train", doit=True)

    assert 0 == done.code, done
    assert list(range(1, 21)) == sandboxed.steps()
