"""doit's memory, kept in zuka's journal: `forget` and `ignore` work, nothing is evidence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_IGNORE = "ignore:"


class Backend:
    """
    The store that doit asks for a task's saved values.

    doit writes its own only at the end of a run, so a kill would forget finished stages. Here
    nothing has to be remembered but what the user said: `doit forget` and `doit ignore`.
    """

    desc = "zuka's journal"

    _ignored: frozenset[str] | None

    def __init__(self, name: str, codec: Any = None, *, module_name: str | None = None) -> None:
        del codec, module_name
        self.name = name
        self._path = Path(name)
        self._values: dict[str, dict[str, Any]] = {}
        self._ignored = None

    def get(self, task_id: str, dependency: str) -> Any:
        """Return a value that doit has set in this run; `ignore` is remembered for longer."""
        if dependency == _IGNORE:
            return "1" if task_id in self._ignored_tasks() else None
        return self._values.get(task_id, {}).get(dependency)

    def set(self, task_id: str, dependency: str, value: Any) -> None:
        """Keep a value for this run."""
        if dependency == _IGNORE:
            self._add("ignored", task_id)
            return
        self._values.setdefault(task_id, {})[dependency] = value

    def in_(self, task_id: str) -> bool:
        """Tell whether doit has set anything for the task in this run."""
        return task_id in self._values

    def remove(self, task_id: str) -> None:
        """Forget a task: its proof on the laptop counts no more."""
        self._values.pop(task_id, None)
        self._add("forgotten", task_id)

    def remove_all(self) -> None:
        """Forget every task."""
        from zuka.journal import Journal

        for task in Journal(self._path).last("done", "ignored"):
            self.remove(task)

    def dump(self) -> None:
        """Write nothing: every event is on the disk already."""

    def _add(self, event: str, task_id: str) -> None:
        from zuka.journal import Journal

        Journal(self._path).add(event, task_id)

    def _ignored_tasks(self) -> frozenset[str]:
        if self._ignored is None:
            from zuka.journal import Journal

            last = Journal(self._path).last("ignored", "forgotten")
            said = (task for task, event in last.items() if event["event"] == "ignored")
            self._ignored = frozenset(said)
        return self._ignored
