"""What is known of a box before it is asked: its name, and how OpenSSH reaches it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from zuka.rooms import builtin

SANDBOX = "sandbox"


@dataclass(frozen=True, slots=True)
class Machine:
    """A box by name; without an address the name is an alias of the user's ssh_config."""

    name: str
    address: str = ""
    port: int | None = None
    user: str = ""
    key: Path | None = None
    jump: str = ""
    platform: str = ""
    prices: Mapping[str, Any] = field(default_factory=dict)
    """What an hour costs, in which currency, as the user wrote it."""
    profile: Mapping[str, Any] = field(default_factory=dict)
    """What the user knows better of this box than the platform's profile does."""
    sandbox: bool = False
    bin: Path | None = None
    """Sandbox only: a folder of programs that come first on the box's PATH."""

    def facts(self) -> dict[str, Any]:
        """Return the machine as plain data."""
        facts = asdict(self)
        return {**facts, **{name: str(facts[name]) if facts[name] else None for name in _PATHS}}

    @classmethod
    def from_facts(cls, facts: dict[str, Any]) -> Machine:
        """Return the machine that plain data tells of."""
        paths = {name: Path(facts[name]) if facts[name] else None for name in _PATHS}
        return cls(**{**facts, **paths})


_PATHS = ("key", "bin")


def resolve(value: Any, project: Path) -> Machine:
    """
    Return the machine that a recipe's ``machine`` means; raise Problems.

    ``value`` is a places.Value or None: a name in machines.yaml, the word sandbox, an alias of
    ssh_config, ``{sandbox: {bin: DIR}}``, or an address with port, user and key.
    """
    if value is None or value.data == SANDBOX:
        return Machine(SANDBOX, sandbox=True)
    if isinstance(value.data, dict):
        if SANDBOX in value.data:
            inside = value.data[SANDBOX].data or {}
            return Machine(SANDBOX, sandbox=True, bin=_path(inside.get("bin"), project))
        return _reached(_name(value.plain()), value, project)
    listed = _listed(project)
    if value.data in listed:
        return _reached(value.data, listed[value.data], project)
    return Machine(str(value.data))


def _name(box: Mapping[str, Any]) -> str:
    """Return what a box without a name is called: two rentals may stand at one address."""
    address, port = box["address"], box.get("port", 22)
    return str(address) if port == 22 else f"{address}:{port}"  # noqa: PLR2004 - ssh's own


def listed(project: Path) -> list[Machine]:
    """Return the machines of machines.yaml; raise Problems when it is wrong."""
    return [_reached(name, value, project) for name, value in _listed(project).items()]


def _listed(project: Path) -> dict[str, Any]:
    from zuka.checking import check
    from zuka.nodes import read
    from zuka.places import Problems

    path = project / "machines.yaml"
    if not path.is_file():
        return {}
    value = read(path, "machines.yaml")
    schema = json.loads((builtin("schemas") / "machines.schema.json").read_text())
    mistakes = [*check(value, schema, "machines.yaml")]
    if mistakes:
        raise Problems(*mistakes)
    return dict(value.data["machines"].data or {}) if "machines" in value.data else {}


def own_key() -> Path:
    """Return where the key lies that zuka makes for boxes of which the user names none."""
    home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return home / "zuka" / "id_ed25519"


def _reached(name: str, value: Any, project: Path) -> Machine:
    _check_platform(value.data.get("platform"))
    facts = {**value.plain(), "key": _path(value.data.get("key"), project) or own_key()}
    return Machine(name, **facts)


def _check_platform(value: Any) -> None:
    from zuka.kinds import near
    from zuka.places import Problem, Problems

    if value is None:
        return
    known = sorted(path.stem for path in (Path(__file__).parent / "platforms").glob("*.yaml"))
    if value.data not in known:
        text = f"no platform '{value.data}'"
        raise Problems(Problem(value.place, text, near(str(value.data), known)))


def _path(value: Any, project: Path) -> Path | None:
    """Return a path of the recipe: `~` is the home folder, else it is relative to the project."""
    from zuka.places import Problem, Problems

    if value is None:
        return None
    try:
        return project / Path(value.data).expanduser()
    except RuntimeError:
        text = f"no home folder for '{value.data}'"
        raise Problems(Problem(value.place, text, "write the whole path")) from None
