"""Values become shell text in one place, and come out of any shell as they were."""

from __future__ import annotations

import shlex
import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zuka import shell
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
