"""What nvidia-smi prints, for tests: the captures, and rows of its table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from zuka.gpu import findings, read

CASES = Path(__file__).parent / "diagnosis" / "1-nvidia-smi"
FORMS: list[dict[str, Any]] = yaml.safe_load(
    (CASES.parent / "nvidia-smi.yaml").read_text(encoding="utf-8")
)
HEAD = "| NVIDIA-SMI 550.54.15    Driver Version: 550.54.15    CUDA Version: 12.4     |\n"


def case(name: str) -> str:
    """Return a capture."""
    return (CASES / name).read_text(encoding="utf-8")


def verdicts(text: str, order: dict[str, Any] | None = None, code: int = 0) -> list[str]:
    """Return what is said of an output, the worst first."""
    return [each.verdict for each in findings(read(text, code), order)]


def row(index: int, name: str, used: str, memory: str, share: str = "0%") -> str:
    """Return a card's rows of the table; sizes in MiB."""
    return (
        f"|   {index}  {name:<27} Off  |   00000000:0{index}:00.0 Off |                  N/A |\n"
        f"| 30%   29C    P8    22W /  450W |  {used}MiB / {memory}MiB |    {share}      Default |\n"
        "+------------------------------+------------------------+----------------------+\n"
    )
