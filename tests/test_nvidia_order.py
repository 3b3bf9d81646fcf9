"""The cards of a box are judged: whether they are alive, as ordered, and free."""

from __future__ import annotations

from typing import Any

import pytest

from tests.smi import HEAD, case, row, verdicts
from zuka.gpu import findings, read


class TestDeadCards:
    """A card that no longer answers is named, and the others are still judged."""

    def test_lost_card_in_the_table(self) -> None:
        """ERR! where the state stands means a dead card; at the fan alone it does not."""
        dead = row(0, "GeForce GTX 1080", "1", "8119").replace("29C    P8", "ERR!   ERR!")
        fan = row(1, "GeForce GTX 1080", "5", "8119").replace("30%", "ERR!")

        cards = read(HEAD + dead + fan)

        assert [card.dead for card in cards.cards] == [True, False]
        found = findings(cards, {"count": 2})
        assert [each.verdict for each in found[:2]] == ["card-lost", "wrong-count"]
        assert found[0].facts["lost"] == "GPU 0"
        assert found[0].facts["count"] == 1

    def test_lost_card_beside_a_list(self) -> None:
        """nvidia-smi names the lost one and lists the rest, with exit code 0."""
        text = (
            "Unable to determine the device handle for GPU3: 0000:04:00.0: Unknown Error\n"
            "0, 00000000:01:00.0, NVIDIA GeForce RTX 3080\n"
            "1, 00000000:02:00.0, NVIDIA GeForce RTX 3080\n"
        )

        found = findings(read(text), {"name": "RTX 3080", "count": 3})

        assert [each.verdict for each in found[:2]] == ["card-lost", "wrong-count"]
        assert found[0].facts["lost"] == "GPU 3: 0000:04:00.0"
        assert found[0].facts["names"] == ["GeForce RTX 3080"] * 2

    @pytest.mark.parametrize(
        "text",
        [
            "0, GPU-0, [GPU requires reset], [GPU requires reset], [GPU requires reset]\n",
            "name, temperature.gpu, memory.total [MiB]\nNVIDIA H100, [GPU is lost], 81559 MiB\n",
            "name, pstate, memory.used [MiB]\nNVIDIA H100, [Unknown Error], 5 MiB\n",
        ],
    )
    def test_lost_card_in_columns(self, text: str) -> None:
        """[N/A] and [Not Supported] are nothing; these are."""
        assert verdicts(text)[0] == "card-lost"

    def test_fan_that_cannot_be_read(self) -> None:
        """A passive card has no fan to tell of."""
        text = "name, fan.speed [%], memory.used [MiB]\nNVIDIA L4, [Unknown Error], 5 MiB\n"

        assert verdicts(text) == ["gpu-fine"]


class TestOrder:
    """The cards are compared with the order one by one."""

    def test_as_ordered(self) -> None:
        """Sizes are sold rounded."""
        order = {"name": "RTX 4090", "count": 2, "memory": "24 GB"}
        assert verdicts(case("1-4090x2-fresh.in"), order)[0] == "gpu-fine"
        assert verdicts(case("1-l40s-load-table.in"), {"memory": "48 GB"})[0] == "memory-taken"

    def test_wrong_card_is_named(self) -> None:
        """Two cards of a box need not be the same."""
        found = findings(
            read(case("1-rtx2070-750ti-mixed.in")),
            {"name": "RTX 2070", "count": 2, "memory": "8 GB"},
        )

        assert [each.verdict for each in found[:2]] == ["wrong-card", "too-little-memory"]
        assert found[0].facts["indexes"] == [1]
        assert found[0].facts["found"] == "GPU 1: GeForce GTX 750 Ti"
        assert found[1].facts["indexes"] == [1]
        assert "mixed-cards" in [each.verdict for each in found]

    def test_an_a800_is_no_a100(self) -> None:
        """Names that differ by a letter are different cards."""
        busy = case("1-a800-busy.in")
        assert verdicts(busy, {"name": "A100"})[0] == "wrong-card"
        assert verdicts(busy, {"name": "A800", "memory": "80 GB"})[0] == "memory-taken-unseen"
        assert verdicts("NVIDIA GeForce RTX 4090 D, 24564", {"name": "RTX 4090"})[0] == "wrong-card"

    def test_size_in_the_name_is_ordered_too(self) -> None:
        """A100 40GB is no A100 80GB."""
        text = "NVIDIA A100-SXM4-40GB, 40960"
        assert verdicts(text, {"name": "A100 80GB"})[0] == "wrong-card"
        assert verdicts(text, {"name": "A100-40G"})[0] == "gpu-fine"

    def test_cut_name_may_be_the_ordered_one(self) -> None:
        """Memory rules some out: a 2080 Ti has 11 GB."""
        text = case("1-umd-610-table.in")
        assert verdicts(text, {"name": "RTX 2080 SUPER"})[0] == "maybe-card"
        assert verdicts(text, {"name": "RTX 2080 Ti"})[0] == "wrong-card"
        assert verdicts(text, {"name": "RTX 2080"})[0] == "wrong-card"
        assert (
            verdicts(case("1-v100-32g-525.in"), {"name": "V100", "memory": "32 GB"})[0] == "no-bf16"
        )
        assert verdicts(case("1-v100-32g-525.in"), {"name": "V100 16GB"})[0] == "no-bf16"

    @pytest.mark.parametrize(
        ("memory", "ordered", "fits"),
        [
            (24564, "24 GB", True),
            (24564, "24 GiB", True),
            (22731, "24G", True),
            (22528, "24 GB", False),
            (11264, "12 GB", False),
            (11441, "12 GB", True),
            (46068, "48 GB", True),
            (15079, "16 GB", True),
            (97871, "96 GB", True),
            (24564, "24564 MiB", True),
            (24564, "48", False),
            (24564, "a lot", True),
        ],
    )
    def test_sizes(self, memory: int, ordered: str, fits: bool) -> None:  # noqa: FBT001
        """What is kept for checking and for the driver is forgiven, the next size down is not."""
        found = verdicts(f"NVIDIA RTX 9990, {memory}", {"memory": ordered})

        assert ("too-little-memory" not in found) == fits

    def test_slices_are_no_whole_card(self) -> None:
        """Each slice is judged by its own memory."""
        text = case("1-mig-h100-load-table.in")
        found = findings(read(text), {"name": "H100", "memory": "20 GB", "count": 4})
        told = [each.verdict for each in found]

        assert told[:3] == ["too-little-memory", "sliced", "memory-taken"]
        assert found[0].facts["found"] == "GPU 0 MIG 2: 9984 MiB, GPU 0 MIG 3: 9984 MiB"
        assert found[2].facts["taken"] == "GPU 0 MIG 0: 11091 / 40448 MiB"
        listed = {"memory": "10 GB", "count": 4}
        assert verdicts(case("1-mig-h100-list.in"), listed) == ["gpu-fine"]

    def test_mig_without_slices(self) -> None:
        """A card in MIG mode that nobody cut serves nobody."""
        text = HEAD + row(0, "NVIDIA A100-SXM4-40GB", "1", "40960").replace(
            "+------------------------------+", "|      |     |   Enabled |\n+----------+", 1
        )

        found = verdicts(text + "|  No MIG devices found       |\n", {"count": 1})

        assert found[:2] == ["no-slice", "wrong-count"]

    @pytest.mark.parametrize(
        "order", [{"name": 4090}, {"count": "two"}, {"memory": None}, {"x": 1}]
    )
    def test_odd_orders_do_no_harm(self, order: dict[str, Any]) -> None:
        """A recipe's schema refuses them; here they are just not judged."""
        assert verdicts("NVIDIA GeForce RTX 4090, 24564", order)[0] == "gpu-fine"


def test_an_order_without_any_card() -> None:
    """A header alone, or a panel alone, is no card."""
    for text in (HEAD, case("1-umd-610-version.in"), case("1-xuehai-empty-vs-none.in")):
        assert verdicts(text, {"count": 1}) == ["no-card"]
        assert "no-card" not in verdicts(text)


class TestUse:
    """Memory is free, or somebody holds it, seen or not."""

    def test_free_and_taken_cards_of_one_box(self) -> None:
        """The first of eight is free, with 802 MiB."""
        found = findings(read(case("1-titanx-x8-csv.in")))[0]

        assert found.verdict == "memory-taken-unseen"
        assert "GPU 0" not in found.facts["taken"]
        assert "GPU 1: 10032 / 12206 MiB" in found.facts["taken"]

    def test_what_the_listed_ones_do_not_hold_is_unseen(self) -> None:
        """A desktop of 200 MiB does not explain 20 GB."""
        text = (
            HEAD
            + row(0, "NVIDIA L20", "20000", "46068")
            + (
                "| Processes:      |\n|=================|\n"
                "|    0   N/A  N/A      1720      G   /usr/bin/gnome-shell       173MiB |\n"
            )
        )

        assert verdicts(text)[0] == "memory-taken-unseen"

    def test_equal_cards_with_some_mebibytes_less(self) -> None:
        """The card with a screen reports a little less; that is no other card."""
        text = "GeForce GTX TITAN X, 12205\nGeForce GTX TITAN X, 12206\n"

        assert "mixed-cards" not in verdicts(text)
