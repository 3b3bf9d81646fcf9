"""An error about room says what to look at; with df beside it, what is used up."""

from __future__ import annotations

from pathlib import Path

import pytest

from zuka.disks import diagnose

FOLDER = Path(__file__).parent / "diagnosis" / "2-df"
HEAD = "Filesystem Size Used Avail Use% Mounted on\n"
ROOM = HEAD + "d 90G 4G 85G 5% /\n"
AUTODL = HEAD + "overlay 30G 25G 5.3G 83% /\n/dev/md0 50G 9.6G 41G 20% /root/autodl-tmp\n"
RUNPOD = (
    HEAD + "overlay 160G 106G 55G 66% /\nmfs#euro.runpod.net:9421 2.3P 1.4P 885T 62% /workspace\n"
)


class TestDiagnose:
    """A pasted text is df output, an error about room, or neither."""

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("OSError: [Errno 28] No space left on device: '/root/x.pt'", "no-space-left"),
            ("cp: error writing '/root/x': No space left on device\r\n", "no-space-left"),
            ("cp: 写入 '/root/x' 出错: 设备上没有空间", "no-space-left"),
            ("tar: Auf dem Gerät ist kein Speicherplatz mehr verfügbar", "no-space-left"),
            ("I/O error: No space left on device (os error 28)", "no-space-left"),
            ("npm ERR! code ENOSPC", "no-space-left"),
            ("PytorchStreamWriter failed writing file data/12: file write failed", "no-space-left"),
            ("[inline_container.cc:424] . unexpected pos 704 vs 600", "no-space-left"),
            ("Not enough free disk space to download the file.", "no-space-left"),
            ("OSError: [Errno 122] Disk quota exceeded", "quota-exceeded"),
            ("mkdir: 无法创建目录: 超出磁盘限额", "quota-exceeded"),
            ("unable to write to file </torch_1_2>: No space left on device", "shared-memory-full"),
            ("inotify_add_watch: No space left on device", "inotify-limit"),
            ("Error: ENOSPC: System limit for number of file watchers reached", "inotify-limit"),
            ("bash: df: command not found", "no-df"),
            ("torch.OutOfMemoryError: CUDA out of memory", None),
            ("Traceback (most recent call last):", None),
        ],
    )  # fmt: skip
    def test_errors(self, text: str, expected: str | None) -> None:
        """Each language and program has its own words for it."""
        found = diagnose(text)

        assert expected == (found and found.verdict)

    def test_an_error_asks_for_bytes_and_inodes(self) -> None:
        """Free bytes are no proof of room for a file."""
        found = diagnose("OSError: [Errno 28] No space left on device")

        assert found is not None
        assert "`df -h DIR` and `df -i DIR`" in found.next()
        assert "`df -h DIR` 和 `df -i DIR`" in found.next("zh")

    @pytest.mark.parametrize(
        ("path", "expected"),
        [("/root/x.pt", "disk-full"), ("/data/x.pt", "disk-full"), ("/nas/x.pt", "disk-full")],
    )
    def test_a_full_disk_explains_an_error(self, path: str, expected: str) -> None:
        """The error and df in one paste."""
        rows_ = "d 9G 9G 0 100% /\ne 90G 4G 85G 5% /nas\n"
        found = diagnose(
            f"OSError: [Errno 28] No space left on device: '{path}'\n$ df -h\n{HEAD}{rows_}"
        )

        assert expected == (found and found.verdict)

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            (ROOM, "no-space-left"),
            (ROOM + (FOLDER / "2-inode-100.in").read_text(), "inodes-full"),
            (RUNPOD, "shared-volume-unverifiable"),
            (AUTODL, "no-space-left"),
        ],
    )
    def test_room_does_not_explain_an_error(self, text: str, expected: str) -> None:
        """With bytes free it is inodes, a quota, or still unknown: never that all is fine."""
        found = diagnose(f"OSError: [Errno 28] No space left on device\n{text}")

        assert expected == (found and found.verdict)
