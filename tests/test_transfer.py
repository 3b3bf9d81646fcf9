"""What a box sends is unpacked strictly; what is sent is what was read."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zuka import transfer
from zuka.errors import StageError
from zuka.trees import Reader


def archive(*members: tuple[str, bytes], listed: dict[str, bytes] | None = None) -> io.BytesIO:
    """Return what a box would send; ``listed`` is what its list of digests says."""
    names = dict(members) if listed is None else listed
    lines = [f"{hashlib.sha256(data).hexdigest()}  ./{name}\n" for name, data in names.items()]
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as made:
        for name, data in ((".list.1", "".join(lines).encode()), *members):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            made.addfile(info, io.BytesIO(data))
    out.seek(0)
    return out


def receive(stream: io.BytesIO, into: Path) -> tuple[set[str], list[str]]:
    """Unpack, and return the names that were kept and the notes."""
    notes: list[str] = []
    kept = transfer.receive(stream, into, lambda _done, _total: None, notes.append)
    return set(kept), notes


def test_results_arrive(tmp_path: Path) -> None:
    """Names lose the work folder; the log has a name of its own."""
    stream = archive(("log", b"step 1\n"), ("work/outputs/weights", b"123"))
    kept, _ = receive(stream, tmp_path / "results")

    assert {"run.log", "outputs/weights"} == kept
    assert b"123" == (tmp_path / "results" / "outputs" / "weights").read_bytes()


HOSTILE = [
    ("../escape", "leads elsewhere"),
    ("work/../../escape", "leads elsewhere"),
    ("/etc/escape", "leads elsewhere"),
    ("work/outputs/\x1b[2Jx/../../../../escape", "leads elsewhere"),
]


@pytest.mark.parametrize(("name", "message"), HOSTILE)
def test_names_that_lead_elsewhere(tmp_path: Path, name: str, message: str) -> None:
    """Nothing is written outside the folder, and no raw escape is shown."""
    with pytest.raises(StageError, match=message) as refused:
        receive(archive((name, b"x")), tmp_path / "results")

    assert not list(tmp_path.rglob("escape"))
    assert "\x1b" not in str(refused.value)


def test_a_file_without_a_digest(tmp_path: Path) -> None:
    """Only what the list names is kept."""
    with pytest.raises(StageError, match="without a digest"):
        receive(archive(("work/a", b"x"), listed={"work/b": b"x"}), tmp_path / "results")


def test_a_file_with_another_digest(tmp_path: Path) -> None:
    """A file that is not what the box said does not count."""
    with pytest.raises(StageError, match="is not what the box said"):
        receive(archive(("work/a", b"x"), listed={"work/a": b"y"}), tmp_path / "results")


def test_a_file_that_did_not_come(tmp_path: Path) -> None:
    """What the list names has to be there."""
    listed = {"work/a": b"x", "work/b": b"y"}
    with pytest.raises(StageError, match="'b' did not arrive"):
        receive(archive(("work/a", b"x"), listed=listed), tmp_path / "results")


def test_the_same_name_twice(tmp_path: Path) -> None:
    """A second file of a name is an attack on the first."""
    with pytest.raises(StageError, match="twice"):
        receive(archive(("work/a", b"x"), ("work/./a", b"x")), tmp_path / "results")


@pytest.mark.parametrize(
    "sort", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE]
)
def test_links_and_devices_stay_out(tmp_path: Path, sort: bytes) -> None:
    """A link is told of and left out; what is written through it goes nowhere."""
    out = io.BytesIO()
    lines = f"{hashlib.sha256(b'x').hexdigest()}  ./work/a\n".encode()
    with tarfile.open(fileobj=out, mode="w") as made:
        info = tarfile.TarInfo(".list.1")
        info.size = len(lines)
        made.addfile(info, io.BytesIO(lines))
        link = tarfile.TarInfo("work/outside")
        link.type, link.linkname = sort, str(tmp_path)
        made.addfile(link)
        info = tarfile.TarInfo("work/a")
        info.size = 1
        made.addfile(info, io.BytesIO(b"x"))
    out.seek(0)
    kept, notes = receive(out, tmp_path / "results")

    assert ({"a"}, 1) == (kept, len(notes))
    assert {"a"} == {path.name for path in (tmp_path / "results").iterdir()}


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_a_cut_or_broken_stream_is_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Any cut, and any flipped byte, is an error or changes nothing."""
    whole = archive(("log", b"step 1\n"), ("work/outputs/weights", bytes(range(200)))).getvalue()
    place = data.draw(st.integers(0, len(whole) - 1))
    broken = bytearray(whole)
    if data.draw(st.booleans()):
        broken = broken[:place]
    else:
        broken[place] ^= data.draw(st.integers(1, 255))
    into = tmp_path_factory.mktemp("cut") / "results"
    try:
        kept, _ = receive(io.BytesIO(bytes(broken)), into)
    except StageError:
        return
    assert bytes(range(200)) == (into / "outputs" / "weights").read_bytes()
    assert {"run.log", "outputs/weights"} == kept


def test_a_file_that_changes_while_it_is_sent(tmp_path: Path) -> None:
    """What is sent is what was read before, or it is refused by name."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a").write_text("before")
    tree = Reader(tmp_path, tmp_path / "cache.json").tree("data")
    for text in ("after!", "longer than before", "short"):
        (tmp_path / "data" / "a").write_text(text)
        with pytest.raises(StageError, match="'a' changed while it was sent"):
            transfer.send(tree, io.BytesIO(), lambda _done, _total: None)


def test_a_tree_is_sent_whole(tmp_path: Path) -> None:
    """Names as bytes, links, empty folders and the executable bit travel."""
    root = tmp_path / "data"
    (root / "空").mkdir(parents=True)
    (root / "-dash\nnewline").write_text("1")
    (root / "run.sh").write_text("2")
    (root / "run.sh").chmod(0o755)
    (root / "link").symlink_to("run.sh")
    out = io.BytesIO()
    tree = Reader(tmp_path, tmp_path / "cache.json").tree("data")
    transfer.send(tree, out, lambda _done, _total: None)
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(out.getvalue()))) as sent:
        found = {member.name: member for member in sent}

    assert {"空", "-dash\nnewline", "run.sh", "link"} == set(found)
    assert (0o755, "run.sh") == (found["run.sh"].mode, found["link"].linkname)
