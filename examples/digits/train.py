"""
Train a small network on 8 x 8 images of handwritten digits.

Every step is a function of the seed and its number alone, so a run that was cut short and goes on
from a checkpoint ends with the same weights, bit for bit, as one that was left alone.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
HIDDEN, DIGITS = 64, 10
FLUSH = 0.2
"""Seconds that a line of metrics may wait in memory."""


@dataclass
class Model:
    """Two layers, and Adam's two moments of each (Kingma and Ba, 2015, algorithm 1)."""

    step: int
    weights: list[Array]
    first: list[Array]
    second: list[Array]

    @classmethod
    def new(cls, seed: int, pixels: int) -> Model:
        """Return a model that knows nothing."""
        chance = np.random.default_rng(seed)
        sizes = [(pixels, HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, DIGITS)]
        weights: list[Array] = []
        for into, out in sizes:
            weights += [chance.normal(0, np.sqrt(2 / into), (into, out)), np.zeros(out)]
        return cls(0, weights, [0 * w for w in weights], [0 * w for w in weights])

    def layers(self, images: Array) -> list[Array]:
        """Return the activity of every layer; the last one is the chances of the digits."""
        w1, b1, w2, b2, w3, b3 = self.weights
        one = np.maximum(images @ w1 + b1, 0)
        two = np.maximum(one @ w2 + b2, 0)
        scores = two @ w3 + b3
        chances = np.exp(scores - scores.max(axis=1, keepdims=True))
        return [images, one, two, chances / chances.sum(axis=1, keepdims=True)]

    def learn(self, images: Array, digits: NDArray[np.int64], rate: float) -> float:
        """Take one step and return the loss before it (cross entropy, in nats)."""
        images, one, two, chances = self.layers(images)
        rows = np.arange(len(digits))
        loss = float(-np.log(chances[rows, digits] + 1e-12).mean())
        error = chances.copy()
        error[rows, digits] -= 1
        error /= len(digits)
        below_two = (error @ self.weights[4].T) * (two > 0)
        below_one = (below_two @ self.weights[2].T) * (one > 0)
        slopes = [
            images.T @ below_one,
            below_one.sum(axis=0),
            one.T @ below_two,
            below_two.sum(axis=0),
            two.T @ error,
            error.sum(axis=0),
        ]
        self.step += 1
        for n, slope in enumerate(slopes):
            self.first[n] += 0.1 * (slope - self.first[n])
            self.second[n] += 0.001 * (slope * slope - self.second[n])
            first = self.first[n] / (1 - 0.9**self.step)
            second = self.second[n] / (1 - 0.999**self.step)
            self.weights[n] -= rate * first / (np.sqrt(second) + 1e-8)
        return loss

    def accuracy(self, images: Array, digits: NDArray[np.int64]) -> float:
        """Return the share of images whose digit is told right."""
        return float((self.layers(images)[-1].argmax(axis=1) == digits).mean())

    def save(self, path: Path) -> None:
        """Write the model whole or not at all."""
        parts = {"weight": self.weights, "first": self.first, "second": self.second}
        arrays: dict[str, Any] = {
            f"{name}{n}": array for name, many in parts.items() for n, array in enumerate(many)
        }
        with whole(path) as file:
            np.savez(file, step=np.array(self.step), **arrays)

    @classmethod
    def load(cls, path: Path) -> Model:
        """Read a checkpoint; raise an error when it is not whole."""
        with np.load(path) as kept:
            names = ("weight", "first", "second")
            parts = [[kept[f"{name}{n}"] for n in range(6)] for name in names]
            return cls(int(kept["step"]), *parts)


@contextmanager
def whole(path: Path) -> Iterator[BinaryIO]:
    """Give a file to write; it takes the place of ``path`` when all of it is on the disk."""
    new = path.with_name(f".{path.name}.new")
    with new.open("wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


class Metrics:
    """One JSON object a line and step; on the disk before the checkpoint that follows it."""

    def __init__(self, path: Path, until: int) -> None:
        kept = [line for line in _lines(path) if line["step"] <= until] if until else []
        with whole(path) as file:
            file.write("".join(f"{json.dumps(line)}\n" for line in kept).encode())
        self._file = path.open("a", encoding="utf-8")
        self._flushed = time.monotonic()

    def add(self, **facts: float) -> None:
        """Add the line of a step."""
        self._file.write(json.dumps(facts) + "\n")
        if time.monotonic() - self._flushed > FLUSH:
            self.flush()

    def flush(self) -> None:
        """Put every line so far on the disk."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._flushed = time.monotonic()


def _lines(path: Path) -> Iterator[dict[str, float]]:
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    for line in text.splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            return  # a line that was cut short, and nothing after it


def step_of(path: Path) -> int:
    """Return the step that a checkpoint's name tells; 0 when it tells none."""
    digits = path.stem.rpartition("-")[2]
    return int(digits) if digits.isdecimal() else 0


def checkpoints(outputs: Path) -> list[Path]:
    """Return the checkpoints, the newest first."""
    found = (path for path in outputs.glob("checkpoint-*.npz") if step_of(path))
    return sorted(found, key=step_of, reverse=True)


def resumed(asked: Path) -> Model | None:
    """Return the model of a checkpoint, or of the newest whole one that is older."""
    older = [path for path in checkpoints(asked.parent) if step_of(path) < step_of(asked)]
    for path in (asked, *older):
        try:
            return Model.load(path)
        except Exception as error:  # noqa: BLE001 - a torn zip fails in many ways
            print(f"{path} is not whole ({type(error).__name__}: {error})", flush=True)
    print("there is no whole checkpoint, so training starts anew", flush=True)
    return None


def forget_later(outputs: Path, step: int) -> None:
    """Remove what a longer run left: a checkpoint of its future is none of ours."""
    for path in checkpoints(outputs):
        if step_of(path) > step:
            path.unlink()
    (outputs / "weights.npz").unlink(missing_ok=True)


def load(path: Path) -> tuple[Array, NDArray[np.int64]]:
    """Return the images, from 0 to 1, and their digits."""
    table = np.loadtxt(path, delimiter=",", dtype=np.int64)
    return table[:, :-1] / 16.0, table[:, -1]


def batch(seed: int, step: int, size: int, count: int) -> NDArray[np.int64]:
    """Return which images a step learns from: each epoch has an order of its own."""
    per_epoch = max(count // size, 1)
    epoch, place = divmod(step, per_epoch)
    order = np.random.default_rng([seed, epoch]).permutation(count)
    return order[place * size : (place + 1) * size]


def train(options: argparse.Namespace) -> int:
    """Train until the last step; return the exit code."""
    images, digits = load(options.data / "train.csv")
    test = load(options.data / "test.csv")
    steps = options.steps or options.epochs * max(len(digits) // options.batch_size, 1)
    options.outputs.mkdir(parents=True, exist_ok=True)
    model = resumed(options.resume) if options.resume else None
    model = model or Model.new(options.seed, images.shape[1])
    forget_later(options.outputs, model.step)
    metrics = Metrics(options.outputs / "metrics.jsonl", model.step)
    print(f"training from step {model.step} to {steps}", flush=True)
    while model.step < steps:
        chosen = batch(options.seed, model.step, options.batch_size, len(digits))
        loss = model.learn(images[chosen], digits[chosen], options.learning_rate)
        if not np.isfinite(loss):
            metrics.flush()
            print(f"the loss is {loss} at step {model.step}", file=sys.stderr)
            return 1
        facts = {"step": model.step, "loss": round(loss, 6)}
        if model.step % options.checkpoint_every == 0 or model.step == steps:
            facts["accuracy"] = round(model.accuracy(*test), 4)
            line = f"step {model.step}/{steps} loss {loss:.4f} accuracy {facts['accuracy']:.4f}"
            print(line, flush=True)
        metrics.add(**facts)
        if model.step % options.checkpoint_every == 0:
            metrics.flush()
            model.save(options.outputs / f"checkpoint-{model.step}.npz")
            for old in checkpoints(options.outputs)[2:]:
                old.unlink()
        if options.pause:
            time.sleep(options.pause)
    metrics.flush()
    model.save(options.outputs / "weights.npz")
    print(f"done: accuracy {model.accuracy(*test):.4f} on {len(test[1])} images", flush=True)
    return 0


def positive(text: str) -> int:
    """Return a number above zero."""
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def main() -> int:
    """Read the command line and train."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--outputs", type=Path, default=Path("outputs"))
    parser.add_argument("--epochs", type=positive, default=30)
    parser.add_argument("--steps", type=positive, help="instead of epochs")
    parser.add_argument("--batch-size", type=positive, default=32)
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--resume", type=Path, help="a checkpoint to go on from")
    parser.add_argument("--checkpoint-every", type=positive, default=100, help="steps")
    parser.add_argument("--pause", type=float, default=0, help="seconds after each step")
    return train(parser.parse_args())


if __name__ == "__main__":
    raise SystemExit(main())
