"""The example job learns, and goes on after any kill as if nothing had happened."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

JOB = Path(__file__).parent.parent / "examples" / "digits"
STEPS = 1000
KILLS = 20
SHORT = ("--steps", f"{STEPS}", "--checkpoint-every", "10")


def start(outputs: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start the job, on one core, so that every run adds in the same order."""
    command = [sys.executable, "train.py", "--outputs", str(outputs), *arguments]
    return subprocess.Popen(
        command,
        cwd=JOB,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
    )


def run(outputs: Path, *arguments: str, code: int = 0) -> str:
    """Run the job to its end and return what it says."""
    with start(outputs, *arguments) as job:
        said, _ = job.communicate(timeout=120)
    assert code == job.returncode, said
    return said


def steps(outputs: Path) -> list[int]:
    """Return the steps in the metrics."""
    lines = (outputs / "metrics.jsonl").read_text().splitlines()
    return [json.loads(line)["step"] for line in lines]


def checkpoints(outputs: Path) -> list[Path]:
    """Return the checkpoints, the newest first."""
    found = outputs.glob("checkpoint-*.npz")
    return sorted(found, key=lambda path: int(path.stem.partition("-")[2]), reverse=True)


def same(one: Path, two: Path) -> bool:
    """Tell whether two files of arrays are equal in every bit."""
    with np.load(one) as first, np.load(two) as second:
        return sorted(first) == sorted(second) and all(
            first[name].tobytes() == second[name].tobytes() for name in first
        )


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the outputs of a run that was left alone."""
    outputs = tmp_path_factory.mktemp("digits") / "undisturbed"
    run(outputs, *SHORT)
    return outputs


def test_data_are_whole() -> None:
    """All 1,797 images are there, in two files."""
    paths = (JOB / "data" / "train.csv", JOB / "data" / "test.csv")
    tables = [np.loadtxt(path, delimiter=",", dtype=int) for path in paths]
    both = np.concatenate(tables)

    assert [(1437, 65), (360, 65)] == [table.shape for table in tables]
    assert 561_718 == both[:, :-1].sum()
    assert [178, 182, 177, 183, 181, 182, 181, 179, 174, 180] == np.bincount(both[:, -1]).tolist()


def test_it_learns(tmp_path: Path) -> None:
    """As the recipe runs it, it tells more than 95 of 100 digits that it has never seen."""
    began = time.monotonic()
    said = run(tmp_path, "--epochs", "30")
    metrics = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    print(f"{said.splitlines()[-1]}, in {time.monotonic() - began:.1f} s")

    assert list(range(1, 1321)) == [line["step"] for line in metrics]
    assert metrics[-1]["accuracy"] > 0.95
    assert metrics[-1]["loss"] < metrics[0]["loss"] / 10
    assert "step 100/1320 loss " in said
    assert ["checkpoint-1300.npz", "checkpoint-1200.npz"] == [p.name for p in checkpoints(tmp_path)]


def test_kills_leave_no_trace(tmp_path: Path, undisturbed: Path) -> None:
    """After SIGKILLs at random moments the weights are those of a run that was left alone."""
    seed = int(os.environ.get("ZUKA_TEST_SEED", "20"))
    chance, when = random.Random(seed), Counter[str]()
    for _ in range(KILLS):
        when[kill_once(tmp_path, chance)] += 1
        for path in checkpoints(tmp_path):
            with np.load(path) as kept:
                assert int(path.stem.partition("-")[2]) == kept["step"]
    print(f"seed {seed}: {KILLS} kills, {dict(when)}")
    run(tmp_path, *SHORT, *resume(tmp_path))

    assert list(range(1, STEPS + 1)) == steps(tmp_path)
    assert same(undisturbed / "weights.npz", tmp_path / "weights.npz")
    assert (undisturbed / "metrics.jsonl").read_bytes() == (tmp_path / "metrics.jsonl").read_bytes()
    assert when["training"] >= KILLS / 4


def resume(outputs: Path) -> list[str]:
    """Return the arguments that go on from the newest checkpoint."""
    return [part for path in checkpoints(outputs)[:1] for part in ("--resume", str(path))]


def kill_once(outputs: Path, chance: random.Random) -> str:
    """Start or go on, and kill at a random moment; return what was going on."""
    with start(outputs, *SHORT, *resume(outputs), "--pause", "0.002") as job:
        assert job.stdout
        first = job.stdout.readline() if chance.random() < 0.7 else ""
        time.sleep(chance.uniform(0, 0.08 if first else 0.4))
        job.kill()
        said = first + job.stdout.read()
    assert -9 == job.returncode, said
    return "training" if said else "starting"


@pytest.mark.parametrize("damage", ["torn", "empty", "flipped", "gone"])
def test_a_damaged_checkpoint_is_left(tmp_path: Path, undisturbed: Path, damage: str) -> None:
    """It goes on from the next older whole checkpoint, and says so."""
    run(tmp_path, "--steps", "45", "--checkpoint-every", "10")
    newest = checkpoints(tmp_path)[0]
    content = bytearray(newest.read_bytes())
    content[len(content) // 2] ^= 1
    match damage:
        case "torn":
            os.truncate(newest, len(content) // 2)
        case "empty":
            os.truncate(newest, 0)
        case "flipped":
            newest.write_bytes(content)
        case _:
            newest.unlink()
    said = run(tmp_path, *SHORT, "--resume", str(newest))

    assert f"{newest} is not whole" in said
    assert f"training from step 30 to {STEPS}" in said
    assert list(range(1, STEPS + 1)) == steps(tmp_path)
    assert same(undisturbed / "weights.npz", tmp_path / "weights.npz")


def test_without_any_whole_checkpoint_it_starts_anew(tmp_path: Path) -> None:
    """Two damaged checkpoints leave nothing to go on from."""
    run(tmp_path, "--steps", "25", "--checkpoint-every", "10")
    for path in checkpoints(tmp_path):
        os.truncate(path, 100)
    said = run(tmp_path, "--steps", "25", "--resume", str(tmp_path / "checkpoint-20.npz"))

    assert "there is no whole checkpoint, so training starts anew" in said
    assert list(range(1, 26)) == steps(tmp_path)


def test_an_older_checkpoint_goes_back(tmp_path: Path) -> None:
    """What came after the checkpoint that is asked for is forgotten."""
    run(tmp_path, "--steps", "40", "--checkpoint-every", "10")
    run(tmp_path, "--steps", "35", "--resume", str(tmp_path / "checkpoint-30.npz"))

    assert ["checkpoint-30.npz"] == [path.name for path in checkpoints(tmp_path)]
    assert list(range(1, 36)) == steps(tmp_path)


def test_a_torn_line_is_dropped(tmp_path: Path) -> None:
    """A line of metrics that was cut short is written again, whole."""
    run(tmp_path, "--steps", "20", "--checkpoint-every", "10")
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write('{"step": 21, "lo')
    run(tmp_path, "--steps", "25", "--resume", str(tmp_path / "checkpoint-20.npz"))

    assert list(range(1, 26)) == steps(tmp_path)


def test_a_new_run_forgets_the_old_one(tmp_path: Path) -> None:
    """Without --resume nothing of what lies in the outputs counts."""
    run(tmp_path, "--steps", "40", "--checkpoint-every", "10")
    run(tmp_path, "--steps", "15", "--checkpoint-every", "10", "--seed", "1")

    assert list(range(1, 16)) == steps(tmp_path)
    assert ["checkpoint-10.npz"] == [path.name for path in checkpoints(tmp_path)]


def test_a_loss_that_is_no_number_ends_the_run(tmp_path: Path) -> None:
    """It fails with a message, and leaves no weights."""
    said = run(tmp_path, "--learning-rate", "1e300", code=1)

    assert "the loss is nan at step" in said
    assert not (tmp_path / "weights.npz").exists()
