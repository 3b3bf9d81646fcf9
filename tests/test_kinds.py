"""Rules that every stage kind keeps, ours and a user's; nothing here names a kind."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from zuka import kinds, testing
from zuka.errors import RecipeError
from zuka.stage import Product, Site, Stage
from zuka.trees import Reader

ROOT = Path(__file__).parent.parent
NOTES = {"$schema", "$id", "title", "description", "default", "examples", "x-says", "x-leave"}
CASES = sorted((ROOT / "tests" / "cases").glob("*/*.yaml"))
NAMES = kinds.names(ROOT)


def _parts(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield schema
    for part in schema.get("properties", {}).values():
        yield from _parts(part)
    if isinstance(schema.get("items"), dict):
        yield from _parts(schema["items"])


def _case(path: Path) -> dict[str, Any]:
    value: dict[str, Any] = yaml.safe_load(path.read_text())
    return value


def test_code_and_schema_come_in_pairs() -> None:
    """Every file in tasks/ has its twin in schemas/, by name."""
    code = {path.stem for path in (ROOT / "tasks").glob("*.py")}
    schemas = {path.name.partition(".")[0] for path in (ROOT / "schemas").glob("*.json")}

    assert code == schemas - {"recipe", "machines"}


@pytest.mark.parametrize("name", NAMES)
class TestEveryKind:
    """The contract of a kind."""

    def test_schema_is_a_schema(self, name: str) -> None:
        """The schema itself is valid draft-07, the newest that editors read."""
        schema = kinds.find(name, ROOT).schema

        assert "http://json-schema.org/draft-07/schema#" == schema["$schema"]
        jsonschema.Draft7Validator.check_schema(schema)

    def test_schema_has_no_unknown_words(self, name: str) -> None:
        """A mistyped keyword checks nothing; JSON Schema itself lets it pass."""
        known = {*jsonschema.Draft7Validator.VALIDATORS, *NOTES}
        schema = kinds.find(name, ROOT).schema

        assert set() == {word for part in _parts(schema) for word in part} - known

    def test_fields_are_the_schema_keys(self, name: str) -> None:
        """The class and the schema name the same keys."""
        kind = kinds.find(name, ROOT)

        assert set(kind.schema["properties"]) == {f.name for f in dataclasses.fields(kind.cls)}

    def test_keys_without_a_default_are_required(self, name: str) -> None:
        """A stage can be made from the required keys alone, and with the schema's defaults."""
        kind = kinds.find(name, ROOT)
        properties = kind.schema["properties"]
        free = {key for key, spec in properties.items() if "default" not in spec}

        assert free == set(kind.schema.get("required", []))
        for field in dataclasses.fields(kind.cls):
            if field.default is not dataclasses.MISSING:
                assert field.default == kinds.frozen(properties[field.name]["default"])

    def test_everything_is_described(self, name: str) -> None:
        """A user can read what the kind and each key mean, the same words everywhere."""
        kind = kinds.find(name, ROOT)

        assert kind.doc.partition("\n")[0].replace("`", "'") == kind.schema["description"]
        for key, spec in kind.schema["properties"].items():
            assert spec.get("description"), key

    def test_imports_the_contract_alone(self, name: str) -> None:
        """A kind needs nothing of zuka but zuka.stage, so that a user's can do as much."""
        lines = kinds.find(name, ROOT).source.read_text().splitlines()
        ours = [line for line in lines if line.startswith(("from zuka", "import zuka"))]

        assert {"from zuka.stage"} == {line.partition(" import")[0] for line in ours}

    def test_has_a_current_and_a_stale_case(self, name: str) -> None:
        """Both answers of explain are shown by a case file; a product's first is the engine's."""
        said = {bool(_case(path)["explain"]) for path in CASES if path.parent.name == name}
        is_product = issubclass(kinds.find(name, ROOT).cls, Product)

        assert ({True} if is_product else {True, False}) == said

    def test_a_current_stage_plans_nothing(self, name: str) -> None:
        """Where nothing is to be explained, nothing is to be done."""
        for case in (_case(path) for path in CASES if path.parent.name == name):
            assert case["explain"] or not case["plan"]


@pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_case(path: Path, tmp_path: Path) -> None:
    """A case file says what a kind asks, explains and does, given the box's replies."""
    case = _case(path)
    folder = tmp_path / "project"
    folder.mkdir()
    got = testing.replay(kinds.find(path.parent.name, ROOT), case, folder)

    assert {key: case[key] for key in got} == got


@given(state=st.dictionaries(st.text(), st.one_of(st.none(), st.text())))
def test_equal_states_are_explained_by_nothing(state: dict[str, str | None]) -> None:
    """No lines means up to date, whatever the facts are called."""
    assert [] == list(Stage().explain(state, dict(state)))


@pytest.mark.parametrize("line", ["-r base.txt", "-e .", "./wheels/a.whl", "--constraint c.txt"])
def test_requirements_that_point_elsewhere(tmp_path: Path, line: str) -> None:
    """A line that means files which are not on the box is refused with its place."""
    case = {"files": {"requirements.txt": f"numpy\n{line}\n"}, "replies": [{}, {}]}
    with pytest.raises(RecipeError, match=r"requirements.txt:2: .*points at other local files"):
        testing.replay(kinds.find("env", ROOT), case, tmp_path)


@pytest.mark.parametrize("own", ["command", "profile"])
def test_a_labs_machine_is_not_ours_to_switch_off(tmp_path: Path, own: str) -> None:
    """Before anything is sent; whoever gives a command of their own means it."""
    kind, reader = kinds.find("poweroff", ROOT), Reader(tmp_path, tmp_path / "cache.json")
    site = Site(tmp_path, "train", "poweroff", reader, testing.Access(platform="lab"))
    with pytest.raises(RecipeError, match="a lab's machine") as caught:
        kind.make({}).inputs(site)
    assert "leave poweroff out" in caught.value.hint
    if own == "profile":
        meant = testing.Access(platform="lab", profile={"power_off": "bye"})
        site = Site(tmp_path, "train", "poweroff", reader, meant)
    command = "bye" if own == "command" else ""
    assert {"command": command} == kind.make({"command": command}).inputs(site)
