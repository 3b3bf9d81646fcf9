"""What a hand copies from a console: a login command between prompts and labels, or bare facts."""

# ruff: noqa: RUF001 - the signs of input methods are what this is about
from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from zuka.shell import clean

_TYPED = str.maketrans(
    {
        **dict.fromkeys("，。；;、“”‘’「」《》（）`\u00a0\u3000\t\r", " "),
        **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff", None),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\uff0d", "-"),
        "：": ":",
        "＠": "@",
        "．": ".",
    }
)
"""What web pages and input methods make of the signs that ssh knows."""
_PROGRAM = r"(?:^|[\s:;$#>%\"'=&|])(?:[^\s\"'=]*[/\\])?(ssh|scp|sftp)(?:\.exe)?(?=\s|$)"
_LABELS = {
    "address": ("host ?name|ip(?: ?address|地址)?|address", "主机名?|地址"),
    "host": ("host", "主机"),
    "port": ("port", "端口号?"),
    "user": ("user ?name|user|login", "用户名?|账号"),
}
"""What a fact is called: in English as a word of its own, in Chinese also behind another word."""
_VALUE = r"[\"']?(?:[ ]*[:=]\s*|[ ]+)[\"']?([\w\[][\w.:\]-]*)"


def commands(text: str) -> Iterator[tuple[str, list[str]]]:
    """
    Yield the login command that a text holds: its program ("" where none is named) and its words.

    First the line on which it stands, then all lines to the end: a terminal may have broken it.
    """
    text = tidy(text)
    found = re.search(_PROGRAM, text) or re.search(_PROGRAM, text, re.IGNORECASE)
    program = found[1].lower() if found else ""
    if found:
        quote = found[0][0]
        text = text[found.end() :]
        text = text.partition(quote)[0] if quote in "\"'" else text
    for part in dict.fromkeys((text.strip().partition("\n")[0], text)):
        yield program, _split(part)


def tidy(text: str) -> str:
    """Return a pasted text with the signs that ssh knows, its broken lines joined."""
    text = text.translate(_TYPED).replace("\\\n", " ")
    text = "\n".join(map(clean, text.split("\n"))).strip()
    quoted = re.fullmatch(r"([\"'])([^\"']*\s[^\"']*)\1", text)
    return quoted[2] if quoted else text


def _split(text: str) -> list[str]:
    """Return the words of a line; where its quotes are no shell's, what blanks part."""
    reader = shlex.shlex(text, posix=True)
    reader.whitespace_split, reader.commenters = True, ""
    if re.search(r"\b[A-Za-z]:\\", text):
        reader.escape = ""  # a path of Windows
    try:
        return [*reader]
    except ValueError:
        return text.split()


def labelled(text: str) -> dict[str, str]:
    """Return the facts behind labels (`Host: … Port: …`, JSON, ssh_config); empty: no host."""
    text = tidy(text)
    if text.startswith("-") or not re.search(r"[\s\"]", text):
        return {}
    facts: dict[str, str] = {}
    for kind, (english, chinese) in _LABELS.items():
        label = f"(?:(?<![@.a-z0-9-])(?:{english})|{chinese})"
        found = re.search(label + _VALUE, text, re.IGNORECASE)
        if found:
            facts[kind] = found[1].rstrip(".:-")
    address = facts.pop("host", "")
    address = facts.get("address") or address
    return {**facts, "address": address} if address else {}
