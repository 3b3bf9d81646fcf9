"""What is known of a box before it is asked: its name, and how OpenSSH reaches it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Machine:
    """A box by name; without an address the name is an alias of the user's ssh_config."""

    name: str
    address: str = ""
    port: int | None = None
    user: str = ""
    key: Path | None = None
    sandbox: bool = False
    bin: Path | None = None
    """Sandbox only: a folder of programs that come first on the box's PATH."""
