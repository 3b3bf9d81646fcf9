"""The probe runs in any POSIX sh, tells no secret, and never hangs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from zuka.platforms import PROBE, detect, load, power_off

SHELLS = [
    shell
    for shell in (["sh"], ["dash"], ["busybox", "sh"], ["bash"], ["bash", "--posix"], ["mksh"])
    if shutil.which(shell[0])
]
IN_EACH_SHELL = pytest.mark.parametrize("shell", SHELLS, ids=" ".join)


def ask(shell: list[str], root: Path | None = None, **environment: str) -> str:
    """Return what the probe prints, on a box whose files lie under ``root``."""
    faked = {"ZUKA_PROBE_ROOT": str(root)} if root else {}
    done = subprocess.run(
        [*shell, "-c", PROBE],
        env={"PATH": os.defpath, **faked, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="surrogateescape",
        check=False,
        timeout=20,
    )

    assert (0, "") == (done.returncode, done.stderr)
    assert all("=" in line for line in done.stdout.splitlines() if line)
    return done.stdout


def put(root: Path, place: str, text: str = "") -> None:
    """Write a file of a box that is not there."""
    path = root / place.lstrip("/")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


@IN_EACH_SHELL
class TestProbe:
    def test_answers_on_this_machine(self, shell: list[str]) -> None:
        """With an empty environment and whatever files there are."""
        answer = ask(shell)

        assert answer.startswith("probe=1\n")
        assert answer.endswith("probe=done\n")
        assert "host=" in answer
        assert detect(answer).asked

    def test_answers_where_there_is_nothing(self, shell: list[str], tmp_path: Path) -> None:
        """No /proc, no /sys, no /etc."""
        assert "probe=done" in ask(shell, tmp_path, USER="root")
        assert "generic" == detect(ask(shell, tmp_path)).name

    def test_finds_variables(self, shell: list[str], tmp_path: Path) -> None:
        """Those of the session are named; the region is told, other values are not."""
        secrets = {"CONTAINER_API_KEY": "s3cret-key", "AutoDLContainerUUID": "s3cret-id"}
        answer = ask(shell, tmp_path, AutoDLRegion="west-E", **secrets)

        assert "env=AutoDLRegion\nregion=west-E\n" in answer
        assert "env=CONTAINER_API_KEY\n" in answer
        assert "s3cret" not in answer
        assert ("autodl", "west-E") == (detect(answer).name, detect(answer).region)

    def test_finds_variables_of_the_first_process(self, shell: list[str], tmp_path: Path) -> None:
        """An SSH session has none of them; a value of several lines invents none."""
        values = "A=1\0VAST_CONTAINERLABEL=C.42\0CONTAINER_API_KEY=s3cret\0B=x\nAutoDLRegion=west\0"
        put(tmp_path, "/proc/1/environ", values)
        answer = ask(shell, tmp_path)

        assert "env=VAST_CONTAINERLABEL" in answer
        assert "AutoDL" not in answer
        assert "s3cret" not in answer
        assert "vast" == detect(answer).name

    def test_finds_variables_in_files(self, shell: list[str], tmp_path: Path) -> None:
        """A file may have come with the image, so it is told apart."""
        put(
            tmp_path,
            "/etc/rp_environment",
            'export RUNPOD_POD_ID="s3cret"\nexport RUNPOD_DC_ID="EU-1"\n',
        )
        answer = ask(shell, tmp_path)

        assert "listed=RUNPOD_POD_ID\n" in answer
        assert "region=EU-1\n" in answer
        assert "s3cret" not in answer
        assert ("runpod", "likely") == (detect(answer).name, detect(answer).certainty)

    def test_a_region_may_hold_anything(self, shell: list[str], tmp_path: Path) -> None:
        """What does not look like a region is not printed."""
        answer = ask(shell, tmp_path, AutoDLRegion="$(touch x)\nhost=evil", RUNPOD_DC_ID="`id`")

        assert "region=" not in answer
        assert "evil" not in answer

    def test_finds_files_and_mounts(self, shell: list[str], tmp_path: Path) -> None:
        """A mounted disk is read off the list; a link is found even if what it names hangs."""
        put(
            tmp_path,
            "/proc/mounts",
            "overlay / overlay rw 0 0\n/dev/md0 /root/autodl-tmp ext4 rw 0 0\n",
        )
        put(tmp_path, "/etc/network_turbo")
        (tmp_path / "root").mkdir()
        (tmp_path / "root/autodl-fs").symlink_to("/nowhere/at/all")
        answer = ask(shell, tmp_path)

        for path in ("/root/autodl-tmp", "/root/autodl-fs", "/etc/network_turbo"):
            assert f"path={path}\n" in answer
        assert "container=yes\n" in answer
        assert "autodl" == detect(answer).name

    def test_finds_the_hardware(self, shell: list[str], tmp_path: Path) -> None:
        """DMI, host name, user and the kind of container."""
        put(tmp_path, "/sys/class/dmi/id/sys_vendor", "Amazon EC2\n")
        put(tmp_path, "/sys/class/dmi/id/product_name", "g5.xlarge")
        put(tmp_path, "/sys/class/dmi/id/bios_version", "1.0\n")
        put(tmp_path, "/proc/sys/kernel/hostname", "ip-10-0-0-5\n")
        put(tmp_path, "/proc/1/cgroup", "12:pids:/kubepods/besteffort/pod0\n")
        answer = ask(shell, tmp_path, LOGNAME="ec2-user")

        for line in ("vendor=Amazon EC2", "product=g5.xlarge", "bios=1.0", "host=ip-10-0-0-5"):
            assert f"{line}\n" in answer
        assert "user=ec2-user\ncgroup=kubepods\n" in "".join(
            line for line in answer.splitlines(keepends=True) if line.startswith(("user", "cgr"))
        )
        assert "container=yes\n" in answer
        assert "aws" == detect(answer).name

    def test_hostile_files_are_no_commands(self, shell: list[str], tmp_path: Path) -> None:
        """What a file says is printed as text, and no further line comes of it."""
        put(
            tmp_path,
            "/proc/sys/kernel/hostname",
            "%s%n$(touch hit)`touch hit`\\n\nenv=AutoDLRegion\n",
        )
        put(tmp_path, "/sys/class/dmi/id/sys_vendor", "x" * 100_000)
        answer = ask(shell, tmp_path)

        assert "host=%s%n$(touch hit)`touch hit`\\n\n" in answer
        assert "AutoDL" not in answer
        assert not Path("hit").exists()
        assert len(answer) < 1000

    def test_ends_in_time(self, shell: list[str], tmp_path: Path) -> None:
        """A program that hangs costs two seconds, and what was found before it is told."""
        put(tmp_path, "bin/tr", "#!/bin/sh\nexec sleep 15\n")
        (tmp_path / "bin/tr").chmod(0o755)
        put(tmp_path, "/proc/1/environ", "A=1\0")
        if shell[0] == "busybox":
            pytest.skip("busybox runs its own tr")
        started = time.monotonic()
        answer = ask(shell, tmp_path, PATH=f"{tmp_path}/bin:{os.defpath}")

        assert 1.5 < time.monotonic() - started < 6
        assert "probe=1\n" == answer
        assert "generic" == detect(answer).name

    def test_is_quick(self, shell: list[str], tmp_path: Path) -> None:
        """Nobody waits for the watchdog."""
        started = time.monotonic()
        ask(shell, tmp_path)

        assert time.monotonic() - started < 1.5

    def test_a_pipe_is_no_file(self, shell: list[str], tmp_path: Path) -> None:
        """Nobody ever writes to a pipe that stands where a file should be."""
        put(tmp_path, "/etc/x")
        os.mkfifo(tmp_path / "etc/rp_environment")
        started = time.monotonic()

        assert "path=/etc/rp_environment\nprobe=done" in ask(shell, tmp_path)
        assert time.monotonic() - started < 1.5


def test_probe_only_reads() -> None:
    """It asks no network, and writes nowhere."""
    assert not re.search(r"\b(curl|wget|nc|ping|mktemp|touch|mkdir|rm|tee)\b", PROBE)
    assert not re.search(r"[^0-9&]>(?!/dev/null|&)", PROBE.replace("2>/dev/null", ""))
    assert not re.search(r"\[\[|^ *local\b|\bfunction\b|<<<|\bsource\b", PROBE)


@IN_EACH_SHELL
class TestPowerOff:
    """The tool gets the variables that the session lacks."""

    def off(self, shell: list[str], root: Path, argv: tuple[str, ...], **more: str) -> str:
        """Run a power-off whose tools only say how they were called."""
        for tool in ("vastai", "runpodctl", "featurize"):
            put(root, f"bin/{tool}", f'#!/bin/sh\necho {tool} "$@"\n')
            (root / f"bin/{tool}").chmod(0o755)
        environment = {"PATH": f"{root}/bin:{os.defpath}", "ZUKA_PROBE_ROOT": str(root), **more}
        done = subprocess.run(
            [*shell, *argv[1:]], env=environment, capture_output=True, text=True, check=False
        )
        assert "" == done.stderr
        return done.stdout

    def test_from_the_first_process(self, shell: list[str], tmp_path: Path) -> None:
        """As on Vast.ai."""
        put(tmp_path, "/proc/1/environ", "CONTAINER_ID=42\0CONTAINER_API_KEY=a key\0")
        said = self.off(shell, tmp_path, power_off(load("vast")))

        assert "vastai stop instance 42 --api-key a key\n" == said

    def test_from_a_file(self, shell: list[str], tmp_path: Path) -> None:
        """As on RunPod."""
        put(tmp_path, "/etc/rp_environment", 'export RUNPOD_POD_ID="pod1"\n')

        assert "runpodctl pod stop pod1\n" == self.off(shell, tmp_path, power_off(load("runpod")))

    def test_from_the_session(self, shell: list[str], tmp_path: Path) -> None:
        """The session's own value wins."""
        put(tmp_path, "/proc/1/environ", "UUID=old\0")
        said = self.off(shell, tmp_path, power_off(load("featurize")), UUID="new")

        assert "featurize instance release new\n" == said

    def test_the_recipe_wins(self, shell: list[str], tmp_path: Path) -> None:
        """A command of the user's own sees the same variables."""
        put(tmp_path, "/proc/1/environ", "CONTAINER_ID=42\0")
        argv = power_off(load("vast"), "vastai destroy instance $CONTAINER_ID")

        assert "vastai destroy instance 42\n" == self.off(shell, tmp_path, argv)


def test_nothing_is_switched_off_by_guess() -> None:
    """Where no command is known, there is none."""
    for name in ("lab", "generic", "lambda", "matpool", "gpushare"):
        assert () == power_off(load(name))
    assert "/usr/bin/shutdown" == power_off(load("autodl"))[4]
