"""What a box costs, and what the user knows better of it than its platform's profile."""

from __future__ import annotations

from pathlib import Path

import pytest

from zuka import machines, platforms, prices
from zuka.machines import Machine
from zuka.places import Problems

HOUR = {"hour": 1.98, "currency": "CNY"}


@pytest.mark.parametrize(
    ("given", "seconds", "want"),
    [
        (HOUR, 340, "0.19 CNY"),
        (HOUR, 3600, "1.98 CNY"),
        (HOUR, 0, "0.00 CNY"),
        ({"hour": 0.1, "currency": "USD"}, 3 * 3600, "0.30 USD"),  # 0.30000000000000004 in floats
        ({"hour": 0.01, "currency": "USD"}, 1800, "0.01 USD"),  # half a cent is rounded up
        ({}, 3600, ""),
    ],
)
def test_cost(given: dict[str, object], seconds: float, want: str) -> None:
    """Decimal throughout; nothing is guessed where nobody said a price."""
    assert want == prices.cost(given, seconds)


def test_rate() -> None:
    """The rate is as it was written."""
    assert "1.98 CNY an hour" == prices.rate(HOUR)
    assert "" == prices.rate({})


BOX = "machines:\n  mygpu: {{address: gpu.example, {}}}\n"


def listed(folder: Path, keys: str) -> Machine:
    """Return the one machine of a machines.yaml."""
    (folder / "machines.yaml").write_text(BOX.format(keys))
    return machines.listed(folder)[0]


def test_prices_and_profile_survive_the_cache(tmp_path: Path) -> None:
    """A machine as plain data is the same machine."""
    keys = "prices: {hour: 1.98, currency: CNY}, profile: {power_off: bye, ends_bill: yes}"
    machine = listed(tmp_path, keys)

    assert HOUR == machine.prices
    assert {"power_off": "bye", "ends_bill": "yes"} == machine.profile
    assert machine == Machine.from_facts(machine.facts())


@pytest.mark.parametrize(
    "keys",
    [
        "prices: {hour: 2}",
        "prices: {hour: -1, currency: CNY}",
        "prices: {hour: 2, currency: yuan}",
        "prices: {hours: 2, currency: CNY}",
        "profile: {data_disk: data}",
        "profile: {ends_bill: maybe}",
        "profile: {power_of: x}",
    ],
)
def test_a_wrong_one_has_its_place(tmp_path: Path, keys: str) -> None:
    """The error has file, line and column."""
    with pytest.raises(Problems) as caught:
        listed(tmp_path, keys)
    assert {2} == {problem.place.line for problem in caught.value.args}


def test_what_the_user_knows_better_wins() -> None:
    """The command, what it does to the bill, and the data disk."""
    known = {"power_off": "bye", "ends_bill": "no", "data_disk": "/mnt/data"}
    profile = platforms.bettered(platforms.load("autodl"), known)

    assert ("bye", "no") == (profile.power_off.command, profile.power_off.ends_bill)
    assert ("/mnt/data",) == profile.data_disk.paths
    assert platforms.load("autodl") == platforms.bettered(platforms.load("autodl"), {})
