"""What `df` prints is read in every form, unit and language; nothing in it is believed blindly."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zuka.disks import diagnose
from zuka.mounts import Mount, bytes_of, read

GIB = 1 << 30
FOLDER = Path(__file__).parent / "diagnosis" / "2-df"
LANGUAGES = (FOLDER / "languages.txt").read_text(encoding="utf-8").splitlines()
WORDS = [line.split("|") for line in LANGUAGES if not line.startswith("#")]
HEAD = "Filesystem Size Used Avail Use% Mounted on\n"
K = "Filesystem {}-blocks Used Available Use% Mounted on\n"
P = "Filesystem {}-blocks Used Available Capacity Mounted on\n"


@pytest.mark.parametrize("words", WORDS, ids=[words[0] for words in WORDS])
class TestLanguages:
    """A box speaks its user's language, whatever it is."""

    def test_blocks_and_types(self, words: list[str]) -> None:
        """`df -T` and `df -PT -B512`."""
        _, name, kind, blocks, _, used, free, _, percent, capacity, at, *_ = words
        row = "/dev/vda1 ext4 2000 500 1500 25% /mnt/my data\n"
        plain = read(f"{name} {kind} {blocks} {used} {free} {percent} {at}\n{row}")
        small = blocks.replace("1K", "512")
        posix = read(f"{name} {kind} {small} {used} {free} {capacity} {at}\n{row}")
        right = ("/dev/vda1", "ext4", 2048000, 512000, 1536000, None, None, "/mnt/my data", 25)

        assert (Mount(*right),) == plain
        assert [(1024000, 256000, 768000)] == [(m.size, m.used, m.free) for m in posix]

    def test_sizes_and_inodes_are_joined(self, words: list[str]) -> None:
        """`df -h; df -i` in one paste."""
        _, name, _, _, size, used, _, free, percent, _, at, *inodes = words
        text = (
            f"{name} {size} {used} {free} {percent} {at}\n/dev/vda1 40G 30,5G 8G 80% /\n\n"
            f"{name} {' '.join(inodes)} {at}\n/dev/vda1 655360 655352 8 100% /\n"
        )
        sizes = (40 * GIB, 61 * GIB // 2, 8 * GIB)

        assert (Mount("/dev/vda1", "", *sizes, 655360, 8, "/", 80),) == read(text)
        found = diagnose(text)
        assert "inodes-full" == (found and found.verdict)


class TestForms:
    """Every option and every program that is called df."""

    @pytest.mark.parametrize(
        ("text", "free"),
        [
            (K.format("1K") + "x 9 4 5 45% /", 5 << 10),
            (P.format("1024") + "x 9 4 5 45% /", 5 << 10),
            (P.format("512") + "x 9 4 5 45% /", 5 << 9),
            (K.format("1B") + "x 9 4 5 45% /", 5),
            (K.format("1M") + "x 9 4 5 45% /", 5 << 20),
            (K.format("1M") + "x 9M 4M 5M 45% /", 5 << 20),
            (K.format("1G") + "x 9G 4G 5G 45% /", 5 << 30),
            (K.format("1kB") + "x 9 4 5 45% /", 5000),
            (K.format("1GB") + "x 9GB 4GB 5GB 45% /", 5 * 10**9),
            (K.format("1K") + "x 9 4 5,123 45% /", 5123 << 10),
            (f"{HEAD}x 9.0k 4.0k 5.0k 45% /", 5000),
            (f"{HEAD}x 9.0K 4.0K 5.0K 45% /", 5 << 10),
            (f"{HEAD}x 9.0E 4.0P 5.0T 45% /", 5 << 40),
            (f"$ df -H\n{HEAD}x 9G 4G 5G 45% /", 5 * 10**9),
            ("$ df --si /\nDateisystem Größe Benutzt Verf. Verw% Auf\nx 9G 4G 5G 45% /", 5 * 10**9),
            ("Filesystem Size Used Avail Capacity Mounted on\nx 9Gi 4Gi 5Gi 45% /", 5 << 30),
            (f"{HEAD}x 9G 9.1G -0.1G 101% /", 0),
            ("x 9G 4G 5G 45% /", 5 << 30),
            ("x ext4 9 4 5 45% /", 5 << 10),
            ("Mounted on Avail\n/ 5G", 5 << 30),
            ("Avail Mounted on\n5G /", 5 << 30),
            ("可用 挂载点\n5G /", 5 << 30),
            ("| Type | Avail | Mounted on |\n| - | - | - |\n| ext4 | 5G | / |", 5 << 30),
        ],
    )
    def test_units_are_the_headers(self, text: str, free: int) -> None:
        """The header, the suffix and the command say what a number counts."""
        assert [("/", free)] == [(each.at, each.free) for each in read(text)]

    def test_all_columns(self) -> None:
        """`df --output` shows bytes and inodes side by side."""
        text = (
            "Filesystem Type Inodes IUsed IFree IUse% 1K-blocks Used Avail Use% File Mounted on\n"
            "/dev/vda ext4 100 40 60 40% 1000 700 200 78% - /srv\n"
        )

        assert (Mount("/dev/vda", "ext4", 1024000, 716800, 204800, 100, 60, "/srv", 78),) == read(
            text
        )

    def test_a_mac(self) -> None:
        """BSD's df appends inodes, and has names with spaces."""
        text = (
            "Filesystem 512-blocks Used Available Capacity iused ifree %iused Mounted on\n"
            "map auto_home 20 10 10 50% 3 7 30% /home\n"
        )

        assert (Mount("map auto_home", "", 10240, 5120, 5120, 10, 7, "/home", 50),) == read(text)

    def test_busybox_inodes(self) -> None:
        """Busybox says Used and Available of inodes too."""
        text = "Filesystem Inodes Used Available Use% Mounted on\n/dev/vda 100 40 60 40% /\n"

        assert (Mount("/dev/vda", "", None, None, None, 100, 60, "/", None),) == read(text)

    @pytest.mark.parametrize("blanks", ["", "                 "])
    def test_wrapped_names(self, blanks: str) -> None:
        """A long name stands on a line of its own, before a type or before the numbers."""
        name = "nas.lab.example.org:/export/a-long-name"
        typed = "Filesystem    Type   1K-blocks  Used Available Use% Mounted on\n"
        plain = typed.replace("Type", "")
        right = (name, 10240, 6144, "/home/mei li")

        for text in (
            f"{typed}{name}\n{blanks}nfs4 10 4 6 40% /home/mei li\n",
            f"{plain}{name}\n{blanks}10 4 6 40% /home/mei li\n",
            f"{plain}{name} 10 4 6 40%\n{blanks}/home/mei li\n",
        ):
            assert [right] == [(m.device, m.size, m.free, m.at) for m in read(text)]

    def test_several_outputs_are_joined(self) -> None:
        """Bytes and inodes of one place are one file system, in either order."""
        typed = HEAD.replace("Size", "Type Size")
        sizes = f"# df -hT /\n{typed}/dev/vda ext4 9G 4G 5G 45% /\n"
        inodes = (
            "# df -i /\nFilesystem Inodes IUsed IFree IUse% Mounted on\n/dev/vda 100 40 60 40% /\n"
        )
        right = Mount("/dev/vda", "ext4", 9 * GIB, 4 * GIB, 5 * GIB, 100, 60, "/", 45)

        assert (right,) == read(sizes + inodes) == read(inodes + sizes)

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "df -h",
            "Filesystem Size Used Avail Use% Mounted on",
            " 45%|████▌     | 450/1000 [00:10<00:12, 45.0it/s]",
            "1,238,099 100%  146.38kB/s    0:00:08 (xfr#5, to-chk=169/396)",
            "Epoch 3/10 loss 0.25 acc 80% saved to /root/model.pt",
            "12G\t/root/.cache",
            "|  0%   45C    P8    10W / 350W |      1MiB / 24564MiB |      0%      Default |",
        ],
    )
    def test_other_text_is_no_df(self, text: str) -> None:
        """A progress bar, du and nvidia-smi have percents and slashes as well."""
        assert () == read(text)
        assert diagnose(text) is None


class TestSizes:
    """Sizes as they are sold and as they are printed."""

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("40 GB", 40 * 10**9),
            ("40GB", 40 * 10**9),
            ("40 gb", 40 * 10**9),
            ("40 GiB", 40 << 30),
            ("40G", 40 << 30),
            ("40Gi", 40 << 30),
            ("1.5 TB", 15 * 10**11),
            ("1,5 TB", 15 * 10**11),
            ("1.500 TB", 15 * 10**11),
            ("1 kB", 1000),
            ("1K", 1024),
            ("1,024", 1024),
            ("512 B", 512),
            ("0", 0),
        ],
    )
    def test_are_read(self, text: str, expected: int) -> None:
        """GB is decimal, GiB and a lone letter are binary."""
        assert expected == bytes_of(text)

    @pytest.mark.parametrize(
        "text", ["", "GB", "lots", "-1 GB", "40 GBs", "1.2.3 G", "٣ GB", "1e9", "nan"]
    )
    def test_are_refused(self, text: str) -> None:
        """Half a size is none."""
        with pytest.raises(ValueError, match="is not a size"):
            bytes_of(text)

    @given(st.text(max_size=20))
    def test_nothing_else_is_raised(self, text: str) -> None:
        """A wrong size is a ValueError, and only that."""
        with contextlib.suppress(ValueError):
            assert bytes_of(text) >= 0
