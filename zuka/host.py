"""The door to the box: the user's OpenSSH, one master connection, one round trip a question."""

from __future__ import annotations

import contextlib
import re
import secrets
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, TypeVar

from zuka import diagnosis, shell, transfer
from zuka.boxes import BoxId
from zuka.connection import Connection, as_file
from zuka.errors import CrowdedError, HostError, StageError, StrangerError
from zuka.framing import Framed, Framing, Log
from zuka.login import Say, unsaid
from zuka.machines import Machine
from zuka.onbox import script, stop_run
from zuka.steps import Follow, Pull, Push, Reply, Run, RunHere, Step
from zuka.transfer import FileRecord

_T = TypeVar("_T")
_LOOK_TAKES = 120.0
_TAIL = 20
"""Lines of a command's output that are shown."""
_WIDEST = 500


class Watch(Protocol):
    """Who is told what a step does while it does it."""

    def log(self, line: str) -> None:
        """Show a line of a run's log."""
        ...

    def progress(self, done: int, total: int) -> None:
        """Show how many bytes of how many are done."""
        ...

    def note(self, text: str) -> None:
        """Show something that has to be known."""
        ...


@dataclass(frozen=True, slots=True)
class Look:
    """What a box answered in one round trip."""

    box: BoxId
    replies: tuple[tuple[Reply, ...], ...]


class Host(Protocol):
    """Where questions and steps go."""

    def look(self, questions: Sequence[Sequence[Run]]) -> Look:
        """Ask everything at once; raise HostError when the box cannot be asked."""
        ...

    def do(self, step: Step, watch: Watch) -> None:
        """Carry out one step; raise StageError when it fails."""
        ...

    def pull(self, step: Pull, into: Path, watch: Watch) -> dict[str, FileRecord]:
        """Bring results into a new folder, verified; return every file's digest."""
        ...

    def abandon(self) -> None:
        """End our own ssh clients; what runs on the box goes on."""
        ...

    def forget_master(self) -> None:
        """Close the connection, which leads nowhere any more."""
        ...


class SshHost:
    """A box behind the user's own OpenSSH."""

    def __init__(  # noqa: PLR0913 - all that a door is
        self,
        machine: Machine,
        state: Path,
        project: Path,
        *,
        patience: float = 60,
        say: Say = unsaid,
        asks: bool = False,
    ) -> None:
        self._name = machine.name
        self._project = project
        self._patience = patience
        self._connection = Connection(machine, state, say, asks=asks)
        self._home = shell.Home(secrets.token_hex(8))

    def look(self, questions: Sequence[Sequence[Run]]) -> Look:
        """Ask everything at once; raise HostError when the box cannot be asked."""
        mark = shell.new_mark()
        script = shell.ask(questions, mark)
        text = _in_turn(lambda: self._connection.exchange(script, limit=_LOOK_TAKES, shortest=True))
        answers = shell.Answers(text, mark)
        if not answers.begun:
            raise diagnosis.runs_nothing(text, self._name)
        if answers.is_typed:
            raise HostError.of("access", "terminal-between", machine=self._name)
        box, boot = answers.reply("box"), answers.reply("boot")
        replies = tuple(
            tuple(answers.reply(f"{n}.{part}") or Reply(255) for part, _ in enumerate(runs))
            for n, runs in enumerate(questions)
        )
        if box is None or boot is None or any(None in each for each in replies):
            raise HostError.of("access", "answer-cut-short", machine=self._name)
        names = [*shell.clean_lines(boot.out).split("\n"), ""]
        found = BoxId(_box_id(box.out), names[0][:80], names[1][:80])
        self._home = replace(self._home, known=found.id or "")
        return Look(found, replies)

    def do(self, step: Step, watch: Watch) -> None:
        """Carry out one step; raise StageError when it fails."""
        match step:
            case Run():
                _in_turn(lambda: self._run(step, watch))
            case RunHere():
                self._run_here(step)
            case Push():
                _in_turn(lambda: self._push(step, watch))
            case Follow():
                self._follow(step, watch)
            case Pull():
                raise AssertionError("results need a folder: call pull")

    def _run(self, step: Run, watch: Watch) -> None:
        mark = shell.new_mark()
        text = self._connection.exchange(shell.order(step, mark, self._home), limit=step.limit + 10)
        reply = shell.Answers(text, mark).order()
        _raise_for(step, reply)
        for line in _notes(reply):
            watch.note(line)

    def _run_here(self, step: RunHere) -> None:
        import sh

        try:
            sh.Command(step.argv[0])(*step.argv[1:], _cwd=str(self._project), _in="")
        except sh.ErrorReturnCode as error:
            tail = error.stderr.decode(errors="replace").strip()
            raise StageError(f"'{step}' exited with {error.exit_code}\n{tail}") from None
        except sh.CommandNotFound:
            raise StageError(f"'{step.argv[0]}' is not installed here") from None

    def _push(self, step: Push, watch: Watch) -> None:
        tree, mark = step.tree, shell.new_mark()
        run = Run(
            ("sh", "-c", script("unpack.sh"), "zuka", step.target, str(tree.count), str(tree.size))
        )
        with self._connection.client(
            shell.intake(run, mark, self._home), stdin=subprocess.PIPE
        ) as client:
            if not Framed(client.stdout, mark).begin():  # not a byte before the box said its name
                self._connection.refuse_a_stranger(client)
                raise self._connection.diagnosed(client)
            try:
                transfer.send(tree, client.stdin, watch.progress)
                client.stdin.close()
            except BrokenPipeError:
                pass  # the box says why, below
            except StageError:
                client.kill()  # without its end the box drops what came so far
                raise
            text = f"\n{mark} begin\n".encode() + client.stdout.read()
        reply = shell.Answers(text, mark).order()
        if reply is None:
            raise HostError.of("access", "cut-while-sending", machine=self._name, what=tree)
        _raise_for(Run(run.argv, shown=str(step)), reply)

    def pull(self, step: Pull, into: Path, watch: Watch) -> dict[str, FileRecord]:
        """Bring results into a new folder, verified; return every file's digest."""
        return _in_turn(lambda: self._pull(step, into, watch))

    def _pull(self, step: Pull, into: Path, watch: Watch) -> dict[str, FileRecord]:
        mark = shell.new_mark()
        run = Run(("sh", "-c", script("pack.sh"), "zuka", step.run, *step.paths))
        with (
            as_file(shell.stream(run, mark, self._home)) as text,
            self._connection.client(shell.SHELL, stdin=text) as client,
        ):
            source = Framed(client.stdout, mark)
            if not source.begin():
                self._connection.refuse_a_stranger(client)
                raise self._connection.diagnosed(client)
            try:
                files = transfer.receive(source, into, watch.progress, watch.note)  # type: ignore[arg-type]
            except StageError as error:
                said = "" if source.code() == 0 else f": {client.said()}"
                raise StageError(f"{error.args[0]}{said}", hint=error.hint) from None
            if source.code() != 0:
                raise StageError(f"'{step}' failed on the box: {client.said()}")
        return files

    def _follow(self, step: Follow, watch: Watch) -> None:
        """Show a run's log from its first byte until it ends, through lost connections."""
        log, lost_since = Log(watch.log), 0.0
        deadline = time.monotonic() + step.within if step.within else float("inf")
        while True:
            mark = shell.new_mark()
            before = log.count
            run = Run(("sh", "-c", script("follow.sh"), "zuka", step.run, str(before), mark))
            try:
                ended = self._follow_once(run, Framing(mark, log), deadline)
            except CrowdedError:
                continue  # the connection lets us in when a session is free
            except StrangerError:
                raise
            except HostError:
                lost_since = lost_since or time.monotonic()
                if time.monotonic() - lost_since > self._patience:
                    raise
                time.sleep(1)
                continue
            if ended:
                return
            if time.monotonic() > deadline:
                self._run(stop_run(step.run), watch)
                raise StageError(
                    f"run {step.run} took longer than {step.within:.0f} s and was stopped",
                    hint="give it more time, or less to do",
                )
            if log.count > before:
                lost_since = 0.0
            lost_since = lost_since or time.monotonic()
            if time.monotonic() - lost_since > self._patience:
                raise HostError.of("access", "link-gone", machine=self._name, run=step.run)
            time.sleep(0.2)

    def _follow_once(self, run: Run, framing: Framing, deadline: float) -> bool:
        """Follow until the run ends, or the connection does; tell whether the run did."""
        with (
            as_file(shell.stream(run, framing.mark, self._home)) as text,
            self._connection.client(shell.SHELL, stdin=text) as client,
        ):
            for block in client.blocks(deadline):
                framing.take(block)
                if framing.ended:
                    return True
            if time.monotonic() < deadline:
                self._connection.refuse_a_stranger(client)
                self._connection.raise_if_crowded(client)
        return framing.ended

    def abandon(self) -> None:
        """End our own ssh clients; what runs on the box goes on."""
        self._connection.abandon()

    def forget_master(self) -> None:
        """Close the connection, which leads nowhere any more."""
        self._connection.close()


def _in_turn(act: Callable[[], _T]) -> _T:
    """Do something that needs a session; where the box allows few, wait for one to be free."""
    while True:
        with contextlib.suppress(CrowdedError):
            return act()


def _raise_for(step: Run, reply: Reply | None) -> None:
    if reply is None:
        raise HostError.of("access", "cut-during", step=step)
    if reply.code:
        tail = "\n".join(map(shell.clean, reply.out.strip().splitlines()[-_TAIL:]))
        shown = str(step) if len(str(step)) < 500 else f"{str(step)[:500]}…"  # noqa: PLR2004
        text = f"'{shell.clean(shown)}' exited with {reply.code}\n{tail}".rstrip()
        raise StageError(text, hint=diagnosis.hint(tail))


def _notes(reply: Reply | None) -> list[str]:
    """Return what a command that went well wants to be known: its lines that begin with "note:"."""
    lines = reply.out.splitlines() if reply else []
    said = [shell.clean(line)[:_WIDEST] for line in lines if line.startswith("note: ")]
    return [line.removeprefix("note: ") for line in said[:_TAIL]]


def _box_id(text: str) -> str | None:
    import json

    try:
        value = json.loads(text)
    except ValueError:
        return None
    found = value.get("id") if isinstance(value, dict) else None
    # It stands in scripts later: a box that calls itself anything else has no name.
    is_name = isinstance(found, str) and re.fullmatch(r"[A-Za-z0-9-]{1,64}", found)
    return found if is_name else None
