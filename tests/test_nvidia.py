"""What nvidia-smi printed is read as it was meant, and judged; nothing here needs a card."""

from __future__ import annotations

from typing import Any

import pytest

from tests.smi import HEAD, case, row
from zuka.gpu import Process, diagnose, findings, read

ROWS: tuple[tuple[Any, ...], ...] = (
    ("1-4090-util0-mem-taken", "memory-taken-unseen", 1, [24564], [7325], "535.183.01", "12.2"),
    ("1-4090x2-fresh", "gpu-fine", 2, [24564] * 2, [507, 459], "550.163.01", "12.4"),
    ("1-a800-busy", "memory-taken-unseen", 2, [81920] * 2, [34447, 34639], "535.86.10", "12.2"),
    ("1-k520-346", "card-too-old", 1, [4095], [10], "346.46", "7.0"),
    ("1-l40s-load-table", "memory-taken", 1, [46068], [1235], "595.80", "13.2"),
    ("1-mig-h100-list", "gpu-fine", 4, [40960, 20480, 10240, 10240], [None] * 4, "", ""),
    (
        *("1-mig-h100-load-table", "memory-taken", 4, [40448, 20096, 9984, 9984]),
        *([11091, 17, 9, 9], "590.48.01", "13.1"),
    ),
    # Two compute instances of one GPU instance: five devices, four memories.
    (
        *("1-mig-h200-shared-ci", "gpu-fine", 5, [71424, 33280, 16384, 16384]),
        *([22, 17, 9, 9], "590.48.01", "13.1"),
    ),
    ("1-no-comm", "no-driver", 0, [], [], "", ""),
    ("1-no-command", "no-command", 0, [], [], "", ""),
    ("1-no-devices", "no-card", 0, [], [], "", ""),
    ("1-nvml-mismatch", "driver-mismatch", 0, [], [], "", ""),
    ("1-rtx2070-750ti-mixed", "memory-taken", 2, [7981, 2002], [749, 871], "450.57", "11.0"),
    (
        *("1-titanx-x8-csv", "memory-taken-unseen", 8, [12206] * 8),
        *([802, 10032, 6442, 6442, 6459, 6440, 6451, 6442], "", ""),
    ),
    ("1-umd-610-table", "no-bf16", 1, [8192], [211], "610.57.04", "13.3"),
    ("1-umd-610-version", "driver-only", 0, [], [], "610.57.04", "13.3"),
    ("1-v100-32g-525", "no-bf16", 1, [32768], [308], "525.105.17", "12.0"),
    ("1-wsl-cuda-err", "cuda-unreadable", 1, [6144], [816], "546.80", "12.3"),
    ("1-wsl-not-loaded", "no-driver", 0, [], [], "", ""),
    ("1-wsl-two-versions", "driver-old", 1, [8192], [161], "510.06", "11.6"),
    ("1-xuehai-empty-vs-none", "processes-hidden", 0, [], [], "", ""),
)


def _important(text: str) -> tuple[Any, ...]:
    found = findings(read(text))[0]
    keys = ("count", "memory_mib", "used_mib", "driver", "cuda")
    return found.verdict, *(found.facts[key] for key in keys)


@pytest.mark.parametrize("met", ROWS, ids=[met[0] for met in ROWS])
class TestEveryCase:
    """Texts met in the wild get the right verdict, with the right facts."""

    def test_as_it_was_met(self, met: tuple[Any, ...]) -> None:
        """The most important finding is the one that the case is about."""
        text = case(f"{met[0]}.in")

        assert _important(text) == met[1:]
        assert diagnose(text) == findings(read(text))[0]

    @pytest.mark.parametrize("way", ["crlf", "prompt", "quoted", "coloured", "blanks", "banner"])
    def test_however_it_was_pasted(self, met: tuple[Any, ...], way: str) -> None:
        """Line ends, prompts, quote marks, colours and banners around it change nothing."""
        text = case(f"{met[0]}.in")
        banner = case("1-autodl-nocard-banner.txt").replace("No devices were found", "A, 1")
        pasted = {
            "crlf": text.replace("\n", "\r\n"),
            "prompt": f"(base) root@box:~# nvidia-smi\n{text}(base) root@box:~# \n",
            "quoted": "".join(f"> {line}\n" for line in text.splitlines()),
            "coloured": "".join(f"\x1b[32m{line}\x1b[0m\n" for line in text.splitlines()),
            "blanks": "\n\n\ufeff" + text.replace("\n", "  \n") + "\n\n",
            "banner": banner + text,
        }[way]

        assert _important(pasted) == met[1:]


class TestReading:
    """Everything that was said is there, and nothing that was not."""

    def test_names_stand_as_printed(self) -> None:
        """The maker's name goes, as old drivers leave it out; the rest stays, even if cut."""
        assert [card.name for card in read(case("1-umd-610-table.in")).cards] == [
            "GeForce RTX 2080 ..."
        ]
        assert read(case("1-a800-busy.in")).cards[0].name == "A800-SXM4-80GB"
        assert read(case("1-titanx-x8-csv.in")).cards[0].name == "GeForce GTX TITAN X"

    def test_version_of_the_tool_is_not_the_driver(self) -> None:
        """In WSL the two differ."""
        found = read(case("1-wsl-two-versions.in"))

        assert (found.driver, found.cuda, found.cuda_from) == ("510.06", "11.6", "header")
        assert found.cards[0].utilisation is None

    def test_no_version_is_made_of_an_error(self) -> None:
        """ERR! in the place of CUDA's version is no version; the driver tells it."""
        found = read(case("1-wsl-cuda-err.in"))

        assert (found.cuda, found.cuda_from, found.cuda_said) == ("12.3", "driver table", "ERR!")

    @pytest.mark.parametrize("said", ["N/A", "[Not Supported]", "unknown"])
    def test_other_words_for_no_version(self, said: str) -> None:
        """New drivers name the fields otherwise, and may know no CUDA."""
        head = f"| NVIDIA-SMI 610.43.02   KMD Version: 610.43.02   CUDA UMD Version: {said}   |\n"

        found = read(head + row(0, "NVIDIA GeForce RTX 3060", "1", "12288"))

        assert (found.driver, found.cuda, found.cuda_from) == ("610.43.02", "13.3", "driver table")
        assert "cuda-unreadable" in [each.verdict for each in findings(found)]

    def test_empty_panel_is_not_no_processes(self) -> None:
        """An explicit line means none; an empty panel means some that cannot be seen."""
        assert read(case("1-xuehai-empty-vs-none.in")).processes == "hidden"
        assert read(case("1-v100-32g-525.in")).processes == "hidden"
        assert read(case("1-k520-346.in")).processes == "none"

    def test_processes_are_listed(self) -> None:
        """With or without the columns of instances, and with a name that was cut."""
        found = read(case("1-rtx2070-750ti-mixed.in")).processes

        assert found[0] == Process(0, 1032, "python", 745)
        assert found[3] == Process(1, 4755, "...matlab94/bin/glnxa64/MATLAB", 3)
        sliced = read(case("1-mig-h100-load-table.in")).processes
        assert sliced[2] == Process(0, 21198, "./gpu_burn", 7484, 2)

    def test_processes_of_windows_and_of_old_drivers(self) -> None:
        """Windows does not tell a process's memory; drivers before 340 have no types."""
        panel = "| Processes:                      |\n|=================================|\n"
        windows = "|    0   N/A  N/A    2056    C+G   C:\\Windows\\dwm.exe    N/A      |\n"
        old = "|    0      1234  ./a.out                            100MB |\n"
        none = "|    0            Not Supported                                |\n"

        assert read(panel + windows).processes == (Process(0, 2056, "C:\\Windows\\dwm.exe", None),)
        assert read(panel + old).processes == (Process(0, 1234, "./a.out", 100),)
        assert read(panel + none).processes == "hidden"

    def test_slices_share_a_pool(self) -> None:
        """Rows of one GPU instance show the same memory twice."""
        slices = read(case("1-mig-h200-shared-ci.in")).cards[0].slices

        assert [each.pool for each in slices] == ["0/2", "0/2", "0/3", "0/9", "0/10"]
        assert [each.device for each in slices] == [0, 1, 2, 3, 4]

    def test_list_names_slices_and_their_bounds(self) -> None:
        """Only the list names profiles; parts of one instance stand beside each other."""
        card = read(case("1-mig-h100-list.in")).cards[0]
        assert [each.profile for each in card.slices] == [
            "3g.40gb",
            "2g.20gb",
            "1g.10gb",
            "1g.10gb",
        ]

        text = "GPU 0: NVIDIA H200 (UUID: GPU-0)\n" + "".join(
            f"  MIG {profile}     Device  {device}: (UUID: MIG-{device})\n"
            for device, profile in enumerate(["1c.3g.71gb", "2c.3g.71gb", "1c.3g.71gb", "1g.18gb"])
        )
        pools = [each.pool for each in read(text).cards[0].slices]
        assert pools == ["0/device 0", "0/device 0", "0/device 2", "0/device 3"]

    def test_outputs_in_one_paste_complete_each_other(self) -> None:
        """The list tells whole names and profiles, the table sizes."""
        table = HEAD + row(0, "NVIDIA GeForce RTX 2080 ...", "1", "8192")
        listed = "GPU 0: NVIDIA GeForce RTX 2080 SUPER (UUID: GPU-1)\n"

        card = read(table + "$ nvidia-smi -L\n" + listed).cards[0]

        assert (card.name, card.memory, card.uuid) == ("GeForce RTX 2080 SUPER", 8192, "GPU-1")

    def test_last_table_counts(self) -> None:
        """A paste of `watch` or of `nvidia-smi -l` holds several."""
        text = HEAD + row(0, "NVIDIA L20", "1", "46068") + HEAD + row(0, "NVIDIA L20", "7", "46068")

        assert [card.used for card in read(text).cards] == [7]

    def test_query_text(self) -> None:
        """`nvidia-smi -q` says the same in words; a slice's memory is not the card's."""
        text = (
            "==============NVSMI LOG==============\n\n"
            "Driver Version                            : 535.54.03\n"
            "CUDA Version                              : 12.2\n\n"
            "Attached GPUs                             : 1\n"
            "GPU 00000000:01:00.0\n"
            "    Product Name                          : NVIDIA A100-SXM4-40GB\n"
            "    MIG Mode\n        Current                           : Disabled\n"
            "    GPU UUID                              : GPU-1\n"
            "    FB Memory Usage\n"
            "        Total                             : 40960 MiB\n"
            "        Used                              : 12 MiB\n"
            "    BAR1 Memory Usage\n"
            "        Total                             : 65536 MiB\n"
            "    Utilization\n        Gpu                               : 3 %\n"
            "    Processes                             : None\n"
        )

        found = read(text)
        card = found.cards[0]

        assert (found.driver, found.cuda) == ("535.54.03", "12.2")
        assert (card.name, card.memory, card.used) == ("A100-SXM4-40GB", 40960, 12)
        assert (card.utilisation, card.uuid, card.mig) == (3, "GPU-1", False)


CSV = (
    # text, then of the first card: name, total, used, utilisation; and the driver
    (
        (
            "name, memory.total [MiB], memory.used [MiB], utilization.gpu [%], driver_version\n"
            "NVIDIA GeForce RTX 4090, 24564 MiB, 1 MiB, 7 %, 550.54.15\n"
        ),
        ("GeForce RTX 4090", 24564, 1, 7, "550.54.15"),
    ),
    (
        (
            "memory.free [MiB], gpu_name, memory.total [MiB], utilization.gpu [%]\n"
            "24000 MiB, NVIDIA GeForce RTX 4090, 24564 MiB, [N/A]\n"
        ),
        ("GeForce RTX 4090", 24564, 564, None, ""),
    ),
    ("NVIDIA GeForce RTX 4090, 24564\n", ("GeForce RTX 4090", 24564, None, None, "")),
    ("NVIDIA GeForce RTX 4090, 24564 MiB\n", ("GeForce RTX 4090", 24564, None, None, "")),
    ("24564, NVIDIA GeForce RTX 4090\n", ("GeForce RTX 4090", 24564, None, None, "")),
    ("NVIDIA L20, 46068, 1, 45500\n", ("L20", 46068, 1, None, "")),
    # Free or used? So near the total it is not known.
    ("NVIDIA L20, 46068 MiB, 45900 MiB\n", ("L20", 46068, None, None, "")),
    ("name\nNVIDIA H20\n", ("H20", None, None, None, "")),
    ("Tesla T4\n", ("Tesla T4", None, None, None, "")),
    (
        "0, 550.54.15, NVIDIA A100-SXM4-80GB, 35, 98 %, 70000 MiB, 81920 MiB, 400.00 W\n",
        ("A100-SXM4-80GB", 81920, 70000, 98, "550.54.15"),
    ),
    (
        "2025/01/01 00:00:00.123, NVIDIA A10, 00000000:00:08.0, P8, 30, 0 %, 23028 MiB, 4 MiB\n",
        ("A10", 23028, 4, 0, ""),
    ),
    ("0, NVIDIA RTX 9990 Ti, 65536, 9\n", ("RTX 9990 Ti", 65536, 9, None, "")),
)


@pytest.mark.parametrize(("text", "right"), CSV)
def test_columns_are_read_in_any_order(text: str, right: tuple[Any, ...]) -> None:
    """A header names them; without one they are told by what they hold."""
    found = read(text)
    card = found.cards[0]

    assert len(found.cards) == 1
    assert (card.name, card.memory, card.used, card.utilisation, found.driver) == right
