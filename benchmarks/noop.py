"""
How much a run with nothing to do costs: user and system time, the least of 20, interleaved.

Run it with the Python that zuka is installed for: python benchmarks/noop.py
Prints each way, its ratio to a bare Python and to importing doit, and what zuka's way imports.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RUNS = 20
STAGES = 1000
BIN = Path(sys.executable).parent


def spent(command: list[str], folder: Path, environment: dict[str, str]) -> float:
    """Return the milliseconds of processor time of one run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)


def least(ways: dict[str, tuple[list[str], Path]], environment: dict[str, str]) -> dict[str, float]:
    """Return the least time of each way; they take turns, so that a busy machine is fair."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(RUNS):
        for name, (command, folder) in ways.items():
            times[name].append(spent(command, folder, environment))
    return {name: min(found) for name, found in times.items()}


def demo(where: Path) -> Path:
    """Return a project of eleven stages that has run."""
    project = where / "demo"
    shutil.copytree(ROOT / "zuka" / "templates", project)
    subprocess.run(
        [str(BIN / "zuka"), "run", "train"], cwd=project, check=True, stdout=subprocess.DEVNULL
    )
    return project


def many(where: Path) -> tuple[Path, Path]:
    """Return a recipe of a thousand stages that has run, and the same graph for make."""
    project, made = where / "many", where / "make"
    (project / "tasks").mkdir(parents=True)
    (project / "schemas").mkdir()
    (project / "recipes").mkdir()
    (project / "in").mkdir()
    (made / "out").mkdir(parents=True)
    shutil.copy(ROOT / "dodo.py", project)
    (project / "tasks" / "note.py").write_text(NOTE)
    (project / "schemas" / "note.schema.json").write_text(json.dumps(SCHEMA))
    stages: list[object] = []
    rules = [f"all: out/{STAGES - 1}"]
    for number in range(STAGES):
        (project / "in" / str(number)).write_text(str(number))
        stages.append({"note": {"name": f"n{number}", "source": f"in/{number}"}})
        before = f" out/{number - 1}" if number else ""
        rules.append(f"out/{number}: in/{number}{before}\n\tcp in/{number} $@")
    stages += [{"train": {"run": "mkdir outputs; echo done >outputs/a"}}, "fetch", "poweroff"]
    (project / "recipes" / "train.yaml").write_text(json.dumps({"zuka": 1, "stages": stages}))
    shutil.copytree(project / "in", made / "in")
    (made / "Makefile").write_text("\n".join(rules) + "\n")
    subprocess.run(["make", "-s"], cwd=made, check=True)
    subprocess.run(
        [str(BIN / "zuka"), "run", "train"], cwd=project, check=True, stdout=subprocess.DEVNULL
    )
    return project, made


NOTE = '''"""A stage that asks for nothing, to measure what a stage costs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from zuka.stage import Reply, Run, Site, Stage, State, Step


@dataclass(frozen=True)
class Note(Stage):
    """Stand for a file."""

    source: str

    def inputs(self, site: Site) -> State:
        return {"source": site.tree(self.source).digest}

    def desired(self, site: Site) -> State:
        return {}

    def probe(self, site: Site) -> Sequence[Run]:
        return [Run(("true",))]

    def actual(self, site: Site, replies: Sequence[Reply]) -> State:
        return {}

    def plan(self, site: Site, desired: State, actual: State) -> Iterator[Step]:
        yield from ()
'''
SCHEMA = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "title": "note",
    "description": "Stand for a file.",
    "type": "object",
    "additionalProperties": False,
    "required": ["source"],
    "properties": {"source": {"type": "string", "description": "The file."}},
}


def main() -> int:
    """Measure, and print ratios."""
    with tempfile.TemporaryDirectory() as name:
        where = Path(name)
        os.environ["XDG_STATE_HOME"] = str(where / "state")
        project, (thousand, made) = demo(where), many(where)
        python, zuka, doit = sys.executable, str(BIN / "zuka"), str(BIN / "doit")
        ways = {
            "python -c pass": ([python, "-c", "pass"], project),
            "zuka run train": ([zuka, "run", "train"], project),
            "python -c 'import doit.doit_cmd'": ([python, "-c", "import doit.doit_cmd"], project),
            "doit run train": ([doit, "run", "train"], project),
            f"zuka, {STAGES} stages": ([zuka, "run", "train"], thousand),
            f"make, {STAGES} rules": (["make", "-s"], made),
            f"make -rR, {STAGES} rules": (["make", "-rRs"], made),
        }
        found = least(ways, dict(os.environ))
        bare, doits = found["python -c pass"], found["python -c 'import doit.doit_cmd'"]
        for way, time in found.items():
            ratios = f"{time / bare:5.2f} x pass   {time / doits:5.2f} x doit"
            print(f"{way:<34} {time:7.1f} ms   {ratios}")
        print(f"zuka / python -c pass              {found['zuka run train'] / bare:.2f}  (goal 2)")
        ratio = found["doit run train"] / doits
        print(f"doit run / import doit.doit_cmd    {ratio:.2f}  (goal 1.15)")
        ratio = found[f"zuka, {STAGES} stages"] / found[f"make, {STAGES} rules"]
        print(f"zuka / make, {STAGES} stages         {ratio:.2f}  (goal 0.33)")
        command = [python, "-X", "importtime", zuka, "run", "train"]
        imports = subprocess.run(command, cwd=project, capture_output=True, text=True, check=True)
        bare_imports = subprocess.run(
            [python, "-X", "importtime", "-c", "pass"], capture_output=True, text=True, check=True
        )
        extra = _modules(imports.stderr) - _modules(bare_imports.stderr)
        print(f"imported besides a bare Python's: {', '.join(sorted(extra))}")
    return 0


def _modules(report: str) -> set[str]:
    return {line.rpartition("|")[2].strip() for line in report.splitlines() if "|" in line}


if __name__ == "__main__":
    raise SystemExit(main())
