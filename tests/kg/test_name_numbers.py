"""Names numbered in pieces of bytes, against a dictionary that meets them one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepprooflog.kg.data.large import name_numbers
from deepprooflog.kg.data.large.name_numbers import NameNumbers, padded

NAMES = st.binary(min_size=1, max_size=20) | st.sampled_from([b"a", b"b", b"ann", b"a longer name"])


@pytest.mark.parametrize("lately", [0, 3, name_numbers.LATELY])
@given(pieces=st.lists(st.lists(NAMES, min_size=1, max_size=12), min_size=1, max_size=8))
def test_numbers_are_those_of_a_dictionary(lately: int, pieces: list[list[bytes]]) -> None:
    """However often what was met lately moves into the larger table."""
    table, known = NameNumbers(), dict[bytes, int]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(name_numbers, "LATELY", lately)
        for piece in pieces:
            end = np.cumsum([len(name) for name in piece])
            begin = np.append(0, end[:-1])
            raw = padded(np.frombuffer(b"".join(piece), np.uint8))
            expected = [known.setdefault(name, len(known)) for name in piece]
            assert table.number(raw, begin, end).tolist() == expected
    assert len(table) == len(known)
    assert table.names().tobytes() == b"".join(known)
    assert table.ends().tolist() == np.cumsum([len(name) for name in known]).tolist()


@pytest.mark.parametrize("lately", [0, 10], ids=["in the larger table", "met lately"])
def test_two_names_of_one_hash_are_not_taken_for_one(
    lately: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the first hashes agree and the second do not, the table gives up."""

    def collide(keys: object, raw: object, begin: np.ndarray, end: np.ndarray) -> list[np.ndarray]:
        return [np.zeros(len(begin), np.uint64), begin.astype(np.uint64)]

    monkeypatch.setattr(name_numbers, "hashes", collide)
    monkeypatch.setattr(name_numbers, "LATELY", lately)
    table, raw = NameNumbers(), padded(np.frombuffer(b"abc", np.uint8))
    table.number(raw, np.array([0]), np.array([1]))
    with pytest.raises(ArithmeticError, match="two names of one hash"):
        table.number(raw, np.array([2]), np.array([3]))
