"""The way to a box as a console shows it: ssh's arguments, read and written down."""

from __future__ import annotations

import io
import json
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from zuka import pasted
from zuka.errors import RecipeError
from zuka.finding import Finding
from zuka.rooms import builtin
from zuka.store import write_whole

_WITH_VALUE = {
    "ssh": "BbcDEeFIiJLlmOoPpQRSWw",
    "scp": "cDFiJloPSX",
    "sftp": "BbcDFiJloPRSsX",
}
"""Options that take a value (ssh(1), scp(1), sftp(1), OpenSSH 10)."""
_KEYS = {
    "ssh": {"p": "port", "l": "user", "i": "key", "J": "jump"},
    "scp": {"P": "port", "i": "key", "J": "jump"},
    "sftp": {"P": "port", "i": "key", "J": "jump"},
}
_SETTINGS = {
    "port": "port",
    "user": "user",
    "hostname": "address",
    "identityfile": "key",
    "proxyjump": "jump",
}


def parse(given: Sequence[str]) -> dict[str, Any]:
    """
    Return address, port, user, key and jump of a login command; raise RecipeError.

    ``given`` are its words, or one text that was pasted. What else stands there (forwardings, a
    command, a password) belongs to that one call, and is passed over.
    """
    text = given[0] if len(given) == 1 else shlex.join(given)
    facts: dict[str, Any] = {}
    for program, words in pasted.commands(text):
        facts = _read(program, words) if program else pasted.labelled(text) or _read("", words)
        if "address" in facts:
            break
    if "address" not in facts:
        raise RecipeError.of("address", "no-host")
    if "port" in facts:
        facts["port"] = int(facts["port"]) if str(facts["port"]).isdecimal() else facts["port"]
    _check(facts)
    return {key: facts[key] for key in ("address", "port", "user", "key", "jump") if key in facts}


def _read(program: str, words: Sequence[str]) -> dict[str, Any]:
    """Return the facts of one command; raise RecipeError where its host cannot be told."""
    left = list(words)
    facts: dict[str, Any] = {}
    rest: list[str] = []
    while left:
        word = left.pop(0)
        if word.startswith("-") and word != "--":
            _take_option(program or "ssh", word, left, facts)
        elif word != "--":
            rest.append(word)
    if program == "scp":
        rest = [word for word in rest if ":" in word]
    if program in ("scp", "sftp"):
        rest = [re.sub(r"^((?:[^@/]*@)?(?:\[[^\]]*\]|[^:/]*)):.*", r"\1", word) for word in rest]
    if not program and len(rest) > 1 and rest[1].isdecimal():
        facts.setdefault("port", rest.pop(1))  # a console's table: the host, and then the port
    if not program and len(rest) > 1:
        raise RecipeError.of("address", "many-hosts")
    return {**_destination(rest[0]), **facts} if rest else facts


def _take_option(program: str, word: str, left: list[str], facts: dict[str, Any]) -> None:
    """Read one word of options: `-p 22`, `-p22`, `-NTp 22`."""
    for place, letter in enumerate(word[1:], start=1):
        if letter not in _WITH_VALUE[program]:
            continue
        value = word[place + 1 :] or (left.pop(0) if left else "")
        if letter in _KEYS[program]:
            facts[_KEYS[program][letter]] = value
        elif letter == "o":
            name, _, setting = value.replace("=", " ", 1).partition(" ")
            if name.lower() in _SETTINGS:
                facts[_SETTINGS[name.lower()]] = setting.strip()
        return


def _destination(word: str) -> dict[str, Any]:
    """Read `[user@]host`, `host:port`, `[::1]:port` or `ssh://[user@]host[:port]`."""
    text = re.sub(r"^(?:ssh|scp|sftp|tcp)://([^/]*).*", r"\1", word).rstrip(",")
    user, at, host = text.rpartition("@")
    # A password between the user and the host is nothing to write down.
    who = {"user": re.sub(r"^([^:@]+):[^:@]*$", r"\1", user)} if at else {}
    found = re.fullmatch(r"(?:\[([^\]]*)\]|([^:]*)):([^:]*)", host)
    if not found:
        return {"address": host.strip("[]"), **who}
    port = {"port": found[3]} if found[3] else {}
    return {"address": found[1] or found[2], **who, **port}


def _check(facts: Mapping[str, Any]) -> None:
    from zuka.checking import check
    from zuka.nodes import parse as read_text
    from zuka.places import Problems

    schema = _schema()
    try:
        value = read_text(json.dumps(dict(facts), ensure_ascii=False), "the arguments of ssh")
        problems = [*check(value, schema["definitions"]["box"], "the box")]
    except Problems as error:
        problems = [*error.problems]
    for problem in problems:
        raise RecipeError(problem.text, hint=problem.hint or Finding("address", "no-host").next())


def is_name(name: str) -> bool:
    """Tell whether machines.yaml can name a box so."""
    return bool(re.search(_schema()["properties"]["machines"]["propertyNames"]["pattern"], name))


def _schema() -> Any:
    return json.loads((builtin("schemas") / "machines.schema.json").read_text("utf-8"))


def write(path: Path, name: str, reached: Mapping[str, Any]) -> None:
    """
    Write a box's address into machines.yaml, whole or not at all; comments and order stay.

    What stood there and is not told now is kept, but for the port and the hosts between.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 10**6
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    try:
        whole = yaml.load(text)
    except YAMLError as error:
        place = re.sub(r"\s+", " ", str(error))[:200]
        raise RecipeError.of("address", "file-unreadable", file=path.name, said=place) from None
    whole = {} if whole is None else whole
    if not isinstance(whole, dict) or not isinstance(whole.get("machines") or {}, dict):
        raise RecipeError.of("address", "file-no-map", file=path.name)
    if not whole.get("machines"):
        whole["machines"] = {}
    box = whole["machines"].setdefault(name, {})
    for key in ("port", "jump"):
        if key not in reached:
            box.pop(key, None)
    box.update({key: value for key, value in reached.items() if box.get(key) != value})
    out = io.StringIO()
    yaml.dump(whole, out)
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
    write_whole(path.resolve(), out.getvalue().encode(), mode=mode)
