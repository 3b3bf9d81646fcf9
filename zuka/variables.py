"""`${name}` in a recipe's values: what it stands for, as it is written."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from zuka.kinds import near
from zuka.places import Problem, Problems, Value

_USE = re.compile(r"\$\$\{|\$\{([^{}]*)\}")
_ALONE = re.compile(r"\$\{([^{}]*)\}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass
class Variables:
    """The variables of a recipe; what it took from the environment is written down."""

    written: Mapping[str, Value] = field(default_factory=dict)
    values: dict[str, Value] = field(default_factory=dict)
    environment: dict[str, str | None] = field(default_factory=dict)
    _open: list[str] = field(default_factory=list)
    _failed: set[str] = field(default_factory=set)

    def find(self, name: str) -> Value:
        """Return what a variable stands for, with those that it uses itself; raise Problems."""
        if name in self.values:
            return self.values[name]
        if name in self._failed:
            raise Problems  # told where it is defined
        written = self.written[name]
        if name in self._open:
            circle = " -> ".join([*self._open[self._open.index(name) :], name])
            raise Problems(Problem(written.place, f"variables use each other: {circle}"))
        self._open.append(name)
        try:
            self.values[name] = self.fill(written)
        except Problems:
            self._failed.add(name)
            raise
        finally:
            self._open.pop()
        return self.values[name]

    def texts(self) -> dict[str, str]:
        """Return every variable as it is written."""
        return {name: self.values[name].text for name in self.written}

    def fill(self, value: Value, leave: Collection[str] = ()) -> Value:
        """Return a value with its variables replaced, all the way down; raise Problems."""
        match value.data:
            case dict():
                filled = self._fill_all([*value.data.values()], leave)
                return replace(value, data=dict(zip(value.data, filled, strict=True)))
            case list():
                return replace(value, data=self._fill_all(value.data, leave))
            case str():
                return self._fill_text(value, leave)
            case _:
                return value

    def _fill_all(self, values: list[Value], leave: Collection[str]) -> list[Value]:
        filled: list[Value] = []
        problems: list[Problem] = []
        failed = False
        for value in values:
            try:
                filled.append(self.fill(value, leave))
            except Problems as error:
                failed = True
                problems += error.problems
        if failed:
            raise Problems(*problems)
        return filled

    def _fill_text(self, value: Value, leave: Collection[str]) -> Value:
        alone = _ALONE.fullmatch(value.text)
        if alone and alone[1] not in leave:
            # A value that is a variable alone has the variable's type: `count: ${gpus}`.
            return replace(self._meaning(alone[1], value), place=value.place)

        def put(match: re.Match[str]) -> str:
            if match[1] is None:
                return "${"
            return match[0] if match[1] in leave else self._meaning(match[1], value).text

        text = _USE.sub(put, value.text)
        return replace(value, data=text, text=text)

    def _meaning(self, name: str, value: Value) -> Value:
        if name.startswith("env.") and _NAME.fullmatch(name[4:]):
            return self._from_environment(name[4:], value)
        if name not in self.written:
            hint = near(name, [*self.written]) if self.written else "the recipe has no vars"
            hint += "; for a variable of the shell write $NAME, for the text itself $${NAME}"
            raise Problems(Problem(value.place, f"no variable '{name}'", hint))
        return self.find(name)

    def _from_environment(self, name: str, value: Value) -> Value:
        text = os.environ.get(name)
        self.environment[name] = text
        if text is None:
            raise Problems(
                Problem(value.place, f"the environment has no '{name}'", f"export {name}=…")
            )
        return replace(value, data=text, text=text)
