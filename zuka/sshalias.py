"""Names for `ssh mygpu` and editors: a file of ours, and one line in the user's ssh_config."""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from zuka.errors import RecipeError
from zuka.machines import Machine
from zuka.store import write_whole


def _folder() -> Path:
    home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return home / "zuka" / "ssh"


def write(machines: Iterable[Machine], project: Path) -> Path:
    """Write the hosts of a project into a file of their own, whole; return its path."""
    project = project.resolve()
    short = hashlib.sha256(os.fsencode(project)).hexdigest()[:8]
    path = _folder() / f"{project.name}-{short}.conf"
    lines = [f"# Written by zuka for {project}; it is written anew by `zuka rebind --ssh-config`."]
    for machine in machines:
        lines += _host(machine, project / ".zuka" / "known_hosts" / machine.name)
    write_whole(path, ("\n".join(lines) + "\n").encode("utf-8", "surrogateescape"), mode=0o600)
    return path


def _host(machine: Machine, known_hosts: Path) -> Iterator[str]:
    yield f"Host {machine.name}"
    yield f"    HostName {machine.address.replace('%', '%%')}"
    if machine.port:
        yield f"    Port {machine.port}"
    if machine.user:
        yield f"    User {machine.user}"
    if machine.key:
        yield f"    IdentityFile {_quoted(machine.key)}"
        yield "    IdentitiesOnly yes"
    if machine.jump:
        yield f"    ProxyJump {machine.jump}"
    # The same pin as zuka's own: another box at this address is refused here as well.
    yield f"    UserKnownHostsFile {_quoted(known_hosts)}"
    yield f"    HostKeyAlias zuka-{machine.name}"


def _quoted(path: Path) -> str:
    text = str(path)
    if '"' in text or "\n" in text:
        raise RecipeError.of("address", "quote-in-path", path=repr(text))
    return '"' + text.replace("%", "%%") + '"'


def include(config: Path | None = None) -> Path | None:
    """
    Let the user's ssh_config include our files, by one line at its top; None: it does already.

    The file is copied aside first and replaced whole; its mode, its line ends and a link that it
    may be stay. Returns the copy, or the new file where there was none.
    """
    path = (config or Path.home() / ".ssh" / "config").resolve()
    line = f"Include {_quoted(_folder() / '*.conf')}"
    if not path.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(path, f"{line}\n".encode(), mode=0o600)
        return path
    text = path.read_bytes()
    if line.encode() in _before_settings(text):
        return None
    copy = path.with_name(f"{path.name}.before-zuka-{time.strftime('%Y%m%d-%H%M%S')}")
    shutil.copy2(path, copy)
    end = b"\r\n" if b"\r\n" in text else b"\n"
    # At the top: below a Host line it would hold for that host alone, below a setting lose to it.
    write_whole(path, line.encode() + end + text, mode=path.stat().st_mode & 0o777)
    return copy


def _before_settings(text: bytes) -> Iterator[bytes]:
    """Yield the Include lines that ssh reads before any setting: the first of a kind wins."""
    for line in map(bytes.strip, text.splitlines()):
        if line.lower().startswith(b"include"):
            yield line
        elif line and not line.startswith(b"#"):
            return
