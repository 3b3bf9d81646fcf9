"""The user's ssh_config gets one line, asked for, and nothing else of theirs changes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from zuka import sshalias
from zuka.machines import Machine


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep our files away from the user's."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "con fig"))


MINE = "Host *\n    User alice\n\nHost lab\n    HostName lab.example.com\n"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_one_line_at_the_top(tmp_path: Path, end: str) -> None:
    """Copied aside, replaced whole, the mode and the line ends stay; a second time nothing."""
    config = tmp_path / "config"
    config.write_bytes(MINE.replace("\n", end).encode())
    config.chmod(0o640)
    copy = sshalias.include(config)
    first, _, rest = config.read_bytes().partition(end.encode())

    assert copy is not None
    assert MINE.replace("\n", end).encode() == rest == copy.read_bytes()
    assert first.startswith(b"Include ")
    assert 0o640 == config.stat().st_mode & 0o777 == copy.stat().st_mode & 0o777
    assert sshalias.include(config) is None


ABOVE = [
    "Host *\n    User alice\n",
    "Match all\n    Port 22\n",
    "Host lab\n    HostName lab.example.com\n    ",
    "User alice\n",
]


@pytest.mark.parametrize("above", ABOVE)
def test_a_line_that_has_slid_down_is_written_again(tmp_path: Path, above: str) -> None:
    """Below a Host line it holds for that host alone, below a setting it comes too late."""
    config = tmp_path / "config"
    config.write_text("# mine\nInclude other\n")
    sshalias.include(config)
    line = config.read_text().partition("\n")[0]
    config.write_text(f"{above}{line}\n")
    sshalias.write([Machine("mygpu", "203.0.113.7", 22022, "root")], tmp_path)
    sshalias.include(config)
    command = ["ssh", "-F", str(config), "-G", "mygpu"]
    got = subprocess.check_output(command, text=True, stderr=subprocess.DEVNULL).splitlines()

    assert {"user root", "port 22022", "hostname 203.0.113.7"} <= {*got}
    assert sshalias.include(config) is None


def test_what_stands_above_it_may_stay(tmp_path: Path) -> None:
    """Comments and other Includes are no settings."""
    config = tmp_path / "config"
    sshalias.include(config)
    line = config.read_text()
    config.write_text(f"# mine\r\n\r\ninclude conf.d/*\r\n{line}Host *\r\n")

    assert sshalias.include(config) is None


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    """Many keep their ssh_config among their dotfiles."""
    (tmp_path / "dotfiles").write_text(MINE)
    (tmp_path / "config").symlink_to("dotfiles")
    sshalias.include(tmp_path / "config")

    assert (tmp_path / "config").is_symlink()
    assert (tmp_path / "dotfiles").read_text().endswith(MINE)


def test_ssh_reads_it_as_meant(tmp_path: Path) -> None:
    """Our block comes first, so that a `Host *` of the user's does not win over it."""
    project = tmp_path / "my project 100%"
    config = tmp_path / "config"
    config.write_text(MINE)
    sshalias.include(config)
    key = tmp_path / "my keys" / "id"
    boxes = [
        Machine("mygpu", "203.0.113.7", 22022, "root", key, jump="me@gate.example.com:2222"),
        Machine("six", "2001:db8::1"),
    ]
    sshalias.write(boxes, project)

    def asked(name: str) -> dict[str, str]:
        command = ["ssh", "-F", str(config), "-G", name]
        lines = subprocess.check_output(command, text=True).splitlines()
        return dict(reversed([line.partition(" ")[::2] for line in lines]))

    got = asked("mygpu")
    assert ("203.0.113.7", "22022", "root") == (got["hostname"], got["port"], got["user"])
    assert "me@gate.example.com:2222" == got["proxyjump"]
    assert "zuka-mygpu" == got["hostkeyalias"]
    assert str(key) in got["identityfile"]
    assert "my project 100%" in got["userknownhostsfile"]
    assert ("2001:db8::1", "alice") == (asked("six")["hostname"], asked("six")["user"])
    assert "lab.example.com" == asked("lab")["hostname"]
