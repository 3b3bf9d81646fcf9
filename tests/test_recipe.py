"""Wrong recipes are refused with place, reason and hint; right ones mean what they say."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from doit.doit_cmd import DoitMain
from hypothesis import given, settings
from hypothesis import strategies as st

from zuka import compiled, door, recipe
from zuka.__main__ import main
from zuka.errors import RecipeError

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
    assert len(BAD) >= 100


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
    """Whatever can stand in quotes is read as it is."""
    project = tmp_path_factory.getbasetemp() / "any"
    project.mkdir(exist_ok=True)
    quoted = yaml.safe_dump(text, default_style='"', width=10**9)
    got = load(project, f"zuka: 1\nstages:\n  - train:\n      run: {quoted}")

    assert text == got.stages[0].params["run"]


@settings(max_examples=200)
@given(text=st.text().filter(lambda t: "${" not in t and t[:1] not in ("'", '"')))
def test_any_text_survives_the_command_line(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    """`name=value` needs no quotes but the shell's: nothing in it is YAML's but its type."""
    project = tmp_path_factory.getbasetemp() / "given"
    project.mkdir(exist_ok=True)
    recipe_text = "zuka: 1\nvars: {it: a}\nstages:\n  - train: {run: 'echo ${it}'}\n"

    assert f"echo {text}" == load(project, recipe_text, it=text).stages[0].params["run"]


@given(text=st.text(max_size=60))
def test_no_text_breaks_the_reader(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """Any text is a recipe or a RecipeError, never a traceback."""
    project = tmp_path_factory.getbasetemp() / "broken"
    project.mkdir(exist_ok=True)
    with contextlib.suppress(RecipeError):
        load(project, text.encode("utf-8", "replace").decode())


GIVEN = [
    ("*.py", "*.py"),
    ("a: b # c", "a: b # c"),
    ("[x", "[x"),
    ("'010'", "010"),
    ('"a b"', "a b"),
    ('"a" "b"', '"a" "b"'),
    ("", ""),
    ("~", "~"),
    ("${other}/x", "y/x"),
    ("$${other}", "${other}"),
]


@pytest.mark.parametrize(("text", "meant"), GIVEN)
def test_what_the_command_line_gives(tmp_path: Path, text: str, meant: str) -> None:
    """A value is one scalar, also where YAML would see an alias, a comment or a list."""
    recipe_text = f"zuka: 1\nvars: {{it: a, other: y}}\n{HEAD[8:]}  - train: {{run: '<${{it}}>'}}\n"

    assert f"<{meant}>" == load(tmp_path, recipe_text, it=text).stages[0].params["run"]


STRANGE = [
    (b"\xef\xbb\xbfzuka: 1\r\nstages:\r\n  - keyz\r\n", "3:5: no stage kind 'keyz'"),
    (b"zuka: 1\rstages:\r  - keyz\r", "3:5: no stage kind 'keyz'"),
    ("zuka: 1 # \u2028\nstages: [keyz]\n".encode(), "3:10: no stage kind 'keyz'"),
    (b"zuka: 1\nstages: [\xff]\n", "2:10: is not UTF-8 text"),
    (b"zuka: 1\nstages: [keys] # \x07\n", r"2:18: the character U\+0007 cannot stand in YAML"),
    (b'zuka: 1\nstages: ["\\e[31m"]\n', r"2:10: no stage kind '\\x1b\[31m'"),
    (b"zuka: " + b"9" * 5000, r"1:7: '9{20}' cannot be read as a number"),
    (b"zuka: " + b"[" * 5000, "nested deeper than a recipe can need"),
    (b"zuka: " + b"[" * 900 + b"]" * 900, "nested deeper than a recipe can need"),
    (b"zuka: 1\nstages: [" + b"a" * 300 + b"]\n", "2:10: no stage kind 'aaa"),
    (b'zuka: 1\nextends: "\\0"\nstages: [keys]\n', "2:10: no such recipe to extend"),
    (b"zuka: 1\nextends: " + b"a" * 300 + b"\nstages: [keys]\n", "2:10: no such recipe"),
    (b"&a\nzuka: 1\nstages: [keys]\n<<: *a\n", "1:1: "),
]


@pytest.mark.parametrize(("raw", "message"), STRANGE)
def test_strange_files_get_a_place(tmp_path: Path, raw: bytes, message: str) -> None:
    """Whatever a file holds, the answer is a place and a reason."""
    path = write(tmp_path, "")
    path.write_bytes(raw)
    with pytest.raises(RecipeError, match=rf"recipes/train.yaml:.*{message}"):
        recipe.load(path, tmp_path, {})


VARIABLES = [
    ("vars: {a: 1, b: '${a}2'}", "${b}", "12"),
    ("vars: {a: x}", "$${a} ${a}", "${a} x"),
    ("vars: {a: x}", "$a ${a}$", "$a x$"),
    ("vars: {a: '$(rm -rf /)'}", "${a}", "$(rm -rf /)"),
    ("vars: {a: true}", "${a}", True),
    ("vars: {b: '${a}2', a: 1}", "${b}", "12"),
    ("vars: {a: x}", "$${ $${a} $${${a}}", "${ ${a} ${x}"),
    ("vars: {a: '$${x}'}", "${a}", "${x}"),
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


def test_a_box_replaces_one_of_another_form(tmp_path: Path) -> None:
    """A sandbox below is not mixed with an address above; two addresses are merged."""
    write(tmp_path, "zuka: 1\nmachine: {sandbox: {bin: b}}\nstages: [keys]\n", "base")
    above = "zuka: 1\nextends: base.yaml\nmachine: {address: a.example}\nstages: [keys]\n"
    got = load(tmp_path, above).machine

    assert ("a.example", False) == (got.address, got.sandbox)
    write(tmp_path, "zuka: 1\nmachine: {address: b.example, port: 7}\nstages: [keys]\n", "base")
    got = load(tmp_path, above).machine
    assert ("a.example", 7) == (got.address, got.port)


def test_a_box_may_be_a_variable(tmp_path: Path) -> None:
    """What the command line says is checked like what is written."""
    text = "zuka: 1\nvars: {box: a, port: 22}\nmachine: {address: '${box}', port: '${port}'}\n"
    got = load(tmp_path, f"{text}stages: [keys]\n", port="2222").machine

    assert ("a", 2222) == (got.address, got.port)
    with pytest.raises(RecipeError, match="'-oProxyCommand=x', not a host name"):
        load(tmp_path, f"{text}stages: [keys]\n", box="-oProxyCommand=x")


def test_a_chain_of_bases(tmp_path: Path) -> None:
    """A base has a base; a circle is refused where it closes."""
    write(tmp_path, "zuka: 1\nvars: {root: r}\nstages:\n  - train: {run: a}\n", "one")
    write(tmp_path, "zuka: 1\nextends: one.yaml\nstages:\n  - fetch\n", "two")
    above = "zuka: 1\nextends: two.yaml\nvars: {out: '${root}/x'}\nstages: [clean]\n"

    assert {"root": "r", "out": "r/x"} == load(tmp_path, above).vars
    write(tmp_path, "zuka: 1\nextends: train.yaml\nstages: [keys]\n", "one")
    with pytest.raises(RecipeError, match=r"one.yaml:2:10: 'train.yaml' extends itself"):
        load(tmp_path, above)


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


@pytest.mark.parametrize(
    "damage",
    ["", "{", "[]", '{"format": 2}', "null", '{"format": 2, "key": 1, "stats": 3}', "\x00"],
)
def test_a_damaged_cache_is_none(tmp_path: Path, damage: str) -> None:
    """A cache that is not what was written is read past, and replaced."""
    path = write(tmp_path, HEAD + "  - keys\n")
    cache = tmp_path / ".zuka" / "cache" / "train.json"
    fresh = compiled.load(path, tmp_path, {})
    whole = cache.read_text()
    cache.write_text(damage)

    assert fresh == compiled.load(path, tmp_path, {})
    assert whole == cache.read_text()


def test_each_part_of_a_cache_may_be_gone(tmp_path: Path) -> None:
    """Nothing that is missing or of another type leads to a traceback."""
    path = write(tmp_path, HEAD + "  - keys\n")
    cache = tmp_path / ".zuka" / "cache" / "train.json"
    fresh = compiled.load(path, tmp_path, {})
    whole = json.loads(cache.read_text())
    for name in whole:
        for damage in ({}, {name: None}, {name: 7}, {name: [None]}, {name: {"a": 1}}):
            rest = {key: value for key, value in whole.items() if key != name}
            cache.write_text(json.dumps({**rest, **damage}))

            assert fresh.stages == compiled.load(path, tmp_path, {}).stages, (name, damage)


CHANGES = [
    ("recipes/train.yaml", "zuka: 1\nextends: base.yaml\nstages:\n  - fetch\n"),
    ("recipes/base.yaml", HEAD + "  - upload: {source: a, target: b}\n"),
    ("machines.yaml", "machines: {lab: {address: lab.example}}\n"),
]


@pytest.mark.parametrize(("name", "text"), CHANGES)
def test_a_change_of_any_file_is_seen(tmp_path: Path, name: str, text: str) -> None:
    """Recipe, base and machines.yaml: a recipe that is kept is never an old one."""
    write(tmp_path, "zuka: 1\nmachine: lab\nstages: [keys]\n", "base")
    path = write(tmp_path, "zuka: 1\nextends: base.yaml\nstages: [clean]\n")
    before = compiled.load(path, tmp_path, {})
    (tmp_path / name).write_text(text)

    after = compiled.load(path, tmp_path, {})
    fresh = recipe.load(path, tmp_path, {})
    assert before != after
    assert (fresh.stages, fresh.machine) == (after.stages, after.machine)


def test_a_change_of_the_environment_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A recipe that is kept holds for the environment that it was read in."""
    path = write(tmp_path, HEAD + "  - train: {run: 'echo ${env.WHO}'}\n")
    for who in ("Li Lei", "Han Meimei"):
        monkeypatch.setenv("WHO", who)

        assert f"echo {who}" == compiled.load(path, tmp_path, {}).stages[0].params["run"]


def test_a_file_that_changes_after_it_is_read_is_seen(tmp_path: Path) -> None:
    """Files are looked at before they are read: an edit during a run belongs to the next run."""
    path = write(tmp_path, HEAD + "  - keys\n")
    got = recipe.load(path, tmp_path, {})
    path.write_text(HEAD + "  - clean\n")

    assert got.reads[path.resolve()] != door.stat(str(path))


def test_a_kept_recipe_needs_no_yaml(tmp_path: Path) -> None:
    """A second reading loads neither YAML nor schemas: that is most of its time."""
    path = write(tmp_path, HEAD + "  - keys\n  - train: {run: a}\n")
    compiled.load(path, tmp_path, {})
    program = (
        "import sys; from pathlib import Path; from zuka import compiled;"
        f"compiled.load(Path({str(path)!r}), Path({str(tmp_path)!r}), {{}});"
        "print(sorted({'yaml', 'yamlcore', 'jsonschema', 'zuka.reading'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert "[]" == done.stdout.strip()


def test_a_schema_that_makes_a_kind_of_anothers_file_is_seen(tmp_path: Path) -> None:
    """A file of the same name was there before, and is a kind only with its schema."""
    path = write(tmp_path, HEAD + "  - clean\n")
    for room in ("tasks", "schemas"):
        (tmp_path / room).mkdir()
    shutil.copy(ROOT / "tasks" / "clean.py", tmp_path / "tasks")
    assert not compiled.load(path, tmp_path, {}).stages[0].kind.own
    shutil.copy(ROOT / "schemas" / "clean.schema.json", tmp_path / "schemas")

    assert compiled.load(path, tmp_path, {}).stages[0].kind.own


def test_a_kind_that_comes_to_shadow_ours_is_seen(tmp_path: Path) -> None:
    """A project's own kind wins over ours, also when the recipe is kept already."""
    path = write(tmp_path, HEAD + "  - clean\n")
    assert not compiled.load(path, tmp_path, {}).stages[0].kind.own
    for room, name in (("tasks", "clean.py"), ("schemas", "clean.schema.json")):
        (tmp_path / room).mkdir()
        shutil.copy(ROOT / room / name, tmp_path / room / name)

    assert compiled.load(path, tmp_path, {}).stages[0].kind.own


STAGE = """from dataclasses import dataclass
from zuka.stage import Stage
@dataclass(frozen=True)
class Mine(Stage):
    it: str
"""
GOOD = '{"properties": {"it": {"type": "string"}}, "required": ["it"]}'
BROKEN_KINDS = [
    ("import nowhere\n", "{}", r"tasks/mine.py:1: ModuleNotFoundError"),
    ("x = (\n", "{}", r"tasks/mine.py:1: SyntaxError"),
    ("import json\n\njson.loads('{')\n", "{}", r"tasks/mine.py:3: JSONDecodeError"),
    ("raise SystemExit(3)\n", "{}", r"tasks/mine.py:1: SystemExit: 3"),
    ("x = 1\n", "{}", "defines 0 stage kinds, not 1"),
    (f"{STAGE}class Other(Mine): pass\n", GOOD, "defines 2 stage kinds, not 1"),
    (STAGE, "{", "mine.schema.json: is not JSON"),
    (STAGE, "[]", "mine.schema.json: is not a map with 'properties'"),
    (STAGE, '{"properties": {"it": true}}', "is not a map with 'properties', each a map"),
    (STAGE, "{}", "mine.schema.json: has no property 'it' of Mine"),
    (STAGE, GOOD.replace('"it"', '"is"'), "Mine has no field 'is' of the schema"),
    (STAGE, '{"properties": {"name": {}}}', "'name' is a key of every stage already"),
    (STAGE, GOOD.replace("string", "strng"), "is no JSON Schema: 'properties.it.type'"),
    (STAGE, GOOD.replace('"type": "string"', '"pattern": "("'), "is no JSON Schema"),
    (STAGE, '{"properties": {"it": {}}}', "missing 1 required positional argument: 'it'"),
]


@pytest.mark.parametrize(("text", "schema", "message"), BROKEN_KINDS)
def test_a_broken_kind_is_named(tmp_path: Path, text: str, schema: str, message: str) -> None:
    """A mistake in a user's own kind is shown with its place, and where the recipe asks for it."""
    for room in ("tasks", "schemas"):
        (tmp_path / room).mkdir()
    (tmp_path / "tasks" / "mine.py").write_text(text)
    (tmp_path / "schemas" / "mine.schema.json").write_text(schema)
    with pytest.raises(RecipeError, match=rf"recipes/train.yaml:3:5: .*{message}"):
        load(tmp_path, HEAD + "  - mine\n")


def test_every_command_is_a_name_that_no_recipe_can_have() -> None:
    """`doit run list` must stay doit's; a new command is added to the list."""
    ours = {path.stem for path in (ROOT / "zuka" / "commands").glob("*.py")} - {"__init__"}
    theirs = {command.name or command.__name__.lower() for command in DoitMain.DOIT_CMDS}

    assert set() == (ours | theirs) - recipe.TAKEN


GOOD_RECIPES = sorted((ROOT / "tests/recipes/good").glob("*.yaml"))


@pytest.mark.parametrize("path", GOOD_RECIPES, ids=lambda path: path.stem)
def test_good_recipe(path: Path) -> None:
    """The comment at the top of a good recipe is what its stages mean, one a line as JSON."""
    head = path.read_text().partition("# ---\n")[0]
    want = [json.loads(line[2:]) for line in head.splitlines()]
    got = recipe.load(path, ROOT, {})

    assert want == [[each.name, list(each.needs), dict(each.params)] for each in got.stages]


def test_a_program_of_somebody_else_is_no_kind(tmp_path: Path) -> None:
    """A tasks folder of invoke or celery beside ours is harmless."""
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "deploy.py").write_text("raise SystemExit\n")
    from zuka import kinds

    assert "deploy" not in kinds.names(tmp_path)
