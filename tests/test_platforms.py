"""A profile proves what it says; a box's answer and its address tell who rents it out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator

from zuka.platforms import PROBE, detect, load, names, refused
from zuka.platforms.detect import fits, host_of

FOLDER = Path(__file__).parent.parent / "zuka" / "platforms"
SCHEMA = json.loads((FOLDER / "platform.schema.json").read_text(encoding="utf-8"))
PLAIN = {
    path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in FOLDER.glob("*.yaml")
}
EACH = pytest.mark.parametrize("name", sorted(PLAIN))


def _inside(plain: Any, place: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every map of a profile with its place."""
    if isinstance(plain, dict):
        yield place, plain
    pairs = plain.items() if isinstance(plain, dict) else enumerate(plain)
    for key, value in pairs:
        if isinstance(value, (dict, list)):
            yield from _inside(value, f"{place}.{key}")


class TestSchema:
    def test_is_a_schema_whose_keys_are_explained(self) -> None:
        """An editor can say of every key what it is for."""
        Draft7Validator.check_schema(SCHEMA)
        for place, part in _inside(SCHEMA):
            if place.endswith((".properties", ".definitions")):
                assert all(each.get("description") for each in part.values()), place
            if part.get("type") == "object" and "propertyNames" not in part:
                assert part["additionalProperties"] is False, place

    @EACH
    def test_holds(self, name: str) -> None:
        """Every profile is as the schema says, and short."""
        text = (FOLDER / f"{name}.yaml").read_text(encoding="utf-8")

        assert [*Draft7Validator(SCHEMA).iter_errors(PLAIN[name])] == []
        assert len(text.splitlines()) < 80
        assert PLAIN[name]["name"] == name


@EACH
class TestEveryProfile:
    def test_proves_every_group_of_facts(self, name: str) -> None:
        """What has no source and no year is hearsay for ever."""
        groups = [(key, PLAIN[name][key]) for key in SCHEMA["required"][2:] if key != "lost"]
        groups += [("lost", each) for each in PLAIN[name]["lost"]]
        for place, group in groups:
            assert group["proof"].keys() == {"source", "checked", "certainty"}, place

    def test_speaks_both_languages(self, name: str) -> None:
        """What stands in English stands in Chinese."""
        texts = [each for each in _inside(PLAIN[name]) if {"en", "zh"} & each[1].keys()]
        assert texts
        for place, text in texts:
            assert text.keys() == {"en", "zh"}, place
            assert place == ".title" or re.search("[\u4e00-\u9fff]", text["zh"]), place

    def test_is_read_whole(self, name: str) -> None:
        """The classes hold all that the file says."""
        profile = load(name)

        assert profile.name == name
        assert profile.recognise.proof.checked >= 2026
        assert profile.title.say("zh") == PLAIN[name]["title"]["zh"]
        assert [each.after_hours for each in profile.lost] == [
            each.get("after_hours") for each in PLAIN[name]["lost"]
        ]
        assert profile.power_off.command == PLAIN[name]["power_off"]["command"]
        assert [each.verdict for each in profile.ssh.refused] == [
            each["verdict"] for each in PLAIN[name]["ssh"]["refused"]
        ]
        assert isinstance(profile.ssh.notes, tuple)
        assert hash(profile.ssh)

    def test_says_one_thing_of_the_meter(self, name: str) -> None:
        """The class of the meter and what the command ends do not contradict each other."""
        off, outside = load(name).power_off, load(name).outside
        ends = {
            "A": ("yes", "gpu-only"),
            "B": ("gpu-only",),
            "C": ("no",),
            "D": ("unknown",),
            "none": ("no",),
        }
        assert off.ends_bill in ends[off.meter]
        assert off.meter not in "AB" or off.command
        assert off.meter != "D" or not off.command
        assert off.meter != "C" or outside.cli or outside.api
        assert all(f"${variable}" in off.command for variable in off.variables[:1])

    def test_clock_starts_where_there_is_one(self, name: str) -> None:
        """A clock has a length, and only a clock has."""
        assert all((each.when == "clock") == bool(each.after_hours) for each in load(name).lost)

    def test_has_an_address_that_can_be_used(self, name: str) -> None:
        """The example of one platform is neither refused nor taken for another's."""
        address = load(name).ssh.example.split()[-1]

        assert refused(address) is None
        assert detect("", address).name in (name, "generic")

    def test_probe_asks_for_its_marks(self, name: str) -> None:
        """A mark that the probe does not look for would never be found."""
        for marks in (load(name).recognise.sure, load(name).recognise.likely):
            for mark in (*marks.variables, *marks.paths):
                assert re.search(rf"(?<![\w/.]){re.escape(mark)}(?![\w/.])", PROBE), mark


def test_probe_asks_for_nothing_else() -> None:
    """Each name that the probe looks for is a mark of some profile."""
    marks = [m for n in names() for m in (load(n).recognise.sure, load(n).recognise.likely)]
    known = {mark for each in marks for mark in (*each.variables, *each.paths)}
    for asked in re.findall(r"zuka_(?:names|paths)='([^']*)'", PROBE):
        assert set(asked.split()) <= known


def test_names_are_the_files() -> None:
    """A name is only ever a file of ours."""
    assert sorted(PLAIN) == names()
    for wrong in ("", "nobody", "../catalogue/gpu", "AutoDL"):
        with pytest.raises(LookupError, match="no platform"):
            load(wrong)


BOXES = yaml.safe_load(
    (Path(__file__).parent / "diagnosis" / "platforms" / "boxes.yaml").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("row", BOXES, ids=[row["box"] for row in BOXES])
def test_a_box_is_recognised(row: dict[str, str]) -> None:
    """The platform is named, with how sure that is, and with who else speaks up."""
    found = detect(row.get("answer", ""), row.get("address", ""))

    assert (row["name"], row["certainty"]) == (found.name, found.certainty)
    assert row.get("against", "") == ",".join(found.against)
    assert bool(found.why) == (found.name != "generic")


def test_facts_are_shown_harmless() -> None:
    """What the box says is named as a reason, without its escapes and not at any length."""
    answer = "host=autodl-container-\x1b[31m\x07" + "x" * 5000
    found = detect(answer, "\x1b]0;a\x07connect.a.seetacloud.com")

    assert "autodl" == found.name
    assert all(len(why) < 300 and why.isprintable() for why in found.why)


def test_facts_are_told_apart() -> None:
    """A variable, a host name and an address look like what they are, in any language."""
    found = detect(f"probe=1\n{BOXES[0]['answer']}region=west-E", BOXES[0]["address"])

    assert found.asked
    assert "west-E" == found.region
    assert "$AutoDLContainerUUID" in found.why
    assert "host=autodl-container-1a2b3c-4d5e" in found.why
    assert "connect.nowhere.seetacloud.com" in found.why


@given(
    st.lists(
        st.builds(
            "{}={}".format,
            st.sampled_from(["env", "listed", "host", "path", "user", "vendor", "region", "probe"]),
            st.sampled_from(["AutoDLRegion", "VAST_CONTAINERLABEL", "/hy-tmp", "featurize"])
            | st.text(),
        )
    ),
    st.sampled_from(["", "ssh1.vast.ai", "10.0.0.1", "connect.a.seetacloud.com"]),
)
def test_any_mix_of_marks_has_one_answer(lines: list[str], address: str) -> None:
    """The order of lines does not matter, and sure means that nobody else speaks up."""
    found = detect("\n".join(lines), address)

    assert found.name in names()
    assert found.certainty != "sure" or not found.against
    assert "none" == found.certainty if found.name == "generic" else found.why


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("root@a.example:22", "a.example"),
        ("ssh://root@a.example:22/", "a.example"),
        ("[2001:db8::1]:22", "2001:db8::1"),
        ("2001:db8::1", "2001:db8::1"),
        ("A.Example.", "a.example"),
        ("", ""),
    ],
)
def test_the_host_of_an_address(address: str, host: str) -> None:
    """However it was written."""
    assert host == host_of(address)


def test_a_network_is_no_pattern_of_names() -> None:
    """Only an address lies in a network."""
    assert fits("10.0.0.0/8", "10.255.0.1")
    assert not fits("10.0.0.0/8", "10.a.example")
    assert not fits("10.0.0.0/8", "11.0.0.1")
