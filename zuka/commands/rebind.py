"""Say that a name means another box, or another address."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import Any

from zuka import address, machines, sshalias
from zuka.boxes import Boxes
from zuka.errors import RecipeError
from zuka.finding import Finding
from zuka.kinds import near
from zuka.lock import Lock

HELP = "take another box under a known name, or the same one at another address"
EXAMPLES = """\
example:
  zuka rebind mygpu                              the next box that answers is taken for it
  zuka rebind mygpu -p 22022 root@203.0.113.7    as the console shows it; machines.yaml is mended
  zuka rebind mygpu --ssh-config -p 22022 root@203.0.113.7    and let `ssh mygpu` find it
  zuka rebind mygpu 'ssh -p 22022 root@203.0.113.7'
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("machine", help="the name in the recipe, such as mygpu or sandbox")
    parser.add_argument(
        "--ssh-config",
        action="store_true",
        help="let `ssh mygpu` and editors find the boxes of machines.yaml: one Include line in"
        " ~/.ssh/config, which is copied aside first",
    )
    parser.usage = (
        "zuka rebind [-h] [--ssh-config] machine [ssh arguments as the console shows them]"
    )


def main(arguments: list[str]) -> int:
    """Write down the new address, and accept whoever answers there."""
    from zuka import commands

    parser = commands.parser("rebind", sys.modules[__name__])
    given, words = parser.parse_known_args(arguments)
    project, name = Path.cwd(), str(given.machine)
    state = project / ".zuka"
    reached = address.parse(words) if words else {}
    _refuse_a_slip(name, project, reached=bool(reached))
    Lock(state / "lock").take(f"rebind {name}")
    if reached:
        address.write(project / "machines.yaml", name, reached)
        facts = " ".join(f"{key}: {value}" for key, value in reached.items())
        _show("written", name=name, facts=facts)
    if given.ssh_config:
        share(project)
    Boxes(state / "boxes").rebind(name)
    for pinned in (name, f"{name}.jump"):  # a host between may be a new one as well
        (state / "known_hosts" / pinned).unlink(missing_ok=True)
    _show("rebound", name=name)
    return 0


def _show(verdict: str, **facts: Any) -> None:
    sys.stdout.write(f"{Finding('address', verdict, facts).means()}\n")


def _refuse_a_slip(name: str, project: Path, *, reached: bool) -> None:
    """Raise RecipeError for a name that no recipe can mean, before anything is written."""
    if not re.fullmatch(r"[\w:][\w.:@+%-]*", name) or (reached and not address.is_name(name)):
        raise RecipeError.of("address", "no-name", name=name)
    if name == machines.SANDBOX and reached:
        raise RecipeError.of("address", "sandbox-has-no-address")
    if not reached:
        _check_met(name, project)


def _check_met(name: str, project: Path) -> None:
    """Raise RecipeError for a name that nothing is known of: it is mistyped, or has no address."""
    pins = project / ".zuka" / "known_hosts"
    met = [*Boxes(project / ".zuka" / "boxes").names(), *(p.name for p in pins.glob("*"))]
    known = sorted({machines.SANDBOX, *(m.name for m in machines.listed(project)), *met})
    if name not in known:
        raise RecipeError.of("address", "never-met", name=name, near=near(name, known))


def share(project: Path) -> None:
    """Write the aliases of this project, and say what became of the user's ssh_config."""
    path = sshalias.write(machines.listed(project), project)
    _show("aliases-written", path=path)
    copy = sshalias.include()
    _show("config-includes" if copy else "config-included-already", copy=copy)
