"""Downloads from a server on loopback: cut connections, other versions, wrong and hostile files."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from deepprooflog.data import download as downloading
from deepprooflog.data import whole
from deepprooflog.data.archive import unarchived
from deepprooflog.data.download import Partial
from deepprooflog.data.fetch import fetch
from deepprooflog.data.sources import Archive, DataSource, File
from deepprooflog.errors import DataError

BODY = "".join(f"e{i}\tr\te{i + 1}\n" for i in range(40_000)).encode()  # some 500 kB
LINES = hashlib.sha256(b"".join(sorted(BODY.splitlines(keepends=True)))).hexdigest()


@dataclass
class Served:
    """What the server has and does, and what it was asked for."""

    files: dict[str, bytes] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    cuts: list[int] = field(default_factory=list)  # bytes after which answers end, one each
    ranges: bool = True
    asked: list[tuple[str, str | None]] = field(default_factory=list)  # path, Range
    base: str = ""


@pytest.fixture
def served() -> Iterator[Served]:
    state = Served()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name = self.path.lstrip("/")
            asked = self.headers.get("Range")
            state.asked.append((name, asked))
            if name not in state.files:
                self.send_error(404)
                return
            body, tag = state.files[name], state.tags.get(name, "")
            begin = 0
            if asked and state.ranges and self.headers.get("If-Range", tag) == tag:
                begin = int(asked.removeprefix("bytes=").removesuffix("-"))
                if begin >= len(body):
                    self.send_error(416)
                    return
            self.send_response(206 if begin else 200)
            if begin:
                self.send_header("Content-Range", f"bytes {begin}-{len(body) - 1}/{len(body)}")
            if tag:
                self.send_header("ETag", tag)
            self.send_header("Content-Length", str(len(body) - begin))
            self.end_headers()
            cut = state.cuts.pop(0) if state.cuts else len(body)
            self.wfile.write(body[begin : begin + cut])

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.base = f"http://127.0.0.1:{server.server_port}/"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield state
    server.shutdown()
    server.server_close()
    thread.join()


def source(served: Served, *, archive: str = "", inner: str = "", lines: str = LINES) -> DataSource:
    files = (File("train.txt", lines_sha256=lines),)
    if archive:
        return DataSource("things", files, (), (Archive(served.base + archive, inner),))
    return DataSource("things", files, (served.base,))


def quiet(_: str) -> None:
    pass


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_cut_connection_is_taken_up_where_it_ended(served: Served, tmp_path: Path) -> None:
    served.files["train.txt"], served.tags["train.txt"] = BODY, '"one"'
    served.cuts = [100_000, 50_000]
    folder = fetch(source(served), tmp_path / "out", say=quiet)
    assert (folder / "train.txt").read_bytes() == BODY
    assert [asked for _, asked in served.asked] == [None, "bytes=100000-", "bytes=150000-"]
    assert names(folder) == ["train.txt"]


def test_an_interrupted_fetch_goes_on_with_the_next(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C in the middle: no file, no loss of what came."""
    served.files["train.txt"], served.tags["train.txt"] = BODY, '"one"'
    served.cuts = [100_000]
    whole_more, calls = downloading._more, []

    def interrupted(*given: object) -> None:
        calls.append(given)
        if len(calls) == 2:
            raise KeyboardInterrupt
        whole_more(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(downloading, "_more", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fetch(source(served), tmp_path, say=quiet)
    assert not (tmp_path / "train.txt").exists()
    said: list[str] = []
    fetch(source(served), tmp_path, say=said.append)
    assert said == [f"fetching {served.base}train.txt, from byte 100,000 on"]
    assert (tmp_path / "train.txt").read_bytes() == BODY
    assert names(tmp_path) == ["train.txt"]


@pytest.mark.parametrize("ranges", [True, False])
def test_another_version_or_no_ranges_start_over(
    ranges: bool, served: Served, tmp_path: Path
) -> None:
    """The server has another file by then, or sends only whole ones: nothing is put together."""
    served.files["train.txt"], served.tags["train.txt"] = BODY, '"two"'
    served.ranges = ranges
    partial = Partial.of(tmp_path, served.base + "train.txt")
    partial.path.write_bytes(b"x" * 1000)
    partial.tag_path.write_text('"one"' if ranges else '"two"')
    fetch(source(served), tmp_path, say=quiet)
    assert (tmp_path / "train.txt").read_bytes() == BODY
    assert len(served.asked) == 1


@pytest.mark.parametrize("kept", [1000, len(BODY), 2 * len(BODY)])
def test_a_beginning_that_is_not_the_files_is_dropped(
    kept: int, served: Served, tmp_path: Path
) -> None:
    """Without tags, only the checksum can tell; then the whole is asked for once more."""
    served.files["train.txt"] = BODY
    Partial.of(tmp_path, served.base + "train.txt").path.write_bytes(b"x" * kept)
    try:
        fetch(source(served), tmp_path, say=quiet)
    except DataError:  # beyond the end there is no range to send: the next try starts over
        assert kept >= len(BODY)
        fetch(source(served), tmp_path, say=quiet)
    assert (tmp_path / "train.txt").read_bytes() == BODY
    assert names(tmp_path) == ["train.txt"]


def test_a_wrong_checksum_leaves_nothing(served: Served, tmp_path: Path) -> None:
    served.files["train.txt"] = BODY + b"e0\tr\te0\n"
    with pytest.raises(DataError, match="not " + LINES) as found:
        fetch(source(served), tmp_path, say=quiet)
    assert f"put train.txt into {tmp_path} by hand" in str(found.value.hint)
    assert names(tmp_path) == []


def test_line_ends_and_order_are_no_other_file(served: Served, tmp_path: Path) -> None:
    served.files["train.txt"] = b"\r\n".join(reversed(BODY.split(b"\n")))
    fetch(source(served), tmp_path, say=quiet)
    assert (tmp_path / "train.txt").exists()


def test_a_server_that_always_cuts_is_given_up(served: Served, tmp_path: Path) -> None:
    served.files["train.txt"], served.tags["train.txt"] = BODY, '"one"'
    served.cuts = [10] * 50
    with pytest.raises(DataError, match="was cut off 5 times"):
        fetch(source(served), tmp_path, say=quiet)
    assert len(served.asked) == 5


def tarred(*members: tuple[tarfile.TarInfo, bytes], pack: bool = True) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz" if pack else "w:") as archive:
        for member, body in members:
            member.size = len(body)
            archive.addfile(member, io.BytesIO(body))
    return out.getvalue()


def zipped(*members: tuple[zipfile.ZipInfo | str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, body in members:
            archive.writestr(member, body)
    return out.getvalue()


def linked(name: str, kind: bytes) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, "/etc/passwd"
    return member


GOOD_TAR = tarred((tarfile.TarInfo("./train.txt"), BODY), (tarfile.TarInfo("README"), b"hello"))
GOOD_ZIP = zipped(("Release/train.txt", BODY), ("Release/README", b"hello"))


@pytest.mark.parametrize(("raw", "inner"), [(GOOD_TAR, ""), (GOOD_ZIP, "Release/")])
def test_an_archive(raw: bytes, inner: str, served: Served, tmp_path: Path) -> None:
    served.files["a"] = raw
    fetch(source(served, archive="a", inner=inner), tmp_path, say=quiet)
    assert (tmp_path / "train.txt").read_bytes() == BODY
    assert names(tmp_path) == ["train.txt"]


def test_the_archive_is_asked_when_the_folder_has_nothing(served: Served, tmp_path: Path) -> None:
    served.files["a.tar.gz"] = GOOD_TAR
    files = (File("train.txt", lines_sha256=LINES),)
    both = DataSource("things", files, (served.base,), (Archive(served.base + "a.tar.gz"),))
    fetch(both, tmp_path, say=quiet)
    assert [name for name, _ in served.asked] == ["train.txt", "a.tar.gz"]
    assert names(tmp_path) == ["train.txt"]


def zip_link() -> zipfile.ZipInfo:
    member = zipfile.ZipInfo("link")
    member.external_attr = 0o120777 << 16
    return member


HOSTILE = {
    "tar ..": (tarred((tarfile.TarInfo("../../train.txt"), BODY)), "outside its folder"),
    "tar /": (tarred((tarfile.TarInfo("/tmp/train.txt"), BODY)), "outside its folder"),
    "tar symlink": (tarred((linked("train.txt", tarfile.SYMTYPE), b"")), "link or a device"),
    "tar hardlink": (tarred((linked("train.txt", tarfile.LNKTYPE), b"")), "link or a device"),
    "tar device": (tarred((linked("null", tarfile.CHRTYPE), b"")), "link or a device"),
    "tar twice": (tarred(*[(tarfile.TarInfo("train.txt"), BODY)] * 2), "twice"),
    "tar bomb": (tarred((tarfile.TarInfo("train.txt"), bytes(4_000_000))), "unpack to more than"),
    "plain tar bomb": (tarred((tarfile.TarInfo("x"), bytes(4_000_000)), pack=False),
                       "unpacks to more than"),
    "gzip bomb": (gzip.compress(bytes(40_000_000)), "unpack to more than"),
    "zip bomb": (zipped(("train.txt", bytes(4_000_000))), "unpacks to more than"),
    "zip many": (zipped(*[(f"f{i}", b"") for i in range(101)]), "101 members"),
    "zip ..": (zipped(("../train.txt", BODY)), "outside its folder"),
    "zip drive": (zipped(("C:train.txt", BODY)), "outside its folder"),
    "zip symlink": (zipped(("train.txt", BODY), (zip_link(), b"/etc/passwd")), "link or a device"),
    "no such file": (zipped(("other.txt", BODY)), "no train.txt"),
    "cut tar": (gzip.compress(gzip.decompress(GOOD_TAR)[:2000]), "ends within|no tar"),
    "cut gzip": (GOOD_TAR[:2000], "damaged"),
    "cut zip": (zipped(("train.txt", BODY))[:2000], "no tar and no zip"),
    "text": (b"<html>not found</html>", "no tar and no zip"),
}  # fmt: skip


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_archives_are_refused(
    kind: str, served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole, "UNPACKED_AT_MOST", 2_000_000)
    monkeypatch.setattr("deepprooflog.data.archive.MEMBERS_AT_MOST", 100)
    raw, message = HOSTILE[kind]
    with pytest.raises(DataError, match=message):
        unarchived(raw, ["train.txt"])
    served.files["a"] = raw
    out = tmp_path / "deep" / "out"
    with pytest.raises(DataError, match=message):
        fetch(source(served, archive="a"), out, say=quiet)
    assert names(out) == []
    assert names(tmp_path) == ["deep"]


def test_a_damaged_member_is_refused() -> None:
    raw = bytearray(zipped(("train.txt", BODY)))
    raw[len(raw) // 2] ^= 0xFF
    with pytest.raises(DataError, match="damaged"):
        unarchived(bytes(raw), ["train.txt"])
