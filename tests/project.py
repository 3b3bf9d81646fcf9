"""A project of a test: the quick job on a box, zuka's commands, a recording ssh."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import yaml

from tests.boxes import Box

ROOT = Path(__file__).parent.parent
STAGES = (
    "keys",
    "provision",
    "upload",
    "code",
    "env",
    "smoke",
    "train",
    "fetch",
    "clean",
    "snapshot",
    "poweroff",
)
_SPY = """#!/bin/sh
printf '%s\\n' "$*" >>{log}
exec {ssh} "$@"
"""


@dataclass
class Project:
    """One folder with a recipe."""

    folder: Path
    box: Box
    extra: dict[str, str] = field(default_factory=dict)

    def fill(self) -> None:
        """Write the job, the recipe and dodo.py, and commit them."""
        shutil.copytree(ROOT / "tests" / "job", self.folder, dirs_exist_ok=True)
        shutil.copy(ROOT / "dodo.py", self.folder / "dodo.py")
        (self.folder / ".gitignore").write_text(".zuka/\nartifacts/\ndata/\n__pycache__/\n")
        self.write_recipe(self.recipe())
        self.git("init", "-q")
        self.git("add", "-A")
        self.git("commit", "-qm", "A job")
        spy = self.folder.parent / "spy"
        spy.mkdir(exist_ok=True)
        ssh = shutil.which("ssh")
        (spy / "ssh").write_text(_SPY.format(log=f"'{self.log}'", ssh=ssh))
        (spy / "ssh").chmod(0o755)

    def recipe(self, *, pause: float = 0, steps: int = 20) -> dict[str, Any]:
        """Return the whole pipeline as plain data."""
        run = "python train.py --steps ${steps}" + (f" --pause {pause}" if pause else "")
        return {
            "zuka": 1,
            "machine": self.box.machine(),
            "vars": {"steps": steps},
            "stages": [
                "keys",
                {"provision": {"python": ">=3.8"}},
                {"upload": {"source": "data", "target": "data"}},
                "code",
                {"env": {"requirements": "requirements.txt"}},
                {"smoke": {"run": "python train.py --steps 2", "within": "2 min"}},
                {"train": {"run": run, "resume": "--resume ${checkpoint}"}},
                {"fetch": {"paths": ["outputs"], "to": "artifacts"}},
                "clean",
                "snapshot",
                "poweroff",
            ],
        }

    def write_recipe(self, recipe: dict[str, Any], name: str = "train") -> None:
        """Write a recipe."""
        path = self.folder / "recipes" / f"{name}.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(yaml.safe_dump(recipe, sort_keys=False, allow_unicode=True))

    def git(self, *arguments: str) -> None:
        """Run git, as somebody."""
        who = ["-c", "user.name=Li Lei", "-c", "user.email=li.lei@example.org"]
        subprocess.run(["git", *who, *arguments], cwd=self.folder, check=True)

    @property
    def log(self) -> Path:
        """Return the record of every ssh that was started."""
        return self.folder.parent / "ssh.log"

    def ssh_calls(self) -> list[str]:
        """Return every ssh that was started since the last time, and forget them."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return lines

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment of zuka's commands."""
        path = os.pathsep.join([str(self.folder.parent / "spy"), os.environ["PATH"]])
        python = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
        return {
            **os.environ,
            "PATH": path,
            "PYTHONPATH": python,
            **self.box.env,
            **self.extra,
        }

    def start(self, *arguments: str, doit: bool = False) -> subprocess.Popen[str]:
        """Start a command of zuka's, or of doit's."""
        module = "doit" if doit else "zuka"
        return subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            cwd=self.folder,
            env=self.environment,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def zuka(self, *arguments: str, doit: bool = False, timeout: float = 120) -> Done:
        """Run a command to its end."""
        process = self.start(*arguments, doit=doit)
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            raise AssertionError(f"{arguments} takes too long\n{out}\n{err}") from None
        return Done(process.returncode, out, err)

    def run(self, *arguments: str, **options: Any) -> Done:
        """Run the recipe."""
        return self.zuka("run", *(arguments or ("train",)), **options)

    def predicted(self) -> list[str]:
        """Return the stages that `zuka why` says would run."""
        done = self.zuka("why", "train", "--json")
        assert done.code == 0, done
        return list(json.loads(done.out)["runs"])

    @staticmethod
    def json(done: Done) -> Any:
        """Return what a command printed for a machine."""
        return json.loads(done.out)

    def results(self) -> list[Path]:
        """Return the folders of results, without the link."""
        shelf = self.folder / "artifacts" / "train"
        return sorted(p for p in shelf.glob("*") if not p.is_symlink()) if shelf.exists() else []

    def steps(self) -> list[int]:
        """Return the steps of the newest results' metrics."""
        path = self.folder / "artifacts" / "train" / "latest" / "outputs" / "metrics.jsonl"
        return [json.loads(line)["step"] for line in path.read_text().splitlines()]

    def close(self) -> None:
        """End what this project started and left."""
        for process in psutil.process_iter():
            try:
                mine = process.cwd() == str(self.folder) and "zuka" in " ".join(process.cmdline())
                if mine and process.pid != os.getpid():
                    process.kill()
            except psutil.Error:
                continue


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def ran(self) -> list[str]:
        """Return the stages that really ran, in the order of their ends."""
        lines = (line.split() for line in self.out.splitlines())
        return [w[0].partition(":")[2] for w in lines if len(w) > 1 and w[1] in ("ok", "FAILED")]
