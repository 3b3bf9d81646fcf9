"""A box's checkup: asked for real, whatever hangs, and held against the order."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.e2e.test_hard_boxes import programs
from zuka import checkup
from zuka.finding import LANGUAGES
from zuka.onbox import script

ROOT = Path(__file__).parent.parent
SHELLS = [name for name in ("dash", "bash", "busybox") if shutil.which(name)]


def asked(
    folder: Path,
    shell: str = "sh",
    *,
    seconds: int = 20,
    urls: tuple[str, ...] = (),
    path: str = "/usr/bin:/bin",
    **more: str,
) -> str:
    """Run the checkup with programs of a folder first on PATH, as a box does."""
    argv = [shell, *(["sh"] if shell == "busybox" else []), "-c", script("checkup.sh"), "zuka"]
    done = subprocess.run(
        [*argv, str(seconds), "echo platform=lab", *urls],
        env={"PATH": f"{folder}:{path}", "HOME": str(folder), "TMPDIR": str(folder), **more},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout


def program(folder: Path, name: str, text: str) -> None:
    """Put a stand-in among the box's programs."""
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


def rooms(folder: Path) -> set[Path]:
    """Return the folders whose checkups are over; those of boxes that were killed stay a while."""
    found = {*Path("/dev/shm").glob("zuka.*"), *folder.glob("zuka.*")}
    return {each for each in found if not Path("/proc", each.name.split(".")[1]).exists()}


@pytest.mark.parametrize("shell", SHELLS)
def test_every_part_answers(tmp_path: Path, shell: str) -> None:
    """In any shell, without a driver: what is there is told, and nothing is left behind."""
    before = rooms(tmp_path)
    text = asked(tmp_path, shell)
    got = checkup.read(text, (), time.time())

    assert {"gpu", "disk", "inodes", "limits", "tools", "who", "clock"} <= checkup.parts(
        text
    ).keys()
    assert () == got.unanswered
    assert got.room
    assert "no-command" == got.cards.trouble
    assert got.mounts
    assert got.cpus
    assert got.memory
    assert "tar" in got.tools
    assert abs(got.skew) <= 5
    assert rooms(tmp_path) <= before


@pytest.mark.parametrize("groups", [True, False], ids=["setsid", "no setsid"])
def test_a_driver_that_hangs_ends_in_time(tmp_path: Path, *, groups: bool) -> None:
    """It and its child, which keeps the output open, are ended; the rest is told all the same."""
    program(tmp_path, "nvidia-smi", "sleep 30 &\nwait")
    path = programs(tmp_path / "bare", *(["setsid"] if groups else []))
    began = time.monotonic()
    out = asked(tmp_path, seconds=2, path=path)
    got = checkup.read(out, (), time.time())

    assert time.monotonic() - began < 15
    assert "hung" == got.cards.trouble
    assert got.mounts
    assert "give-back" == checkup.verdict(checkup.findings(got, {"gpu": {"count": 1}})).verdict


HANGS = "trap '' TERM HUP INT\nwhile :; do sleep 300; done"
HANGING: list[tuple[tuple[str, ...], str, str]] = [
    # programs that hang, the name that is told, and the verdict on it
    (("nvidia-smi",), "nvidia-smi", "hung"),
    (("df",), "df", "no-df"),
    (("python3", "python"), "python3", "python-hangs"),
    (("curl", "wget"), "", "unreachable"),
    (("nvidia-smi", "df", "python3", "curl", "sudo"), "sudo", "hung"),
]


@pytest.mark.parametrize(
    ("shell", "names", "told", "verdict"),
    [*(("sh", *row) for row in HANGING), *((shell, *HANGING[-1]) for shell in SHELLS)],
)
def test_whatever_hangs_is_named(
    tmp_path: Path, shell: str, names: tuple[str, ...], told: str, verdict: str
) -> None:
    """It ignores every signal that can be ignored, and is ended all the same; the rest is told."""
    for name in names:
        program(tmp_path, name, HANGS)
    urls = ("https://a.example",)
    began = time.monotonic()
    got = checkup.read(asked(tmp_path, shell, seconds=2, urls=urls), urls, time.time())
    order = {"gpu": {"count": 1}, "disk": {"free": "1 GB"}, "python": ">=3.0"}

    assert time.monotonic() - began < 10
    assert not told or told in got.unanswered
    assert verdict in [each.verdict for each in checkup.findings(got, order)]
    assert got.cpus
    assert [] == at_work(tmp_path)


def at_work(folder: Path) -> list[str]:
    """Return the command lines of processes whose program lies in a folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            line = path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            if f"{folder}/" in line and "checkup" not in line:
                found.append(line)
    return found


def test_a_dead_network_disk_hides_no_other(tmp_path: Path) -> None:
    """`df` of everything hangs on it; that of the folders that count does not."""
    real = shutil.which("df")
    program(tmp_path, "df", f'case "$*" in *" /"*) exec {real} "$@" ;; esac\n{HANGS}')
    got = checkup.read(asked(tmp_path, seconds=2), (), time.time())
    told = [each.verdict for each in checkup.findings(got, {"disk": {"free": "1 MB"}})]

    assert ("df",) == got.unanswered
    assert "no-df" not in told
    assert "not-whole" in told


def test_a_box_that_says_nothing_is_given_back() -> None:
    """No word at all is no missing driver."""
    found = checkup.findings(checkup.read("", (), 0), {"gpu": {"name": "A100"}})

    assert ["no-answer"] == [each.verdict for each in found]


def test_an_answer_is_judged_once() -> None:
    """Its state and what is said of it are of one moment, however often they are asked for."""
    order = {"gpu": {"name": "A100"}, "cpus": 8}

    assert checkup.judge("== clock 0\n", order) is checkup.judge("== clock 0\n", {**order})


def test_a_driver_that_is_being_built_gets_a_moment(tmp_path: Path) -> None:
    """A box that has just been started is asked again; an old one is taken at its word."""
    good, error = "1-4090x2-fresh.in", "1-no-comm.in"
    folder = ROOT / "tests" / "diagnosis" / "1-nvidia-smi"
    once = f"[ -e '{tmp_path}/asked' ] && exec cat '{folder}/{good}'\n"
    program(
        tmp_path, "nvidia-smi", f"{once}touch '{tmp_path}/asked'; cat '{folder}/{error}'; exit 9"
    )
    for seconds, trouble in ((9_999, "no-driver"), (20, "")):
        (tmp_path / "asked").unlink(missing_ok=True)
        (tmp_path / "uptime").write_text(f"{seconds}.57 1.0\n")
        got = checkup.read(asked(tmp_path, ZUKA_UPTIME=str(tmp_path / "uptime")), (), time.time())

        assert trouble == got.cards.trouble


def test_a_driver_off_the_path_is_found(tmp_path: Path) -> None:
    """`ssh host nvidia-smi` has a shorter PATH than a login: usual places are looked at."""
    text = (ROOT / "zuka" / "box" / "checkup.sh").read_text()

    assert all(place in text for place in ("/usr/lib/wsl/lib", "/usr/local/nvidia/bin"))
    program(tmp_path, "nvidia-smi", f"cat '{ROOT}/tests/diagnosis/1-nvidia-smi/1-4090x2-fresh.in'")
    got = checkup.read(asked(tmp_path), (), time.time())
    assert 2 == len(got.cards.cards)


def test_an_address_is_asked_from_the_box(tmp_path: Path) -> None:
    """Any answer is one; none is told with curl's words."""
    program(
        tmp_path,
        "curl",
        'case "$*" in *good*) echo 403 ;; *) echo "curl: (6) no" >&2; exit 6 ;; esac',
    )
    urls = ("https://good.example", "https://bad.example")
    got = checkup.read(asked(tmp_path, urls=urls), urls, time.time())

    assert {"https://good.example": "403", "https://bad.example": "curl: (6) no"} == dict(got.reach)
    [finding] = [each for each in checkup.findings(got, {}) if each.verdict == "unreachable"]
    assert "bad.example" in finding.means()


LIMITS = [
    (
        "cpus 128\ncpu.max 1600000 100000\nMemTotal 1055762868 kB\nmemory.max 128849018880",
        16,
        128849018880,
    ),
    ("cpus 128\ncpu.max max 100000\nMemTotal 1048576 kB\nmemory.max max", 128, 1 << 30),
    (
        "cpus 64\ncpu.quota 50000\ncpu.period 100000\nmemory.max 2147483648\nMemTotal 99999999 kB",
        0.5,
        1 << 31,
    ),
    (
        "cpus 2\ncpu.quota -1\ncpu.period 9\nmemory.max 9223372036854771712\nMemTotal 1048576 kB",
        2,
        1 << 30,
    ),
    ("cpus 4\ncpu.max\nmemory.max", 4, None),
    ("", None, None),
    ("cpus x\ncpu.max 0 0\nmemory.max -1\nMemTotal many", None, None),
]


@pytest.mark.parametrize(("text", "cpus", "memory"), LIMITS)
def test_what_a_container_may_use(text: str, cpus: float | None, memory: int | None) -> None:
    """The container's own limits count, of cgroup v1 and v2, not the host's 128 processors."""
    lines = "".join(f"| {line}\n" for line in text.splitlines())
    got = checkup.read(f"== limits 0\n{lines}", (), 0)

    assert (cpus, memory) == (got.cpus, got.memory)


def answer(**said: str) -> str:
    """Return an answer whose parts say this."""
    parts = {"clock": "1000000000", "tools": "tmux tar", **said}
    text = ""
    for name, body in parts.items():
        code = 127 if name == "gpu" and "not found" in body else 0
        text += f"== {name} {code}\n" + "".join(f"| {line}\n" for line in body.splitlines())
    return text


PYTHON = "/usr/bin/python3 3.8.10\n/opt/py/bin/python3.11 3.11.4"
FINE: dict[str, str] = {}
ORDERS: list[tuple[dict[str, Any], dict[str, str], str, str]] = [
    ({}, FINE, "keep", ""),
    ({"cpus": 8}, {"limits": "cpus 16"}, "keep", ""),
    ({"cpus": 8}, {"limits": "cpus 64\ncpu.max 50000 100000"}, "give-back", "few-cpus"),
    ({"memory": "16 GB"}, {"limits": "MemTotal 16000000 kB"}, "keep", ""),
    (
        {"memory": "64 GB"},
        {"limits": "MemTotal 99999999 kB\nmemory.max 2147483648"},
        "give-back",
        "little-memory",
    ),
    ({"shm": "8 GB"}, {"limits": "shm 65536 65536"}, "give-back", "little-shm"),
    ({}, {"limits": "shm 65536 65536"}, "keep-but", "small-shm"),
    ({}, {"limits": "home /root\nshut /root"}, "give-back", "home-shut"),
    ({"python": ">=3.8"}, {"pythons": PYTHON}, "keep", ""),
    ({"python": ">=3.10"}, {"pythons": PYTHON}, "give-back", "other-python"),
    ({"python": "==3.12"}, {"pythons": PYTHON}, "give-back", "wrong-python"),
    ({"python": ">=3.6"}, {"pythons": "sh: python3: not found"}, "give-back", "no-python"),
    ({}, {"clock": "1000007200"}, "keep-but", "clock-ahead"),
    ({}, {"clock": "999992800"}, "keep-but", "clock-behind"),
    ({}, {"clock": "yesterday"}, "keep", ""),
    ({}, {"tools": "tar gzip"}, "keep-but", "no-tmux"),
    ({}, {"gpu": "sh: nvidia-smi: command not found"}, "keep", ""),
    (
        {"gpu": {"name": "RTX 4090"}},
        {"gpu": "sh: nvidia-smi: command not found"},
        "give-back",
        "no-command",
    ),
    (
        {"gpu": {"name": "RTX 4090"}},
        {"gpu": "0, NVIDIA GeForce RTX 4090 D, 24564 MiB"},
        "give-back",
        "",
    ),
]


@pytest.mark.parametrize(("order", "said", "verdict", "reason"), ORDERS)
def test_the_verdict(
    order: dict[str, Any], said: dict[str, str], verdict: str, reason: str
) -> None:
    """What was ordered and is not there is a reason to give the box back; the rest is told."""
    found = checkup.findings(checkup.read(answer(**said), (), 1_000_000_000), order)

    assert verdict == checkup.verdict(found).verdict, [each.verdict for each in found]
    assert not reason or reason in [each.verdict for each in found]
    for language in LANGUAGES:
        lines = [*checkup.screen(found, "mygpu", language)]
        assert lines[0].startswith("mygpu: ")
        assert all("{" not in line for line in lines)


def test_a_full_disk_is_told() -> None:
    """Where nothing can be written, that is the answer."""
    head = "| Filesystem 1024-blocks Used Available Capacity Mounted on\n"
    text = f"== room 1\n{head}| /dev/vda 100 100 0 100% /\n"
    found = checkup.findings(checkup.read(text, (), 0), {})

    assert "no-room" in [each.verdict for each in found]


@given(text=st.text(max_size=300))
def test_any_answer_is_read(text: str) -> None:
    """What comes from a box is only text."""
    for answer_text in (
        text,
        f"== gpu 0\n| {text}\n== limits 0\n| cpus {text}\n== clock 0\n| {text}",
    ):
        got = checkup.read(answer_text, ("https://a.example",), 0)
        checkup.findings(got, {"gpu": {"name": "A100"}, "disk": {"free": "1 GB"}, "cpus": 1})


def test_what_a_killed_checkup_left_goes_later(tmp_path: Path) -> None:
    """A folder of ours that is old is removed; what only looks like one stays."""
    old, young = tmp_path / "zuka.12.1700000000", tmp_path / "zuka.13.1700000000"
    other = tmp_path / "zuka.mine"
    for folder in (old, young, other):
        folder.mkdir()
        (folder / "gpu").write_text("x")
    for folder in (old, other):
        os.utime(folder, (1_700_000_000, 1_700_000_000))
    asked(tmp_path)

    assert [False, True, True] == [folder.exists() for folder in (old, young, other)]
