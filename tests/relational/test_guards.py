"""Guards in bulk are guards one by one: the batched engine against `logic.resolve.successors`."""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import product

import pytest
import torch
from hypothesis import strategies as st

from deepprooflog.errors import ProgramError
from deepprooflog.kg.prove.prover import ExploreLimits, Prover
from deepprooflog.logic.goal import Interner
from deepprooflog.logic.program import BodyOrder, Program
from deepprooflog.logic.resolve import successors
from deepprooflog.model import Model
from deepprooflog.relational.database import Database
from deepprooflog.relational.guards import GUARDS
from deepprooflog.relational.layers import explore
from deepprooflog.relational.resolve import expand
from deepprooflog.relational.sweep import provable
from deepprooflog.score.embedding.embedding import Embedding
from deepprooflog.syntax.writer import write_term
from programs.fresh import fresh
from programs.function_free import ORDERS, Asked, function_free
from relational.reference_steps import State, roots, state

SEEDS = st.integers(0, 2**32)


def reference(program: Program, database: Database, number: int, goals: object) -> set[State]:
    goal = database.decode(goals.select(torch.tensor([number])))[0]  # type: ignore[attr-defined]
    if goal.is_true:
        return set()
    return {state(s.goal) for s in successors(program, goal, Interner())}


@fresh(20, function_free(guarded=True), ORDERS, SEEDS)
def test_successors_are_the_reference_s(asked: Asked, order: BodyOrder, seed: int) -> None:
    program = asked.program(order)
    database = Database.of(program)
    goals = database.goals(asked.queries)
    assert list(map(state, database.decode(goals))) == list(
        map(state, roots(program, asked.queries))
    )
    for _ in range(3):
        made = expand(database, goals)
        every: list[list[State]] = [[] for _ in range(len(goals))]
        pairs = zip(made.parent.tolist(), database.decode(made.goals), strict=True)
        for parent, goal in pairs:
            every[parent].append(state(goal))
        for number, found in enumerate(every):
            assert len(set(found)) == len(found)
            assert set(found) == reference(program, database, number, goals)
        draw = torch.Generator().manual_seed(seed % 2**31)
        chosen = torch.randperm(len(made.goals), generator=draw)[:15].sort().values
        goals = made.goals.select(chosen)


SIGNS: dict[str, Callable[[int, int], bool]] = {
    "<": operator.lt, ">": operator.gt, "=<": operator.le, ">=": operator.ge,
    "=:=": operator.eq, "=\\=": operator.ne, "\\=": operator.ne, "==": operator.eq,
    "\\==": operator.ne,
}  # fmt: skip
assert {functor.name for functor in GUARDS} == set(SIGNS)
NUMBERS = (-(2**62), -3, 0, 2, 2**62)


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("order", ["written", "bound_first"])
def test_every_guard_of_two_integers(sign: str, order: BodyOrder) -> None:
    facts = " ".join(f"n({n})." for n in NUMBERS)
    program = Program(f"{facts} r(X, Y) :- n(X), n(Y), X {sign} Y.", order=order)
    database = Database.of(program, nesting=1)
    pairs = list(product(NUMBERS, NUMBERS))
    goals = database.goals([f"r({x}, {y})" for x, y in pairs])
    found = provable(explore(database, goals, max_depth=9)).tolist()
    assert found == [SIGNS[sign](x, y) for x, y in pairs]


def test_a_guarded_rule_finds_siblings_but_not_oneself() -> None:
    program = Program(
        "parent(ann, bob). parent(ann, cid). parent(dan, eve). "
        "sibling(X, Y) :- parent(P, X), parent(P, Y), X \\= Y."
    )
    database = Database.of(program)
    layers = explore(database, database.goals(["sibling(bob, Y)", "sibling(eve, Y)"]), max_depth=9)
    last = [database.decode(g.select(g.is_true)) for g in layers.goals]
    assert [write_term(goal.answer[0]) for goals in last for goal in goals] == ["cid"]
    assert provable(layers).tolist() == [True, False]


def test_a_guard_weighs_one_whatever_the_scorer() -> None:
    """Also beside the choice to give up, which is no choice at a guard; as `Model` has it."""
    text = "e(a, b). e(b, c). e(a, c). r(X, Y) :- e(X, Y), X \\= Y. r(X, Y) :- e(X, Z), e(Z, Y)."
    program = Program(text, order="bound_first")
    policy = Embedding(program, 8, "mlp", "mean", seed=1, false_action=True)
    prover = Prover(Database.of(program), policy, limits=ExploreLimits(depth=9), program=program)
    queries = ["r(a, c)", "r(b, c)", "r(c, a)"]
    with torch.no_grad():
        found = prover.weigh(prover.explore(prover.database.goals(queries))).success
        expected = Model(program, scorer=policy).log_prob(queries).exp()
    assert torch.allclose(found, expected, atol=1e-9)
    assert 0 < float(found[0]) < 1


def test_what_cannot_be_compared_is_named() -> None:
    database = Database.of(Program("n(a). n(1).\n\nr(X) :- n(X), X < 2. s(X) :- X < 2, n(X)."))
    assert provable(explore(database, database.goals(["r(1)"]), max_depth=9)).tolist() == [True]
    with pytest.raises(ProgramError, match="a<2 compares what is no integer") as refused:
        explore(database, database.goals(["r(a)"]), max_depth=9)
    assert refused.value.line == 3
    with pytest.raises(ProgramError, match=r"<2 compares what is no integer"):
        explore(database, database.goals(["s(X)"]), max_depth=9)


def test_a_program_may_define_a_guard_of_its_own_name() -> None:
    """What a program defines is a relation like any other."""
    with pytest.raises(ProgramError, match="built in"):
        Program("X \\= Y :- e(X, Y). e(a, b).")
