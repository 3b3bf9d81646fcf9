"""`${name}` in a recipe's values: what it stands for, as it is written."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from zuka.kinds import near
from zuka.places import Problem, Problems, Value, scalar

_NAME = re.compile(r"\$(\$?)\{([^{}]*)\}")


@dataclass
class Variables:
    """The variables of a recipe; what it took from the environment is written down."""

    values: dict[str, Value] = field(default_factory=dict)
    environment: dict[str, str | None] = field(default_factory=dict)

    def define(self, name: str, value: Value) -> None:
        """Add one; it may use those before it."""
        self.values[name] = self.fill(value)

    def override(self, given: Mapping[str, str]) -> None:
        """Replace values by the text of the command line."""
        for name, text in given.items():
            self.values[name] = scalar(text, self.values[name].place)

    def texts(self) -> dict[str, str]:
        """Return every variable as it is written."""
        return {name: value.text for name, value in self.values.items()}

    def fill(self, value: Value, leave: Collection[str] = ()) -> Value:
        """Return a value with its variables replaced, all the way down; raise Problems."""
        match value.data:
            case dict():
                return replace(value, data={k: self.fill(v, leave) for k, v in value.data.items()})
            case list():
                return replace(value, data=[self.fill(item, leave) for item in value.data])
            case str():
                return self._fill_text(value, leave)
            case _:
                return value

    def _fill_text(self, value: Value, leave: Collection[str]) -> Value:
        alone = _NAME.fullmatch(value.text)
        if alone and not alone[1] and alone[2] not in leave:
            # A value that is a variable alone has the variable's type: `count: ${gpus}`.
            return replace(self._meaning(alone[2], value), place=value.place)

        def put(match: re.Match[str]) -> str:
            if match[1] or match[2] in leave:
                return match[0][len(match[1]) :]
            return self._meaning(match[2], value).text

        text = _NAME.sub(put, value.text)
        return replace(value, data=text, text=text)

    def _meaning(self, name: str, value: Value) -> Value:
        if name.startswith("env."):
            return self._from_environment(name[4:], value)
        if name not in self.values:
            hint = near(name, [*self.values]) if self.values else "the recipe has no vars"
            hint += "; for a variable of the shell write $NAME, for the text itself $${NAME}"
            raise Problems(Problem(value.place, f"no variable '{name}'", hint))
        return self.values[name]

    def _from_environment(self, name: str, value: Value) -> Value:
        text = os.environ.get(name)
        self.environment[name] = text
        if text is None:
            raise Problems(
                Problem(value.place, f"the environment has no '{name}'", f"export {name}=…")
            )
        return replace(value, data=text, text=text)
