"""What `df` printed is read in every form and language, and judged by what holds the data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zuka.disks import bytes_of, diagnose, findings, holding, read
from zuka.finding import rows

FOLDER = Path(__file__).parent / "diagnosis" / "2-df"
HEAD = "Filesystem Size Used Avail Use% Mounted on\n"
ROOM = HEAD + "d 90G 4G 85G 5% /\n"
DATA, ALMOST = "/root/autodl-tmp", "system-disk-almost-full"
SHARED = "shared-volume-unverifiable"
AUTODL = HEAD + "overlay 30G 25G 5.3G 83% /\n/dev/md0 50G 9.6G 41G 20% /root/autodl-tmp\n"
RUNPOD = (
    HEAD + "overlay 160G 106G 55G 66% /\nmfs#euro.runpod.net:9421 2.3P 1.4P 885T 62% /workspace\n"
)


def verdicts(text: str, order: dict[str, Any] | None = None, directory: str = "/") -> list[str]:
    """Return the verdicts of a text, worst first."""
    return [found.verdict for found in findings(read(text), order, directory)]


# file, verdicts (place), facts of the first: at, free, size, percent, inodes left, data, its room
CASES: list[tuple[str, list[str], tuple[Any, ...]]] = [
    (
        "2-autodl-30g-50g.in",
        ["system-disk-almost-full /"],
        ("/", "5.3G", "30G", 83, None, "/root/autodl-tmp", "41G"),
    ),
    (
        "2-autodl-bytes.in",
        ["disk-fine /root/autodl-tmp"],
        ("/root/autodl-tmp", "14713532416", "50G", 73, None, "/root/autodl-tmp", "14713532416"),
    ),
    (
        "2-autodl-dfT.in",
        ["disk-fine /"],
        ("/", "30G", "30G", 1, None, "/root/autodl-tmp", "36G"),
    ),
    (
        "2-autodl-shared-4t.in",
        ["host-disk /root/autodl-tmp"],
        ("/root/autodl-tmp", "893G", "4.1T", 79, None, "/root/autodl-tmp", "893G"),
    ),
    (
        "2-autodl-sysdisk-90.in",
        ["system-disk-almost-full /"],
        ("/", "3.2G", "30G", 90, None, "/root/autodl-tmp", "36G"),
    ),
    (
        "2-busybox-available.in",
        ["disk-fine /"],
        ("/", "59.7G", "117.9G", 47, None, "/", "59.7G"),
    ),
    ("2-deleted-open-file.in", ["disk-full /"], ("/", "0", "30G", 100, None, "/", "0")),
    ("2-inode-100.in", ["inodes-full /"], ("/", None, None, None, 0, "/", None)),
    ("2-inode-dash.in", ["inodes-full /"], ("/", None, None, None, 8, "/", None)),
    (
        "2-long-device-P.in",
        ["disk-fine /"],
        ("/", "4681273344", "6175522816", 21, None, "/", "4681273344"),
    ),
    (
        "2-long-device-wrapped.in",
        ["disk-fine /"],
        ("/", "4681273344", "6175522816", 21, None, "/", "4681273344"),
    ),
    ("2-runpod-docs-bindmount-457g.df", ["disk-fine /"], ("/", "20G", "20G", 1, None, "/", "20G")),
    (
        "2-runpod-mfs-PT.in",
        ["shared-volume-unverifiable /workspace", "system-disk-almost-full /"],
        ("/workspace", "527915008000", "2399613599744", 78, None, "/workspace", None),
    ),
    (
        "2-runpod-mfs-petabyte.in",
        ["shared-volume-unverifiable /workspace", "disk-fine /"],
        ("/workspace", "885T", "2.3P", 62, None, "/workspace", None),
    ),
]


class TestCases:
    """Real output gets the right verdicts and facts."""

    def test_every_file_is_in_the_table(self) -> None:
        """A file that is read by no test proves nothing."""
        assert {path.name for path in FOLDER.iterdir()} - {"languages.txt"} == {
            case[0] for case in CASES
        }

    @pytest.mark.parametrize(("name", "expected", "facts"), CASES, ids=[c[0] for c in CASES])
    @pytest.mark.parametrize("dress", ["plain", "crlf", "prompt", "indented", "quoted", "colours"])
    def test_means_what_it_says(
        self, name: str, expected: list[str], facts: tuple[Any, ...], dress: str
    ) -> None:
        """Neither line ends nor what stands around it change what it means."""
        text = dressed((FOLDER / name).read_text(), dress)
        found = findings(read(text))
        at, free, size, percent, left, data, data_free = facts
        right = {
            "at": at,
            "free_bytes": None if free is None else bytes_of(free),
            "size_bytes": None if size is None else bytes_of(size),
            "used_percent": percent,
            "inodes_free": left,
            "data_at": data,
            "data_free_bytes": None if data_free is None else bytes_of(data_free),
        }

        assert expected == [f"{each.verdict} {each.facts['at']}" for each in found]
        assert right == {key: found[0].facts[key] for key in right}
        first = diagnose(text)
        assert first is not None
        assert expected[0] == f"{first.verdict} {first.facts['at']}"

    def test_pseudo_rows_are_skipped(self) -> None:
        """A row with 0 blocks and a dash is no disk."""
        mounts = read((FOLDER / "2-long-device-P.in").read_text())

        assert [("/dev/mapper/VolGroup00-LogVol00", "ext3", "/")] == [
            (each.device, each.type, each.at) for each in mounts
        ]

    def test_a_dash_is_not_applicable(self) -> None:
        """Zero inodes of zero are neither full nor free."""
        boot = read((FOLDER / "2-inode-dash.in").read_text())[-1]

        assert ("/boot", None, None) == (boot.at, boot.inodes, boot.inodes_free)

    def test_a_file_is_no_place_for_data(self) -> None:
        """The host's disk behind /usr/bin/nvidia-smi holds nothing of ours."""
        mounts = read((FOLDER / "2-runpod-docs-bindmount-457g.df").read_text())

        for folder in (
            "/",
            "/workspace",
            "/usr/bin",
            "/usr/bin/nvidia-smi",
            "/dev/shm",
            "/proc/acpi",
        ):
            held = holding(mounts, folder)
            assert held is not None
            assert held.at == "/"


def dressed(text: str, dress: str) -> str:
    """Return a text as people paste it."""
    lines = text.splitlines()
    match dress:
        case "crlf":
            return "\r\n".join(lines) + "\r\n"
        case "prompt":
            front = "(base) root@autodl-container-0:~# df\n"
            return f"看一下磁盘:\n{front}{text}(base) root@autodl-container-0:~# "
        case "indented":
            return "\n\n" + "\n".join("    " + line for line in lines)
        case "quoted":
            return "\n".join("> " + line for line in lines)
        case "colours":
            return "\ufeff" + "\n".join(f"\x1b[01;32m{line}\x1b[0m" for line in lines)
        case _:
            return text


PIECES = [
    "/",
    "/a",
    "45%",
    "-1%",
    "Inodes",
    "0K-blocks",
    "1K-块",
    "-",
    "0",
    "1.2.3G",
    "5,5",
    "1e5",
    "1,234.5k",
    "²K",
    "٣G",
    "mfs#x",
    "|",
]
PIECES += [*HEAD.split(), "\n", "\r", "\t", "9" * 40, "df -iH", "\x1b[2J", "\x9b1m", "Mounted on"]
PIECES += ["No space left on device: '/a'", "overlay 9G 4G 5G 45% /", "{at}", "\u202e"]


class TestHostile:
    """A box may print anything."""

    @settings(max_examples=300, deadline=None)
    @given(
        st.one_of(
            st.text(max_size=200),
            st.lists(st.sampled_from(PIECES), max_size=40).map(" ".join),
        )
    )
    def test_nothing_confuses_it(self, text: str) -> None:
        """Any text gives findings that can be said and stored."""
        found = [*findings(read(text)), *filter(None, [diagnose(text)])]

        assert found
        for each in found:
            said = json.dumps(each.plain())
            assert "\\u001b" not in each.means() + each.next("zh")
            assert said


class TestOrders:
    """What a recipe asks for is compared with the disk that its folder lies on."""

    @pytest.mark.parametrize(
        ("text", "order", "directory", "expected"),
        [
            (AUTODL, {"free": "20 GB"}, "/root", ["system-disk-too-small"]),
            (AUTODL, {"free": "20 GB"}, DATA, [ALMOST, "disk-fine"]),
            (AUTODL, {"free": "200 GB"}, "/root", ["disk-too-small"]),
            (AUTODL, {"free": "200 GB"}, f"{DATA}/x", ["disk-too-small", ALMOST]),
            (RUNPOD, {"free": "40 GB"}, "/workspace", ["shared-volume-unverifiable"]),
            (RUNPOD, {"free": "40 GB", "quota": "100 GB"}, "/workspace", ["shared-volume-quota"]),
            (RUNPOD, {"free": "400 GB", "quota": "100 GB"}, "/workspace", ["quota-too-small"]),
            (RUNPOD, {"quota": "100 GB"}, "/", ["shared-volume-quota", "disk-fine"]),
            (RUNPOD, {"free": "80 GB"}, "/", ["system-disk-too-small", SHARED]),
            ("", {"free": "1 GB"}, "/root", ["no-df"]),
            (HEAD + "d 9G 4G 5G 45% /data\n", {}, "/root", ["no-df"]),
            (HEAD + "d 90G 4G 85G 5% /srv\n", {"free": "90 GB"}, "/", ["disk-fine"]),
            (HEAD + "d 4T 4T 21G 100% /\n", {}, "/", ["disk-almost-full"]),
            (HEAD + "d 4T 4T 0 100% /\ne 9T 0 9T 0% /data\n", {}, "/", ["system-disk-full"]),
            (ROOM + "shm 64M 64M 0 100% /dev/shm\n", {}, "/", ["shared-memory-full", "disk-fine"]),
            (ROOM + "t 2G 2G 0 100% /tmp\n", {}, "/", ["system-disk-full", "disk-fine"]),
            (ROOM + "t 2G 1G 1G 50% /tmp\n", {}, "/", ["disk-fine"]),
            (HEAD + "/dev/a 9G 9G 0 100% /\n/dev/a 9G 9G 0 100% /root\n", {}, "/", ["disk-full"]),
        ],
    )  # fmt: skip
    def test_room(
        self, text: str, order: dict[str, Any], directory: str, expected: list[str]
    ) -> None:
        """Bytes are compared with bytes: 90 GB are less than 85 GiB."""
        assert expected == verdicts(text, order, directory)

    @pytest.mark.parametrize(
        ("row", "order", "expected"),
        [
            ("d 2000000 1000000 1000000 50% /", {}, ["inodes-fine"]),
            ("d 2000000 1000000 1000000 50% /", {"inodes": 1_500_000}, ["inodes-too-few"]),
            ("d 2000000 1000000 1000000 50% /", {"inodes": "1500K"}, ["inodes-too-few"]),
            ("d 2000000 1900000 100000 95% /", {}, ["inodes-low"]),
            ("d 50 40 10 80% /", {}, ["inodes-low"]),
            ("d 50 50 0 100% /", {}, ["inodes-full"]),
            ("d 0 0 0 - /", {}, ["inodes-not-counted"]),
        ],
    )
    def test_inodes(self, row: str, order: dict[str, Any], expected: list[str]) -> None:
        """A million small files need a million inodes."""
        text = f"Filesystem Inodes IUsed IFree IUse% Mounted on\n{row}\n"

        assert expected == verdicts(text, order)

    def test_facts_say_what_was_asked(self) -> None:
        """Advice names the place, the room, the order and the data disk."""
        found = findings(read(AUTODL), {"free": "20 GB"}, "/root/x")[0]

        assert found.level == "bad"
        assert "/ has only 5.3 GiB free, 20 GB were asked for" in found.means()
        assert "/root/autodl-tmp" in found.next()
        assert "/root/autodl-tmp" in found.next("zh")

    def test_a_wrong_order_is_refused(self) -> None:
        """What cannot be compared is not passed over."""
        with pytest.raises(ValueError, match="lots"):
            findings(read(AUTODL), {"free": "lots"})


class TestAdvice:
    """The next step helps, and costs no data."""

    @pytest.mark.parametrize(
        ("name", "wanted"),
        [
            ("2-deleted-open-file.in", "`lsof +L1`"),
            ("2-autodl-sysdisk-90.in", "conda clean --all"),
            ("2-autodl-sysdisk-90.in", "~/.cache"),
            ("2-autodl-30g-50g.in", "HF_HOME"),
            ("2-inode-100.in", "tar"),
            ("2-runpod-mfs-petabyte.in", "quota"),
        ],
    )
    def test_names_what_helps(self, name: str, wanted: str) -> None:
        """Each case has its own way out, in both languages."""
        found = diagnose((FOLDER / name).read_text(encoding="utf-8"))

        assert found is not None
        assert wanted in found.next("en")
        assert wanted in found.next("zh")

    def test_unknown_numbers_are_question_marks(self) -> None:
        """`df --output=avail,target` says neither size nor percent."""
        found = diagnose("Avail Mounted on\n90G /\n")

        assert found is not None
        assert "/ has 90 GiB free of ? (? used)." == found.means()


def test_every_verdict_is_met() -> None:
    """A row that no test reaches is a wish."""
    files = [Path(__file__), Path(__file__).parent / "test_no_room.py"]
    source = "".join(path.read_text(encoding="utf-8") for path in files)

    assert [] == [verdict for verdict in rows("disk") if f'"{verdict}' not in source]
