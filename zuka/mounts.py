"""What `df` prints, in any form and language, as mounted file systems."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cache

from zuka.shell import clean

_POWERS = "KMGTPEZY"
_DIGITS = r"[0-9]{1,3}(?:[.,'][0-9]{3}){1,9}|[0-9]{1,30}(?:[.,][0-9]{1,9})?"
_SIZE = re.compile(rf"({_DIGITS}) ?(?:([{_POWERS}])(iB?|B)?|Bi?|bytes?)?", re.IGNORECASE)
_NUMBER = rf"(?:-|-?(?:{_DIGITS})(?:[{_POWERS}k](?:iB?|B)?|Bi?)?)"
_PERCENT = r"(?:-|-?[0-9]{1,5}(?:[.,][0-9]{1,3})?%)"
_LONGEST = 4096
"""Characters of a line; no row of `df` is longer than a path may be."""

# In the order of the columns of GNU's `df --output`; BSD's and busybox's names beside them.
_NAMES = {
    "device": "filesystem 文件系统",
    "type": "type 类型",
    "inodes": "inodes inode",
    "inodes_used": "iused 已用i 已用(i)",
    "inodes_free": "ifree 可用i 可用(i)",
    "inodes_percent": "iuse% %iused 已用i% 已用(i)%",
    "size": "size 大小",
    "used": "used 已用",
    "free": "avail available 可用",
    "percent": "use% capacity 已用%",
    "file": "file 文件",
    "at": "mounted_on 挂载点",
}
_ROLES = {name: role for role, names in _NAMES.items() for name in names.split()}
_OF_INODES = {
    "size": "inodes",
    "used": "inodes_used",
    "free": "inodes_free",
    "percent": "inodes_percent",
}
_USUAL = ("device", "type?", "size", "used", "free", "percent", "at")

# Words of the languages that coreutils speaks: its own translations, by their beginnings.
_BLOCKS = re.compile(
    r"bl[oö]|\dK?-bl\b|бло|блё|buloka|lohk|块|塊|ブロック|블록|khối", re.IGNORECASE
)
_INODES = re.compile(
    r"\bin(?:od|ó|œud)|nod[eo]s-i|[IІИ]-?(?:въз|uzl|nod|kirj|solm|węz|нод|чвор|вуз|ノード)|indeks",  # noqa: RUF001
    re.IGNORECASE,
)
_TYPES = re.compile(
    r"\b(?:T[iy]p\w{0,2}|Típ|Tüüp|Tür|Cineál|Jenis|Kika|Kiểu|Moeta|Vrsta|Врста|Тип|Тып|Вид|Түрі)\b"  # noqa: RUF001
    r"|类型|類型|タイプ|형식"
)
_UNIT = re.compile(
    r"(?<![A-Za-z0-9])([0-9]{1,15})([KMGTPEZY]?)(i?B)?(?![A-Za-z0-9%])", re.IGNORECASE
)
_PERCENT_WORD = re.compile(r"(?:^| )(?:[^\s\d%/]*%|%[^\s\d%/]+)(?: |$)")
_COMMAND = re.compile(r"(?:^|[\s#$>;&|/])df(?= |$)((?: +-[\w=,-]+)*)")


@dataclass(frozen=True, slots=True)
class Mount:
    """One mounted file system as `df` shows it; sizes in bytes, None where nothing is said."""

    device: str
    type: str
    size: int | None
    used: int | None
    free: int | None
    inodes: int | None
    inodes_free: int | None
    at: str
    percent: int | None = None
    """How full `df` calls it, of what users may use: root's reserve counts as used."""


def bytes_of(text: str) -> int:
    """Return a size in bytes: `40 GB` is 40·10⁹ (SI), `40 GiB` and `40G` are 40·2³⁰."""
    return amount(text, si=False, unit=1)


def amount(text: str, *, si: bool, unit: int) -> int:
    """Return a number with its suffix; a lone letter is a power of 1000 or 1024, none is `unit`."""
    found = _SIZE.fullmatch(text.strip())
    if not found:
        raise ValueError(f"'{text}' is not a size such as 40 GB or 40 GiB")
    digits, letter, ending = found[1], (found[2] or "").upper(), (found[3] or "").lower()
    grouped = re.fullmatch(r"[0-9]{1,3}(?:[.,'][0-9]{3})+", digits)
    if grouped and not (letter and re.fullmatch(r"[0-9]+\.[0-9]{3}", digits)):
        digits = re.sub("[.,']", "", digits)
    value = Decimal(digits.replace(",", "."))
    if not letter:
        return int(value if found[0] != found[1] else value * unit)
    base = 1000 if ending == "b" or (si and not ending) else 1024
    return int(value * base ** (_POWERS.index(letter) + 1))


def read(text: str) -> tuple[Mount, ...]:
    """Return the file systems of any `df` output in a text; bytes and inodes of one are joined."""
    found: dict[str, Mount] = {}
    for table in _tables(text):
        for mount in table.mounts():
            old = found.get(mount.at)
            found[mount.at] = mount if old is None else _joined(old, mount)
    return tuple(found.values())


@dataclass(frozen=True, slots=True)
class _Table:
    """The rows under one header: what its columns are, and in which units."""

    roles: tuple[str, ...] = _USUAL
    unit: int = 1024
    si: bool = False
    cells: list[dict[str, str]] = field(default_factory=list)

    def takes(self, line: str, before: str) -> bool:
        """Take a row by its header, or by its shape; a long name stands on the line before."""
        together = f"{before} {line}"
        usual = _of_inodes(_USUAL) if "inodes_free" in self.roles else _USUAL
        for roles in dict.fromkeys((self.roles, usual)):
            for each in (line, together) if before else (line,):
                if found := _shape(roles).fullmatch(each):
                    self.cells.append({k: v for k, v in found.groupdict().items() if v})
                    return True
        return False

    def mounts(self) -> Iterator[Mount]:
        """Yield what the rows say; a row without any size is a pseudo file system's."""
        # GNU's -H and BSD's write a small k where powers are of 1000; -h writes a capital one.
        small = any(re.search(r"\dk$", v) for cells in self.cells for v in cells.values())
        for cells in self.cells:
            numbers = {
                role: self._number(role, cell, si=self.si or small)
                for role, cell in cells.items()
                if role in ("size", "used", "free", "inodes", "inodes_used", "inodes_free")
            }
            if "size" not in cells or numbers["size"]:
                yield _mount(cells, numbers)

    def _number(self, role: str, cell: str, *, si: bool) -> int | None:
        if cell.startswith("-"):  # below zero: what is left of root's reserve
            return None if cell == "-" else 0
        return amount(cell, si=si, unit=1 if role.startswith("inodes") else self.unit)


def _mount(cells: Mapping[str, str], numbers: Mapping[str, int | None]) -> Mount:
    inodes, used, free = (numbers.get(f"inodes{each}") for each in ("", "_used", "_free"))
    if inodes is None and used is not None and free is not None:
        inodes = used + free
    if not inodes:  # vfat and btrfs make inodes as they need them: not applicable, never full
        inodes = free = None
    percent = re.match("[0-9]+", cells.get("percent", ""))
    return Mount(
        device=cells.get("device", ""),
        type=cells.get("type", ""),
        size=numbers.get("size"),
        used=numbers.get("used"),
        free=numbers.get("free"),
        inodes=inodes,
        inodes_free=free,
        at=cells["at"],
        percent=int(percent[0]) if percent else _share(numbers.get("used"), numbers.get("free")),
    )


def _share(used: int | None, free: int | None) -> int | None:
    # Rounded up, as `df` does.
    return None if used is None or free is None else -(-100 * used // max(1, used + free))


def _joined(old: Mount, new: Mount) -> Mount:
    values = {
        name: getattr(new, name)
        for name in ("device", "type", "size", "used", "free", "inodes", "inodes_free", "percent")
    }
    return replace(old, **{name: each for name, each in values.items() if each not in (None, "")})


def _tables(text: str) -> Iterator[_Table]:
    table, before = _Table(), ""
    for line in _lines(text):
        if line and table.takes(line, before):
            before = ""
            continue
        new = _header(line, si=table.si) or _command(line)
        if new:
            yield table
            table = new
        before = "" if new else line
    yield table


def _lines(text: str) -> Iterator[str]:
    for raw in re.split("\r\n|\r|\n", text.lstrip("\ufeff")):
        line = " ".join(clean(raw).split()) if len(raw) <= _LONGEST else ""
        if line[:1] in (">", "|", "│"):  # quoted, or drawn as a table
            line = " ".join(re.sub("^>|[|│]", " ", line).split())
        yield line


def _header(line: str, *, si: bool) -> _Table | None:
    unit, roles = _UNIT.search(line), _named(line)
    if roles is None:
        if not _PERCENT_WORD.search(line) and not (unit and _BLOCKS.search(line)):
            return None
        roles = tuple("type" if r == "type?" and _TYPES.search(line) else r for r in _USUAL)
        if _INODES.search(line):
            roles = _of_inodes(roles)
    size = amount("".join(part or "" for part in unit.groups()), si=False, unit=1) if unit else 1024
    return _Table(roles, size or 1024, si)


def _named(line: str) -> tuple[str, ...] | None:
    """Return the columns of a header all of whose words are known, in whatever order."""
    words = line.lower().replace("mounted on", "mounted_on").split()
    roles = [
        "size"
        if re.fullmatch(r"[0-9]+[kmgtpe]?(?:i?b)?(?:-blocks|-块|的块)", word)
        else _ROLES.get(word, "")
        for word in words
    ]
    if "inodes" in roles and "size" not in roles and "inodes_free" not in roles:
        roles = list(_of_inodes(roles))  # busybox
    sure = all(roles) and len(set(roles)) == len(roles) and "at" in roles and len(roles) > 1
    return tuple(roles) if sure else None


def _of_inodes(roles: tuple[str, ...] | list[str]) -> tuple[str, ...]:
    return tuple(_OF_INODES.get(role, role) for role in roles)


def _command(line: str) -> _Table | None:
    """Return the table that a command line at a prompt announces."""
    found = _COMMAND.findall(line)
    if not found:
        return None
    words = found[0].split() if len(found) == 1 else []
    short = "".join(word for word in words if not word.startswith("--"))
    of_inodes = "i" in short or "--inodes" in words
    return _Table(
        _of_inodes(_USUAL) if of_inodes else _USUAL, 1024, "H" in short or "--si" in words
    )


@cache
def _shape(roles: tuple[str, ...]) -> re.Pattern[str]:
    """Return what a row under such columns looks like; only names and mount points have spaces."""
    parts = []
    for number, role in enumerate(roles):
        last = number == len(roles) - 1
        # Two names with spaces in one row would take forever to tell apart.
        spaced = last or roles[-1] == "at"
        parts.append(_part(role, spaced=spaced) + ("" if last or role == "type?" else " "))
    return re.compile("".join(parts))


def _part(role: str, *, spaced: bool) -> str:
    if role == "type?":
        return r"(?:(?P<type>[A-Za-z][\w.+-]{0,40}) )?"
    if role == "at":
        return r"(?P<at>/.*)" if spaced else r"(?P<at>/.{0,300}?)"
    if role == "device":
        return r"(?P<device>\S.*?)" if spaced else r"(?P<device>\S+)"
    if role == "type":
        return r"(?P<type>[A-Za-z-][\w.+-]{0,40})"
    if role == "file":
        return r"(?P<file>\S+)"
    return rf"(?P<{role}>{_PERCENT if role.endswith('percent') else _NUMBER})"
