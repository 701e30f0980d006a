"""Names numbered in pieces of bytes, against a dictionary that meets them one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepprooflog.kg.data.large import hash_table, name_numbers
from deepprooflog.kg.data.large.hash_table import HashTable
from deepprooflog.kg.data.large.name_numbers import NameNumbers, padded

NAMES = st.binary(min_size=1, max_size=20) | st.sampled_from([b"a", b"b", b"ann", b"a longer name"])


@pytest.mark.parametrize("bits", [1, 3, hash_table.BITS])
@given(pieces=st.lists(st.lists(NAMES, min_size=1, max_size=12), min_size=1, max_size=8))
def test_numbers_are_those_of_a_dictionary(bits: int, pieces: list[list[bytes]]) -> None:
    """However often the table has to grow."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hash_table, "BITS", bits)
        table, known = NameNumbers(), dict[bytes, int]()
        for piece in pieces:
            end = np.cumsum([len(name) for name in piece])
            begin = np.append(0, end[:-1])
            raw = padded(np.frombuffer(b"".join(piece), np.uint8))
            expected = [known.setdefault(name, len(known)) for name in piece]
            assert table.number(raw, begin, end).tolist() == expected
    assert len(table) == len(known)
    assert table.names().tobytes() == b"".join(known)
    assert table.ends().tolist() == np.cumsum([len(name) for name in known]).tolist()


def test_two_names_of_one_hash_are_not_taken_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the first hashes agree and the second do not, the table gives up."""

    def collide(keys: object, raw: object, begin: np.ndarray, end: np.ndarray) -> list[np.ndarray]:
        return [np.zeros(len(begin), np.uint64), begin.astype(np.uint64) << np.uint64(32)]

    monkeypatch.setattr(name_numbers, "hashes", collide)
    raw = padded(np.frombuffer(b"abc", np.uint8))
    with pytest.raises(ArithmeticError, match="two names of one hash"):
        NameNumbers().number(raw, np.array([0, 2]), np.array([1, 3]))
    table = NameNumbers()
    table.number(raw, np.array([0]), np.array([1]))
    with pytest.raises(ArithmeticError, match="two names of one hash"):
        table.number(raw, np.array([2]), np.array([3]))


def test_entries_behind_the_last_place_stand_at_the_first() -> None:
    """All hashes name the last place, so that each but one goes round."""
    table, first = HashTable(), np.full(300, 2**64 - 1, np.uint64) - np.arange(300, dtype=np.uint64)
    table.add(first, first, np.arange(300))
    assert table.find(first[::-1], first[::-1]).tolist() == list(range(299, -1, -1))
    assert table.find(first[:1] - np.uint64(300), first[:1]).tolist() == [-1]


@pytest.mark.parametrize("count", [1_000, 30_000, 1_000_000])
def test_a_look_takes_as_many_steps_in_a_large_table(count: int) -> None:
    """On average as many as Knuth counts for this share of taken places (linear probing, 6.4)."""
    rng, table = np.random.default_rng(count), HashTable()
    hashes = rng.integers(0, 2**64, count, dtype=np.uint64)
    for at in range(0, count, 10_000):  # which grow it more than once
        some = hashes[at : at + 10_000]
        table.add(some, some, np.arange(at, at + len(some)))
    assert table.find(hashes, hashes).tolist() == list(range(count))
    taken = np.flatnonzero(table._entries[:, 1])
    share = count / len(table._entries)
    assert 1 / 3 <= share <= 2 / 3
    steps = 1 + ((taken - table._home(table._entries[taken, 0])) & table._last)
    assert steps.mean() == pytest.approx((1 + 1 / (1 - share)) / 2, rel=0.05)
