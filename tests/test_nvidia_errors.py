"""Every error of nvidia-smi is known, and nothing else is taken for one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.smi import CASES, FORMS, HEAD, case, row, verdicts
from zuka.finding import rows
from zuka.gpu import HUNG, diagnose, findings, read

ERRORS: tuple[tuple[str, str], ...] = (
    ("no-command", "-bash: nvidia-smi: command not found"),
    ("no-command", "sh: 1: nvidia-smi: not found"),
    ("no-command", "/bin/sh: nvidia-smi: not found"),
    ("no-command", "zsh: command not found: nvidia-smi"),
    ("no-command", "fish: Unknown command: nvidia-smi"),
    ("no-command", "nvidia-smi: Command not found."),
    ("no-command", "Command 'nvidia-smi' not found, but can be installed with:"),
    ("no-command", "bash: nvidia-smi\uff1a\u672a\u627e\u5230\u547d\u4ee4"),
    ("no-command", "\u627e\u4e0d\u5230\u547d\u4ee4 \u201cnvidia-smi\u201d\uff0c\u4f46\u53ef\u4ee5"),
    ("no-command", "bash: nvidia-smi : commande introuvable"),
    ("no-command", "-bash: nvidia-smi: Kommando nicht gefunden."),
    (
        "no-command",
        "timeout: failed to run command \u2018nvidia-smi\u2019: No such file or directory",
    ),
    ("no-command", "bash: /usr/bin/nvidia-smi: No such file or directory"),
    ("no-command", "'nvidia-smi' is not recognized as an internal or external command,"),
    ("no-command", "nvidia-smi : The term 'nvidia-smi' is not recognized as the name of a cmdlet"),
    (
        "no-command",
        'OCI runtime exec failed: exec: "nvidia-smi": executable file not found in $PATH',
    ),
    ("no-permission", "bash: /usr/bin/nvidia-smi: Permission denied"),
    ("no-permission", "Failed to initialize NVML: Insufficient Permissions"),
    (
        "no-permission",
        "Unable to determine the device handle for gpu 0000:02:00.0: Insufficient Permissions",
    ),
    ("driver-mismatch", "Failed to initialize NVML: Driver/library version mismatch"),
    ("access-lost", "Failed to initialize NVML: Unknown Error"),
    ("access-blocked", "Failed to initialize NVML: GPU access blocked by the operating system"),
    ("no-driver", "Failed to initialize NVML: Driver Not Loaded"),
    ("card-lost", "Failed to initialize NVML: GPU is lost"),
    ("smi-failed", "Failed to initialize NVML: Something New"),
    ("smi-failed", "NVIDIA-SMI has failed because of something new"),
    ("smi-failed", "bash: /usr/bin/nvidia-smi: cannot execute binary file: Exec format error"),
    ("no-library", "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system. Please make"),
    ("no-library", "nvidia-smi: libnvidia-ml.so.1: cannot open shared object file: No such file"),
    (
        "card-lost",
        "Unable to determine the device handle for GPU 0000:02:00.0: GPU is lost.  Reboot",
    ),
    ("card-lost", "Unable to determine the device handle for GPU2: Unknown Error"),
    ("card-lost", "Unable to detect the device handle for GPU0000:B1:00.0: Unknown Error"),
    ("no-card", "No devices were found"),
    ("no-card", "No devices found."),
    ("hung", HUNG),
)


@pytest.mark.parametrize(("verdict", "text"), ERRORS)
def test_every_error_is_known(verdict: str, text: str) -> None:
    """In any shell and language; a blank before it or an answer's time change nothing."""
    for each in (
        text,
        f"  {text}\r\n",
        f"[2025-01-01T00:00:00Z] {text}",
        f"$ nvidia-smi\n{text}\n",
    ):
        found = diagnose(each)

        assert found
        assert found.verdict == verdict
        assert found.means("en")
        assert found.next("zh")


@pytest.mark.parametrize(
    ("code", "verdict"),
    [
        *[(6, "no-card"), (9, "no-driver"), (12, "no-library"), (15, "card-lost"), (124, "hung")],
        *[(18, "driver-mismatch"), (127, "no-command"), (137, "hung"), (0, "unreadable")],
    ],
)
def test_exit_code_tells_what_no_text_does(code: int, verdict: str) -> None:
    """nvidia-smi(1) lists its codes; 124 and 137 are a limit's."""
    assert verdicts("", code=code) == [verdict]


class TestOtherTexts:
    """What is not nvidia-smi's is left to others."""

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "hello",
            "GPU \uff1aNo devices were found",
            "GPU \uff1aNVIDIA GeForce RTX 3080 Ti, 1",
            "GPU: NVIDIA GeForce RTX 4090, 24564 MiB",
            "RTX 4090, A100, H100 are good cards",
            "A10",
            "FileNotFoundError: [Errno 2] No such file or directory: 'nvidia-smi'",
            "pid, process_name, used_gpu_memory [MiB]\n1234, python, 500 MiB\n",
            "epoch 1 loss 0.5\nFailed to initialize NVML: Unknown Error\nepoch 2 loss 0.4\n",
            "GPU 0 has a total capacity of 23.64 GiB of which 8.00 MiB is free.",
            "NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible",
            "name\nvalue\n",
        ],
    )
    def test_is_not_a_diagnosis(self, text: str) -> None:
        """A log that mentions GPUs is a log."""
        assert diagnose(text) is None

    def test_login_banner_says_nothing(self) -> None:
        """AutoDL's banner holds nvidia-smi's words in no-card mode, at every login."""
        assert diagnose(case("1-autodl-nocard-banner.txt")) is None
        assert verdicts(case("1-autodl-nocard-banner.txt")) == ["unreadable"]
        assert verdicts(case("1-autodl-nocard-banner.txt"), code=6) == ["no-card"]
        both = case("1-autodl-nocard-banner.txt") + case("1-4090x2-fresh.in")
        assert verdicts(both)[0] == "gpu-fine"

    def test_table_in_a_long_log_is_a_log(self) -> None:
        """Scripts print the table first, and then train."""
        log = "".join(f"epoch {n} loss 0.{n}\n" for n in range(50))

        assert diagnose(case("1-4090x2-fresh.in") + log) is None


def test_every_verdict_is_met() -> None:
    """No row of the catalogue is dead; the rest are met by an order or a table."""
    texts = [case(path.name) for path in CASES.glob("*.in")]
    orders: list[dict[str, Any]] = [
        {},
        {"name": "RTX 2070", "count": 2, "memory": "24 GB"},
        {"name": "RTX 2080 SUPER"},
    ]
    met = {verdict for text in texts for order in orders for verdict in verdicts(text, order)}
    met |= {verdict for verdict, _ in ERRORS} | {form["verdict"] for form in FORMS} - {None}
    met |= set(verdicts(case("1-mig-h100-load-table.in"), {"name": "H100"}))
    met |= set(verdicts("NVIDIA RTX 9990", {"memory": "24 GB"}))
    met |= set(verdicts(""))
    met |= set(verdicts("WARNING: infoROM is corrupted at gpu 0000:01:00.0\nNVIDIA L20, 46068\n"))
    panel = "| Processes:  |\n|=============|\n"
    met |= set(verdicts(panel + "|    0      1234    C   python     100MiB |\n"))
    met |= set(verdicts(panel + "|  No running processes found  |\n"))
    met |= set(verdicts(HEAD + row(0, "NVIDIA L20", "1", "46068") + "| No MIG devices found |\n"))

    assert met == set(rows("gpu"))


PIECES = st.sampled_from(
    [
        *"\n\r\t |+,.:/%0",
        *(
            "\x1b[31m",
            "NVIDIA",
            "GeForce RTX 4090",
            "...",
            "MiB",
            "N/A",
            "ERR!",
            "GPU-0",
            "nvidia-smi",
        ),
        *("Processes:", "index, name, memory.total [MiB]\n", "9" * 40, "\u0669", "A100-SXM4-80GB"),
        *(HEAD, row(0, "NVIDIA L20", "1", "46068"), "GPU 0: A (UUID: GPU-1)\n", "==NVSMI LOG==\n"),
        *(
            "GPU 0000:01:00.0\n",
            "    FB Memory Usage\n",
            "        Total : 1 MiB\n",
            "MIG 1c.2g.5gb",
        ),
        *("<gpu id='0'>", "<mig_device><index>0</index>", "</gpu>", "<pid>", "GRID V100D-8Q\n"),
    ]
)


@given(st.one_of(st.text(), st.lists(PIECES).map("".join)), st.integers(-300, 300))
def test_any_text_gives_an_answer(text: str, code: int) -> None:
    """Whatever a box prints, nothing breaks, and no escape is echoed."""
    order = {"name": text, "count": text, "memory": text}
    for found in [*findings(read(text, code), order), diagnose(text)]:
        if found:
            assert "\x1b" not in found.means() + found.next("zh")
            assert found.plain()["kind"] == "gpu"
