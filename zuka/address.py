"""The way to a box as a console shows it: ssh's arguments, read and written down."""

from __future__ import annotations

import io
import json
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from zuka.errors import RecipeError
from zuka.rooms import builtin
from zuka.store import write_whole

_WITH_VALUE = "BbcDEeFIiJLlmOoPpQRSWw"
"""Options of ssh that take a value (ssh(1), OpenSSH 10)."""
_KEYS = {"p": "port", "l": "user", "i": "key", "J": "jump"}
_SETTINGS = {
    "port": "port",
    "user": "user",
    "hostname": "address",
    "identityfile": "key",
    "proxyjump": "jump",
}
_EXAMPLE = "as in: zuka rebind mygpu -p 22022 root@203.0.113.7"


def parse(words: Sequence[str]) -> dict[str, Any]:
    """
    Return address, port, user, key and jump of ssh's arguments; raise RecipeError.

    What else stands there (forwardings, a command) belongs to that one call, and is passed over.
    """
    if len(words) == 1 and any(mark in words[0] for mark in " \t"):
        words = _split(words[0])
    left = list(words)
    if left and left[0].rpartition("/")[2] in ("ssh", "ssh.exe"):
        del left[0]
    facts: dict[str, Any] = {}
    while left:
        word = left.pop(0)
        if word.startswith("-") and word != "--":
            _take_option(word, left, facts)
        elif word != "--" and "address" not in facts:
            facts = {**_destination(word), **facts}
    if "address" not in facts:
        raise RecipeError("no host among the arguments of ssh", hint=_EXAMPLE)
    if "port" in facts:
        facts["port"] = int(facts["port"]) if str(facts["port"]).isdigit() else facts["port"]
    _check(facts)
    return {key: facts[key] for key in ("address", "port", "user", "key", "jump") if key in facts}


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise RecipeError(f"not arguments of ssh: {error}", hint=_EXAMPLE) from None


def _take_option(word: str, left: list[str], facts: dict[str, Any]) -> None:
    """Read one word of options: `-p 22`, `-p22`, `-NTp 22`."""
    for place, letter in enumerate(word[1:], start=1):
        if letter not in _WITH_VALUE:
            continue
        value = word[place + 1 :] or (left.pop(0) if left else "")
        if letter in _KEYS:
            facts[_KEYS[letter]] = value
        elif letter == "o":
            name, _, setting = value.replace("=", " ", 1).partition(" ")
            if name.lower() in _SETTINGS:
                facts[_SETTINGS[name.lower()]] = setting.strip()
        return


def _destination(word: str) -> dict[str, Any]:
    """Read `[user@]host`, `host:port`, `[::1]:port` or `ssh://[user@]host[:port]`."""
    text = word.removeprefix("ssh://").rstrip("/")
    user, at, host = text.rpartition("@")
    if host.count(":") > 1 and not host.startswith("["):
        return {"address": host, **({"user": user} if at else {})}
    try:
        parts = urlsplit(f"//{host}")
        port = parts.port
    except ValueError as error:
        raise RecipeError(f"'{word}' is no host: {error}", hint=_EXAMPLE) from None
    # As it is written: urlsplit would make a name of a host lower-case.
    name = host[1 : host.find("]")] if host.startswith("[") else host.partition(":")[0]
    facts: dict[str, Any] = {"address": name}
    return {**facts, **({"user": user} if at else {}), **({"port": port} if port else {})}


def _check(facts: Mapping[str, Any]) -> None:
    from zuka.checking import check
    from zuka.nodes import parse as read_text
    from zuka.places import Problems

    schema = json.loads((builtin("schemas") / "machines.schema.json").read_text("utf-8"))
    try:
        value = read_text(json.dumps(dict(facts), ensure_ascii=False), "the arguments of ssh")
        problems = [*check(value, schema["definitions"]["box"], "the box")]
    except Problems as error:
        problems = [*error.problems]
    for problem in problems:
        raise RecipeError(problem.text, hint=problem.hint or _EXAMPLE)


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
        raise RecipeError(f"{path.name} cannot be read: {place}", hint="zuka check") from None
    whole = {} if whole is None else whole
    if not isinstance(whole, dict) or not isinstance(whole.get("machines") or {}, dict):
        raise RecipeError(f"{path.name} is not a map of machines", hint="zuka check")
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
