"""Tensors in a file of the safetensors layout, which runs no code when it is read.

    8 bytes      n, the length of the header, little-endian
    n bytes      JSON: {name: {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]},
                        "__metadata__": {key: text}}, padded with blanks to a multiple of 8
    the rest     the numbers, little-endian, row by row, one tensor right after another

The metadata hold a SHA-256 of the whole file, itself read as zeros: a file with one bit changed is
refused. One without it, as other programs write them, is read too, and `sealed` says so.

>>> raw = packed_tensors({"x": torch.tensor([1.0, 2.0])}, {"kind": "prior"})
>>> file = unpacked_tensors(raw)
>>> file.tensors["x"].tolist(), dict(file.metadata), file.sealed
([1.0, 2.0], {'kind': 'prior'}, True)
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

DTYPES: Mapping[str, torch.dtype] = {
    "F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16,
    "I64": torch.int64, "I32": torch.int32, "I16": torch.int16, "I8": torch.int8,
    "U8": torch.uint8, "BOOL": torch.bool,
}  # fmt: skip
NAMES = {dtype: name for name, dtype in DTYPES.items()}
METADATA, SEAL = "__metadata__", "sha256"
LONGEST_HEADER = 100_000_000  # bytes; other readers refuse longer ones, too
_ENTRIES = {"dtype", "shape", "data_offsets"}
_ZEROS = "0" * 64
_DIGEST = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, eq=False)
class TensorFile:
    """What stands in a file: tensors by name, texts by key, and whether a checksum was there."""

    tensors: Mapping[str, Tensor]
    metadata: Mapping[str, str]
    sealed: bool


def packed_tensors(tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> bytes:
    """The bytes of a file, with its checksum."""
    # The widest numbers first: then each tensor begins where its numbers may.
    order = sorted(tensors, key=lambda name: (-tensors[name].element_size(), name))
    header: dict[str, object] = {METADATA: {**metadata, SEAL: _ZEROS}}
    parts: list[bytes] = []
    end = 0
    for name in order:
        own = tensors[name].detach().cpu()
        if own.dtype not in NAMES or name == METADATA:
            raise ValueError(f"{name} of type {own.dtype} cannot be kept")
        parts.append(_bytes(own))
        begin, end = end, end + len(parts[-1])
        shape, offsets = list(own.shape), [begin, end]
        header[name] = {"dtype": NAMES[own.dtype], "shape": shape, "data_offsets": offsets}
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > LONGEST_HEADER:
        raise ValueError(f"names and metadata of {len(text):,} bytes are too long to be read again")
    first = len(text).to_bytes(8, "little") + text
    rest = b"".join(parts)
    return first.replace(_seal(_ZEROS), _seal(_digest(first, rest)), 1) + rest


def unpacked_tensors(raw: bytes) -> TensorFile:
    """What stands in the bytes of a file; `ValueError` says what is wrong with them."""
    size = int.from_bytes(raw[:8], "little")
    if len(raw) < 8 or size > min(LONGEST_HEADER, len(raw) - 8):
        raise ValueError("the file is cut off, or it is not of the safetensors layout")
    first, rest = raw[: 8 + size], memoryview(raw)[8 + size :]
    try:
        header = json.loads(first[8:], object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the header cannot be read ({str(error)[:80]})") from None
    metadata = header.pop(METADATA, {}) if isinstance(header, dict) else None
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise ValueError("the header is no table of tensors")
    known = metadata.pop(SEAL, None)
    if known is not None:
        plain = first.replace(_seal(known), _seal(_ZEROS), 1)
        if known != _digest(plain, rest):
            raise ValueError("its checksum is not that of its contents")
    elif any(_DIGEST.fullmatch(text) for text in metadata.values()):
        raise ValueError("its checksum is not where it was")  # the damage is in its name
    return TensorFile(_tensors(header, rest), metadata, known is not None)


def _tensors(header: Mapping[str, Any], rest: memoryview) -> dict[str, Tensor]:
    """The tensors that a header describes; they lie side by side and use all there is."""
    found: dict[str, Tensor] = {}
    spans: list[tuple[int, int]] = []
    for name, entry in header.items():
        if not isinstance(entry, dict) or entry.keys() != _ENTRIES or not _sizes(entry["shape"]):
            raise ValueError(f"{name!r:.80} is no tensor")
        dtype = DTYPES.get(str(entry["dtype"]))
        shape, offsets = entry["shape"], entry["data_offsets"]
        if dtype is None:
            raise ValueError(f"{name!r:.80} is of type {entry['dtype']!r:.20}, which is unknown")
        whole = math.prod(shape) * dtype.itemsize
        if not _sizes(offsets) or len(offsets) != 2 or offsets[1] - offsets[0] != whole:
            raise ValueError(f"{name!r:.80} does not have the numbers of its shape")
        if offsets[1] > len(rest):
            raise ValueError("the file is cut off")
        spans.append((offsets[0], offsets[1]))
        found[name] = _tensor(rest[offsets[0] : offsets[1]], dtype, shape)
    end = 0
    for begin, after in sorted(spans):
        if begin != end:
            raise ValueError("tensors overlap, or leave something between them")
        end = after
    if end != len(rest):
        raise ValueError("there is something after the last tensor")
    return found


def _sizes(value: object) -> bool:
    return isinstance(value, list) and all(type(n) is int and 0 <= n < 1 << 62 for n in value)


def _bytes(tensor: Tensor) -> bytes:
    # A clone: where an axis has one place or none, a tensor is contiguous with any stride.
    whole = tensor.reshape(-1).clone(memory_format=torch.contiguous_format)
    flat = whole.view(torch.uint8).numpy()
    if sys.byteorder == "big":
        flat = flat.reshape(-1, tensor.element_size())[:, ::-1]
    return flat.tobytes()


def _tensor(raw: memoryview, dtype: torch.dtype, shape: list[int]) -> Tensor:
    if not len(raw):
        return torch.empty(shape, dtype=dtype)
    # A copy: the tensor may be written to, and begins where its numbers may.
    own = torch.frombuffer(bytearray(raw), dtype=torch.uint8)
    if sys.byteorder == "big":
        own = own.reshape(-1, dtype.itemsize).flip(1).reshape(-1)
    flat = own != 0 if dtype is torch.bool else own.view(dtype)
    return flat.reshape(shape)


def _seal(digest: str) -> bytes:
    return json.dumps({SEAL: digest}, separators=(",", ":"))[1:-1].encode()


def _digest(first: bytes, rest: bytes | memoryview) -> str:
    found = hashlib.sha256(first)
    found.update(rest)
    return found.hexdigest()


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object whose keys are all different."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice")
    return found
