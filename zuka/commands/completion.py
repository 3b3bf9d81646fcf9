"""Complete commands, recipes and stages in a shell."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from zuka import commands

HELP = "print the completion script of a shell"
EXAMPLES = """\
example:
  eval "$(zuka completion bash)"    in ~/.bashrc
  eval "$(zuka completion zsh)"     in ~/.zshrc
  zuka completion fish > ~/.config/fish/completions/zuka.fish
"""

_BASH = """\
_zuka() {
  local word=${COMP_WORDS[COMP_CWORD]}
  COMPREPLY=($(compgen -W "$(zuka completion --words "$COMP_CWORD" 2>/dev/null)" -- "$word"))
  __ltrim_colon_completions "$word" 2>/dev/null || true
}
complete -F _zuka zuka
"""
_ZSH = """\
autoload -U compinit && compinit -C
_zuka() { compadd -- $(zuka completion --words $((CURRENT - 1)) 2>/dev/null) }
compdef _zuka zuka
"""
_FISH = """\
complete -c zuka -f -a '(zuka completion --words (count (commandline -opc)) 2>/dev/null)'
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("shell", nargs="?", choices=("bash", "zsh", "fish"), default="bash")
    parser.add_argument("--words", type=int, help=argparse.SUPPRESS)


def run(arguments: argparse.Namespace) -> int:
    """Print the script, or the words that can stand at a place."""
    if arguments.words is None:
        sys.stdout.write({"bash": _BASH, "zsh": _ZSH, "fish": _FISH}[arguments.shell])
    elif arguments.words <= 1:
        sys.stdout.write("\n".join([*commands.names(), *commands.DOIT]) + "\n")
    else:
        sys.stdout.write("\n".join(_tasks()) + "\n")
    return 0


def _tasks() -> list[str]:
    """Return the recipes, and the stages of those that are right."""
    from zuka import compiled
    from zuka.errors import Error

    words = []
    for path in sorted(Path("recipes").glob("*.yaml")):
        words.append(path.stem)
        try:
            stages = compiled.load(path, Path.cwd(), {}).stages
        except Error:
            continue
        words += [f"{path.stem}:{placed.name}" for placed in stages]
    return words
