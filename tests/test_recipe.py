"""Wrong recipes are refused with place, reason and hint; right ones mean what they say."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from zuka import compiled, recipe
from zuka.__main__ import main
from zuka.errors import KindError, RecipeError

ROOT = Path(__file__).parent.parent
BAD = sorted((ROOT / "tests/recipes/bad").glob("*.yaml"))
HEAD = "zuka: 1\nstages:\n"


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_bad_recipe(
    path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The comment at the top of a bad recipe is the message that it must get."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("PATH", "/nowhere")  # whatever would be sent needs a program
    head = path.read_text().partition("# ---\n")[0]
    want = "".join(f"{line[2:]}\n" for line in head.splitlines())

    code = main(["check", str(path.relative_to(ROOT))])

    assert (2, want) == (code, capsys.readouterr().err)


def test_bad_recipes_are_enough() -> None:
    """The table keeps its size."""
    assert len(BAD) >= 40


def test_bad_recipe_is_refused_by_a_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`zuka run` says the same, with exit code 2, before anything is sent."""
    write(tmp_path, HEAD + "  - uplod\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as left:
        main(["run", "train"])

    assert 2 == left.value.code
    assert "recipes/train.yaml:3:5: no stage kind 'uplod'" in capsys.readouterr().err
    assert not (tmp_path / ".zuka" / "known_hosts").exists()


def write(project: Path, text: str, name: str = "train") -> Path:
    """Write a recipe into a project."""
    path = project / "recipes" / f"{name}.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def load(project: Path, text: str, **overrides: str) -> recipe.Recipe:
    """Read a recipe of a project."""
    return recipe.load(write(project, text), project, overrides)


@pytest.mark.parametrize(
    "written",
    [
        "22:30",
        "6006:22",
        "3e-4",
        "on",
        "no",
        "off",
        "010",
        "1_000",
        "2026-12-01",
        "0x10",
        "1.10",
        "y",
        "~x",
        ".5",
        "12:30:45",
        "NO",
        "1e3",
    ],
)
def test_yaml_traps_read_as_written(tmp_path: Path, written: str) -> None:
    """What a variable says arrives in the command as it was written."""
    text = f"zuka: 1\nvars: {{it: {written}}}\nstages:\n  - train: {{run: 'echo ${{it}}'}}\n"
    got = load(tmp_path, text)

    assert f"echo {written}" == got.stages[0].params["run"]
    assert f"echo {written}" == load(tmp_path, text, it=written).stages[0].params["run"]
    assert written == got.vars["it"]


@pytest.mark.parametrize("written", ["22:30", "on", "no", "off", "y"])
def test_yaml_traps_are_text(tmp_path: Path, written: str) -> None:
    """YAML 1.2: these are words, not clocks and switches."""
    got = load(tmp_path, f"{HEAD}  - poweroff: {{command: {written}}}\n")

    assert written == got.stages[0].params["command"]


@settings(max_examples=200)
@given(text=st.text(min_size=1).filter(lambda t: "${" not in t))
def test_any_text_survives(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """Whatever can stand in YAML is read as it is."""
    project = tmp_path_factory.getbasetemp() / "any"
    project.mkdir(exist_ok=True)
    value = {"zuka": 1, "stages": [{"train": {"run": text}}]}
    # Escaped: PyYAML writes a raw U+0085 that it reads back as a line break itself.
    got = load(project, yaml.safe_dump(value, allow_unicode=False))

    assert text == got.stages[0].params["run"]


@given(text=st.text(max_size=60))
def test_no_text_breaks_the_reader(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """Any text is a recipe or a RecipeError, never a traceback."""
    project = tmp_path_factory.getbasetemp() / "broken"
    project.mkdir(exist_ok=True)
    with contextlib.suppress(RecipeError):
        load(project, text.encode("utf-8", "replace").decode())


VARIABLES = [
    ("vars: {a: 1, b: '${a}2'}", "${b}", "12"),
    ("vars: {a: x}", "$${a} ${a}", "${a} x"),
    ("vars: {a: x}", "$a ${a}$", "$a x$"),
    ("vars: {a: '$(rm -rf /)'}", "${a}", "$(rm -rf /)"),
    ("vars: {a: true}", "${a}", True),
]


@pytest.mark.parametrize(("defined", "written", "meant"), VARIABLES)
def test_variables(tmp_path: Path, defined: str, written: str, meant: Any) -> None:
    """Variables use those before them; a doubled dollar is a literal one."""
    text = f"zuka: 1\n{defined}\nstages:\n  - snapshot: {{command: '{written}'}}\n"
    if meant is True:
        with pytest.raises(RecipeError, match="true, not text"):
            load(tmp_path, text)
        return

    assert meant == load(tmp_path, text).stages[0].params["command"]


def test_a_variable_alone_keeps_its_type(tmp_path: Path) -> None:
    """`count: ${gpus}` is a whole number when the variable is one."""
    text = "zuka: 1\nvars: {gpus: 2}\nstages:\n  - provision: {gpu: {count: '${gpus}'}}\n"

    assert {"count": 2} == load(tmp_path, text).stages[0].params["gpu"]
    assert {"count": 4} == load(tmp_path, text, gpus="4").stages[0].params["gpu"]


def test_environment_is_read_and_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A variable of the environment is part of what the recipe stands on."""
    monkeypatch.setenv("WHO", "Han Meimei")
    got = load(tmp_path, f"{HEAD}  - train: {{run: 'echo ${{env.WHO}}'}}\n")

    assert ("echo Han Meimei", {"WHO": "Han Meimei"}) == (
        got.stages[0].params["run"],
        got.environment,
    )


def test_checkpoint_is_left_for_the_box(tmp_path: Path) -> None:
    """`${checkpoint}` in run and resume is a variable of the shell on the box."""
    got = load(tmp_path, f"{HEAD}  - train: {{run: a, resume: '--resume ${{checkpoint}}'}}\n")

    assert "--resume ${checkpoint}" == got.stages[0].params["resume"]


def test_unknown_override_is_refused(tmp_path: Path) -> None:
    """A mistyped variable on the command line is no new variable."""
    with pytest.raises(RecipeError, match=r"no variable 'epoch'(.|\n)*did you mean 'epochs'"):
        load(tmp_path, "zuka: 1\nvars: {epochs: 3}\nstages: [keys]\n", epoch="4")


def test_needs_follow_the_order(tmp_path: Path) -> None:
    """Neighbours that do not touch stand side by side; `needs` says otherwise."""
    got = load(
        tmp_path,
        f"{HEAD}  - keys\n  - upload: {{source: a, target: a}}\n  - code\n"
        "  - env\n  - train: {run: a}\n  - fetch: {needs: [train, code]}\n",
    )
    needs = {placed.name: placed.needs for placed in got.stages}

    assert {
        "keys": (),
        "upload": ("keys",),
        "code": ("keys",),
        "env": ("keys",),
        "train": ("upload", "code", "env"),
        "fetch": ("train", "code"),
    } == needs


def test_extends(tmp_path: Path) -> None:
    """Maps merge, stages by name in the base's order, new ones come last."""
    write(
        tmp_path,
        "zuka: 1\nvars: {a: 1, b: 2}\nstages:\n  - keys\n  - train: {run: old}\n  - fetch\n",
        "base",
    )
    got = load(
        tmp_path,
        "zuka: 1\nextends: base.yaml\nvars: {b: 3}\nstages:\n"
        "  - train: {run: 'new ${a} ${b}'}\n  - clean\n",
    )

    assert ["keys", "train", "fetch", "clean"] == [placed.name for placed in got.stages]
    assert "new 1 3" == got.stages[1].params["run"]
    assert {"base.yaml", "train.yaml"} <= {path.name for path in got.reads}


def test_mistakes_of_the_base_are_shown_there(tmp_path: Path) -> None:
    """An error names the file that the mistake stands in."""
    write(tmp_path, HEAD + "  - train: {runn: a}\n", "base")
    with pytest.raises(RecipeError, match=r"recipes/base.yaml:3:13: train has no key 'runn'"):
        load(tmp_path, "zuka: 1\nextends: base.yaml\nstages: [keys]\n")


@pytest.mark.parametrize("name", ["run", "list", "why", "Train", "2nd", "a b"])
def test_names_that_no_task_can_have(tmp_path: Path, name: str) -> None:
    """A recipe called like a command would never run."""
    with pytest.raises(RecipeError, match=r"name|called"):
        recipe.load(write(tmp_path, "zuka: 1\nstages: [keys]\n", name), tmp_path, {})


def test_an_alias_bomb_is_refused(tmp_path: Path) -> None:
    """A small file cannot become a large one."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    with pytest.raises(RecipeError, match="more values than a recipe can need"):
        load(tmp_path, "\n".join(lines))


def test_machines_by_name(tmp_path: Path) -> None:
    """A machine is found in machines.yaml; another name is an alias of ssh_config."""
    (tmp_path / "machines.yaml").write_text(
        "machines: {mygpu: {address: gpu.example, port: 22022, user: root, key: ~/k}}\n"
    )
    known = load(tmp_path, "zuka: 1\nmachine: mygpu\nstages: [keys]\n").machine
    alias = load(tmp_path, "zuka: 1\nmachine: lab\nstages: [keys]\n").machine

    assert ("mygpu", "gpu.example", 22022, "root") == (
        known.name,
        known.address,
        known.port,
        known.user,
    )
    assert known.key == Path("~/k").expanduser()
    assert ("lab", "", None) == (alias.name, alias.address, alias.port)


def test_mistakes_in_machines_are_placed(tmp_path: Path) -> None:
    """machines.yaml is checked like a recipe."""
    (tmp_path / "machines.yaml").write_text("machines:\n  mygpu:\n    adress: gpu.example\n")
    with pytest.raises(RecipeError, match=r"machines.yaml:3:5: .*no key 'adress'"):
        load(tmp_path, "zuka: 1\nmachine: mygpu\nstages: [keys]\n")


def test_a_kept_recipe_equals_a_fresh_one(tmp_path: Path) -> None:
    """The cache of checked recipes changes nothing but the time."""
    shutil.copytree(ROOT / "zuka" / "templates", tmp_path, dirs_exist_ok=True)
    path = tmp_path / "recipes" / "train.yaml"
    first = compiled.load(path, tmp_path, {"steps": "7"})
    assert (tmp_path / ".zuka" / "cache" / "train.json").exists()
    again = compiled.load(path, tmp_path, {"steps": "7"})

    assert [placed.stage for placed in first.stages] == [placed.stage for placed in again.stages]
    assert (first.machine, first.vars) == (again.machine, again.vars)
    other = compiled.load(path, tmp_path, {"steps": "8"})
    assert "python train.py --steps 8" == other.stages[5].params["run"]


def test_a_kind_that_comes_to_shadow_ours_is_seen(tmp_path: Path) -> None:
    """A project's own kind wins over ours, also when the recipe is kept already."""
    path = write(tmp_path, HEAD + "  - clean\n")
    assert not compiled.load(path, tmp_path, {}).stages[0].kind.own
    for room, name in (("tasks", "clean.py"), ("schemas", "clean.schema.json")):
        (tmp_path / room).mkdir()
        shutil.copy(ROOT / room / name, tmp_path / room / name)

    assert compiled.load(path, tmp_path, {}).stages[0].kind.own


BROKEN_KINDS = [
    ("import nowhere\n", r"tasks/mine.py:1: ModuleNotFoundError"),
    ("x = (\n", r"tasks/mine.py:1: SyntaxError"),
    ("x = 1\n", "defines 0 stage kinds, not 1"),
]


@pytest.mark.parametrize(("text", "message"), BROKEN_KINDS)
def test_a_broken_kind_is_named(tmp_path: Path, text: str, message: str) -> None:
    """A mistake in a user's own kind is shown with its place."""
    from zuka import kinds

    for room in ("tasks", "schemas"):
        (tmp_path / room).mkdir()
    (tmp_path / "tasks" / "mine.py").write_text(text)
    (tmp_path / "schemas" / "mine.schema.json").write_text("{}")
    with pytest.raises(KindError, match=message):
        kinds.find("mine", tmp_path)


def test_a_program_of_somebody_else_is_no_kind(tmp_path: Path) -> None:
    """A tasks folder of invoke or celery beside ours is harmless."""
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "deploy.py").write_text("raise SystemExit\n")
    from zuka import kinds

    assert "deploy" not in kinds.names(tmp_path)
