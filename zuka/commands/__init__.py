"""
The commands besides doit's own; each is a module of this folder with four names.

``HELP`` is its line in the list, ``EXAMPLES`` stand under its help, ``configure(parser)`` adds its
arguments, ``run(arguments)`` does it and returns the exit code.
Only the module of the command that was asked for is imported.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import signal
import sys
from types import ModuleType

DOIT = {
    "run": "run a recipe, or one stage and what it needs: zuka run train, zuka run train:env",
    "list": "list the recipes and stages",
    "info": "show what doit knows of a stage",
    "forget": "distrust the proof of a stage that lies on the laptop",
    "clean": "doit's own clean (for the box see the stage kind 'clean')",
    "ignore": "leave a stage out until it is forgotten",
    "help": "show doit's own help",
}
"""Commands that doit carries out, with our loader."""


def names() -> list[str]:
    """Return the names of our own commands."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def module(name: str) -> ModuleType:
    """Return the module of one command."""
    return importlib.import_module(f"{__name__}.{name}")


def run(arguments: list[str]) -> int:
    """Run one command; raise Error."""
    from zuka.places import Problems

    try:
        return _run(arguments)
    except Problems as error:  # of machines.yaml, which commands without a recipe read alone
        from zuka.checking import found
        from zuka.errors import RecipeError

        raise RecipeError(found([*error.problems], "machines.yaml"), placed=True) from None


def _run(arguments: list[str]) -> int:
    first = arguments[0] if arguments else "--help"
    if first in names():
        command = module(first)
        if hasattr(command, "main"):  # a command with commands of its own
            return int(command.main(arguments[1:]))
        return int(command.run(parser(first, command).parse_intermixed_args(arguments[1:])))
    if first in ("-h", "--help"):
        sys.stdout.write(overview())
        return 0
    if first in ("-V", "--version"):
        from zuka import __version__

        sys.stdout.write(f"zuka {__version__}\n")
        return 0
    if first in DOIT:
        return run_doit(arguments)
    from difflib import get_close_matches

    from zuka.errors import RecipeError

    near = get_close_matches(first, [*names(), *DOIT], n=1)
    hint = f"did you mean '{near[0]}'?" if near else "zuka --help lists the commands"
    raise RecipeError(f"no command '{first}'", hint=hint)


def parser(name: str, command: ModuleType) -> argparse.ArgumentParser:
    """Return the argument parser of one command."""
    made = argparse.ArgumentParser(
        prog=f"zuka {name}",
        description=command.HELP,
        epilog=command.EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.configure(made)
    return made


def run_doit(arguments: list[str]) -> int:
    """Hand the arguments to doit, with the recipes of this project as its tasks."""
    from pathlib import Path

    from zuka.asking import recipe_path

    if arguments[0] == "help":  # a closed pipe ends it; doit would print a traceback
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    if {"-h", "--help"} & set(arguments):
        arguments = ["help", arguments[0]]
    named = [a for a in arguments[1:] if a[:1].isalpha() and "=" not in a]
    for argument in named if arguments[0] == "run" else []:
        recipe_path(Path.cwd(), argument)  # doit's own words for a mistyped name have no hint
    from doit.cmd_base import ModuleTaskLoader
    from doit.doit_cmd import DoitMain

    from zuka import graph

    names = {"DOIT_CONFIG": graph.DOIT_CONFIG, "task_recipes": graph.task_recipes}
    loader = ModuleTaskLoader(names)
    backend = {"BACKEND": {"zuka": "zuka.backend:Backend"}}
    return int(DoitMain(loader, config_filenames=(), extra_config=backend).run(arguments) or 0)


def overview() -> str:
    """Return the help text of zuka itself."""
    rows = {name: str(module(name).HELP) for name in names()}
    width = max(map(len, [*rows, *DOIT]))
    lines = ["usage: zuka COMMAND [ARGUMENT ...]", "", "zuka's own commands:"]
    lines += [f"  {name:<{width}}  {text}" for name, text in rows.items()]
    lines += ["", "doit's, with the recipes as tasks (`doit run train` does the same):"]
    lines += [f"  {name:<{width}}  {text}" for name, text in DOIT.items()]
    lines += ["", "example: zuka init && zuka plan train && zuka run train"]
    lines += ["`zuka COMMAND --help` says more"]
    return "\n".join(lines) + "\n"
