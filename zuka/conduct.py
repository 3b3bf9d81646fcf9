"""One run of a recipe from its first word to its last: the lock, the stages, the verdict."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from zuka import door
from zuka.errors import Error, StageError
from zuka.lock import Lock
from zuka.prices import rate
from zuka.records import Record
from zuka.session import Session
from zuka.survey import Survey, survey
from zuka.ui import PlainView, StageWatch, View, counted

_YOUNG = 0.02
"""Seconds; a file that changed just now could change again within one tick of its clock."""


@dataclass(eq=False, repr=False)
class Conduct:
    """How a run of one recipe is conducted; the reporter calls it in the order of its methods."""

    session: Session
    variables: Mapping[str, str]
    view: View | None = None
    failures: dict[str, Error] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    _lock: Lock | None = None
    _at_work: dict[str, str] = field(default_factory=dict)
    _whole: bool = True

    @property
    def name(self) -> str:
        """Return the recipe's name."""
        return self.session.recipe.name

    @property
    def again(self) -> str:
        """Return what to say to go on with just this run: with other variables it is another."""
        given = [shlex.quote(f"{name}={value}") for name, value in self.variables.items()]
        return " ".join(["doit run", self.name, *given])

    def __repr__(self) -> str:
        """Return what `doit info` shows a person."""
        return f"{self.name} on {self.session.recipe.machine.name}"

    def begin(self, chosen: tuple[str, ...], lock: Lock) -> str:
        """Take the project's lock when anything is needed; return what to say first."""
        self._whole = not chosen
        self.session.choose(chosen)
        if not self.session.survey.needed:
            return ""
        self._lock = lock
        self._lock.take(f"recipe {self.name}")
        self.session.choose(chosen)  # again: the run that held the lock may have changed it all
        self.session.grounds.journal.compact()
        needed, recipe = self.session.survey.needed, self.session.recipe
        count = f"{len(needed)} of {counted(len(recipe.stages), 'stage')} to look at"
        own = sorted({placed.kind.name for placed in recipe.stages if placed.kind.own})
        said = f"; the project's own: {', '.join(own)}" if own else ""
        return f"{self.name}: {count}, on {recipe.machine.name}{said}"

    def begin_stage(self, name: str) -> str:
        """Note that a stage is at work; return why."""
        self.reasons[name] = "; ".join(self.session.why(name))
        self._at_work[name] = self.session.task(name)
        if self._lock:
            self._lock.say(f"stage {', '.join(self._at_work.values())}")
        return self.reasons[name]

    def act(self, name: str) -> Error | None:
        """Carry a stage out; return its failure."""
        watch = StageWatch(self.session.task(name), self.view or PlainView(sys.stdout))
        try:
            if self._lock is None:  # a reporter of doit's own has begun nothing
                self.begin((), Lock(self.session.grounds.state / "lock"))
            self.session.act(name, watch)
        except StageError as error:
            end = "".join(f"\n  | {line}" for line in watch.tail)
            text = f"{error.args[0]}\n  the end of its log:{end}" if end else error.args[0]
            self.failures[name] = StageError(text, hint=error.hint)
        except Error as error:
            self.failures[name] = error
        except OSError as error:
            self.failures[name] = StageError.here(error)
        return self.failures.get(name)

    def end_stage(self, name: str) -> None:
        """Note that a stage is not at work any more."""
        self._at_work.pop(name, None)

    def detach(self) -> str:
        """Leave what runs on the box alone; return what to say."""
        if "host" in self.session.__dict__:
            self.session.host.abandon()
        at_work = ", ".join(self._at_work.values())
        if not at_work:
            return f"{self.name}: stopped; `{self.again}` goes on from here"
        return (
            f"{self.name}: detached from {at_work}; what runs on the box goes on."
            f"\n  come back: {self.again}"
        )

    def end(self) -> str:
        """Keep the verdict when nothing is left; return what to say last."""
        if self.failures:
            return self._failed()
        now = survey(self.session.grounds, self.session.recipe)
        if now.needed and not self._whole:
            waiting = len(now.needed)
            verb = "waits" if waiting == 1 else "wait"
            return f"{self.name}: done what was named; {counted(waiting, 'stage')} {verb}"
        left = [name for name in now.needed if not self._is_done(name, now)]
        if left:
            why = now.needed[left[0]]
            return f"{self.name}: more to do already ({left[0]}: {why}); run it again"
        if now.needed:
            return f"{self.name}: done; only the box can prove it, so it is asked each time"
        text = self._home(now)
        if self._whole:
            self._keep_verdict(now, f"{self.name}: nothing to do; {text}\n")
        return f"{self.name}: {'done' if self.reasons else 'nothing to do'}; {text}"

    def _is_done(self, name: str, now: Survey) -> bool:
        """Tell whether this run has done a stage, as it stands now."""
        same = now.stages[name].site.fingerprint == self.session.fingerprint(name)
        role = now.stages[name].placed.stage.role
        return same and role != "product" and self.session.is_settled(name)

    def _failed(self) -> str:
        dues = self.session.grounds.dues(self.name).read(self.session.survey.dues)
        left = [name for name in self.session.survey.needed if not self.session.is_settled(name)]
        waiting = [name for name in left if name not in self.reasons]
        parts = [f"{len(self.failures)} failed", f"{len(waiting)} not run"]
        if dues.used or self.session.has_answered:
            parts.append(f"THE BOX IS STILL ON{self._at_a_price()}")
        return f"{self.name}: {', '.join(parts)}; mend it and say `{self.again}` again"

    def _at_a_price(self) -> str:
        price = rate(self.session.recipe.machine.prices)
        return f" at {price}" if price else ""

    def _keep_verdict(self, now: Survey, text: str) -> None:
        grounds = self.session.grounds
        if now.dues.off and not grounds.dues(self.name).read(None).off:
            return  # only the provider's word says that the box is off, and that may change
        paths = [*map(str, self.session.recipe.reads)]
        paths += [str(grounds.journal.path), str(grounds.dues(self.name).path)]
        paths.append(str(self.session.boxes.path(self.session.recipe.machine.name)))
        stats = {**{path: door.stat(path) for path in paths}, **now.reader.seen}
        newest = max((stat[1] for stat in stats.values() if stat), default=0)
        if time.time() - newest / 1e9 < _YOUNG:
            time.sleep(_YOUNG)
            if now.reader.fresh():
                return
        asked = [self.name, *sorted(f"{name}={value}" for name, value in self.variables.items())]
        stands_on = (stats.items(), self.session.recipe.environment)
        door.write(str(Path.cwd()), asked, stands_on, text)

    def _home(self, now: Survey) -> str:
        found = [item.record for item in now.stages.values() if item.record]
        is_off = self.session.power(now.dues) == "off"
        power = "box off" if is_off else f"box left on{self._at_a_price()}" if now.dues.used else ""
        results = f"results in {', '.join(_shown(record) for record in found)}" if found else ""
        return ", ".join(part for part in (results, power) if part) or f"{self.name} is as asked"


def _shown(record: Record) -> str:
    try:
        return str(record.folder.relative_to(Path.cwd()))
    except ValueError:
        return str(record.folder)
