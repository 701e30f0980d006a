"""Pictures of handwritten digits: MNIST from its files, and the small set of scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from deepprooflog.data.places import find
from deepprooflog.data.sources import MNIST
from deepprooflog.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


import math
import struct
from typing import TYPE_CHECKING

from deepprooflog.data.whole import unpacked

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


UNSIGNED_BYTE = 8


def read_idx(path: Path, axes: int | None = None) -> NDArray[np.uint8]:
    """The array an IDX file holds; with `axes`, one of that many axes and no other."""
    import numpy as np

    raw = unpacked(path)
    if len(raw) < 4 or raw[:2] != b"\0\0":
        raise DataError("not an IDX file: it does not begin with two zero bytes", file=str(path))
    kind, dimensions = raw[2], raw[3]
    if kind != UNSIGNED_BYTE:
        raise DataError(f"values of type 0x{kind:02x}, not unsigned bytes (0x08)", file=str(path))
    if axes is not None and dimensions != axes:
        raise DataError(f"an array of {dimensions} axes, not {axes}", file=str(path))
    start = 4 + 4 * dimensions
    if len(raw) < start:
        raise DataError("the file ends within its header", file=str(path))
    shape = struct.unpack(f">{dimensions}I", raw[4:start])
    needed = start + math.prod(shape)
    if len(raw) != needed:
        what = "ends early" if len(raw) < needed else "goes on after its last value"
        text = " × ".join(map(str, shape))
        raise DataError(
            f"the file {what}: {text} values need {needed} bytes, it has {len(raw)}",
            file=str(path),
        )
    return np.frombuffer(raw, dtype=np.uint8, offset=start).reshape(shape)


@dataclass(frozen=True)
class Digits:
    """Pictures with the digits they show."""

    images: NDArray[np.float32]  # [pictures, height, width], 0 background to 1 ink
    labels: NDArray[np.int64]  # [pictures]

    def __len__(self) -> int:
        return len(self.labels)


def mnist(folder: Path | None = None) -> tuple[Digits, Digits]:
    """MNIST's training and test pictures (60,000 and 10,000 of 28 × 28), in file order."""
    folder = find(MNIST) if folder is None else folder
    train_images, train_labels, test_images, test_labels = (
        folder / file.name for file in MNIST.files
    )
    return _idx_digits(train_images, train_labels), _idx_digits(test_images, test_labels)


def small_digits(test: int = 360) -> tuple[Digits, Digits]:
    """The 1,797 pictures of 8 × 8 that come with scikit-learn; the last `test` are for testing."""
    import numpy as np

    try:
        from sklearn.datasets import load_digits  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        raise DataError(
            "the 8 × 8 digits come with scikit-learn, which is not installed",
            hint="pip install 'deepprooflog[demo]'",
        ) from None
    bunch = load_digits()
    images = (bunch.images / 16.0).astype(np.float32)
    labels = bunch.target.astype(np.int64)
    cut = len(labels) - test
    return Digits(images[:cut], labels[:cut]), Digits(images[cut:], labels[cut:])


def _idx_digits(images: Path, labels: Path) -> Digits:
    import numpy as np

    pictures, shown = read_idx(images, axes=3), read_idx(labels, axes=1)
    if len(pictures) != len(shown):
        raise DataError(
            f"{len(shown)} labels for the {len(pictures)} pictures of {images.name}",
            file=str(labels),
        )
    if shown.size and shown.max() > 9:
        raise DataError(f"a label {shown.max()}, not a digit", file=str(labels))
    return Digits(pictures.astype(np.float32) / 255.0, shown.astype(np.int64))
