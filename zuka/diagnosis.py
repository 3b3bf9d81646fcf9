"""Say what a text means that a student may paste, and what ssh says when it fails."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Literal

from zuka.errors import HostError
from zuka.finding import Finding, language, rows
from zuka.shell import clean, clean_lines

_MOST = 1_000_000
"""Characters of a text that are read, its last ones."""
_KINDS = ("ssh", "box", "log")
"""The catalogue's kinds whose patterns are looked for, in this order."""


def diagnose(text: str) -> Finding:
    """Return what a pasted text is: nvidia-smi's or df's output, an error of ssh, a log."""
    text = text[-_MOST:].replace("\r\n", "\n")
    if not text.strip():
        return Finding("paste", "nothing")
    for reader in _readers():
        found = reader(text)
        if found:
            return found
    return Finding("paste", "unknown", {"lines": len(text.splitlines())})


def _readers() -> Iterator[Callable[[str], Finding | None]]:
    from zuka import disks, gpu

    yield gpu.diagnose
    yield lambda text: disks.diagnose(text) if disks.read(text) else None
    yield recognise
    yield disks.diagnose


def recognise(text: str) -> Finding | None:
    """Return the first row of the catalogue that a text fits; the most causal ones stand first."""
    lines = clean_lines(text)
    for kind, verdict, patterns in _patterns():
        found = next((match for pattern in patterns if (match := pattern.search(lines))), None)
        if found:
            return Finding(kind, verdict, _facts(kind, verdict, lines, found.groupdict()))
    return None


@cache
def _patterns() -> tuple[tuple[str, str, tuple[re.Pattern[str], ...]], ...]:
    return tuple(
        (kind, verdict, tuple(re.compile(each, re.MULTILINE) for each in row.get("match", ())))
        for kind in _KINDS
        for verdict, row in rows(kind).items()
    )


def _facts(kind: str, verdict: str, text: str, told: dict[str, Any]) -> dict[str, Any]:
    """Return what the patterns name; what a row speaks of and no pattern found is a blank word."""
    facts: dict[str, Any] = {"machine": "NAME", **_BLANK.get(verdict, {})}
    for pattern in rows(kind)[verdict].get("facts", ()):
        found = re.search(pattern, text, re.MULTILINE)
        facts |= {
            key: value for key, value in (found.groupdict() if found else {}).items() if value
        }
    facts |= {key: value for key, value in told.items() if value}
    for key in ("line", "code", "remote", "length"):
        if re.fullmatch(r"\d{1,12}", str(facts.get(key, ""))):
            facts[key] = int(facts[key])
    if "text" in facts:
        facts["text"] = _unescaped(str(facts["text"]))
    return {**facts, **_shown(facts)}


def _unescaped(text: str) -> str:
    """Return a text in which ssh wrote each byte of a Chinese character as an octal number."""
    raw = re.sub(r"\\([0-3][0-7]{2})", lambda found: chr(int(found[1], 8)), text)
    try:
        return clean(raw.encode("latin-1").decode("utf-8"))
    except UnicodeError:
        return text


_BLANK: dict[str, dict[str, str]] = {
    "host-key-changed": {"keys": "", "file": "~/.ssh/known_hosts"},
    "config-placeholder": {"where": ""},
    "config-wrong": {"file": "ssh_config", "line": "?", "what": "see above"},
    "key-too-open": {"file": "KEY"},
    "too-many-keys": {"agent": "see ssh-add -l"},
    "forwarding-forbidden": {"what": "forwarding is off"},
    "account-closed": {"what": "see above"},
    "not-let-in": {"methods": "publickey"},
    "name-unknown": {"host_shown": ""},
    "shell-not-clean": {"decoded": ""},
}
"""What stands for a fact that a text does not tell."""


def _shown(facts: dict[str, Any]) -> dict[str, str]:
    """Return the parts of a sentence that are there only when a fact is."""
    shown = {}
    if facts.get("host"):
        shown["host_shown"] = f": {facts['host']}"
    for key, order in _ORDERS.items():
        word = decoded(facts[key], order) if key in facts else ""
        if word:
            shown["decoded"] = f"; the number {facts[key]} is the text '{word}'"
    if facts.get("file") and "line" in facts and "where" in facts:
        shown["where"] = f" ({facts['file']}, {facts['line']})"
    return shown


_ORDERS: dict[str, Literal["little", "big"]] = {"remote": "little", "length": "big"}
"""How rsync and scp read four letters as a number."""


def decoded(number: int, order: Literal["little", "big"]) -> str:
    """Return the text that was taken for a number, "" when it was none."""
    if not 0 < number < 1 << 32:
        return ""
    text = number.to_bytes(4, order).decode("latin-1").replace("\x1b", "ESC")
    return text.strip() if clean(text.strip()) == text.strip() else ""


def explain(stderr: str, machine: str, keys: str = "") -> HostError:
    """Return the error that says what ssh's words mean and what to do next."""
    last = clean((stderr.strip().splitlines() or ["no answer"])[-1])
    found = recognise(stderr)
    if found is None:
        return HostError(f"{machine}: {last}", hint=f"zuka doctor {machine}")
    facts = {**found.facts, "machine": machine, "keys": keys}
    found = Finding(found.kind, found.verdict, facts)
    means = found.means(language()).rstrip(".。")
    text = f"{machine}: {means[0].lower() if means[1:2].islower() else means[0]}{means[1:]}"
    return HostError(f"{text} (ssh: {last})", hint=found.next(language()))


def runs_nothing(out: bytes, machine: str) -> HostError:
    """Return the error for a login that takes no commands, with what it printed instead."""
    said = clean_lines(out.decode("utf-8", "replace")[-2000:]).strip()
    found = recognise(said)
    if found and found.verdict in ("pty-only-proxy", "account-closed"):
        found = Finding(found.kind, found.verdict, {**found.facts, "machine": machine})
        text = f"{machine}: this login runs no commands: {found.means(language())}"
        return HostError(text, hint=found.next(language()))
    words = f"; it says: {said.splitlines()[-1][:200]}" if said else ""
    text = f"{machine}: this login runs no commands{words}"
    return HostError(text, hint="is it the right user? give 'user' in machines.yaml")
