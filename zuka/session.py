"""One recipe on one box: look once, act, look again; only the box's answer counts."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from zuka import login
from zuka.boxes import Boxes, BoxId
from zuka.demand import still_needed, upstream
from zuka.errors import Error, HostError, StageError
from zuka.host import Host, SshHost, Watch
from zuka.machines import Machine
from zuka.recipe import Recipe
from zuka.records import Dues, Record, half_of, publish, room_for
from zuka.shell import clean
from zuka.stage import Product, Pull, Reply, RunHere, State, Step
from zuka.survey import Grounds, Survey, Surveyed, survey
from zuka.ui import say_aside

_POWER_OFF_TAKES = 30.0
"""Seconds that a box may still answer after it was told to go."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the box said of one stage, and when (a count of acts, not a clock)."""

    desired: State
    actual: State
    lines: tuple[str, ...]
    after: int
    remarks: tuple[str, ...] = ()
    silent: bool = False
    """The box was told to go before, and does not answer any more."""


@dataclass(eq=False, repr=False)
class Session:
    """
    A run of one recipe, or a question about it.

    Threads of a parallel run share it: ``act`` runs in them, everything else in the main thread.
    """

    project: Path
    recipe: Recipe
    chosen: tuple[str, ...] = ()
    asks: bool = False
    """It only asks: no key is made for it, and none is let in."""
    _answers: dict[str, Answer] = field(default_factory=dict)
    _acted: dict[str, int] = field(default_factory=dict)
    _decided: tuple[frozenset[str], set[str]] | None = None
    _met: str = ""
    _guard: threading.RLock = field(default_factory=threading.RLock)

    # -- what is known without the box

    def choose(self, names: Sequence[str]) -> None:
        """Begin anew with the stages that the user named; none is all of them."""
        self.chosen = tuple(names)
        self.__dict__.pop("survey", None)
        self._answers.clear()
        self._decided = None
        self._acted.clear()

    @cached_property
    def public_key(self) -> str:
        """Return the public half of the key that opens the box; a sandbox is rented to have one."""
        return login.public(self.machine.key) if self.machine.key else ""

    @property
    def address(self) -> str:
        """Return where the box is reached; empty where an alias of ssh_config tells it."""
        return self.recipe.machine.address

    @property
    def platform(self) -> str:
        """Return who rents the box out, as machines.yaml names it; empty: it does not."""
        # A sandbox shows the marks of the laptop, which may be a rented box itself.
        return "generic" if self.recipe.machine.sandbox else self.recipe.machine.platform

    @property
    def profile(self) -> Mapping[str, Any]:
        """Return what the user knows better of the box than its platform's profile does."""
        return self.recipe.machine.profile

    @property
    def is_off(self) -> bool:
        """Tell whether whoever rents the box out says that it is off; False when nobody can say."""
        if not self.recipe.machine.sandbox:
            return False
        from zuka import sandbox

        return sandbox.state(self.project).state != "on"

    @property
    def grounds(self) -> Grounds:
        """Return what surveys of this session stand on."""
        return Grounds(self.project, self)

    @cached_property
    def survey(self) -> Survey:
        """Return the local pass, made once."""
        return survey(self.grounds, self.recipe, self.chosen)

    @cached_property
    def machine(self) -> Machine:
        """Return how the box is reached; the sandbox is switched on for it."""
        machine = self.recipe.machine
        if machine.sandbox:
            from zuka import sandbox

            return sandbox.rent(self.project, bin=machine.bin)
        return machine

    @cached_property
    def host(self) -> Host:
        """Return the door to the box; opening it is the first packet sent."""
        return SshHost(
            self.machine, self.grounds.state, self.project, say=say_aside, asks=self.asks
        )

    @cached_property
    def boxes(self) -> Boxes:
        """Return the boxes met in this project."""
        return Boxes(self.grounds.state / "boxes")

    @property
    def has_answered(self) -> bool:
        """Tell whether the box has answered in this run, so that it is on."""
        return any(not answer.silent for answer in self._answers.values())

    def power(self, dues: Dues) -> str:
        """Return "on", "off", or "unknown" where the dues are not of the box under this name."""
        if self.recipe.machine.sandbox:
            return "off" if self.is_off else "on"
        name = self.recipe.machine.name
        if self.boxes.is_rebound(name) or (dues.off and dues.box != self.boxes.known(name)):
            return "unknown"
        return "off" if dues.off else "on" if dues.used else "unknown"

    def task(self, name: str) -> str:
        """Return a stage's name as doit knows it."""
        return f"{self.recipe.name}:{name}"

    def fingerprint(self, name: str) -> str:
        """Return the digest of a stage's inputs and of all it descends from."""
        return self.survey.stages[name].site.fingerprint

    # -- what the box says

    def why(self, name: str) -> tuple[str, ...]:
        """Return why a stage would run now, a line a reason; no line: it would not."""
        if name not in self.survey.needed:
            return ()
        if isinstance(self.survey.stages[name].placed.stage, Product):
            return (self.survey.needed[name],)
        self._ask_unless_fresh(name)
        return self._answers[name].lines if name in self._still_needed() else ()

    def remarks(self, name: str) -> tuple[str, ...]:
        """Return what the box's newest answer about a stage is worth knowing for."""
        answer = self._answers.get(name)
        return answer.remarks if answer else ()

    def was_asked(self, name: str) -> bool:
        """Tell whether the box was asked about a stage that is needed still."""
        return name in self._answers and name in self._still_needed()

    def is_settled(self, name: str) -> bool:
        """Tell whether a stage acted, or was found as asked, or is not needed any more."""
        return name in self._acted or not self.why(name)

    def _still_needed(self) -> set[str]:
        as_asked = frozenset(known for known, answer in self._answers.items() if not answer.lines)
        if self._decided is None or self._decided[0] != as_asked:
            self._decided = (as_asked, still_needed(self.survey.standings, as_asked))
        return self._decided[1]

    def _ask_unless_fresh(self, name: str) -> None:
        """Ask the box when it was not asked yet, or when what the stage needs acted since."""
        with self._guard:
            if self._is_stale(name):
                left = self._stale()
                try:
                    self._ask(left)
                except HostError as error:
                    self._take_silence([self.survey.stages[each] for each in left], error)

    def _stale(self) -> list[str]:
        """Return the needed stages that have not acted, and of which the box has to be asked."""
        return [n for n in self.survey.needed if n not in self._acted and self._is_stale(n)]

    def _is_stale(self, name: str) -> bool:
        answer = self._answers.get(name)
        acted = self._acted and upstream([name], self.survey.needs) & self._acted.keys()
        newest = max((self._acted[need] for need in acted), default=0)
        return answer is None or answer.after < newest

    def _ask(self, names: Sequence[str]) -> None:
        """Ask the box about stages, in one round trip."""
        items = [self.survey.stages[name] for name in names]
        items = [item for item in items if not isinstance(item.placed.stage, Product)]
        after = len(self._acted)
        look = self.host.look([item.placed.stage.probe(item.site) for item in items])
        self.boxes.check(self.machine.name, look.box)
        if self._acted:
            self.boxes.remember(self.machine.name, look.box)
        self._met = look.box.id or ""
        self._owe_to(look.box)
        for item, replies in zip(items, look.replies, strict=True):
            self._answers[item.placed.name] = _read(item, replies, after)

    def _owe_to(self, met: BoxId) -> None:
        """Let the dues be those of the box that answers: another one is owed nothing yet."""
        file = self.grounds.dues(self.recipe.name)
        dues = file.read(None)
        if not dues.used or dues.box == met.id:
            return
        if met.id and not dues.box:
            file.write(replace(dues, box=met.id))
        elif dues.box and (met.id or self.boxes.is_rebound(self.machine.name)):
            # One without an id may be the same that lost its folder, unless the user said another.
            file.write(Dues(off=True, done=dues.done))
            self.__dict__.pop("survey")
            self._decided = None

    def _take_silence(self, items: Sequence[Surveyed], error: HostError) -> None:
        """Take silence for the answer of a box that was told to go; else raise the error."""
        if any(item.placed.stage.role != "finish" for item in items):
            raise error
        last = self.grounds.journal.last("started", "done")
        for item in items:
            told = last.get(self.task(item.placed.name), {}).get("event") == "started"
            if not (item.placed.stage.survives_silence and told):
                owed = {"said": error.args[0], "stages": ", ".join(self.survey.needed)}
                facts = {**owed, "next": error.hint, "machine": self.recipe.machine.name}
                raise HostError.of("access", "still-owed", **facts) from None
            answer = _read(item, _silence(item), len(self._acted))
            lines = ("it was told to go, and does not answer any more",)
            self._answers[item.placed.name] = replace(answer, lines=lines, silent=True)

    # -- what is done

    def act(self, name: str, watch: Watch) -> None:
        """Carry out a stage's plan and prove it; raise Error when the box does not agree."""
        item = self.survey.stages[name]
        began = time.monotonic()
        facts = {"fingerprint": item.site.fingerprint}
        self.grounds.journal.add("started", self.task(name), **facts)
        try:
            self._carry_out(item, watch)
            self._prove(item)
        except Error as error:
            self.grounds.journal.add("failed", self.task(name), why=str(error)[:1000], **facts)
            raise
        seconds = round(time.monotonic() - began, 3)
        self.grounds.journal.add("done", self.task(name), seconds=seconds, **facts)

    def accept(self, name: str) -> None:
        """Write down what was found done: a finish stage, or one that had failed."""
        item = self.survey.stages[name]
        journal, task = self.grounds.journal, self.task(name)
        if journal.last("done", "failed", "as asked").get(task, {}).get("event") == "failed":
            journal.add("as asked", task)
        if item.placed.stage.role == "finish" and not item.placed.stage.survives_silence:
            self._settle(item)

    def steps(self, name: str) -> Iterator[Step]:
        """Yield what would be done for a stage, from the box's newest answer."""
        item, answer = self.survey.stages[name], self._answers.get(name)
        stage = item.placed.stage
        desired = answer.desired if answer else stage.desired(item.site)
        actual = answer.actual if answer else stage.actual(item.site, ())
        yield from stage.plan(item.site, desired, actual)

    def _carry_out(self, item: Surveyed, watch: Watch) -> None:
        lines = self.why(item.placed.name)
        answer = self._answers.get(item.placed.name)
        if answer and answer.silent:
            return
        idle = True
        for step in self.steps(item.placed.name):
            idle = False
            if not isinstance(step, RunHere):
                self._mark_used(item)
            if isinstance(step, Pull):
                self._keep(item, step, watch)
            else:
                self._do(item, step, watch)
        if idle:
            raise StageError(_refusal(item, lines), hint=f"edit {item.placed.place}, or the box")

    def _do(self, item: Surveyed, step: Step, watch: Watch) -> None:
        try:
            self.host.do(step, watch)
        except HostError:
            # A box that is told to go may be gone before it says that it heard; _prove decides.
            if not item.placed.stage.survives_silence:
                raise

    def _mark_used(self, item: Surveyed) -> None:
        """Write down that the box is owed its finish, before anything is sent."""
        if item.placed.stage.role == "finish":
            return
        with self._guard:
            file = self.grounds.dues(self.recipe.name)
            dues = file.read(self.survey.dues)
            if not dues.used or dues.done or dues.off:
                file.write(Dues(used=True, box=self._met))

    def _keep(self, item: Surveyed, step: Pull, watch: Watch) -> None:
        """Bring results home: verified, under a new name, with the record that proves them."""
        folder = room_for(self.project / Path(step.target).parent, Path(step.target).name)
        half = half_of(folder)
        files = self.host.pull(step, half, watch)
        digests = {name: file.sha256 for name, file in files.items()}
        dues = self.grounds.dues(self.recipe.name).read(self.survey.dues)
        facts = {
            "at": round(time.time(), 3),
            "recipe": self.recipe.name,
            "machine": self.machine.name,
            "box": self.boxes.known(self.machine.name),
            "vars": dict(self.recipe.vars),
            "inputs": {name: dict(each.inputs) for name, each in self.survey.stages.items()},
        }
        publish(half, Record(folder, item.site.fingerprint, step.run, digests, facts, dues))

    def _prove(self, item: Surveyed) -> None:
        """Look again; raise StageError when the stage is still not as asked."""
        name = item.placed.name
        if isinstance(item.placed.stage, Product):
            lines: Sequence[str] = self._product_left(name)
        else:
            self._unchanged(item)
            lines = self._look_again(item)
        if lines:
            stage = item.placed.stage
            raise StageError(f"still not as asked: {'; '.join(lines)}", hint=stage.mend)
        if item.placed.stage.role == "finish":
            self._settle(item)

    def _product_left(self, name: str) -> list[str]:
        again = survey(self.grounds, self.recipe)
        missing = {standing.name: standing.missing for standing in again.standings}[name]
        same = again.stages[name].site.fingerprint == self.survey.stages[name].site.fingerprint
        # Files that changed meanwhile make new work, but these results are whole all the same.
        return [missing] if missing and same and "forget" not in missing else []

    def _unchanged(self, item: Surveyed) -> None:
        """Raise StageError when a local file of the stage changed while it ran."""
        site = replace(item.site, reader=self.grounds.reader(), fingerprint="")
        now = item.placed.stage.inputs(site)
        changed = [key for key, value in item.inputs.items() if now.get(key) != value]
        if changed:
            raise StageError(
                f"its {', '.join(changed)} changed while it ran, so what is on the box is old",
                hint="run again: only what changed is done",
            )

    def _look_again(self, item: Surveyed) -> tuple[str, ...]:
        name = item.placed.name
        with self._guard:
            self._acted[name] = len(self._acted) + 1
            if item.placed.stage.survives_silence:
                return self._wait_for_silence(item)
            self._ask([name, *self._stale()])
            return self._answers[name].lines

    def _wait_for_silence(self, item: Surveyed) -> tuple[str, ...]:
        """Ask until the box has gone or is as asked."""
        deadline = time.monotonic() + _POWER_OFF_TAKES
        while True:
            try:
                self._ask([item.placed.name])
            except HostError:
                self._answers[item.placed.name] = _read(item, _silence(item), len(self._acted))
            lines = self._answers[item.placed.name].lines
            # Where somebody can say whether the box is off, a closed connection is not enough.
            sure = self.is_off or not self.recipe.machine.sandbox
            if (not lines and sure) or time.monotonic() > deadline:
                return lines if sure else ("its power is not off yet",)
            time.sleep(0.2)

    def _settle(self, item: Surveyed) -> None:
        """Write down that one finish stage is done, also beside the results."""
        with self._guard:
            file = self.grounds.dues(self.recipe.name)
            dues = file.read(self.survey.dues)
            done = {**dues.done, item.placed.name: item.site.fingerprint}
            off = item.placed.stage.survives_silence
            dues = replace(dues, used=dues.used and not off, off=off, done=done)
            file.write(dues)
            for record in self._records():
                replace(record, dues=dues).write()

    def _records(self) -> Iterator[Record]:
        again = survey(self.grounds, self.recipe)
        yield from (item.record for item in again.stages.values() if item.record)


def _read(item: Surveyed, replies: Sequence[Reply], after: int) -> Answer:
    stage = item.placed.stage
    desired = stage.desired(item.site)
    actual = stage.actual(item.site, replies)
    lines = tuple(map(clean, stage.explain(desired, actual)))
    remarks = tuple(map(clean, stage.remarks(item.site, replies)))
    return Answer(desired, actual, lines, after, remarks)


def _silence(item: Surveyed) -> list[Reply]:
    return [Reply(255) for _ in item.placed.stage.probe(item.site)]


def _refusal(item: Surveyed, lines: Sequence[str]) -> str:
    """Return why a stage that cannot change anything stops the run."""
    return f"{item.placed.kind.name} cannot change this: {'; '.join(lines)}"
