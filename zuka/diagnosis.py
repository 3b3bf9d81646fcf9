"""Say what a text means that a student may paste, and what ssh says when it fails."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from zuka import memory
from zuka.errors import HostError
from zuka.finding import LANGUAGES, Finding, rows
from zuka.shell import clean, clean_lines

_MOST, _WIDEST = 200_000, 1_000
"""Characters of a text that are read, its last ones; a longer line is read in parts of that."""
_KINDS = ("git", "install", "log", "hub", "ssh", "box", "editor")
"""The catalogue's kinds whose patterns are looked for, in this order."""
_NUMBERS = ("line", "code", "remote", "length", "port", "card", "rank", "signal", "pid", "major")


def diagnose(text: str) -> Finding:
    """Return what a pasted text is: nvidia-smi's or df's output, an error of ssh, a log."""
    text = _bounded(text)
    if not text.strip():
        return Finding("paste", "nothing")
    for reader in _readers():
        found = reader(text)
        if found:
            return found
    return Finding("paste", "unknown", {"lines": len(text.splitlines())})


def _bounded(text: str) -> str:
    """Return the end of a text in lines of bounded length: no pattern can be slow on it."""
    lines = re.split(r"\r*\n|\r", text[-_MOST:])
    parts = [
        line[at : at + _WIDEST] for line in lines for at in range(0, max(len(line), 1), _WIDEST)
    ]
    return "\n".join(parts)


def _readers() -> Iterator[Callable[[str], Finding | None]]:
    from zuka import disks, gpu

    yield gpu.diagnose
    yield lambda text: disks.diagnose(text) if disks.read(text) else None
    yield recognise


def recognise(text: str) -> Finding | None:
    """
    Return the most causal row of the catalogue that a text fits.

    The rows that name one cause come first, then a disk without room, then the weak rows: what
    follows from any cause, such as a connection that is cut.
    """
    from zuka import disks

    lines = _in_one_wording(clean_lines(_bounded(text)))
    return _first(lines, weak=False) or disks.diagnose(lines) or _first(lines, weak=True)


_ABSENT = (
    "未找到命令|找不到命令|未找到指令|找不到指令|コマンドが見つかりません"
    "|명령어?를 찾을 수 없(?:음|습니다)|Kommando nicht gefunden|Befehl nicht gefunden"
    "|commande (?:introuvable|non trouvée)"
    "|orden no encontrada|no se encontró la orden|comando n[ãa]o encontrado|comando non trovato"
    "|команда не найдена"
)
_MISSING = (
    r"command not found: (\S+)$",  # zsh
    r"Unknown command:? '?([\w./+-]+)'?$",  # fish
    r"env: ['\u2018]?([\w.+-]+)['\u2019]?: No such file or directory$",
    r"(?<![\w'\"])(?:/usr)?(?:/local)?/s?bin/([\w.+-]+): No such file or directory$",
    rf"([\w./+-]+)\s*[:\uff1a]\s*(?:{_ABSENT})[.。]?\s*$",
)
"""How shells say that there is no such command, other than bash in English."""


def _in_one_wording(lines: str) -> str:
    """Return a text in which a missing command is told as bash tells it in English."""
    for pattern in _MISSING:
        lines = re.sub(pattern, r"\1: command not found", lines, flags=re.MULTILINE)
    return lines


def _first(lines: str, *, weak: bool) -> Finding | None:
    for row in _patterns():
        if row.weak != weak:
            continue
        found = next((match for pattern in row.match if (match := pattern.search(lines))), None)
        if found and not any(pattern.search(lines) for pattern in row.unless):
            return _refined(Finding(row.kind, row.verdict, _facts(row, lines, found.groupdict())))
    return None


@dataclass(frozen=True, slots=True)
class _Row:
    """A row's patterns: any of ``match``, and none of ``unless``."""

    kind: str
    verdict: str
    match: tuple[re.Pattern[str], ...]
    unless: tuple[re.Pattern[str], ...]
    weak: bool


@cache
def _patterns() -> tuple[_Row, ...]:
    def compiled(patterns: Sequence[str]) -> tuple[re.Pattern[str], ...]:
        return tuple(re.compile(each, re.MULTILINE) for each in patterns)

    return tuple(
        _Row(
            kind,
            verdict,
            compiled(row.get("match", ())),
            compiled(row.get("unless", ())),
            bool(row.get("weak")),
        )
        for kind in _KINDS
        for verdict, row in rows(kind).items()
    )


def _facts(of: _Row, text: str, told: dict[str, Any]) -> dict[str, Any]:
    """Return what the patterns name; what a row speaks of and no pattern found is its blank."""
    row = rows(of.kind)[of.verdict]
    facts: dict[str, Any] = {"machine": "NAME", **_asked_for(row), **row.get("blank", {})}
    for pattern in row.get("facts", ()):
        found = re.search(pattern, text, re.MULTILINE)
        facts |= {
            key: value for key, value in (found.groupdict() if found else {}).items() if value
        }
    facts |= {key: value for key, value in told.items() if value}
    for key in _NUMBERS:
        if re.fullmatch(r"[0-9]{1,12}", str(facts.get(key, ""))):
            facts[key] = int(facts[key])
    for key in facts.keys() & {"text", "what", "host"}:
        facts[key] = _unescaped(str(facts[key])).rstrip(" .:")
    return {**facts, **_shown(facts)}


def _refined(found: Finding) -> Finding:
    """Return a finding that the numbers of its text make more exact."""
    if found.verdict == "cuda-out-of-memory":
        verdict, more = memory.refined(found.facts)
        return Finding(found.kind, verdict or found.verdict, {**found.facts, **more})
    if str(found.facts.get("found", "")).isdigit():  # 9000 is CUDA 9.0, 12040 is 12.4
        number = int(found.facts["found"])
        cuda = f"{number // 1000}.{number % 1000 // 10}"
        return Finding(found.kind, found.verdict, {**found.facts, "cuda": cuda})
    return found


def _asked_for(row: Mapping[str, Any]) -> dict[str, str]:
    """Return a blank for each fact that a row's sentences name."""
    sentences = [text for tongue in LANGUAGES for text in row[tongue].values()]
    parts = [part for text in sentences for part in string.Formatter().parse(text)]
    return {name: "?" for _, name, _, _ in parts if name and name != "machine"}


def _unescaped(text: str) -> str:
    """Return a text in which ssh wrote each byte of a Chinese character as an octal number."""
    raw = re.sub(r"\\([0-3][0-7]{2})", lambda found: chr(int(found[1], 8)), text)
    try:
        return clean(raw.encode("latin-1").decode("utf-8"))
    except UnicodeError:
        return text


def _shown(facts: dict[str, Any]) -> dict[str, str]:
    """Return the parts of a sentence that are there only when a fact is."""
    shown = {}
    if facts.get("host"):
        shown["host_shown"] = f": {facts['host']}"
    if facts.get("offered"):
        shown["offered_shown"] = f" {facts['offered']}"
    for key, order in _ORDERS.items():
        word = decoded(facts[key], order) if key in facts else ""
        if word:
            shown["decoded"] = f" ({facts[key]} = '{word}')"
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


def explain(stderr: str, machine: str, keys: str = "", *, agent: int = 0) -> HostError:
    """
    Return the error that says what ssh's words mean and what to do next.

    ``keys`` are the pinned and the offered host key, ``agent`` is how many keys the agent holds.
    """
    last = clean((stderr.strip().splitlines() or ["no answer"])[-1])
    found = recognise(stderr)
    if found is None:
        return HostError(f"{machine}: {last}", hint=f"zuka doctor {machine}")
    facts = {**found.facts, "machine": machine, "keys": keys}
    if keys:  # they name the offered one
        facts["offered_shown"] = ""
    if agent:
        facts["agent"] = f" ({agent})"
    found = Finding(found.kind, found.verdict, facts)
    means = found.means().rstrip(".。")
    text = f"{machine}: {means[0].lower() if means[1:2].islower() else means[0]}{means[1:]}"
    return HostError(f"{text} (ssh: {last})", hint=found.next())


def hint(said: str) -> str:
    """Return the next step that a failed command's words ask for; empty when nobody knows one."""
    found = recognise(said)
    return found.next() if found else ""


def runs_nothing(out: bytes, machine: str) -> HostError:
    """Return the error for a login that takes no commands, with what it printed instead."""
    said = clean_lines(out.decode("utf-8", "replace")[-2000:]).strip()
    found = recognise(said)
    if found and found.verdict in ("pty-only-proxy", "account-closed", "bastion-needs-terminal"):
        found = Finding(found.kind, found.verdict, {**found.facts, "machine": machine})
        facts = {"machine": machine, "why": found.means(), "next": found.next()}
        return HostError.of("access", "runs-nothing-because", **facts)
    words = f" ({said.splitlines()[-1][:200]})" if said else ""
    return HostError.of("access", "runs-nothing", machine=machine, words=words)
