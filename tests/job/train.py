"""A job for tests: quick, without packages, exact through kills; each step can be made slow."""

import argparse
import json
import os
import random
import time
from pathlib import Path


def save(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    new = path.with_name(f".{path.name}.new")
    with new.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


def lines_until(path: Path, step: int) -> list[str]:
    """Return the whole lines of metrics up to a step."""
    kept = []
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            known = json.loads(line)["step"]
        except ValueError:
            break
        if known <= step:
            kept.append(line)
    return kept


def main() -> None:
    """Train for some steps."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--pause", type=float, default=0)
    parser.add_argument("--resume", type=Path)
    options = parser.parse_args()
    data = "".join(path.read_text() for path in sorted(Path("data").iterdir()))
    outputs = Path("outputs")
    outputs.mkdir(exist_ok=True)
    state = {"step": 0, "sum": 0.0}
    if options.resume:
        state = json.loads(options.resume.read_text())
    kept = lines_until(outputs / "metrics.jsonl", int(state["step"]))
    save(outputs / "metrics.jsonl", "".join(f"{line}\n" for line in kept))
    with (outputs / "metrics.jsonl").open("a") as metrics:
        while state["step"] < options.steps:
            state["step"] += 1
            state["sum"] += random.Random(f"{data}{state['step']}").random()
            metrics.write(json.dumps(state) + "\n")
            metrics.flush()
            if state["step"] % 5 == 0:
                save(outputs / f"checkpoint-{state['step']:06d}", json.dumps(state))
            print(f"step {state['step']}/{options.steps}", flush=True)
            time.sleep(options.pause)
    save(outputs / "weights", json.dumps(state))


main()
