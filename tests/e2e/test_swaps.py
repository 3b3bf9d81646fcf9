"""Another box at the same address, in every phase of a run: nothing of ours reaches it."""

from __future__ import annotations

import os
import random
import shutil
import time
from pathlib import Path

import pytest

from tests.project import STAGES, Project
from zuka.journal import Journal

pytestmark = pytest.mark.e2e

PHASES = [stage for stage in STAGES if stage != "provision"]  # it only looks
SEED = int(os.environ.get("ZUKA_SEED", str(random.randrange(10**6))))
EACH = [(phase, key) for phase in PHASES for key in (False, True)]
SWAPS = EACH if os.environ.get("ZUKA_SWAPS") else random.Random(SEED).sample(EACH, 3)
"""A sample of the phases; all of them with ZUKA_SWAPS=all, and ZUKA_SEED repeats one."""


def begun(project: Project) -> list[str]:
    """Return the stages that were begun."""
    journal = Journal(project.folder / ".zuka" / "journal.jsonl")
    return [event["task"] for event in journal.events() if event["event"] == "started"]


def swap(project: Project, *, key: bool) -> None:
    """Put a stranger at the address; with a copy of the host key where an image brings it."""
    if not key:
        project.box.replace()
        return
    project.box.preempt()
    for path in project.box.home.iterdir():
        shutil.rmtree(path)
    (project.box.home / ".zuka").mkdir()
    box = project.box.home / ".zuka" / "box.json"
    box.write_text('{"format": 1, "id": "5712a09e5712a09e"}\n')
    project.box.start()


def left(home: Path) -> set[str]:
    """Return what lies in the stranger's home."""
    found = {str(path.relative_to(home)) for path in home.rglob("*")}
    return found - {".zuka", ".zuka/box.json", ".cache"}


@pytest.mark.parametrize("number", range(len(SWAPS)))
def test_a_stranger_gets_nothing(project: Project, number: int) -> None:
    """The run ends with the reason, and the stranger's disk is as it was."""
    phase, key = SWAPS[number]
    print(f"ZUKA_SEED={SEED} repeats this: {phase}, host key {'copied' if key else 'new'}")
    if key and phase == "keys":
        pytest.skip("a box has no id of its own before the first thing is done there")
    project.write_recipe(project.recipe(pause=0.05))
    project.box.start()
    running = project.start("run", "train")
    while f"train:{phase}" not in begun(project):
        assert running.poll() is None, running.communicate()
        time.sleep(0.005)
    swap(project, key=key)
    out, err = running.communicate(timeout=100)
    time.sleep(0.5)
    if running.returncode == 0:
        assert phase in ("clean", "snapshot", "poweroff"), (out, err)  # it was quicker
        return
    assert left(project.box.home) == set(), (out, err)
    again = project.run()
    if phase != "poweroff":  # told to go, and not there: that is an answer
        assert 3 == again.code, again
        assert "another box answers" in again.err
    assert left(project.box.home) == set()
