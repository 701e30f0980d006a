"""IDX files written by hand, byte by byte, and what is said of damaged ones."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import pytest

from deepprooflog.data.digits import mnist, read_idx
from deepprooflog.data.sources import MNIST
from deepprooflog.errors import DataError

MATRIX = bytes([0, 0, 8, 2]) + struct.pack(">2I", 2, 3) + bytes([1, 2, 3, 4, 5, 255])


def written(folder: Path, raw: bytes, name: str = "file.idx") -> Path:
    path = folder / name
    path.write_bytes(raw)
    return path


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzipped"])
def test_values_in_order(tmp_path: Path, pack: object) -> None:
    path = written(tmp_path, pack(MATRIX))  # type: ignore[operator]
    assert read_idx(path, axes=2).tolist() == [[1, 2, 3], [4, 5, 255]]


@pytest.mark.parametrize(
    ("raw", "fault"),
    [
        (b"", "not an IDX file"),
        (b"\x89PNG....", "not an IDX file"),
        (bytes([0, 0, 13, 1]) + struct.pack(">I", 1) + bytes(4), "type 0x0d"),
        (bytes([0, 0, 8, 3]) + struct.pack(">2I", 2, 3), "within its header"),
        (MATRIX[:-1], "ends early: 2 × 3 values need 18 bytes, it has 17"),
        (MATRIX + b"\0", "goes on after its last value"),
        (gzip.compress(MATRIX, mtime=0)[:-6], "gzip data are damaged"),
        (b"\x1f\x8b" + b"garbage", "gzip data are damaged"),
    ],
)
def test_damage_is_named(tmp_path: Path, raw: bytes, fault: str) -> None:
    path = written(tmp_path, raw)
    with pytest.raises(DataError, match=fault) as found:
        read_idx(path)
    assert found.value.file == str(path)


def test_missing_file_and_wrong_axes(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot read: No such file"):
        read_idx(tmp_path / "none")
    with pytest.raises(DataError, match="2 axes, not 3"):
        read_idx(written(tmp_path, MATRIX), axes=3)


def idx(shape: tuple[int, ...], values: bytes) -> bytes:
    return bytes([0, 0, 8, len(shape)]) + struct.pack(f">{len(shape)}I", *shape) + values


@pytest.mark.parametrize(
    ("labels", "fault"), [(bytes([1, 2]), "2 labels for the 3 pictures"), (bytes([1, 2, 10]), "10")]
)
def test_labels_that_do_not_fit(tmp_path: Path, labels: bytes, fault: str) -> None:
    for file in MNIST.files:
        raw = idx((3, 1, 1), bytes(3)) if "images" in file.name else idx((len(labels),), labels)
        written(tmp_path, raw, file.name)
    with pytest.raises(DataError, match=fault):
        mnist(tmp_path)


def test_mnist_as_published(data_dir: Path) -> None:
    """Sizes and the first labels, as everyone knows them."""
    train, test = mnist(data_dir / "mnist")
    assert train.images.shape == (60_000, 28, 28)
    assert test.images.shape == (10_000, 28, 28)
    assert train.labels[:5].tolist() == [5, 0, 4, 1, 9]
    assert test.labels[:5].tolist() == [7, 2, 1, 0, 4]
    assert (train.images.min(), train.images.max()) == (0.0, 1.0)
    assert float(train.images.mean()) == pytest.approx(0.1307, abs=1e-4)
