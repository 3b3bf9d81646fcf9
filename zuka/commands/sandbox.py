"""Switch the embedded box on and off."""

from __future__ import annotations

import argparse

HELP = "the embedded box to practise with: up, down, preempt, replace, status, ssh"
EXAMPLES = """\
example:
  zuka sandbox up          switch the embedded box on
  zuka sandbox ssh -- ls   run a command in it
  zuka sandbox preempt     take it away, as a provider would; `up` brings it back
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Leave the arguments to the sandbox, which has commands of its own."""
    parser.add_argument("rest", nargs=argparse.REMAINDER, help="up | down | preempt | replace | …")


def run(arguments: argparse.Namespace) -> int:
    """Run the sandbox's command."""
    from zuka.sandbox import command

    return int(command.main(arguments.rest))
