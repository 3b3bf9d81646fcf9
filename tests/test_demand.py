"""What is needed is decided by a pure function: every row is a situation and its answer."""

from __future__ import annotations

import pytest

from zuka.demand import Standing, demand, still_needed

ALL = ("keys", "upload", "env", "train", "fetch", "clean", "poweroff")


def pipeline(
    *, fetched: bool = False, owed: tuple[str, ...] = (), chosen: tuple[str, ...] = ()
) -> list[Standing]:
    """Return a small pipeline, as the laptop sees it."""
    return [
        Standing("keys", "groundwork", (), chosen="keys" in chosen),
        Standing("upload", "groundwork", ("keys",), chosen="upload" in chosen),
        Standing("env", "groundwork", ("keys",), chosen="env" in chosen),
        Standing("train", "groundwork", ("upload", "env"), chosen="train" in chosen),
        Standing("fetch", "product", ("train",), "" if fetched else "none", "fetch" in chosen),
        Standing("clean", "finish", ("fetch",), "owed" if "clean" in owed else ""),
        Standing("poweroff", "finish", ("clean",), "owed" if "poweroff" in owed else ""),
    ]


@pytest.mark.parametrize(
    ("stages", "needed"),
    [
        pytest.param(pipeline(), ALL, id="a missing product needs all that it is made from"),
        pytest.param(pipeline(fetched=True), (), id="a proved product needs nothing"),
        pytest.param(
            pipeline(fetched=True, owed=("poweroff",)), ("poweroff",), id="what is owed is needed"
        ),
        pytest.param(
            pipeline(fetched=True, chosen=("env",)),
            ("keys", "env", "clean", "poweroff"),
            id="a stage that is named needs what it is made from, and the finish after it",
        ),
        pytest.param(
            pipeline(fetched=True, chosen=("fetch",)), (), id="a proved product is not made twice"
        ),
        pytest.param(
            pipeline()[:4], ALL[:4], id="without a product every stage is a goal by itself"
        ),
    ],
)
def test_demand(stages: list[Standing], needed: tuple[str, ...]) -> None:
    """Only a missing proof, a debt or the user's word makes a stage needed."""
    assert list(needed) == list(demand(stages))


@pytest.mark.parametrize(
    ("as_asked", "needed"),
    [
        pytest.param((), ALL, id="nothing is there: everything is done"),
        pytest.param(
            ("train",),
            ("train", "fetch", "clean", "poweroff"),
            id="a finished run is fetched without its groundwork",
        ),
        pytest.param(
            ("keys", "upload", "env"), ALL, id="a run that is not finished needs its groundwork"
        ),
    ],
)
def test_answers_let_go(as_asked: tuple[str, ...], needed: tuple[str, ...]) -> None:
    """What is as asked lets go of what it was made from."""
    assert set(needed) == still_needed(pipeline(), set(as_asked))


def test_a_chain_of_thousands_is_no_trouble() -> None:
    """A recipe of 5,000 stages, each on the one before, is decided without recursion."""
    chain = [Standing(f"s{n}", "groundwork", (f"s{n - 1}",) if n else (), "") for n in range(5000)]
    stages = [*chain, Standing("fetch", "product", ("s4999",), "no results")]

    assert 5001 == len(demand(stages))
