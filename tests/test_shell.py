"""Values become shell text in one place, and come out of any shell as they were."""

from __future__ import annotations

import io
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zuka import shell
from zuka.framing import Framed
from zuka.steps import Reply, Run

NO_NUL = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40)
SHELLS = [name for name in ("sh", "bash", "dash", "busybox", "fish", "tcsh") if shutil.which(name)]


def run(script: bytes) -> bytes:
    """Run a script as a box does."""
    return subprocess.run(["sh"], input=script, capture_output=True, check=False).stdout


@settings(max_examples=100, deadline=None)
@given(words=st.lists(NO_NUL, max_size=5))
def test_argv_arrives_unchanged(words: list[str]) -> None:
    """Quotes, newlines, dollars, dashes and Chinese mean nothing to the shell."""
    mark = shell.new_mark()
    probe = Run(("printf", "%s\\0", "first", *words))
    reply = shell.Answers(run(shell.ask([[probe]], mark)), mark).reply("0.0")

    assert Reply(0, "".join(f"{word}\0" for word in ("first", *words))) == reply


@pytest.mark.parametrize("login", SHELLS)
@settings(max_examples=30, deadline=None)
@given(text=NO_NUL)
def test_an_argument_passes_every_login_shell(login: str, text: str) -> None:
    """A script that travels as an argument survives sh, bash, fish and tcsh alike."""
    command = shell.as_argument(f"printf %s {shlex.quote(text)}".encode())
    front = ["busybox", "sh"] if login == "busybox" else [login]
    done = subprocess.run([*front, "-c", command], capture_output=True, check=False)

    assert text.encode() == done.stdout, done.stderr


HABITS = {
    "CDPATH": "/",
    "TAR_OPTIONS": "-v",
    "BLOCK_SIZE": "human-readable",
    "QUOTING_STYLE": "c",
    "TIME_STYLE": "iso",
    "POSIXLY_CORRECT": "1",
    "PYTHONHOME": "/nowhere",
    "PATH": "",
}


@pytest.mark.parametrize("name", HABITS)
def test_a_profile_changes_no_answer(name: str, tmp_path: Path) -> None:
    """What a box answers does not depend on what its user likes to see."""
    (tmp_path / "tmp").mkdir()
    (tmp_path / "一 file").write_text("x" * 5000)
    text = "cd tmp && pwd && cd .. && ls -lns && df -Pk . | head -n 1 && tar -cf tmp/a ."
    mark = shell.new_mark()
    script = shell.ask([[Run(("sh", "-c", text))]], mark)

    def said(**more: str) -> Reply | None:
        environment = {**os.environ, "HOME": str(tmp_path), **more}
        done = subprocess.run(
            ["/bin/sh"], input=script, capture_output=True, check=False, env=environment
        )
        return shell.Answers(done.stdout, mark).reply("0.0")

    assert said() == said(**{name: HABITS[name]})


@pytest.mark.parametrize("line", ["", "read -r x", "cat >/dev/null", "head -c 1 >/dev/null"])
def test_a_profile_that_reads_the_input_is_noticed(line: str) -> None:
    """A command whose input does not reach it runs nothing."""
    command = shell.heard(b"echo ran")
    script = ["/bin/sh", "-c", f"{line}\n{command}"]
    done = subprocess.run(script, input=shell.SPOKEN, capture_output=True, check=False)

    assert (b"ran\n" == done.stdout) == (not line), done


def test_a_home_that_was_full_gets_its_name(tmp_path: Path) -> None:
    """An empty file of names, which a full disk left, is written anew."""
    (tmp_path / ".zuka").mkdir()
    (tmp_path / ".zuka" / "box.json").touch()
    mark = shell.new_mark()
    script = shell.order(Run(("cat", "box.json")), mark, shell.Home("abc"))
    environment = {**os.environ, "HOME": str(tmp_path)}
    done = subprocess.run(["sh"], input=script, capture_output=True, check=False, env=environment)
    reply = shell.Answers(done.stdout, mark).order()

    assert Reply(0, '{"format": 1, "id": "abc"}\n') == reply
    assert ["box.json"] == [path.name for path in (tmp_path / ".zuka").iterdir()]


def test_noise_of_any_length_is_skipped() -> None:
    """A profile may print a megabyte, in lines or in one; what never ends is left."""
    mark = shell.new_mark()
    begin = f"\n{mark} begin\nrest".encode()
    for noise in (b"", b"x" * 3_000_000, b"Welcome\n" * 400_000):
        pipe = io.BytesIO(noise + begin)
        assert Framed(pipe, mark).begin()
        assert b"rest" == pipe.read()


@given(noise=st.binary(max_size=200), out=st.binary(max_size=200), code=st.integers(0, 255))
def test_replies_stand_between_marks(noise: bytes, out: bytes, code: int) -> None:
    """What a login shell prints around our marks, and what is in a reply, confuse nobody."""
    mark = "zuka-" + "0" * 24
    head = f"\n{mark} begin 0.0\n".encode()
    text = noise + head + out + f"\n{mark} end 0.0 {code}\n".encode() + noise
    reply = shell.Answers(text, mark).reply("0.0")

    assert reply == Reply(code, out.decode("utf-8", "surrogateescape"))


@pytest.mark.parametrize("cut", range(0, 60, 3))
def test_a_reply_that_was_cut_is_none(cut: int) -> None:
    """Half an answer is no answer."""
    mark = shell.new_mark()
    whole = run(shell.ask([[Run(("echo", "on"))]], mark))

    assert shell.Answers(whole[: -3 - cut], mark).reply("0.0") is None


ESCAPES = [
    ("\x1b[31mred\x1b[0m", "red"),
    ("\x1b]0;title\x07text", "text"),
    ("\x1b]52;c;c2VjcmV0\x1b\\text", "text"),
    ("a\x00b\x08c\x7f", "a?b?c?"),
    ("tab\tstays", "tab\tstays"),
    ("训练 🚀", "训练 🚀"),
    ("\u202eright to left", "?right to left"),
    ("\x9b31mred", "?31mred"),
]


@pytest.mark.parametrize(("raw", "shown"), ESCAPES)
def test_terminal_escapes_are_harmless(raw: str, shown: str) -> None:
    """What comes from a box cannot move the cursor, set titles or hide text."""
    assert shown == shell.clean(raw)


@given(text=st.text())
def test_nothing_dangerous_is_ever_shown(text: str) -> None:
    """Whatever a box prints, no control character but the tab is left."""
    assert not [c for c in shell.clean(text) if (ord(c) < 32 and c != "\t") or ord(c) == 127]
