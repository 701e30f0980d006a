"""Lookups by any bound arguments, against a scan; merging, against Python's sets."""

from __future__ import annotations

import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from deepprooflog.relational import goals as merge
from deepprooflog.relational.goals import NO_FACT, PAD, Goals, group_rows, hash_rows
from deepprooflog.relational.index import Facts, build_index, gather_facts

ARITY = [2, 1, 3, 0]
CONSTANTS = 5


def random_facts(seed: int, count: int = 60) -> tuple[dict[int, list[list[int]]], Facts]:
    dice = random.Random(seed)
    rows: dict[int, list[list[int]]] = {p: [] for p in range(len(ARITY))}
    for _ in range(count):
        predicate = dice.randrange(len(ARITY))
        rows[predicate].append([dice.randrange(CONSTANTS) for _ in range(ARITY[predicate])])
    tensors = {
        p: torch.tensor(rs, dtype=torch.int32).reshape(len(rs), ARITY[p]) for p, rs in rows.items()
    }
    return rows, gather_facts(tensors, len(ARITY), CONSTANTS, widest=3)


@settings(max_examples=30)
@given(st.integers(0, 2**32))
def test_facts_are_kept_once_in_order(seed: int) -> None:
    rows, facts = random_facts(seed)
    expected = [
        [p, *row, *[PAD] * (3 - ARITY[p])]
        for p in rows
        for row in dict.fromkeys(map(tuple, rows[p]))
    ]
    assert torch.cat([facts.predicate[:, None], facts.arguments], 1).tolist() == expected
    assert facts.duplicates == sum(map(len, rows.values())) - len(expected)
    assert facts.start.diff().tolist() == [len(set(map(tuple, rows[p]))) for p in rows]


@settings(max_examples=30)
@given(st.integers(0, 2**32), st.sampled_from([63, 8, 6]))
def test_lookups_are_scans(seed: int, bits: int) -> None:
    """Also with keys of a few bits, as a table of many columns and constants would need."""
    _, facts = random_facts(seed)
    bound = {(n, mask) for n in ARITY for mask in range(1 << n)}
    index = build_index(facts, bound, len(ARITY), CONSTANTS, bits)
    assert (len(index.levels) == 1) == (bits == 63)
    dice = random.Random(seed)
    calls = []
    for _ in range(100):
        predicate = dice.randrange(len(ARITY))
        call = [dice.choice([-2 - j, dice.randrange(CONSTANTS)]) for j in range(ARITY[predicate])]
        calls.append([predicate, *call, *[PAD] * (3 - len(call))])
    table = torch.tensor(calls)
    begin, count = index.lookup(table[:, 0], table[:, 1:])
    stored = torch.cat([facts.predicate[:, None], facts.arguments], 1).tolist()
    for call, b, n in zip(calls, begin.tolist(), count.tolist(), strict=True):
        matching = [
            i
            for i, row in enumerate(stored)
            if all(c == f or c < PAD for c, f in zip(call, row, strict=True))
        ]
        assert index.rows[b : b + n].tolist() == matching


def test_no_facts_match_nothing() -> None:
    facts = gather_facts({}, 2, 3, widest=2)
    index = build_index(facts, {(2, 3)}, 2, 3)
    _, count = index.lookup(torch.tensor([0, 1]), torch.tensor([[0, 1], [-2, 2]]))
    assert count.tolist() == [0, 0]


@pytest.mark.parametrize("collide", [False, True])
def test_groups_are_equal_rows(collide: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when different rows share a hash."""
    if collide:
        monkeypatch.setattr(merge, "hash_rows", lambda rows: rows[:, 0].long() % 2)
    dice = torch.Generator().manual_seed(0)
    rows = torch.randint(0, 3, (500, 4), generator=dice)
    groups = group_rows(rows)
    ordered = [tuple(row) for row in rows[groups.order].tolist()]
    numbers = groups.number.tolist()
    assert len(set(zip(ordered, numbers, strict=True))) == len(set(ordered)) == len(set(numbers))
    for number in set(numbers):
        members = [o for o, n in zip(groups.order.tolist(), numbers, strict=True) if n == number]
        assert members == sorted(members)
    assert sorted(groups.order.tolist()) == list(range(500))


def test_hashes_ignore_trailing_pads_and_little_else() -> None:
    rows = torch.cartesian_prod(*[torch.arange(-4, 9)] * 4)
    hashes = hash_rows(rows)
    assert len(torch.unique(hashes)) == len(rows)
    wide = torch.nn.functional.pad(rows, (0, 3), value=PAD)
    assert torch.equal(hash_rows(wide), hashes)


@settings(max_examples=30)
@given(st.integers(0, 2**32))
def test_canonical_numbers_by_first_occurrence(seed: int) -> None:
    dice = random.Random(seed)
    rows = [[dice.choice([PAD, 0, 3, -2, -3, -4, -7]) for _ in range(8)] for _ in range(5)]
    table = torch.tensor(rows, dtype=torch.int32)
    goals = Goals(table[:, :6].reshape(5, 2, 3), table[:, 6:], torch.full((5,), NO_FACT))
    canonical = goals.canonical()
    for row, atoms, answer in zip(
        rows, canonical.atoms.tolist(), canonical.answer.tolist(), strict=True
    ):
        numbers: dict[int, int] = {}
        expected = [x if x >= PAD else -2 - numbers.setdefault(x, len(numbers)) for x in row]
        assert [*atoms[0], *atoms[1], *answer] == expected


@settings(max_examples=30)
@given(st.integers(0, 2**32), st.sampled_from([63, 8]))
def test_an_index_that_grows_is_one_that_was_made_at_once(seed: int, bits: int) -> None:
    """Whatever was asked before, with whichever arguments bound."""
    _, facts = random_facts(seed)
    every = [(n, mask) for n in ARITY for mask in range(1 << n)]
    dice = random.Random(seed)
    few = set(dice.sample(every, dice.randint(1, len(every))))
    sizes = len(ARITY), CONSTANTS, bits
    grown = build_index(facts, every, *sizes, before=build_index(facts, few, *sizes))
    once = build_index(facts, every, *sizes)
    assert grown.bound == once.bound
    assert torch.equal(grown.levels[-1].keys, once.levels[-1].keys)
    assert torch.equal(grown.start, once.start)
    assert torch.equal(grown.rows, once.rows)
    assert grown.rows.dtype == once.rows.dtype
