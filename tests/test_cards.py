"""A name means one model of card, and a driver one CUDA."""

from __future__ import annotations

import pytest

from zuka.gpu.cards import build, candidates, highest_cuda, is_named, model


class TestModels:
    """A name means one model, or none is claimed."""

    @pytest.mark.parametrize(
        ("name", "memory", "right", "capability"),
        [
            ("NVIDIA GeForce RTX 4090", None, "RTX 4090", "8.9"),
            ("NVIDIA GeForce RTX 4090 D", 24564, "RTX 4090 D 24GB", "8.9"),
            ("4090D", None, "RTX 4090 D", "8.9"),
            ("NVIDIA A800-SXM4-80GB", 81920, "A800 80GB", "8.0"),
            ("NVIDIA A100-SXM4-40GB", 40960, "A100 40GB", "8.0"),
            ("Tesla V100-SXM2-32GB", None, "V100 32GB", "7.0"),
            ("Tesla V100-SXM2...", 16160, "V100 16GB", "7.0"),
            ("NVIDIA H100 80GB HBM3", 81559, "H100 80GB", "9.0"),
            ("NVIDIA H800", None, "H800", "9.0"),
            ("NVIDIA H20", 97871, "H20 96GB", "9.0"),
            ("NVIDIA L20", 46068, "L20", "8.9"),
            ("NVIDIA L40", 46068, "L40", "8.9"),
            ("NVIDIA L40S", 46068, "L40S", "8.9"),
            ("NVIDIA GeForce RTX 3060 ...", 6144, "RTX 3060 Laptop", "8.6"),
            ("NVIDIA GeForce RTX 2070 with Max-Q Design", 8192, "RTX 2070 Max-Q", "7.5"),
            ("NVIDIA RTX PRO 6000 Blackwell Server Edition", 97887, "RTX PRO 6000", "12.0"),
            ("NVIDIA RTX 6000 Ada Generation", 49140, "RTX 6000 Ada", "8.9"),
            ("Quadro RTX 6000", 24220, "Quadro RTX 6000", "7.5"),
            ("NVIDIA RTX A6000", 49140, "RTX A6000", "8.6"),
            ("NVIDIA B200", 183359, "B200 180GB", "10.0"),
            ("Tesla K80", 11441, "K80", "3.7"),
            ("GeForce GTX TITAN X", 12206, "GTX TITAN X", "5.2"),
            ("NVIDIA TITAN X (Pascal)", 12196, "TITAN X", "6.1"),
            ("GRID V100DX-32C", 32768, "V100 32GB", "7.0"),
            ("NVIDIA A100-1-5CME", None, "A100", "8.0"),
            ("GRID T4-1B4", 1024, "T4", "7.5"),
            ("NVIDIA RTX6000-Ada-24Q", None, "RTX 6000 Ada", "8.9"),
            ("NVIDIA H100L-94C", None, "H100", "9.0"),
            ("GRID RTX8000-48Q", None, "Quadro RTX 8000", "7.5"),
            ("NVIDIA RTX A5000 Laptop GPU", 16384, "RTX A5000 Laptop", "8.6"),
            ("NVIDIA GeForce RTX 5090 Laptop GPU", 24463, "RTX 5090 Laptop", "12.0"),
            ("NVIDIA GH200 144G HBM3e", 147456, "GH200 144GB", "9.0"),
            ("NVIDIA H20-3e", 143771, "H20 3e", "9.0"),
            ("NVIDIA B300 SXM6 AC", 275040, "B300", "10.3"),
            ("NVIDIA Thor", None, "Thor", "11.0"),
        ],
    )
    def test_known(self, name: str, memory: int | None, right: str, capability: str) -> None:
        """The form of a card and its maker are no part of the model."""
        found = model(name, memory)

        assert found
        assert (found.name, found.capability) == (right, capability)

    def test_several_may_be_meant(self) -> None:
        """Then no single one is claimed."""
        names = {each.name for each in candidates("NVIDIA GeForce RTX 2080 ...")}

        assert {"RTX 2080 Ti", "RTX 2080 SUPER"} <= names
        assert "RTX 2080" not in names
        assert model("NVIDIA GeForce RTX 2080 ...") is None

    def test_unknown_models_are_compared_by_words(self) -> None:
        """Tomorrow's card is compared before it is known."""
        assert is_named("NVIDIA RTX 9990 Ti", "RTX 9990 Ti")
        assert not is_named("NVIDIA RTX 9990 Ti", "RTX 9990")
        assert model("NVIDIA RTX 9990 Ti") is None

    def test_first_and_last_cuda(self) -> None:
        """What builds for a card, and which driver is the first and the last for it."""
        found = model("Tesla K80")

        assert found
        assert (found.first_cuda, found.last_cuda) == ("6.5", "11.8")
        assert (found.first_driver, found.last_driver) == (340, 470)

    @pytest.mark.parametrize(
        ("driver", "cuda"),
        [
            *[("346.46", "7.0"), ("470.57.02", "11.4"), ("510.06", "11.6"), ("525.105.17", "12.0")],
            *[
                ("535.183.01", "12.2"),
                ("546.80", "12.3"),
                ("550.54.15", "12.4"),
                ("555.42", "12.5"),
            ],
            *[("560.35.03", "12.6"), ("565.57", "12.7"), ("570.124", "12.8"), ("576.02", "12.9")],
            *[("580.65.06", "13.0"), ("591.86", "13.1"), ("595.80", "13.2"), ("610.57.04", "13.3")],
            *[("615.71.09", "13.4"), ("999.1", "13.4"), ("", ""), ("ERR!", ""), ("12", "")],
        ],
    )
    def test_driver_tells_cuda(self, driver: str, cuda: str) -> None:
        """From NVIDIA's table."""
        assert highest_cuda(driver) == cuda

    def test_build_that_runs(self) -> None:
        """The newest that the driver and the card allow."""
        assert build("12.4") == "cu124"
        assert build("13.2", "8.9") == "cu130"
        assert build("13.0", "7.0") == "cu126"
        assert build("11.4") == "cu118"
        assert build("10.2") == ""
