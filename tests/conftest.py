"""Projects and boxes for the tests; what a test starts is ended with it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.boxes import Box, SandboxBox, SshdBox
from tests.project import Project

ROOT = Path(__file__).parent.parent


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return an empty folder for a project, with a name that shells must quote."""
    made = tmp_path / "my project"
    made.mkdir()
    return made


@pytest.fixture(params=["sandbox", "sshd"])
def box(
    request: pytest.FixtureRequest, tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Box]:
    """Return a box that is switched on: the sandbox, then a real OpenSSH server."""
    made = make_box(request.param, tmp_path, folder, monkeypatch)
    made.start()
    yield made
    made.close()


@pytest.fixture
def sandbox_box(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Box]:
    """Return the sandbox, which is off."""
    made = make_box("sandbox", tmp_path, folder, monkeypatch)
    yield made
    made.close()


def make_box(kind: str, where: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Box:
    """Return a box that is off."""
    if kind == "sandbox":
        monkeypatch.setenv("ZUKA_SANDBOX", str(where / "box"))
        return SandboxBox(where / "box", folder)
    if not Path("/usr/sbin/sshd").exists():
        if os.environ.get("CI"):
            pytest.fail("no OpenSSH server is installed")
        pytest.skip("no OpenSSH server here: apt install openssh-server")
    Path("/run/sshd").mkdir(exist_ok=True) if os.getuid() == 0 else None
    return SshdBox(where / "box")


@pytest.fixture
def project(box: Box, folder: Path) -> Iterator[Project]:
    """Return a project with a quick job, on each box in turn."""
    made = Project(folder, box)
    made.fill()
    yield made
    made.close()


@pytest.fixture
def sandboxed(sandbox_box: Box, folder: Path) -> Iterator[Project]:
    """Return a project with a quick job, on the sandbox alone."""
    made = Project(folder, sandbox_box)
    made.fill()
    yield made
    made.close()


@pytest.fixture
def python() -> str:
    """Return the Python that runs the tests."""
    return sys.executable


def copy_job(target: Path) -> None:
    """Copy the quick job into a folder."""
    shutil.copytree(ROOT / "tests" / "job", target, dirs_exist_ok=True)
