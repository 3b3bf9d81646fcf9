"""The one place where values become shell text, and where what a box prints is taken apart."""

from __future__ import annotations

import re
import secrets
import shlex
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from zuka.steps import Reply, Run

_SURROUNDINGS = """\
LC_ALL=C; export LC_ALL
unset CDPATH GREP_OPTIONS TAR_OPTIONS GZIP POSIXLY_CORRECT QUOTING_STYLE TIME_STYLE
unset BLOCKSIZE BLOCK_SIZE DF_BLOCK_SIZE LS_BLOCK_SIZE PYTHONHOME
command -v mkdir >/dev/null || PATH=${PATH:+$PATH:}/usr/local/bin:/usr/bin:/bin; export PATH"""
"""What a profile sets and our programs would heed: another folder, another answer, or none."""
_READING = 'cd "$HOME/.zuka" 2>/dev/null || cd "$HOME" 2>/dev/null || cd / || exit 97'
_ROOM = "{ echo . | cat >.room.$$ || { df -Pk . && df -Pi .; }; rm -f .room.$$; } 2>&1"
"""Says in the words of the system why nothing can be written here, and nothing where it can."""
_OWN_HOME = """\
said=$( exec 2>&1; umask 077
    mkdir -p "${HOME:?is not set}/.zuka" && cd "$HOME/.zuka" || exit
    [ -s box.json ] && exit
    echo '{"format": 1, "id": "{fresh}"}' >.box.$$ || { rm -f .box.$$; {room}; exit 1; }
    ln .box.$$ box.json 2>/dev/null || [ -s box.json ] || cp .box.$$ box.json
    rm -f .box.$$; [ -s box.json ]
) && cd "$HOME/.zuka" || {
    printf '\\n%s begin\\n%s\\n%s end 97\\n' {mark} "no folder ~/.zuka: $said" {mark}
    exit 97
}"""
_KNOWN_HOME = (
    'cd "$HOME/.zuka" 2>/dev/null && grep -qF \'"{known}"\' box.json 2>/dev/null || exit {code}'
)
STRANGER = 98
"""What a script exits with, before it does anything, on another box than the one it is for."""
_BOOT = (
    "cat /proc/sys/kernel/random/boot_id 2>/dev/null || sysctl -n kern.boottime 2>/dev/null;"
    " hostname 2>/dev/null || cat /proc/sys/kernel/hostname"
)
_MOST = 1 << 20
"""Bytes of one reply that are read; a box that says more is cut short."""

_BYTES = ("utf-8", "surrogateescape")

SHELL = "exec /bin/sh"
"""What the box's login shell is told, whichever it is; the script comes by standard input."""

SPOKEN = b"zuka\n"
"""The input of a script that is an argument."""
_HEARING = b"""\
read -r heard
[ "$heard" = zuka ] || { echo 'zuka: the input of a command does not reach it'; exit 96; }
"""


@dataclass(frozen=True, slots=True)
class Home:
    """Zuka's folder on a box: the id that a new one gets, and the one that it has to have."""

    fresh: str
    known: str = ""

    def enter(self, mark: str) -> str:
        """Return the shell text that goes there, or ends; both ids are ours, or were checked."""
        if self.known:
            return _KNOWN_HOME.format(known=self.known, code=STRANGER)
        text = _OWN_HOME.replace("{fresh}", self.fresh).replace("{room}", _ROOM)
        return text.replace("{mark}", mark)


def new_mark() -> str:
    """Return a text that no output can hold by chance, or by guessing."""
    return f"zuka-{secrets.token_hex(12)}"


def ask(questions: Sequence[Sequence[Run]], mark: str) -> bytes:
    """Return a script that only reads: who the box is, and every probe's output between marks."""
    lines = [_READING, *_between(mark, "box", "cat box.json"), *_between(mark, "boot", _BOOT)]
    for number, runs in enumerate(questions):
        for part, run in enumerate(runs):
            lines += _between(mark, f"{number}.{part}", shlex.join(run.argv))
    return _wrapped(lines)


def order(run: Run, mark: str, home: Home) -> bytes:
    """Return a script that carries out one command in our folder, which it makes."""
    return _wrapped(_carried_out(_limited(run), mark, home))


def stream(run: Run, mark: str, home: Home) -> bytes:
    """Return a script whose command's output stands raw between marks; errors stay apart."""
    begin, end = f"printf '\\n%s begin\\n' {mark}", f"printf '\\n%s end %s\\n' {mark} $?"
    return _wrapped([home.enter(mark), begin, f"( {shlex.join(run.argv)} )", end])


def intake(run: Run, mark: str, home: Home) -> str:
    """Return a login shell's argument whose command reads the standard input."""
    lines = _carried_out(shlex.join(run.argv), mark, home)
    return as_argument("\n".join([_SURROUNDINGS, *lines]).encode(*_BYTES))


def as_argument(script: bytes) -> str:
    """
    Return a command line that any login shell hands to sh unharmed.

    What sh, fish, tcsh or printf could take for syntax within single quotes travels as an octal
    escape.
    """
    text = re.sub(rb"[^ -~]|[\\'!%]", lambda found: b"\\%03o" % ord(found[0]), script)
    return f"exec /bin/sh -c 'eval \"$(printf \"$0\")\"' '{text.decode('ascii')}'"


def heard(script: bytes) -> str:
    """Return an argument as of ``as_argument``, whose command has to hear ``SPOKEN`` first."""
    return as_argument(_HEARING + script)


def _carried_out(command: str, mark: str, home: Home) -> list[str]:
    begin, end = f"printf '\\n%s begin\\n' {mark}", f"printf '\\n%s end %s\\n' {mark} $code"
    return [
        home.enter(mark),
        begin,
        f"( {command} ) 2>&1; code=$?",
        f"[ $code = 0 ] || {{ {_ROOM}; }}",
        end,
    ]


def _wrapped(lines: Sequence[str]) -> bytes:
    # A function is read whole before it runs, so nothing in it can read the rest as its input.
    body = "\n".join(["zuka() {", _SURROUNDINGS, *lines, "}", "zuka </dev/null", ""])
    return body.encode(*_BYTES)


def _between(mark: str, name: str, command: str) -> list[str]:
    return [
        f"printf '\\n%s begin %s\\n' {mark} {name}",
        f"( {command} ) 2>/dev/null",
        f"printf '\\n%s end %s %s\\n' {mark} {name} $?",
    ]


def _limited(run: Run) -> str:
    """Return the command, ended on the box itself where it outlives its limit."""
    command, seconds = shlex.join(run.argv), max(1, round(run.limit))
    return f"if command -v timeout >/dev/null; then timeout {seconds} {command}; else {command}; fi"


@dataclass(frozen=True, slots=True)
class Answers:
    """What a box printed between the marks of one script."""

    out: bytes
    mark: str

    @property
    def begun(self) -> bool:
        """Tell whether the script ran at all, whatever a login shell printed around it."""
        return f"\n{self.mark} begin ".encode() in self.out

    @property
    def is_typed(self) -> bool:
        """Tell whether a terminal lies between, which ends each line its own way."""
        return f"\n{self.mark} begin box\r\n".encode() in self.out

    def reply(self, name: str) -> Reply | None:
        """Return one probe's reply; None when its end never came."""
        head, tail = f"\n{self.mark} begin {name}\n", f"\n{self.mark} end {name} "
        start = self.out.find(head.encode())
        stop = self.out.find(tail.encode(), start + len(head) - 1)
        if start < 0 or stop < 0:
            return None
        body = self.out[start + len(head) : max(stop, start + len(head))][:_MOST]
        code = self.out[stop + len(tail) :].partition(b"\n")[0]
        return Reply(int(code) if code.isdigit() else 255, body.decode("utf-8", "surrogateescape"))

    def order(self) -> Reply | None:
        """Return the outcome of one command; None when its end never came."""
        head, tail = f"\n{self.mark} begin\n", f"\n{self.mark} end "
        start, stop = self.out.find(head.encode()), self.out.rfind(tail.encode())
        if start < 0 or stop < start:
            return None
        code = self.out[stop + len(tail) :].partition(b"\n")[0]
        body = self.out[start + len(head) : max(stop, start + len(head))]
        return Reply(int(code) if code.isdigit() else 255, body.decode("utf-8", "surrogateescape"))


def clean(text: str) -> str:
    """Return text that came from a box as it may be shown: no escapes, no controls."""
    text = re.sub(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])", "", text)
    return "".join(c if c == "\t" or not _is_control(c) else "?" for c in text)


def clean_lines(text: str) -> str:
    """Return text of several lines as it may be shown."""
    return "\n".join(map(clean, text.replace("\r", "").strip().split("\n")))


def _is_control(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
