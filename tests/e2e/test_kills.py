"""
Killed at any moment, zuka loses nothing that was finished, and does nothing twice.

A seeded sample runs always; the whole campaign is `ZUKA_KILLS=120 pytest -m campaign`, and
ZUKA_SEED repeats one.
"""

from __future__ import annotations

import os
import random
import re
import signal
import time
from collections import Counter

import pytest

from tests.e2e.test_reruns import newest
from tests.project import Project
from zuka.journal import Journal

pytestmark = [pytest.mark.e2e, pytest.mark.campaign]

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
STEPS = 25
KILLS = int(os.environ.get("ZUKA_KILLS", "10"))
SEED = int(os.environ.get("ZUKA_SEED", str(random.randrange(10**6))))


@pytest.mark.parametrize("parallel", [(), ("-n", "3")], ids=["serial", "parallel"])
def test_kills_at_random_moments(sandboxed: Project, parallel: tuple[str, ...]) -> None:
    """Kill again and again until the run is over; then look at what was done."""
    chance = random.Random(f"{SEED} {parallel}")
    kills = rounds = 0
    while kills < (KILLS + 1) // 2:
        rounds += 1
        start_anew(sandboxed, rounds)
        for _ in range(1000):
            running = sandboxed.start("run", *parallel, "train")
            try:
                running.wait(timeout=chance.uniform(0.05, 2.5))
            except Exception:  # noqa: BLE001 - the time is up
                running.send_signal(chance.choice(SIGNALS))
                kills += 1
            out, err = running.communicate(timeout=60)
            assert "Traceback" not in err, err
            if running.returncode == 0:
                break
            assert running.returncode not in (1, 2, 3), (running.returncode, out, err)
        else:
            pytest.fail("never done")
        check_whole(sandboxed)
    print(f"\nseed {SEED}: {kills} kills in {rounds} rounds {parallel}")


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_kills_at_every_boundary(sandboxed: Project, number: signal.Signals) -> None:
    """Kill just when a stage has ended; each next run goes on with the next one."""
    start_anew(sandboxed, 1)
    journal = Journal(sandboxed.folder / ".zuka" / "journal.jsonl")
    kills = 0
    for _ in range(30):
        before = sum(1 for event in journal.events() if event["event"] == "done")
        running = sandboxed.start("run", "train")
        while running.poll() is None:
            if sum(1 for event in journal.events() if event["event"] == "done") > before:
                running.send_signal(number)
                kills += 1
                break
            time.sleep(0.005)
        _, err = running.communicate(timeout=60)
        assert "Traceback" not in err, err
        if running.returncode == 0 and not sandboxed.predicted():
            break
    check_whole(sandboxed)
    print(f"\n{number.name}: {kills} kills")
    assert kills >= 6  # two quick stages may end between two looks


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=lambda n: n.name)
def test_kills_inside_every_stage(sandboxed: Project, number: signal.Signals) -> None:
    """Kill a moment after a stage has begun, each stage thrice; each next run goes on with it."""
    chance = random.Random(f"{SEED} inside {number}")
    start_anew(sandboxed, 1)
    journal = Journal(sandboxed.folder / ".zuka" / "journal.jsonl")
    kills: Counter[str] = Counter()
    for _ in range(60):
        before = len(begun(journal))
        running = sandboxed.start("run", "train")
        while running.poll() is None:
            new = [task for task in begun(journal)[before:] if kills[task] < 3]
            if new:
                time.sleep(chance.choice([0, 0.02, 0.05, 0.1, 0.2]))
                running.send_signal(number)
                kills[new[0]] += 1
                break
            time.sleep(0.002)
        out, err = running.communicate(timeout=60)
        assert "Traceback" not in err, err
        assert running.returncode not in (1, 2, 3), (out, err)
        if running.returncode == 0 and not sandboxed.predicted():
            break
    check_whole(sandboxed)
    print(f"\nseed {SEED}: inside stages, {number.name}: {sum(kills.values())} kills")
    assert sum(kills.values()) >= 10  # quick stages may end before the signal comes


def begun(journal: Journal) -> list[str]:
    """Return the stages that were begun, in their order."""
    return [event["task"] for event in journal.events() if event["event"] == "started"]


def start_anew(project: Project, version: int) -> None:
    """Make a recipe that was never run."""
    print(f"ZUKA_SEED={SEED} repeats this")
    value = project.recipe(pause=0.04, steps=STEPS)
    (project.folder / "data" / "a.txt").write_text(f"version {version}\n")
    project.write_recipe(value)


def check_whole(project: Project) -> None:
    """Assert that everything was done, just once."""
    assert list(range(1, STEPS + 1)) == project.steps()
    log = (newest(project) / "run.log").read_text()
    steps = [int(found) for found in re.findall(r"^step (\d+)/", log, re.MULTILINE)]
    assert list(range(1, STEPS + 1)) == steps, "a step was trained twice"
    # Nobody killed the box: what was finished there was finished once.
    done = Journal(project.folder / ".zuka" / "journal.jsonl").events()
    finished = [(e["task"], e["fingerprint"]) for e in done if e["event"] == "done"]
    groundwork = [row for row in finished if row[0] not in ("train:clean", "train:snapshot")]
    assert len(groundwork) == len(set(groundwork)) or not_twice(groundwork)
    assert not project.box.is_on()
    assert [] == project.predicted()


def not_twice(rows: list[tuple[str, str]]) -> bool:
    """Tell whether what was done twice is only what a kill between act and proof can repeat."""
    twice = {row for row in rows if rows.count(row) > 1}
    return all(task in ("train:poweroff", "train:keys", "train:fetch") for task, _ in twice)
