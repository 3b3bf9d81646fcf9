"""What a console shows is read as ssh reads it, and written down without harm."""

# ruff: noqa: RUF001 - the signs of input methods are what this is about
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
    ("root@[fe80::1%eth0]:22022", {"address": "fe80::1%eth0", "port": 22022, "user": "root"}),
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


PASTED = [
    "$ ssh -p 22022 root@203.0.113.7",
    "root@container-1a2b:~# ssh -p 22022 root@203.0.113.7",
    "PS C:\\Users\\li> ssh -p 22022 root@203.0.113.7",
    "'ssh -p 22022 root@203.0.113.7'",
    '"ssh -p 22022 root@203.0.113.7"',
    "`ssh -p 22022 root@203.0.113.7`",
    "“ssh -p 22022 root@203.0.113.7”",
    "SSH -p 22022 root@203.0.113.7",
    "sudo ssh -p 22022 root@203.0.113.7",
    "sshpass -p s3cret ssh -p 22022 root@203.0.113.7",
    "ssh -p 22022 root@203.0.113.7 Password: s3cret",
    "ssh root@203.0.113.7 -p 22022\nPassword: it's",
    "登录指令：ssh -p 22022 root@203.0.113.7，密码：s3cret",
    "登录指令: ssh -p 22022 root@203.0.113.7。",
    "SSH 登录:\r\nssh -p 22022 root@203.0.113.7；\r\n",
    "ssh root＠203.0.113.7：22022",
    "ssh –p 22022 root@203.0.113.7",
    "ssh\u3000-p\u00a022022\u3000root@\u200b203.0.113.7",
    "ssh -p 22022\nroot@203.0.113.7",
    "ssh -p 22022 \\\n  root@203.0.113.7",
    "ssh -p 22022 root@203.0.113.7\x1b[0m",
    "ssh root:s3cret@203.0.113.7 -p 22022",
    "ssh://root:s3cret@203.0.113.7:22022/",
    "sftp://root@203.0.113.7:22022/root",
    "scp -rP 22022 data root@203.0.113.7:/root",
    "scp -P 22022 root@203.0.113.7:data .",
    "sftp -P 22022 root@203.0.113.7",
    "ssh -oPort=22022 root@203.0.113.7",
    "root@203.0.113.7\t22022",
    '{"host": "203.0.113.7", "port": 22022, "user": "root", "password": "s3cret"}',
    "{'ssh': 'ssh -p 22022 root@203.0.113.7', 'password': 's3cret'}",
    "Host: 203.0.113.7 Port: 22022 User: root Password: s3cret",
    "主机：203.0.113.7 端口：22022 用户名：root 密码：s3cret",
    "公网IP：203.0.113.7\nSSH端口：22022\n用户：root",
    "Host mygpu\n  HostName 203.0.113.7\n  Port 22022\n  User root",
]
"""The same box, as consoles, chats and terminals give it to a hand that copies."""


@pytest.mark.parametrize("text", PASTED)
def test_what_stands_around_an_address(text: str) -> None:
    """Prompts, labels, quotes, input methods and passwords belong to nobody's address."""
    assert address.parse([text]) == FULL


NOT_ONE = [
    "code --remote ssh-remote+root@203.0.113.7 /root",
    "autossh -M 0 -p 22022 root@203.0.113.7",
    "rsync -e 'ssh -p 22022' a root@203.0.113.7:/root",
    "mosh --ssh='ssh -p 22022' root@203.0.113.7",
    "root@203.0.113.7 s3cret",
    "http://203.0.113.7:8888/?token=s3cret",
    "ssh -i <path/to/key> root@203.0.113.7",
    "Password: s3cret",
]


@pytest.mark.parametrize("text", NOT_ONE)
def test_no_word_is_taken_for_a_host_by_chance(text: str) -> None:
    """Where it cannot be told which word is the host, none is; and no password is said again."""
    with pytest.raises(RecipeError) as caught:
        address.parse([text])
    assert caught.value.hint
    if "http" not in text:
        assert "s3cret" not in str(caught.value)


def test_a_windows_path_keeps_its_backslashes() -> None:
    """Whether it is quoted or not."""
    for key in (r"C:\Users\li\key.pem", r'"C:\Users\li\key.pem"'):
        got = address.parse([f"ssh -i {key} root@203.0.113.7"])
        assert r"C:\Users\li\key.pem" == got["key"]


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
