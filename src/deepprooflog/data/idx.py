"""IDX files, the format of MNIST: big-endian shape, then the values, plain or gzipped.

magic    0, 0, type (8: unsigned byte), number of axes
shape    one 32-bit integer for each axis
values   bytes, the last axis fastest
"""

from __future__ import annotations

import math
import struct
from pathlib import Path
from typing import TYPE_CHECKING

from deepprooflog.data.unpack import unpacked
from deepprooflog.errors import DataError

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
