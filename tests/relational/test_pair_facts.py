"""Facts sorted beforehand answer every call as a search through all of them does."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from deepprooflog.relational.joined_names import JoinedNames
from deepprooflog.relational.pair_facts import PairFacts, SideOrder
from deepprooflog.syntax.terms import Atom, Term

PREDICATES, CONSTANTS = 3, 5
Row = tuple[int, int, int]


def pair_facts(rows: list[Row]) -> PairFacts:
    """The facts of rows (predicate, head, tail), sorted as Python sorts."""
    facts = sorted(rows, key=lambda row: row[0])
    numbers = range(len(facts))

    def side(column: int) -> tuple[SideOrder, list[int]]:
        keys = [facts[n][0] * CONSTANTS + facts[n][column] for n in numbers]
        order = sorted(numbers, key=lambda n: keys[n])
        distinct = sorted(set(keys))
        begin = [sum(key < own for key in keys) for own in distinct]
        return SideOrder(
            torch.tensor(distinct, dtype=torch.int64),
            torch.tensor([*begin, len(facts)], dtype=torch.int32),
        ), order

    by_head, head = side(1)
    by_tail, tail = side(2)
    paired = sorted(numbers, key=lambda n: facts[n])
    start = [sum(row[0] < p for row in facts) for p in range(PREDICATES + 1)]
    return PairFacts(
        torch.tensor([row[1:] for row in facts], dtype=torch.int32).reshape(-1, 2),
        torch.tensor(start), by_head, by_tail,
        torch.tensor([head, tail, paired], dtype=torch.int32).reshape(3, -1), CONSTANTS, PREDICATES,
    )  # fmt: skip


rows = st.tuples(
    st.integers(0, PREDICATES - 1), st.integers(0, CONSTANTS - 1), st.integers(0, CONSTANTS - 1)
)
ends = st.integers(-3, CONSTANTS + 1).filter(lambda end: end != -1)
calls = st.lists(st.tuples(st.integers(-1, PREDICATES), ends, ends), min_size=1, max_size=30)


@given(st.lists(rows, unique=True, max_size=25), calls)
def test_calls_find_what_matches(told: list[Row], asked: list[Row]) -> None:
    facts = pair_facts(told).among(PREDICATES + 1, 3)
    order = sorted(told, key=lambda row: row[0])
    begin, count = facts.lookup(
        torch.tensor([p for p, _, _ in asked], dtype=torch.int32),
        torch.tensor([[h, t, -1] for _, h, t in asked], dtype=torch.int32),
    )
    for (p, h, t), first, many in zip(asked, begin.tolist(), count.tolist(), strict=True):
        matching = [
            n for n, (r, a, b) in enumerate(order)
            if r == p and (h < 0 or a == h) and (t < 0 or b == t)
        ]  # fmt: skip
        found = facts.facts_at(torch.arange(first, first + many))
        assert found.tolist() == matching
        assert facts.arguments_of(found).tolist() == [[*order[n][1:], -1] for n in matching]
        assert facts.predicates_of(found).tolist() == [p] * len(matching)


def test_all_columns_of_those_who_need_them() -> None:
    told = [(2, 0, 1), (0, 4, 4), (0, 1, 0)]
    facts = pair_facts(told).among(4, 3)
    assert facts.predicate.tolist() == [0, 0, 2]
    assert facts.arguments.tolist() == [[4, 4, -1], [1, 0, -1], [0, 1, -1]]
    assert (len(facts), facts.to("cpu").ends.tolist()) == (3, [[4, 4], [1, 0], [0, 1]])


def test_joined_names_are_a_sequence_with_numbers() -> None:
    many: tuple[Term, ...] = (Atom("a"), 7, Atom("b"))
    names = JoinedNames(many, {name: n for n, name in enumerate(many)}, (Atom("c"), 8))
    every: tuple[Term, ...] = (*many, Atom("c"), 8)
    assert tuple(names) == every and names[2:4] == every[2:4] and names[-1] == 8
    assert [names.numbers[name] for name in every] == list(range(5))
    assert (names.numbers.get(Atom("d")), len(names.numbers), set(names.numbers)) == (
        None, 5, set(every),
    )  # fmt: skip
    assert np.array_equal([names[n] == every[n] for n in range(5)], [True] * 5)
