"""Files of tensors: what the safetensors library writes is read, what is written it reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from deepprooflog.data.tensor_file import DTYPES, packed_tensors, unpacked_tensors

safetensors = pytest.importorskip("safetensors", reason="safetensors is not installed")

from safetensors.torch import load, load_file, save, save_file  # noqa: E402

TENSORS = {
    "weights.entity": torch.arange(6.0).reshape(2, 3),
    "half": torch.tensor([1.5, -2.0], dtype=torch.float16),
    "brain": torch.tensor([[3.0]], dtype=torch.bfloat16),
    "double": torch.tensor(0.1, dtype=torch.float64),
    "rows": torch.tensor([[1, 2, 3]], dtype=torch.int32),
    "long": torch.tensor([-(2**60), 2**60]),
    "short": torch.tensor([-3], dtype=torch.int16),
    "small": torch.tensor([[-128, 127]], dtype=torch.int8),
    "bytes": torch.tensor([0, 255], dtype=torch.uint8),
    "flags": torch.tensor([True, False, True]),
    "none": torch.zeros(0, 4),
    "one": torch.zeros(1, dtype=torch.int32).expand(1, 3)[:, :1].as_strided((1,), (0,)),
    "nothing": torch.zeros(1, dtype=torch.int32)[:0].expand(3, 0),
    "ünï.𝛼": torch.ones(1),
}


def test_the_library_reads_what_is_written(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(packed_tensors(TENSORS, {"kind": "prior", "quoted": '{"a": "b"}'}))
    theirs = load_file(path)
    assert theirs.keys() == TENSORS.keys()
    for name, tensor in TENSORS.items():
        assert theirs[name].dtype == tensor.dtype
        assert torch.equal(theirs[name], tensor)
    with safetensors.safe_open(path, framework="pt") as file:
        metadata = file.metadata()
    assert metadata.pop("sha256") != "0" * 64
    assert metadata == {"kind": "prior", "quoted": '{"a": "b"}'}


def test_what_the_library_writes_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    save_file(TENSORS, path, metadata={"who": "them"})
    found = unpacked_tensors(path.read_bytes())
    assert dict(found.metadata) == {"who": "them"}
    assert not found.sealed
    assert found.tensors.keys() == TENSORS.keys()
    for name, tensor in TENSORS.items():
        assert found.tensors[name].dtype == tensor.dtype
        assert torch.equal(found.tensors[name], tensor)


@given(
    st.lists(st.integers(0, 3), max_size=3), st.sampled_from(sorted(DTYPES)), st.text(max_size=5)
)
def test_any_shape_and_name_passes_both_ways(shape: list[int], dtype: str, text: str) -> None:
    tensor = torch.arange(torch.Size(shape).numel()).reshape(shape).to(DTYPES[dtype])
    mine = {"x" + text.encode("utf-8", "ignore").decode(): tensor}
    assert [torch.equal(load(packed_tensors(mine, {}))[k], v) for k, v in mine.items()] == [True]
    there = unpacked_tensors(save(mine)).tensors
    assert [torch.equal(there[k], v) for k, v in mine.items()] == [True]


def test_one_changed_bit_is_seen_wherever_it_is() -> None:
    raw = packed_tensors({"x": torch.tensor([1.0])}, {"kind": "prior"})
    for place in range(8 * len(raw)):
        changed = bytearray(raw)
        changed[place // 8] ^= 1 << place % 8
        with pytest.raises(ValueError, match=r".+"):
            unpacked_tensors(bytes(changed))
    for end in range(len(raw)):
        with pytest.raises(ValueError, match=r".+"):
            unpacked_tensors(raw[:end])


def file_of(header: object, data: bytes = b"\0" * 8) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def entry(begin: int, end: int, shape: object = (1,), dtype: object = "F32") -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "cut off"),
        ((1 << 63).to_bytes(8, "little") + b"{}", "cut off"),
        (file_of(b"{"), "header cannot be read"),
        (file_of(b"[" * 100_000), "header cannot be read"),
        (file_of(b'{"x": 1, "x": 2}'), "stands twice"),
        (file_of([]), "no table"),
        (file_of({"__metadata__": {"a": 1}}), "no table"),
        (file_of({"x": {"dtype": "F32"}}), "no tensor"),
        (file_of({"x": entry(0, 4, [-1])}), "no tensor"),
        (file_of({"x": entry(0, 4, [True])}), "no tensor"),
        (file_of({"x": entry(0, 4, [1 << 70])}), "no tensor"),
        (file_of({"x": entry(0, 4, [1], "C64")}), "unknown"),
        (file_of({"x": entry(0, 8)}), "numbers of its shape"),
        (file_of({"x": entry(8, 12)}), "cut off"),
        (file_of({"x": entry(0, 4), "y": entry(0, 4)}), "overlap"),
        (file_of({"x": entry(4, 8)}), "overlap"),
        (file_of({"x": entry(0, 4)}), "after the last"),
    ],
)
def test_what_is_no_such_file_is_refused(raw: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        unpacked_tensors(raw)


def test_numbers_that_the_layout_has_no_name_for_are_refused() -> None:
    with pytest.raises(ValueError, match="complex64 cannot be kept"):
        packed_tensors({"x": torch.zeros(1, dtype=torch.complex64)}, {})
