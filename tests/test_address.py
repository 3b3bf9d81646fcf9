"""What a console shows is read as ssh reads it, and written down without harm."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zuka import address, machines
from zuka.errors import RecipeError
from zuka.nodes import parse

HOST = {"address": "203.0.113.7"}
FULL = {**HOST, "port": 22022, "user": "root"}
SHOWN = [
    ("-p 22022 root@203.0.113.7", FULL),
    ("ssh -p 22022 root@203.0.113.7", FULL),
    ("/usr/bin/ssh -p22022 root@203.0.113.7", FULL),
    ("ssh root@203.0.113.7 -p 22022", FULL),
    ("ssh -NTp 22022 -l root 203.0.113.7", FULL),
    ("ssh -o Port=22022 -o 'User root' 203.0.113.7", FULL),
    ("ssh://root@203.0.113.7:22022", FULL),
    ("root@203.0.113.7:22022", FULL),
    ("ssh -p 22022 root@203.0.113.7 -L 8080:localhost:8080", FULL),
    ("ssh -CAXt -p 22022 root@203.0.113.7 tmux attach", FULL),
    ("203.0.113.7", HOST),
    ("root@[2001:db8::1]:22022", {"address": "2001:db8::1", "port": 22022, "user": "root"}),
    ("root@2001:db8::1", {"address": "2001:db8::1", "user": "root"}),
    ("-i ~/.ssh/id_rsa -J me@gate:2222 box", {"address": "box", "key": "~/.ssh/id_rsa"}),
    ("ssh -p 41563 root@connect.bjb1.example.com", {"address": "connect.bjb1.example.com"}),
    ("-l a b@c", {"address": "c", "user": "a"}),
    ("ssh -- -p", None),
    ("ssh -p 22", None),
    ("ssh -p <port> root@<host>", None),
    ("ssh -p 99999 root@a", None),
    ("ssh -p x root@a", None),
    ("ssh -oProxyCommand=x", None),
    ("ssh root@'", None),
    ("ssh root@a:b", None),
    ("ssh 控制台给出的主机名 前面", {"address": "控制台给出的主机名"}),
    ("ssh <控制台给出的主机>", None),
]


@pytest.mark.parametrize(("text", "want"), SHOWN)
def test_what_a_console_shows(text: str, want: dict[str, Any] | None) -> None:
    """In one quoted word or in several, options before or behind the host."""
    if want is None:
        with pytest.raises(RecipeError) as caught:
            address.parse([text] if " " in text else text.split())
        assert caught.value.hint
        return
    got = address.parse([text] if "'" in text or " " in text else text.split())

    assert want.items() <= got.items()
    if "'" not in text:
        assert got == address.parse(text.split())


@given(words=st.lists(st.text(max_size=12), max_size=5))
def test_any_words_are_an_address_or_an_error(words: list[str]) -> None:
    """Nothing that is pasted is a traceback, and what is read is an address."""
    try:
        got = address.parse(words)
    except RecipeError:
        return
    assert got["address"]
    assert not got["address"].startswith("-")


BEFORE = """# The boxes of this project.
machines:
  lab:      # under the desk
    address: lab.example.com
    jump: gate.example.com
  mygpu:    # rented
    address: old.example.com   # changes
    port: 1022
    user: "root"
    key: ~/.ssh/id_ed25519
"""


def test_machines_yaml_is_mended_in_place(tmp_path: Path) -> None:
    """Comments, order, the other boxes and what is still true stay."""
    path = tmp_path / "machines.yaml"
    path.write_text(BEFORE)
    path.chmod(0o640)
    address.write(path, "mygpu", FULL)
    want = BEFORE.replace("old.example.com ", "203.0.113.7     ").replace("1022", "22022")

    assert want == path.read_text()
    assert 0o640 == path.stat().st_mode & 0o777


@pytest.mark.parametrize("before", [None, "", "# nothing yet\n", "machines:\n", "machines: {}\n"])
def test_a_new_name_is_added(tmp_path: Path, before: str | None) -> None:
    """Whatever there was, the recipe finds the box under its name."""
    path = tmp_path / "machines.yaml"
    if before is not None:
        path.write_text(before)
    address.write(path, "mygpu", FULL)
    got = machines.resolve(parse("mygpu", "x"), tmp_path)

    assert ("203.0.113.7", 22022, "root") == (got.address, got.port, got.user)
    address.write(path, "mygpu", {"address": "2001:db8::1"})
    got = machines.resolve(parse("mygpu", "x"), tmp_path)
    assert ("2001:db8::1", None, "root") == (got.address, got.port, got.user)


@pytest.mark.parametrize("before", ["machines: [a]\n", "- a\n", "a: b: c\n", "machines: {\n"])
def test_a_file_that_cannot_be_read_is_left_alone(tmp_path: Path, before: str) -> None:
    """A wrong file is an error, and stays as it is."""
    path = tmp_path / "machines.yaml"
    path.write_text(before)
    with pytest.raises(RecipeError, match=r"machines\.yaml"):
        address.write(path, "mygpu", FULL)

    assert before == path.read_text()
