"""
How many of the ways to change a project are rerun exactly, by zuka and by make and doit alone.

Runs the table of tests/e2e/test_reruns.py, then the rows of it that make and a plain doit can know
at all (local files and commands), and prints how many each gets right: python benchmarks/rerun.py
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MAKE = "all: out\nmid: in\n\tcp in mid; echo a >>log\nout: mid\n\tcp mid out; echo b >>log\n"
DOIT = """
def task_a():
    return {"actions": ["cp in mid; echo a >>log"], "file_dep": ["in"], "targets": ["mid"]}
def task_b():
    return {"actions": ["cp mid out; echo b >>log"], "file_dep": ["mid"], "targets": ["out"]}
"""


def keep_time(folder: Path) -> None:
    """Change a file and keep its time and size."""
    before = (folder / "in").stat()
    (folder / "in").write_text("2\n")
    os.utime(folder / "in", ns=(before.st_atime_ns, before.st_mtime_ns))


def new_command(folder: Path) -> None:
    """Change the text of the first command."""
    for name in ("Makefile", "dodo.py"):
        if (folder / name).exists():
            text = (folder / name).read_text().replace("cp in mid", "cp -p in mid")
            (folder / name).write_text(text)


ROWS: dict[str, tuple[Callable[[Path], object], str]] = {
    "nothing": (lambda _: None, ""),
    "touched": (lambda f: os.utime(f / "in"), ""),
    "changed": (lambda f: (f / "in").write_text("22\n"), "ab"),
    "changed at the old time": (keep_time, "ab"),
    "the command's text": (new_command, "a"),
    "the result deleted": (lambda f: (f / "out").unlink(), "b"),
    "the result edited": (lambda f: (f / "out").write_text("mine"), "b"),
}


def peer(tool: str) -> int:
    """Return how many rows a tool gets right."""
    right = 0
    for change, wanted in ROWS.values():
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "in").write_text("1\n")
            (folder / ("Makefile" if tool == "make" else "dodo.py")).write_text(
                MAKE if tool == "make" else DOIT
            )
            run = ["make", "-s"] if tool == "make" else [sys.executable, "-m", "doit"]
            subprocess.run(run, cwd=folder, check=True, capture_output=True)
            time.sleep(0.05)
            (folder / "log").unlink()
            change(folder)
            subprocess.run(run, cwd=folder, check=False, capture_output=True)
            log = folder / "log"
            right += wanted == "".join(log.read_text().split() if log.exists() else "")
    return right


def main() -> int:
    """Run the table and the peers."""
    command = [sys.executable, "-m", "pytest", "-q", "tests/e2e/test_reruns.py"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    passed = int((re.search(r"(\d+) passed", done.stdout) or ["", "0"])[1])
    failed = int((re.search(r"(\d+) failed", done.stdout) or ["", "0"])[1])
    share = passed / max(passed + failed, 1)
    print(f"zuka: {passed} of {passed + failed} rows right, box and all: {share:.2f}")
    for tool in ("make", "doit"):
        if shutil.which(tool) or tool == "doit":
            right = peer(tool)
            known = f"{right} of {len(ROWS)} of the rows that it can know"
            print(f"{tool}: {known}: {right / len(ROWS):.2f}")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    raise SystemExit(main())
