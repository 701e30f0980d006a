"""Indexing: the right candidates in source order, touching no more clauses than it returns."""

from __future__ import annotations

import random

import pytest

from deepprooflog import Program
from deepprooflog.logic import index
from deepprooflog.logic.clause import Clause
from deepprooflog.logic.query import parse_query
from deepprooflog.syntax.terms import Functor, args_of
from logic.stepping import steps


def lines(program: Program, call: str) -> list[int]:
    """The source lines of the candidates for a call."""
    atom = parse_query(call).atoms[0]
    functor = Functor(call.split("(")[0], len(args_of(atom)))
    return [c.place.line for c in program.candidates(functor, args_of(atom)) if c.place]


MIXED = """\
p(a, 1).
p(b, 1).
p(X, 2) :- q(X).
p(f(a), 1).
p(f(X), 1) :- q(X).
p(g(a), 3).
p(X, Y) :- q(X), q(Y).
p([a], 1).
p([b|T], 1) :- q(T).
p(f(b), 1).
p(1, 1).
p(1.0, 1).
p("a", 1).
"""


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("p(a, 1)", [1, 7]),
        ("p(a, 2)", [3, 7]),
        ("p(a, Y)", [1, 3, 7]),
        ("p(X, 1)", [1, 2, 4, 5, 7, 8, 9, 10, 11, 12, 13]),
        ("p(X, Y)", list(range(1, 14))),
        ("p(f(a), 1)", [4, 5, 7]),
        ("p(f(Z), 1)", [4, 5, 7, 10]),
        ("p(f(Z), 2)", [3, 7]),
        ("p(f(c), Y)", [3, 5, 7]),
        ("p([a], 1)", [7, 8, 9]),
        ("p([b, c], 1)", [7, 9]),
        ("p([Z|T], 1)", [7, 8, 9]),
        ("p(1, 1)", [7, 11]),
        ("p(1.0, 1)", [7, 12]),
        ('p("a", 1)', [7, 13]),
        ("p(zzz, 9)", [7]),
        ("p(g(Z), 3)", [6, 7]),
    ],
)
def test_candidates_in_source_order(call: str, expected: list[int]) -> None:
    assert lines(Program(MIXED), call) == expected


def test_small_predicates_are_scanned_by_first_arguments() -> None:
    program = Program("p(a, 1).\np(f(b), 2).\np(X, 3) :- q(X).\np(f(X), X) :- q(X).")
    assert lines(program, "p(a, Y)") == [1, 3]
    assert lines(program, "p(f(c), Y)") == [2, 3, 4]
    assert lines(program, "p(X, 2)") == [2, 4]
    assert lines(program, "p(g(c), 1)") == []


def test_candidates_are_never_fewer_than_the_clauses_that_unify() -> None:
    """Random heads and calls: no index may lose a clause, nor change the order."""
    rng = random.Random(0)
    pool = ["a", "b", "1", "1.0", "f(a)", "f(b)", "f(X)", "[a]", "[a|X]", "X", "Y", "g(X, a)"]
    heads = [f"p({rng.choice(pool)}, {rng.choice(pool)}, {rng.choice(pool)})" for _ in range(60)]
    program = Program("\n".join(f"{h} :- true." for h in heads))
    small = [Program(f"{h} :- true.", occurs_check=True) for h in heads]
    for _ in range(300):
        call = f"p({rng.choice(pool)}, {rng.choice(pool)}, {rng.choice(pool)})"
        unifying = [i for i, alone in enumerate(small, 1) if list(steps(alone, call))]
        found = lines(program, call)
        assert found == sorted(found)
        assert set(unifying) <= set(found)


@pytest.fixture
def touched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of the entries that lookups look at, as they do."""
    seen: list[int] = []
    plain = index.Entries._clause

    def counting(self: index.Entries, i: int) -> Clause:
        seen.append(i)
        return plain(self, i)

    monkeypatch.setattr(index.Entries, "_clause", counting)
    return seen


def test_a_lookup_touches_only_what_it_returns(touched: list[int]) -> None:
    """100,000 facts, any argument bound: as many entries are touched as are returned."""
    size = 100_000
    rows = "\n".join(f"e(n{i}, m{i % 1000}, {3 * i})." for i in range(size))
    program = Program(rows)
    assert touched == []
    for call, matches in [
        ("e(n77, X, Y)", 1),
        ("e(X, m5, Y)", 100),
        ("e(X, Y, 99)", 1),
        ("e(n7, m7, Y)", 1),
        ("e(n8, m7, Y)", 0),
        ("e(n100, m100, 300)", 1),
        ("e(X, m6, 18)", 1),
        ("e(nowhere, X, Y)", 0),
    ]:
        touched.clear()
        assert len(lines(program, call)) == len(touched) == matches
    assert lines(program, "e(X, m5, Y)") == list(range(6, size + 1, 1000))


def test_rules_with_variables_are_not_scanned(touched: list[int]) -> None:
    """20,000 rules, each with one variable argument: a call with both bound touches its own."""
    size = 20_000
    rules = [f"p(X, c{i}) :- q(X)." if i % 2 else f"p(c{i}, X) :- q(X)." for i in range(size)]
    program = Program("\n".join([*rules, "q(_)."]))
    assert lines(program, "p(z, c9)") == [10]
    touched.clear()
    assert lines(program, "p(z, c11)") == [12]
    assert lines(program, "p(c8, c11)") == [9, 12]
    assert lines(program, "p(z, z)") == []
    assert sorted(touched) == [8, 11, 11]


def test_facts_by_a_compound_argument(touched: list[int]) -> None:
    pairs = [(i, j) for i in range(100) for j in range(100)]
    program = Program("\n".join(f"at(p({i}, {j}), [x{i}, {j}])." for i, j in pairs))
    assert lines(program, "at(p(3, 4), L)") == [305]
    assert lines(program, "at(P, [x3, 4])") == [305]
    assert touched == [304, 304]
    assert len(lines(program, "at(p(3, J), L)")) == 10_000


def test_clauses_are_made_once() -> None:
    program = Program("\n".join(f"p({i})." for i in range(100)))
    first = program.candidates(Functor("p", 1), (7,))
    again = program.candidates(Functor("p", 1), (7,))
    assert first[0] is again[0]
    assert list(program.predicates[Functor("p", 1)].entries)[7] is first[0]


def test_entries_can_grow_after_a_lookup() -> None:
    entries = index.Entries(Functor("p", 1))
    for n in range(5):
        entries.add_fact((n,), n)
    assert len(entries.candidates((3,))) == 1
    for n in range(5, 50):
        entries.add_fact((n % 10,), n)
    assert [c.place.line for c in entries.candidates((3,)) if c.place] == [3, 13, 23, 33, 43]
    entries.add_fact((3,), 99)
    assert [c.place.line for c in entries.candidates((3,)) if c.place][-1] == 99
