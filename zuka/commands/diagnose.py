"""Say what a pasted text means."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from zuka.errors import RecipeError
from zuka.finding import LANGUAGES, Finding, language

HELP = "say what an error, nvidia-smi, df or the end of a log means, and what to do next"
EXAMPLES = """\
example:
  zuka diagnose error.txt                   what it is, what it means, what to do next
  ssh mygpu true 2>&1 | zuka diagnose -     from a pipe
  zuka diagnose - --json                    {"kind", "verdict", "facts", "advice": {"en", "zh"}}
"""
_TAIL = 1 << 20
"""Bytes of a file that are read, its last ones: a log may be large."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("file", nargs="?", default="-", help="a file, or - for the standard input")
    parser.add_argument("--json", action="store_true", help="for a machine, on one line")
    parser.add_argument("--lang", choices=LANGUAGES, help="the language of the answer")


def run(arguments: argparse.Namespace) -> int:
    """Print what the text means; exit with 1 when it is not known."""
    found = _found(_raw(arguments.file))
    if arguments.json:
        sys.stdout.write(json.dumps(found.plain(), ensure_ascii=False) + "\n")
    else:
        _show(found, arguments)
    return 1 if found.kind == "paste" else 0


def _found(raw: bytes) -> Finding:
    """Return what is found in the first way of reading the bytes in which anything is."""
    from zuka.diagnosis import diagnose

    found = None
    for encoding in _encodings(raw):
        try:
            got = diagnose(raw.decode(encoding, "replace" if encoding == "utf-8" else "strict"))
        except UnicodeDecodeError:
            continue
        if got.kind != "paste":
            return got
        found = found or got
    return found or diagnose("")


def _encodings(raw: bytes) -> tuple[str, ...]:
    """Return how bytes may be meant: Windows writes UTF-16 and the code page of its country."""
    nuls = raw.count(0)
    if nuls * 5 > len(raw):
        return ("utf-16-be" if raw[0::2].count(0) * 2 > nuls else "utf-16-le", "utf-8")
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return ("utf-8", "gb18030", "cp1252", "cp932", "big5", "cp949", "cp1251")
    return ("utf-8",)


def _raw(name: str) -> bytes:
    if name == "-":
        if sys.stdin.isatty():
            sys.stderr.write("paste the text, then press Ctrl-D on a line of its own\n")
        return sys.stdin.buffer.read()[-_TAIL:]
    try:
        with Path(name).open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, (size - _TAIL) // 2 * 2))  # UTF-16 stays whole
            return file.read()
    except OSError as error:
        raise RecipeError(
            f"{name} cannot be read: {error.strerror}", hint="or - for a pipe"
        ) from None


def _show(found: Finding, arguments: argparse.Namespace) -> None:
    tongue = arguments.lang or language()
    sys.stdout.write(f"{found.kind}: {found.verdict}\n  {found.means(tongue)}\n")
    if found.next(tongue):
        sys.stdout.write(f"  -> {found.next(tongue)}\n")
