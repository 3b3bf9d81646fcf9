"""How a box is told to go: the script, with every program that could do harm replaced."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from zuka.onbox import script


@pytest.mark.skipif(
    not any(Path(place, "shutdown").exists() for place in ("/usr/sbin", "/sbin")),
    reason="no shutdown here",
)
def test_a_user_without_sbin_on_the_path(tmp_path: Path) -> None:
    """As sshd starts a command of a user who is not root: sudo, and shutdown, are found."""
    fakes = {"id": "echo 1000", "sudo": 'echo "sudo $*"', "sleep": ":"}
    for name, text in fakes.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    command = ["/bin/sh", "-c", script("off.sh"), "zuka"]
    path = f"{tmp_path}:/usr/bin:/bin"
    done = subprocess.run(command, cwd=tmp_path, env={"PATH": path}, check=False)
    log, deadline = tmp_path / "poweroff.log", time.monotonic() + 10
    while not (log.exists() and log.read_text()) and time.monotonic() < deadline:
        time.sleep(0.02)

    assert (0, "sudo -n shutdown -h now\n") == (done.returncode, log.read_text())
