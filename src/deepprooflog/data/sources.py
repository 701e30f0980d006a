"""The public data sets the library knows: their files, checksums and addresses."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class File:
    """A file of a data set; `md5` is that of its unpacked bytes, which repacking leaves alone."""

    name: str
    md5: str


@dataclass(frozen=True)
class DataSource:
    """A data set: its folder's name, its files and the addresses that serve them."""

    name: str
    files: tuple[File, ...]
    urls: tuple[str, ...]  # each is a folder of the files


MNIST = DataSource(
    name="mnist",
    files=(
        File("train-images-idx3-ubyte.gz", "6bbc9ace898e44ae57da46a324031adb"),
        File("train-labels-idx1-ubyte.gz", "a25bea736e30d166cdddb491f175f624"),
        File("t10k-images-idx3-ubyte.gz", "2646ac647ad5339dbf082846283269ea"),
        File("t10k-labels-idx1-ubyte.gz", "27ae3e4e09519cfbb04c329615203637"),
    ),
    urls=(
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        "https://storage.googleapis.com/cvdf-datasets/mnist/",
    ),
)

SOURCES = {source.name: source for source in (MNIST,)}
