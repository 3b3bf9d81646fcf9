"""What is known of NVIDIA's cards and drivers: which card a name means, and what it can run."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache

from zuka.gpu.models import BUILDS, DRIVERS, MODELS, SPANS

LEAST = 0.92
"""
Share of the size on the order page that a card reports at least, of GiB.

Memory that checks itself (ECC) keeps one part in sixteen, the driver up to 1.7 %: an A10G sold
with 24 GB reports 22,731 MiB, an L40S sold with 48 GB 46,068 MiB. More tolerance would let an
11 GB card (11,264 MiB) pass for one of 12 GB, and one of 22 GB for one of 24 GB.
"""
_MOST = 1.03
_MAKER = ("nvidia", "geforce", "tesla", "quadro", "corporation")
_FORM = (
    *("pcie", "sxm", "sxm2", "sxm3", "sxm4", "sxm5", "sxm6", "hbm2", "hbm2e", "hbm3", "hbm3e"),
    *("nvl", "nvlink", "hgx", "dgx", "lhr", "gpu", "generation", "blackwell", "workstation"),
    *("server", "edition", "with", "design", "pascal", "active", "nvgpu", "dc", "ac"),
)
_SHARE = re.compile(r"(.{1,60}?)-(?:([1-7])-)?([0-9]{1,3})[QCBA](?:ME|[0-9])?", re.IGNORECASE)
_FAMILY = ("rtx", "gtx", "gt", "titan", "grid")
_SIZE = re.compile(r"(?<![a-z0-9.])(\d{1,4}) ?g(?:i?b)?(?![a-z0-9])")


@dataclass(frozen=True, slots=True)
class Model:
    """One model of card; ``memory`` are the sizes in MiB that it is sold with."""

    name: str
    capability: str
    memory: tuple[int, ...]

    @property
    def first_cuda(self) -> str:
        """Return the first CUDA that builds for it."""
        return SPANS[self.capability][0]

    @property
    def last_cuda(self) -> str:
        """Return the last CUDA that builds for it; empty when that is still to come."""
        return SPANS[self.capability][1]

    @property
    def first_driver(self) -> int:
        """Return the branch of the first driver that runs the first CUDA built for it."""
        return next((branch for branch, cuda in DRIVERS if cuda == self.first_cuda), 0)

    @property
    def last_driver(self) -> int:
        """Return the branch of the last driver made for it; 0 when that is still to come."""
        return SPANS[self.capability][2]


def model(name: str, memory: int | None = None) -> Model | None:
    """
    Return the model that a name means; None when none is known, or several could be meant.

    A size in the name, or the reported memory in MiB, tells A100 40GB from A100 80GB.
    """
    found = candidates(name, memory)
    return found[0] if len(found) == 1 else None


def candidates(name: str, memory: int | None = None) -> tuple[Model, ...]:
    """Return the models that a name may mean: several when nvidia-smi cut it short."""
    if is_cut(name):
        found = [each for key, each in _models().items() if _may_be(name, key, each)]
    else:
        found = [each for each in (_exact(name),) if each]
    size = memory or size_in(name)
    if size and is_cut(name):
        found = [each for each in found if any(fits(size, sold) for sold in each.memory)]
    return tuple(_sized(each, size) for each in found)


def share_of(name: str) -> int | None:
    """Return the MiB of a vGPU, as its profile says: GRID V100D-8Q; None for a whole card."""
    found = _SHARE.fullmatch(name.strip())
    return (int(found[3]) * 1024 or 512) if found else None


def is_cut(name: str) -> bool:
    """Return whether nvidia-smi cut the name short to fit its column."""
    return name.rstrip().endswith(("...", "…"))


def is_named(card: str, ordered: str) -> bool:
    """Compare models exactly: a 4090 is not a 4090 D, an A800 is no A100."""
    found, wanted = _exact(card), _exact(ordered)
    if found and wanted:
        return found == wanted
    return bool(words(ordered)) and _bare(words(card)) == _bare(words(ordered))


def may_be_named(card: str, ordered: str, memory: int | None = None) -> bool:
    """Return whether a name that was cut short may be the ordered model's."""
    wanted = _exact(ordered)
    if not wanted:
        start = "".join(words(card.rstrip(". …")))
        return "".join(words(ordered)).startswith(start)
    return any(_base(each) == wanted.name for each in candidates(card, memory))


def words(name: str) -> tuple[str, ...]:
    """Return a model's name as words, without the maker's, the card's form and its memory."""
    text = _SIZE.sub(" ", _lower(name))
    text = re.sub(r"\bmax[- ]?q\b", "maxq", text)
    # Dealers write 4080S for 4080 SUPER.
    text = re.sub(r"\b(\d{4})s\b", r"\1 super", text)
    kept = [word for word in re.findall(r"[a-z0-9]+", text) if word not in (*_MAKER, *_FORM)]
    return tuple(part for word in kept for part in re.findall(r"[a-z]+|\d+", word))


def size_in(name: str) -> int | None:
    """Return the size in MiB that stands in a name, as in A100-SXM4-80GB."""
    found = _SIZE.search(_lower(name))
    return int(found[1]) * 1024 if found else None


def fits(memory: int, sold: int) -> bool:
    """Return whether a card that reports so many MiB is one sold with so many."""
    return sold * LEAST <= memory <= sold * _MOST


def highest_cuda(driver: str) -> str:
    """
    Return the highest CUDA that a driver runs, from NVIDIA's table; empty when it is unknown.

    A driver newer than the table runs at least the table's last CUDA.
    """
    found = re.match(r"(\d{3,4})(?!\d)", driver.strip())
    branch = int(found[1]) if found else 0
    return next((cuda for least, cuda in reversed(DRIVERS) if branch >= least), "")


def build(cuda: str, capability: str = "") -> str:
    """Return the newest PyTorch build for a driver and a card, as cu124; empty when none is."""
    most = version(cuda)
    if (11, 0) <= most < (11, 8):
        # Any CUDA 11 runs on a driver made for another (CUDA Compatibility, minor versions).
        most = (11, 8)
    if capability and version(capability) < (5, 0):
        return ""
    if capability and version(capability) < (7, 5):
        # Builds for CUDA 12.8 and later leave out cards before Turing, or most of them:
        # https://github.com/pytorch/pytorch/issues/157517
        most = min(most, (12, 6))
    runs = [each for each in BUILDS if version(each) <= most]
    return f"cu{runs[-1].replace('.', '')}" if runs else ""


def version(text: str) -> tuple[int, ...]:
    """Return the numbers of a version, to compare with."""
    return tuple(int(part) for part in re.findall(r"\d{1,9}", text))


@cache
def _models() -> dict[str, Model]:
    found = {}
    for capability, rows in MODELS.items():
        for row in rows.split(";"):
            name, _, sizes = row.strip().partition(":")
            memory = tuple(int(size) * 1024 for size in sizes.split())
            found["".join(words(name))] = Model(name, capability, memory)
    return found


@cache
def _aliases() -> dict[str, Model]:
    """Return the models by their names without the family: 4090 is an RTX 4090."""
    found: dict[str, list[Model]] = {}
    for each in _models().values():
        found.setdefault("".join(_bare(words(each.name))), []).append(each)
    return {key: each[0] for key, each in found.items() if len(each) == 1}


def _exact(name: str) -> Model | None:
    key = "".join(words(name))
    found = _models().get(key) or _aliases().get(key)
    share = None if found else _SHARE.fullmatch(name.strip())
    return _of_profile(share[1]) if share else found


def _of_profile(name: str) -> Model | None:
    """Return the model in a vGPU's profile; letters after it tell its form: V100DX is a V100."""
    key = "".join(word for word in words(name) if word != "grid")
    while key:
        found = _models().get(key) or _aliases().get(key)
        if found or key[-1].isdigit():
            return found
        key = key[:-1]
    return None


def _bare(parts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(part for part in parts if part not in _FAMILY) or parts


def _base(each: Model) -> str:
    key = "".join(words(each.name))
    return _models()[key].name if key in _models() else each.name


def _sized(each: Model, size: int | None) -> Model:
    if not size or len(each.memory) == 1:
        return each
    near = [sold for sold in each.memory if fits(size, sold)]
    best = min(near, key=lambda sold: abs(sold - size), default=0)
    return replace(each, name=f"{each.name} {best // 1024}GB", memory=(best,)) if best else each


def _may_be(name: str, key: str, each: Model) -> bool:
    """Return whether a name cut short may go on as this model's."""
    shown = _lower(name).rstrip(". …")
    start = "".join(words(shown))
    if not start:
        return "geforce" in shown and each.name.startswith(("RTX ", "GTX ")) and _is_desk(each)
    if key == start:
        return any(word in _FORM for word in re.findall(r"[a-z0-9]+", shown)) or bool(size_in(name))
    rest = start[len(key) :]
    if start.startswith(key):
        return any(word.startswith(rest) for word in _FORM)
    # A form or a size that was read ends the model's name: V100-SXM2... is no V100S.
    ended = re.search(r"-(sxm|pcie)", shown) or size_in(shown)
    return key.startswith(start) and not ended


def _is_desk(each: Model) -> bool:
    return bool(re.match(r"[RG]TX \d", each.name)) and "Ada" not in each.name


def _lower(name: str) -> str:
    return re.sub(r"\((?:r|tm)\)|[®™]", " ", name[:200].lower()).replace("_", " ")
