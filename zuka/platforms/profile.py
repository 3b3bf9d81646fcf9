"""What is known of each renter of GPU boxes; the facts are data, one YAML file each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from zuka.finding import Language

Certainty = Literal["primary", "second-hand", "weak"]
EndsBill = Literal["yes", "gpu-only", "no", "unknown"]
Meter = Literal["A", "B", "C", "D", "none"]

GENERIC = "generic"
"""The profile of a box that no other profile knows."""
LAB = "lab"
"""The profile of a machine that nobody bills, and that must never be switched off."""

_FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Text:
    """A text for people."""

    en: str
    zh: str

    def say(self, language: Language = "en") -> str:
        """Return the text in one language."""
        return self.zh if language == "zh" else self.en


@dataclass(frozen=True, slots=True)
class Proof:
    """Where a group of facts is from: URL or words, the year it was read, and how good it is."""

    source: str
    checked: int
    certainty: Certainty


@dataclass(frozen=True, slots=True)
class Marks:
    """Marks of a platform; ``variables`` and ``paths`` are exact, the others are patterns."""

    variables: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    vendors: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Recognise:
    """How a box of the platform is told from others, and where it asks about itself."""

    sure: Marks
    likely: Marks
    metadata: str
    proof: Proof


@dataclass(frozen=True, slots=True)
class Places:
    """Folders on the box, in order."""

    paths: tuple[str, ...]
    proof: Proof
    note: Text | None = None


@dataclass(frozen=True, slots=True)
class Lost:
    """What is lost at a stop, at a release, or ``after_hours`` of being off."""

    when: Literal["stop", "release", "clock"]
    what: Text
    proof: Proof
    after_hours: int | None = None


@dataclass(frozen=True, slots=True)
class Caches:
    """Environment variables that move caches to a disk with room for them."""

    variables: Mapping[str, str]
    proof: Proof


@dataclass(frozen=True, slots=True)
class Mirrors:
    """URLs to fetch from, empty for the original, and the platform's proxy as shell text."""

    pip: str
    huggingface: str
    conda: str
    proxy_on: str
    proxy_off: str
    proof: Proof
    note: Text | None = None


@dataclass(frozen=True, slots=True)
class PowerOff:
    """The command that switches the box off from inside, and what it does to the bill."""

    command: str
    ends_bill: EndsBill
    meter: Meter
    confirm: Text
    proof: Proof
    variables: tuple[str, ...] = ()
    danger: Text | None = None


@dataclass(frozen=True, slots=True)
class Outside:
    """How the bill is ended from the laptop."""

    cli: str
    api: str
    text: Text
    proof: Proof


@dataclass(frozen=True, slots=True)
class Snapshot:
    """How the box's system is kept, and the folders that are not in it."""

    what: Text
    excludes: tuple[str, ...]
    proof: Proof


@dataclass(frozen=True, slots=True)
class Billing:
    """The smallest time that is billed, and what is billed while the box is off."""

    unit: Literal["second", "minute", "hour", "none", "unknown"]
    while_off: Text
    proof: Proof


@dataclass(frozen=True, slots=True)
class Refused:
    """A pattern of addresses that programs cannot use, and the verdict that says why."""

    address: str
    verdict: str


@dataclass(frozen=True, slots=True)
class Login:
    """How the box is reached by SSH; ``port`` is None where each box has its own."""

    form: str
    example: str
    users: tuple[str, ...]
    port: int | None
    notes: tuple[Text, ...]
    refused: tuple[Refused, ...]
    proof: Proof


@dataclass(frozen=True, slots=True)
class OpenPorts:
    """Ports beside SSH that the world can reach."""

    ports: tuple[int, ...]
    note: Text
    proof: Proof


@dataclass(frozen=True, slots=True)
class Profile:
    """All that is known of one platform; what each key means stands in platform.schema.json."""

    name: str
    title: Text
    recognise: Recognise
    data_disk: Places
    persistent: Places
    lost: tuple[Lost, ...]
    caches: Caches
    mirrors: Mirrors
    power_off: PowerOff
    outside: Outside
    snapshot: Snapshot
    billing: Billing
    ssh: Login
    open_ports: OpenPorts


@cache
def names() -> list[str]:
    """Return the names of all platforms, in the order of the alphabet."""
    return sorted(path.stem for path in _FOLDER.glob("*.yaml"))


@cache
def load(name: str) -> Profile:
    """Return a platform's profile; raise LookupError for a name that is none."""
    import yaml

    if name not in names():
        raise LookupError(f"no platform '{name}'; there are {', '.join(names())}")
    plain = yaml.safe_load((_FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    made: Profile = _made(Profile, plain)
    return made


def bettered(profile: Profile, better: Mapping[str, Any]) -> Profile:
    """Return a profile with what the user knows better: power_off, ends_bill, data_disk."""
    names = {"power_off": "command", "ends_bill": "ends_bill"}
    known = {field: better[key] for key, field in names.items() if key in better}
    paths = (better["data_disk"],) if "data_disk" in better else profile.data_disk.paths
    return replace(
        profile,
        power_off=replace(profile.power_off, **known),
        data_disk=replace(profile.data_disk, paths=paths),
    )


def _made(kind: Any, plain: Any) -> Any:
    """Return plain data as the type that a field wants; absent keys keep the field's default."""
    if isinstance(kind, type) and is_dataclass(kind):
        hints = get_type_hints(kind)
        given = [field.name for field in fields(kind) if field.name in plain]
        return kind(**{name: _made(hints[name], plain[name]) for name in given})
    if get_origin(kind) is tuple:
        return tuple(_made(get_args(kind)[0], each) for each in plain)
    wanted = [each for each in get_args(kind) if is_dataclass(each)]
    if NoneType in get_args(kind) and wanted and plain is not None:
        return _made(wanted[0], plain)
    return plain
