"""The wheel, installed elsewhere, is all that a user needs; their own kinds come by our door."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parent.parent.parent
OWN = '''"""A kind of my own: a greeting on the box."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from zuka.stage import Reply, Run, Site, Stage, State, Step


@dataclass(frozen=True)
class Greet(Stage):
    """Leave a greeting on the box."""

    text: str

    def inputs(self, site: Site) -> State:
        return {"text": self.text}

    def desired(self, site: Site) -> State:
        return {"greeting": self.text}

    def probe(self, site: Site) -> Sequence[Run]:
        return [Run(("cat", "greeting"))]

    def actual(self, site: Site, replies: Sequence[Reply]) -> State:
        return {"greeting": replies[0].out or None}

    def plan(self, site: Site, desired: State, actual: State) -> Iterator[Step]:
        if desired != actual:
            yield Run(("sh", "-c", 'printf %s "$1" >greeting', "zuka", self.text), "greet")
'''
SCHEMA = """{
  "$schema": "http://json-schema.org/draft-07/schema#",
  "type": "object", "additionalProperties": false, "required": ["text"],
  "properties": {"text": {"type": "string", "description": "What to say."}}
}
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the programs of an environment that has nothing but the wheel."""
    where = tmp_path_factory.mktemp("ship")
    run = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(where), str(ROOT)]
    subprocess.run(run, check=True)
    # The dependencies are those of the environment of the tests; zuka itself is the wheel's.
    subprocess.run([sys.executable, "-m", "venv", str(where / "venv")], check=True)
    wheel = next(where.glob("zuka-*.whl"))
    python = where / "venv" / "bin" / "python"
    subprocess.run([str(python), "-m", "pip", "install", "-q", str(wheel)], check=True)
    return python.parent


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    """Return an empty folder whose sandbox is its own."""
    made = tmp_path / "project"
    made.mkdir()
    yield made
    environment = {**os.environ, "ZUKA_SANDBOX": str(tmp_path / "box"), "PYTHONPATH": str(ROOT)}
    subprocess.run(
        [sys.executable, "-m", "zuka", "sandbox", "down"],
        cwd=made,
        env=environment,
        check=True,
        capture_output=True,
    )


def call(program: Path, *arguments: str, project: Path) -> subprocess.CompletedProcess[str]:
    """Run a program of the installed wheel, far from this checkout."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    environment["ZUKA_SANDBOX"] = str(project.parent / "box")
    return subprocess.run(
        [str(program), *arguments],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_init_in_an_empty_folder_works_at_once(installed: Path, project: Path) -> None:
    """`zuka init`, then the whole pipeline, then nothing; a second init changes nothing."""
    assert 0 == call(installed / "zuka", "init", project=project).returncode
    names = {path.name for path in project.iterdir()}
    assert {"dodo.py", "recipes", "machines.yaml", ".gitignore", "train.py"} <= names
    first = call(installed / "doit", "run", "train", project=project)
    assert 0 == first.returncode, first
    assert (project / "artifacts/train/latest/outputs/weights.json").exists()
    again = call(installed / "doit", "run", "train", project=project)
    assert (0, 1) == (again.returncode, again.stdout.count("\n")), again
    (project / "train.py").write_text("mine")
    said = call(installed / "zuka", "init", project=project)

    assert "mine" == (project / "train.py").read_text()
    assert "kept" in said.stdout
    assert "wrote" not in said.stdout


def test_a_kind_of_ones_own(installed: Path, project: Path) -> None:
    """Two files in one's own rooms are a kind; one that shadows ours wins, and that is said."""
    for room in ("tasks", "schemas", "recipes"):
        (project / room).mkdir()
    (project / "tasks" / "greet.py").write_text(OWN)
    (project / "schemas" / "greet.schema.json").write_text(SCHEMA)
    shutil.copy(ROOT / "tasks" / "clean.py", project / "tasks" / "clean.py")
    shutil.copy(ROOT / "schemas" / "clean.schema.json", project / "schemas")
    shutil.copy(ROOT / "dodo.py", project)
    recipe = project / "recipes" / "hello.yaml"
    recipe.write_text("zuka: 1\nstages:\n  - greet: {text: '你好 $(id)'}\n  - clean\n")
    listed = call(installed / "zuka", "kinds", project=project).stdout.splitlines()
    own = [line.split()[0] for line in listed if "this project's own" in line]
    assert ["clean", "greet"] == own
    done = call(installed / "zuka", "run", "hello", project=project)
    assert 0 == done.returncode, done
    assert "the project's own: clean, greet" in done.stdout
    assert "hello:greet           ok" in done.stdout
    assert "你好 $(id)" == (project.parent / "box/home/.zuka/greeting").read_text()
    again = call(installed / "doit", "run", "hello", project=project)
    assert (0, False) == (again.returncode, " ok " in again.stdout), again
    recipe.write_text("zuka: 1\nstages:\n  - greet: {txt: hi}\n")
    wrong = call(installed / "zuka", "run", "hello", project=project)

    assert 2 == wrong.returncode
    assert "recipes/hello.yaml:3:13: greet has no key 'txt'" in wrong.stderr
