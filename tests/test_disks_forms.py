"""Every form of df's output is read for what it is, and judged by what holds the data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from zuka.disks import bytes_of, diagnose, findings, read

FILE = Path(__file__).parent / "diagnosis" / "df.yaml"
FORMS: list[dict[str, Any]] = yaml.safe_load(FILE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("form", FORMS, ids=[form["form"] for form in FORMS])
def test_a_form(form: dict[str, Any]) -> None:
    """The verdicts, their places and the numbers are right."""
    mounts = {mount.at: mount for mount in read(form["said"])}
    found = findings(tuple(mounts.values()))

    assert form["verdicts"] == [f"{each.verdict} {each.facts['at']}" for each in found]
    first = diagnose(form["said"])
    assert (first and first.verdict) == form.get("says", found[0].verdict)
    for at, free in form.get("free", {}).items():
        assert bytes_of(str(free)) == mounts[at].free
    for at, percent in form.get("percent", {}).items():
        assert percent == mounts[at].percent
    for at, left in form.get("inodes", {}).items():
        assert left == mounts[at].inodes_free
