"""A job to start from: fits a line, keeps checkpoints, goes on from one. Put yours here."""

import argparse
import json
import os
import random
from pathlib import Path


def save(path: Path, text: str) -> None:
    """Write a file whole or not at all: a kill in between leaves the old one."""
    new = path.with_name("." + path.name)
    with new.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


def main() -> None:
    """Train for some steps."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--resume", type=Path)
    options = parser.parse_args()
    outputs = Path("outputs")
    outputs.mkdir(exist_ok=True)
    state = {"step": 0, "slope": 0.0, "offset": 0.0}
    metrics = []
    if options.resume:
        state = json.loads(options.resume.read_text())
        lines = (outputs / "metrics.jsonl").read_text().splitlines()
        metrics = [line for line in lines if json.loads(line)["step"] <= state["step"]]
    while state["step"] < options.steps:
        state["step"] += 1
        chance = random.Random(state["step"])  # the same numbers, however often it was resumed
        x = chance.uniform(-1, 1)
        error = state["slope"] * x + state["offset"] - (3 * x + 1)
        state["slope"] -= 0.1 * error * x
        state["offset"] -= 0.1 * error
        metrics.append(json.dumps({"step": state["step"], "loss": error * error}))
        if state["step"] % 100 == 0 or state["step"] == options.steps:
            save(outputs / "metrics.jsonl", "\n".join(metrics) + "\n")
            save(outputs / f"checkpoint-{state['step']}", json.dumps(state))
            print(f"step {state['step']}/{options.steps} loss {error * error:.6f}", flush=True)
    save(outputs / "weights.json", json.dumps(state))


main()
