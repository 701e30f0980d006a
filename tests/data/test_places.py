"""Where data are looked for; nothing is downloaded unless asked for, nor without a checksum."""

from __future__ import annotations

import gzip
import hashlib
import urllib.request
from http.client import IncompleteRead
from pathlib import Path

import pytest

from deepprooflog.data import download as fetching
from deepprooflog.data.fetch import fault, fetch
from deepprooflog.data.places import find
from deepprooflog.data.sources import MNIST, SOURCES, DataSource, File
from deepprooflog.errors import DataError

BODY = b"forty-two"
PACKED = gzip.compress(BODY)


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data folder and an empty cache."""
    monkeypatch.setenv("DEEPPROOFLOG_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("sys.platform", "linux")
    return tmp_path


def source(*urls: Path, md5: str | None = None) -> DataSource:
    right = hashlib.md5(BODY).hexdigest()
    return DataSource(
        "things", (File("a.gz", md5 or right),), tuple(u.as_uri() + "/" for u in urls)
    )


def test_the_variable_comes_before_the_cache(nowhere: Path) -> None:
    for place in ("cache/deepprooflog/things", "data/things"):
        (nowhere / place).mkdir(parents=True)
        (nowhere / place / "a.gz").write_bytes(PACKED)
        assert find(source()) == nowhere / place


def test_an_incomplete_folder_is_passed_over(nowhere: Path) -> None:
    (nowhere / "data/mnist").mkdir(parents=True)
    (nowhere / "data/mnist" / MNIST.files[0].name).write_bytes(b"")
    with pytest.raises(DataError):
        find(MNIST)


def test_what_is_missing_is_said_and_not_fetched(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("nobody asked for a download")

    monkeypatch.setattr(urllib.request, "urlopen", refuse)
    with pytest.raises(DataError) as found:
        find(MNIST)
    text = str(found.value)
    assert str(nowhere / "data" / "mnist") in text
    assert str(nowhere / "cache" / "deepprooflog" / "mnist") in text
    assert "dprl data get mnist" in text


def test_fetching(nowhere: Path) -> None:
    """The first address has another file: its checksum sends us on to the second."""
    wrong, right = nowhere / "wrong", nowhere / "right"
    for folder, raw in ((wrong, gzip.compress(b"other")), (right, PACKED)):
        folder.mkdir()
        (folder / "a.gz").write_bytes(raw)
    said: list[str] = []
    things = source(wrong, right)
    folder = fetch(things, say=said.append)
    assert folder == nowhere / "cache" / "deepprooflog" / "things" == find(things)
    assert gzip.decompress((folder / "a.gz").read_bytes()) == BODY
    assert len(said) == 2
    fetch(things, say=said.append)
    assert said[2].endswith("is there")


def test_a_wrong_checksum_leaves_no_file(nowhere: Path) -> None:
    (nowhere / "served").mkdir()
    (nowhere / "served" / "a.gz").write_bytes(PACKED)
    with pytest.raises(DataError, match="not 00"):
        fetch(source(nowhere / "served", nowhere / "absent", md5="00"), say=lambda _: None)
    assert list((nowhere / "cache/deepprooflog/things").iterdir()) == []
    assert fault(b"no gzip", File("a.gz", "")) is not None


@pytest.mark.parametrize("source", [s for s in SOURCES.values() if s.urls], ids=lambda s: s.name)
def test_checksums_of_the_files_at_hand(source: DataSource, data_dir: Path) -> None:
    """The table's checksums, counts of triples and sizes are those of the published files."""
    for file in source.files:
        path = data_dir / source.where / file.name
        path = path if path.exists() else path.with_name(path.name + ".gz")
        body = path.read_bytes()
        body = gzip.decompress(body) if path.suffix == ".gz" else body
        assert file.fault(body) is None
        assert len(body) == file.size
        if file.rows is not None:
            assert len([line for line in body.split(b"\n") if line.strip()]) == file.rows
            damaged = body.replace(b"0", b"1", 1) if b"0" in body else body.replace(b"a", b"b", 1)
            assert "not " + file.lines_sha256 in str(file.fault(damaged))


def test_every_address_is_https_and_every_fetched_file_has_a_checksum() -> None:
    for source in SOURCES.values():
        addresses = [*source.urls, *(archive.url for archive in source.archives)]
        assert all(url.startswith("https://") for url in addresses)
        assert bool(source.hint) != bool(addresses)
        if addresses:
            assert all(len(file.md5) == 32 or len(file.lines_sha256) == 64 for file in source.files)


def test_any_failure_of_one_address_is_the_next_ones_turn(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that is no error of the network: http.client's, a codec's, a bug's."""
    (nowhere / "right").mkdir()
    (nowhere / "right" / "a.gz").write_bytes(PACKED)
    whole = urllib.request.urlopen
    calls = []

    def broken(url: urllib.request.Request, timeout: float) -> object:
        calls.append(timeout)
        if len(calls) <= 3:
            raise [IncompleteRead(b"x"), ValueError("odd"), AssertionError("bug")][len(calls) - 1]
        return whole(url, timeout=timeout)

    monkeypatch.setattr(urllib.request, "urlopen", broken)
    absent = nowhere / "absent"
    assert fetch(source(absent, absent, absent, nowhere / "right"), say=lambda _: None)
    assert calls == [fetching.SILENT_AT_MOST] * 4


@pytest.mark.parametrize(
    ("limit", "value", "message"),
    [("BYTES_AT_MOST", 3, "more than 3 bytes"), ("SECONDS_AT_MOST", -1.0, "not done after")],
)
def test_downloads_are_bounded(
    limit: str, value: float, message: str, nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Too much is thrown away; what was merely slow is kept, to go on from."""
    (nowhere / "served").mkdir()
    (nowhere / "served" / "a.gz").write_bytes(PACKED)
    monkeypatch.setattr(fetching, limit, value)
    with pytest.raises(DataError, match=message):
        fetch(source(nowhere / "served"), say=lambda _: None)
    folder = nowhere / "cache/deepprooflog/things"
    assert not (folder / "a.gz").exists()
    kept = sum(path.stat().st_size for path in folder.glob("*.download.part"))
    assert kept == (0 if limit == "BYTES_AT_MOST" else len(PACKED))
