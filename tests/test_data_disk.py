"""Data goes where the platform keeps it; a number in `df` may be everybody's."""

from __future__ import annotations

import pytest

from zuka.disks import KNOWN, Mount, data_disk, holding, is_shared, read

GIB = 1 << 30
HEAD = "Filesystem Size Used Avail Use% Mounted on\n"
AUTODL = HEAD + "overlay 30G 25G 5.3G 83% /\n/dev/md0 50G 9.6G 41G 20% /root/autodl-tmp\n"


class TestPlaces:
    """Data goes where the platform keeps it, not where the number is largest."""

    def test_holding_is_the_longest_prefix_of_names(self) -> None:
        """/data2 does not lie in /data."""
        mounts = read(
            HEAD
            + "".join(
                f"d{n} 9G 4G 5G 45% {at}\n" for n, at in enumerate(("/", "/data", "/data/a b"))
            )
        )
        places = {"/data2": "/", "/data/": "/data", "/data/a b/c": "/data/a b", "//data/../x": "/"}

        assert places == {p: getattr(holding(mounts, p), "at", None) for p in places}
        assert holding([], "/") is None

    @pytest.mark.parametrize(
        "at",
        [
            "/etc/hosts",
            "/etc/resolv.conf",
            "/usr/bin/nvidia-smi",
            "/usr/lib/x86_64-linux-gnu/libcuda.so.550.54.14",
            "/usr/lib64/libnvidia-ml.so.1",
            "/usr/share/zoneinfo",
            "/run/nvidia-persistenced/socket",
            "/proc/driver/nvidia",
            "/sys/fs/cgroup",
            "/dev/shm",
            "/root/onstart.sh",
            "/root/.ssh/authorized_keys",
            "/opt/entry.conf",
            "/snap/core20/1974",
            "/boot/efi",
        ],
    )
    def test_lent_files_hold_nothing(self, at: str) -> None:
        """What a container engine lends is not ours to fill, however large and however full."""
        for row in (f"/dev/sda2 9T 0 9T 0% {at}", f"/dev/sda2 9T 9T 0 100% {at}"):
            mounts = read(f"{HEAD}overlay 40G 4G 36G 10% /\n{row}\n")

            held = holding(mounts, f"{at}/x")
            assert held is not None
            assert held.at == "/"
            assert data_disk(mounts) == held

    @pytest.mark.parametrize(
        "at",
        [*KNOWN[:5], *KNOWN[6:], "/lambda/nfs/mine", "/home", "/root"],
    )
    def test_known_places_hold_the_data(self, at: str) -> None:
        """The largest disk is not asked for."""
        mounts = read(
            f"{HEAD}overlay 900G 4G 896G 1% /\n/dev/b 50G 9G 41G 18% {at}\n/dev/c 9T 0 9T 0% /x\n"
        )
        found = data_disk(mounts)

        assert found is not None
        assert found.at == at

    def test_what_the_caller_knows_wins(self) -> None:
        """A recipe's own place and the real home are given as arguments."""
        mounts = read(f"{AUTODL}d 9G 4G 5G 45% /home\ne 9G 4G 5G 45% /scratch\n")
        found = [
            data_disk(mounts, ["/scratch"]),
            data_disk(mounts, ["/nowhere"], home="/home/mei"),
            data_disk(mounts, [], home="/root"),
            data_disk([]),
        ]

        assert ["/scratch", "/home", "/", None] == [getattr(each, "at", None) for each in found]

    @pytest.mark.parametrize(
        ("device", "kind", "shared"),
        [
            ("mfs#euro.runpod.net:9421", "", True),
            ("mfs#euro.runpod.net:9421", "fuse.mfs", True),
            ("nas:/export", "", True),
            ("10.0.0.1:6789,10.0.0.2:6789:/vol", "", True),
            ("[fd00::1]:/export", "nfs4", True),
            ("10.0.0.1@tcp:/lustre", "", True),
            ("JuiceFS:team", "fuse.juicefs", True),
            ("AutoFS:fs1", "", True),
            ("//nas/share", "cifs", True),
            ("gpfs0", "gpfs", True),
            ("share", "9p", True),
            ("C:\\", "9p", False),
            ("/dev/md0", "xfs", False),
            ("overlay", "overlay", False),
            ("tank/data", "zfs", False),
            ("/dev/mapper/a:b", "", False),
        ],
    )
    def test_network_volumes_are_known(self, device: str, kind: str, *, shared: bool) -> None:
        """By type, by name, or by a size that nobody rents."""
        mount = Mount(device, kind, 9 * GIB, 0, 9 * GIB, None, None, "/x")

        assert shared == is_shared(mount)
        assert is_shared(Mount("x", "", 2 << 50, 0, 1 << 50, None, None, "/x"))
