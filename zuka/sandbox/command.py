"""`zuka sandbox`: the power switch of the embedded box, and a way in."""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from zuka import sandbox
from zuka.ui import show_json

EXAMPLES = """\
example:
  zuka sandbox up            switch the box on
  zuka sandbox ssh -- ls -a  run a command in it; without a command, log in
  zuka sandbox preempt       take it away as a provider does; the disk stays, `up` brings it back
  zuka sandbox replace       another box at the same address: new host key, empty disk
"""


def main(argv: list[str]) -> int:
    """Run one command of the sandbox and return its exit code."""
    parser = argparse.ArgumentParser(
        prog="zuka sandbox",
        description="the embedded box to practise with",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "what", choices=["up", "down", "preempt", "replace", "status", "ssh"], help="what to do"
    )
    parser.add_argument("--json", action="store_true", help="status for a machine")
    split = argv.index("--") if "--" in argv else len(argv)
    arguments = parser.parse_args(argv[:split])
    project = Path.cwd()
    if arguments.what == "ssh":
        return _ssh(project, argv[split + 1 :])
    if arguments.what == "status":
        return _status(project, as_json=arguments.json)
    action, said = _ACTIONS[arguments.what]
    action(project)
    sys.stdout.write(f"sandbox: {said}\n")
    return 0


_ACTIONS: dict[str, tuple[Callable[[Path], object], str]] = {
    "up": (sandbox.up, "on; `zuka sandbox ssh` logs in"),
    "down": (sandbox.down, "off, its disk stays; `zuka sandbox up` switches it on"),
    "preempt": (sandbox.preempt, "taken away, its disk stays; `zuka sandbox up` brings it back"),
    "replace": (
        sandbox.replace,
        "another box has the address now; `zuka rebind sandbox` accepts it",
    ),
}


def _status(project: Path, *, as_json: bool) -> int:
    now = sandbox.state(project)
    root = sandbox.home_of(project).root
    if as_json:
        show_json({"state": now.state, "port": now.port, "pid": now.pid, "root": str(root)})
    else:
        port = f", port {now.port}" if now.port else ""
        sys.stdout.write(f"sandbox: {now.state}{port}, in {root}\n")
    return 0


def _ssh(project: Path, command: list[str]) -> int:
    """Log in with the user's own ssh, or run one command."""
    home, machine = sandbox.home_of(project), sandbox.rent(project)
    home.known_hosts.unlink(missing_ok=True)  # a practice box; zuka pins its key elsewhere
    options = [
        f"IdentityFile={machine.key}",
        "IdentitiesOnly=yes",
        "StrictHostKeyChecking=accept-new",
        f"UserKnownHostsFile={home.known_hosts}",
        "LogLevel=ERROR",
        "ControlPath=none",
    ]
    argv = ["ssh", *(part for option in options for part in ("-o", option))]
    argv += ["-p", str(machine.port), "-l", machine.user, machine.address]
    argv += [shlex.join(command)] if command else []
    return subprocess.run(argv, check=False).returncode
