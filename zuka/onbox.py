"""Questions and orders that more than one kind has for the box, as fixed scripts with arguments."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from zuka.steps import Run

_SCRIPTS = Path(__file__).parent / "box"


def tree_state(path: str) -> Run:
    """Ask whether a pushed or recorded folder is "whole", "changed" or "absent"."""
    return _run("tree.sh", path, shown=f"state of {path}")


def run_state(run: str) -> Run:
    """Ask whether a run is "absent", "running", "finished", "failed N" or "lost"."""
    return _run("state.sh", run, shown=f"state of run {run}")


def running_runs() -> Run:
    """Ask which runs are alive on the box, ours and another laptop's, on one line."""
    return _run("running.sh", shown="runs at work")


def stop_run(run: str) -> Run:
    """End a run that we started, with everything that it started; a dead one is left alone."""
    return _run("stop.sh", run, shown=f"stop run {run}")


def key_state(public: str) -> Run:
    """Ask whether a public key opens the box ("there", "no"), then for the modes of its list."""
    return _run("keys.sh", public, shown="who may log in")


def authorize(public: str) -> Run:
    """Let a public key open the box, by appending its line where it is missing."""
    return _run("authorize.sh", public, f"{public} zuka", shown="let the key in")


def start_run(  # noqa: PLR0913 - all that a run is
    run: str,
    command: str,
    *,
    offers: Mapping[str, str] | None = None,
    resume: str = "",
    checkpoint: str = "",
    makes: str = "",
    again: bool = False,
    shown: str = "",
) -> Run:
    """
    Start a run that lives on the box on its own, once: a live one is left alone.

    ``command`` is shell text, run in ``runs/<run>/work``, which is made once from what earlier
    stages offer: a copy of ``code``, a link for each ``link:<name>``, and the programs of ``env``
    first on PATH; places are folders of ours or absolute. When the run was begun before and a file
    matches the glob ``checkpoint``, ``resume`` (shell text, where ``$checkpoint`` is that file) is
    appended to the command. ``makes`` is a folder of ours that the run builds: recorded when it
    ends well, so that ``tree_state`` can tell damage. ``again`` starts a run that has ended well
    before.
    """
    given = offers or {}
    links = {name[5:]: place for name, place in given.items() if name.startswith("link:")}
    path = [f"{given['env']}/bin"] if "env" in given else []
    once = "again" if again else ""
    work = (given.get("code", ""), makes, once, str(len(path)), *path)
    pairs = [text for name, place in links.items() for text in (name, place)]
    arguments = (script("supervise.sh"), run, command, resume, checkpoint, *work, *pairs)
    return _run("start.sh", *arguments, shown=f"start run {run}: {shown or command}")


def _run(name: str, *arguments: str, shown: str) -> Run:
    return Run(("sh", "-c", script(name), "zuka", *arguments), shown)


@cache
def script(name: str) -> str:
    """Return the text of a script of ours, behind the functions that all of them share."""
    common = (_SCRIPTS / "common.sh").read_text(encoding="utf-8")
    return common + (_SCRIPTS / name).read_text(encoding="utf-8")
