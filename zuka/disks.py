"""Which disk holds what, how full it is, and where data should go; nothing here asks a box."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from zuka.finding import Finding, rows, worst_first
from zuka.mounts import Mount, amount, bytes_of, read
from zuka.shell import clean

__all__ = ["KNOWN", "Mount", "bytes_of", "data_disk", "diagnose", "findings", "holding"]
__all__ += ["is_shared", "read"]

KNOWN = (
    "/root/autodl-tmp",  # AutoDL
    "/hy-tmp",  # gpushare
    "/home/featurize/work",  # Featurize
    "/workspace",  # RunPod, Vast.ai
    "/mnt/workspace",
    "/lambda/nfs/*",  # Lambda
    "/mnt/data",
    "/data",  # Gitee, and many labs
    "/mnt",  # Matpool
)
"""Folders that platforms give for data; the first that is mounted wins, `*` is any one name."""

_GIB = 1 << 30
_ALL = 100
_ALMOST = ((0, 2), (80, 10), (95, 50))
"""Almost full: at such a percentage, less than so many GiB free."""
_HOST, _RENTED = 2048 * _GIB, KNOWN[:4]
"""A rented container's data disk is not that large: it is the host's. A lab's /data may be."""
_FEWEST, _FEW = 1000, 10_000
"""Inodes left: none to speak of, and fewer than an environment needs."""
_DULL = ("disk-fine", "inodes-fine", "inodes-not-counted")
_PSEUDO = re.compile(r"/(?:proc|sys|dev|run|var/run|snap|boot)(?:/|$)")
_PSEUDO_TYPES = re.compile(
    r"proc|sysfs|devtmpfs|devpts|mqueue|cgroup2?|autofs|debugfs|tracefs|squashfs|iso9660|erofs"
    r"|efivarfs|nsfs|binfmt_misc|fusectl|securityfs|fuse\.snapfuse|(?:fuse\.)?lxcfs"
)
# Drivers and settings that a container engine lends from its host, most of them single files.
_LENT = re.compile(r"/(?:etc|bin|sbin|lib\w*|usr)/(?!local$)")
_FILE = re.compile(
    r"\.(?:sh|py|so|conf|cfg|ini|json|ya?ml|toml|txt|log|sock|pem|crt|key|pub|env|service|bin)$"
    r"|\.so\.[0-9.]+$|/(?:socket|authorized_keys|known_hosts|hosts|hostname|\.dockerenv)$"
)
_NETWORK = re.compile(
    r"(?:fuse\.)?(?:mfs|moosefs|nfs[34]?|ceph(?:-fuse)?|juicefs|lustre|gpfs|9p|glusterfs|beegfs\w*"
    r"|cifs|smb3?|smbfs|sshfs|s3fs|ossfs2?|cosfs|obsfs|goofys|rclone|gcsfuse|mountpoint-s3|wekafs"
    r"|blobfuse2?|alluxio\S*|virtiofs|afs|cpfs|curvefs|pvfs2|panfs|quobyte\S*)",
    re.IGNORECASE,
)
# MooseFS, NFS and Lustre (HOST:/export), JuiceFS (JuiceFS:name), SMB; never WSL's C:\ drive.
_DRIVE = re.compile(r"[A-Za-z]:\\")
_NETWORK_DEVICE = re.compile(
    r"mfs#|//|[A-Za-z0-9\[][^\s/]+:|gpfs|ceph|beegfs|s3fs|ossfs"
    r"|[^\s/@]+@[0-9a-f-]+\.[\w.-]+=/"  # CephFS: USER@CLUSTER.NAME=/
)


def holding(mounts: Iterable[Mount], directory: str) -> Mount | None:
    """Return the file system that holds a directory; never a single file's, never a pseudo one."""
    path = "/" + posixpath.normpath(f"/{directory}").strip("/") + "/"
    held = [m for m in mounts if _is_real(m) and path.startswith(m.at.rstrip("/") + "/")]
    return max(held, key=lambda mount: len(mount.at), default=None)


def data_disk(
    mounts: Sequence[Mount], known: Sequence[str] = KNOWN, home: str = ""
) -> Mount | None:
    """Return where data should go: a known place that is mounted, else what holds the home."""
    real = [mount for mount in mounts if _is_real(mount)]
    for place in known:
        for mount in real:
            if mount.at.count("/") == place.count("/") and fnmatchcase(mount.at, place):
                return mount
    if home:
        return holding(real, home)
    for folder in ("/root", "/home"):
        held = holding(real, folder)
        if held and held.at != "/":
            return held
    # `df .` shows one file system: the one that was asked about.
    return holding(real, "/") or (real[0] if len(real) == 1 else None)


def is_shared(mount: Mount) -> bool:
    """Return whether it is a network volume, whose free space is that of everybody's cluster."""
    if _DRIVE.match(mount.device):
        return False
    if _NETWORK.fullmatch(mount.type) or _NETWORK_DEVICE.match(mount.device):
        return True
    return (mount.size or 0) >= 1 << 50


def findings(
    mounts: Sequence[Mount],
    order: Mapping[str, Any] | None = None,
    directory: str = "/",
    data_at: str = "",
) -> list[Finding]:
    """
    Return what is found of the disk that holds a directory and of those beside it, worst first.

    ``order`` may ask for `free` (`40 GB`) and `inodes` where the directory lies, and may say the
    `quota` of a network volume, which `df` cannot see. ``data_at`` is where the user says that a
    disk for data is mounted.
    """
    asked = dict(order or {})
    data = data_disk(mounts, (data_at, *KNOWN) if data_at else KNOWN)
    main = holding(mounts, directory)
    if main is None and directory == "/":  # `df DIR` shows other disks alone
        main = data or next(filter(_is_real, mounts), None)
    found = [] if main else [Finding("disk", "no-df", {"at": directory})]
    for mount in _to_judge(mounts, main, data):
        wanted = asked if mount is main else {"quota": asked.get("quota")}
        better = data if data and _is_better(data, mount) else None
        verdicts = [_of_bytes(mount, wanted, better), _of_inodes(mount, wanted)]
        if verdicts[0] and verdicts[1] in _DULL:
            verdicts.pop()
        facts = _facts(mount, data, wanted)
        shown = [each for each in verdicts if each and (mount is main or each not in _DULL)]
        found += [Finding("disk", each, facts) for each in shown]
    memory = [mount for mount in mounts if mount.at == "/dev/shm" and _is_full(mount)]  # noqa: S108
    found += [Finding("disk", "shared-memory-full", _facts(each, data, {})) for each in memory]
    return worst_first(found)


def diagnose(text: str) -> Finding | None:
    """Return the most important finding of a text with `df` output or an error about room."""
    error, path = _error(text)
    mounts = read(text)
    held = holding(mounts, path) if path else None
    found = findings(mounts, directory=held.at if held else "/")
    if found[0].verdict == "no-df":  # nothing here is df's, or nothing of it a disk
        return error
    if error is None:
        return found[0]
    if error.verdict != "no-space-left":
        return error
    # A disk with room does not explain the error; a network volume's hidden quota may.
    explains = found[0].level == "bad" or found[0].verdict == "shared-volume-unverifiable"
    return found[0] if explains else error


def _is_real(mount: Mount) -> bool:
    """Return whether folders of one's own can lie on it."""
    if _PSEUDO.match(mount.at) or _LENT.match(mount.at) or _FILE.search(mount.at):
        return False
    return not _PSEUDO_TYPES.fullmatch(mount.type) and not mount.device.startswith("/dev/loop")


def _to_judge(mounts: Sequence[Mount], main: Mount | None, data: Mount | None) -> list[Mount]:
    temporary = holding(mounts, "/tmp")  # noqa: S108  nothing is written there
    if temporary and not _is_full(temporary) and not _has_no_inodes(temporary):
        temporary = None
    found: list[Mount] = []
    for mount in (main, holding(mounts, "/"), data, temporary):
        # Bind mounts show one device at several places.
        if mount and not any(_is_same(mount, other) for other in found):
            found.append(mount)
    return found


def _is_same(one: Mount, other: Mount) -> bool:
    if one.at == other.at:
        return True
    return one.device.startswith("/dev/") and (one.device, one.size) == (other.device, other.size)


def _is_better(data: Mount, mount: Mount) -> bool:
    if _is_same(data, mount) or _is_full(data):
        return False
    return is_shared(data) or data.free is None or data.free > (mount.free or 0)


def _is_full(mount: Mount) -> bool:
    if mount.size == 0:
        return False
    whole = (mount.percent or 0) >= _ALL
    if mount.free is None:
        return whole
    # A hundred percent is rounded up, and leaves root's reserve out: 4 TB may have 20 GB free.
    least = _GIB // 16 if mount.size is None else min(_GIB // 16, mount.size // 20)
    return mount.free < (_GIB if whole else least)


def _is_almost_full(mount: Mount) -> bool:
    free, percent = mount.free or 0, mount.percent or 0
    if mount.free is None:
        return percent >= _ALMOST[-1][0]
    return any(percent >= most and free < least * _GIB for most, least in _ALMOST)


def _has_no_inodes(mount: Mount) -> bool:
    if mount.inodes is None or mount.inodes_free is None:
        return False
    return mount.inodes_free < _FEWEST and mount.inodes_free * 100 < mount.inodes


def _of_bytes(mount: Mount, order: Mapping[str, Any], better: Mount | None) -> str | None:
    if mount.free is None and mount.percent is None:
        return None
    need = _asked(order, "free") or 0
    if _is_full(mount):
        return "system-disk-full" if better else "disk-full"
    if mount.free is not None and mount.free < need:
        fits = better and (is_shared(better) or (better.free or 0) >= need)
        return "system-disk-too-small" if fits else "disk-too-small"
    if is_shared(mount):
        return _of_share(_asked(order, "quota"), need)
    if _is_almost_full(mount):
        return "system-disk-almost-full" if better else "disk-almost-full"
    return "host-disk" if mount.at in _RENTED and (mount.size or 0) >= _HOST else "disk-fine"


def _of_share(quota: int | None, need: int) -> str:
    if quota is None:
        return "shared-volume-unverifiable"
    return "quota-too-small" if quota < need else "shared-volume-quota"


def _of_inodes(mount: Mount, order: Mapping[str, Any]) -> str | None:
    free = mount.inodes_free
    if mount.inodes is None or free is None:
        return "inodes-not-counted" if mount.free is None else None
    if _has_no_inodes(mount):
        return "inodes-full"
    if free < (_asked(order, "inodes") or 0):
        return "inodes-too-few"
    return "inodes-low" if free * 10 < mount.inodes or free < _FEW else "inodes-fine"


def _asked(order: Mapping[str, Any], key: str) -> int | None:
    value = order.get(key)
    if value is None or isinstance(value, int):
        return value
    return bytes_of(str(value)) if key != "inodes" else amount(str(value), si=True, unit=1)


def _facts(mount: Mount, data: Mount | None, order: Mapping[str, Any]) -> dict[str, Any]:
    known = data.free if data and not is_shared(data) else None
    facts: dict[str, Any] = {
        "at": mount.at,
        "free_bytes": mount.free,
        "size_bytes": mount.size,
        "used_percent": mount.percent,
        "inodes": mount.inodes,
        "inodes_free": mount.inodes_free,
        "data_at": data.at if data else None,
        "data_free_bytes": known,
        "free": _human(mount.free),
        "size": _human(mount.size),
        "used": "?" if mount.percent is None else f"{mount.percent} %",
    }
    asked = {key: order[key] for key in ("free", "inodes", "quota") if order.get(key) is not None}
    return facts | {f"asked_{key}": _said(key, value) for key, value in asked.items()}


def _said(key: str, value: Any) -> Any:
    return _human(value) if isinstance(value, int) and key != "inodes" else value


def _human(count: int | None) -> str:
    """Return bytes as `df -h` would say them."""
    value, unit = float(count or 0), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB", "PiB"):
        if value < 1 << 10:
            break
        value, unit = value / (1 << 10), larger
    return (
        "?" if count is None else f"{value:.3g} {unit}" if value < _ALL else f"{value:.0f} {unit}"
    )


def _error(text: str) -> tuple[Finding | None, str]:
    """Return the error about room that stands in a text, and the path that it names."""
    said = "\n".join(clean(line) for line in re.split("\r\n|\r|\n", text))
    for verdict, row in rows("disk").items():
        for pattern in row.get("match", []):
            if found := re.search(pattern, said, re.MULTILINE):
                start, end = said.rfind("\n", 0, found.start()) + 1, said.find("\n", found.end())
                line = said[start : end if end > 0 else None]
                path = re.search(r"(?<![\w.:/])/[^\s'\"`:,\u2019\u201d]+", line)
                return Finding("disk", verdict), path[0] if path else ""
    return None, ""
