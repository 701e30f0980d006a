"""Long and deep data through everything: nothing recurses over terms, goals or derivations."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest

import deepprooflog as dpl
from deepprooflog import Program
from deepprooflog.logic.goal import Interner
from deepprooflog.logic.query import Query, parse_query
from deepprooflog.logic.resolve import start, successors
from deepprooflog.logic.unify import Trail, undo, unify
from deepprooflog.syntax.terms import Atom, Functor, Struct, Term, Var, make_list

LONG = 30_000


@pytest.fixture(autouse=True)
def _shallow_stack() -> None:
    """The interpreter's usual limit holds, whatever another test may have set."""
    assert sys.getrecursionlimit() < LONG


def tower(height: int, top: Term) -> Term:
    """s(s(…s(top)…)), `height` deep."""
    s = Functor("s", 1)
    ground = type(top) is not Var
    for _ in range(height):
        top = Struct(s, (top,), ground)
    return top


def ask(name: str, *args: Term) -> Query:
    return parse_query(Struct(Functor(name, len(args)), args))


WALK = Program("walk([]). walk([_|T]) :- walk(T). size([], 0). size([_|T], N) :- size(T, N, 0).\n"
               "size([], N, N). size([_|T], N, A) :- B is A + 1, size(T, N, B).")  # fmt: skip


# -- lists of 100,000 elements ---------------------------------------------------------------------


def test_a_long_list_through_the_step() -> None:
    interner = Interner()
    goal = start(ask("walk", make_list(range(LONG))).atoms, interner)
    (step,) = successors(WALK, goal, interner)
    head = step.goal.atoms[0]
    assert isinstance(head, Struct)
    cell = head.args[0]
    assert isinstance(cell, Struct)
    assert cell.args[0] == 1
    # The tail is the tail: nothing of it was copied.
    whole = goal.atoms[0]
    assert isinstance(whole, Struct) and isinstance(whole.args[0], Struct)
    assert cell is whole.args[0].args[1]


def test_a_long_list_walked_to_its_end() -> None:
    result = dpl.success(WALK, ask("walk", make_list(range(LONG))))
    assert (result.lower, result.exact, result.method) == (1.0, True, "graph")
    assert result.goals == LONG + 2


def test_a_long_list_in_solve_and_answers() -> None:
    (solution,) = dpl.solve(WALK, dpl.goal("size(L, N, 0)", L=[0] * LONG))
    assert solution == {"N": str(LONG)}
    program = Program("0.5 :: p([_|T], T).")
    (answer,) = dpl.answers(program, dpl.goal("p(L, T)", L=list(range(LONG))))
    assert answer.startswith("p([0,1,2,") and answer.endswith(f",{LONG - 1}])")


def test_a_long_list_in_query_text() -> None:
    text = "walk([" + ",".join(["a"] * LONG) + "])"
    assert dpl.prob(WALK, text) == 1.0


def test_a_long_list_in_program_text() -> None:
    program = Program("walk([]). walk([_|T]) :- walk(T).\nl([" + ",".join(["a"] * LONG) + "]).")
    assert dpl.prob(program, "l(L), walk(L)") == 1.0


def test_a_long_proof_replays() -> None:
    model = dpl.Model(WALK)
    proof = model.best_proof(ask("walk", make_list(range(2000))))
    assert proof.check()
    assert len(proof.nodes) == 2001


def test_a_proof_over_a_long_list() -> None:
    program = Program("0.5 :: last([X], X). 0.5 :: last(L, X) :- append(_, [X], L).")
    long = dpl.goal("last(L, X)", L=list(range(LONG)))
    proof = dpl.Model(program).best_proof(long)
    assert proof.bindings == {"X": str(LONG - 1)}
    assert proof.log_prob == pytest.approx(math.log(0.5))
    assert proof.check()


# -- terms 100,000 deep ----------------------------------------------------------------------------


def test_a_deep_term_through_the_step() -> None:
    program = Program("nat(z). nat(s(X)) :- nat(X).")
    result = dpl.success(program, ask("nat", tower(LONG, Atom("z"))))
    assert (result.lower, result.goals) == (1.0, LONG + 2)


def test_a_deep_term_with_a_variable_at_its_end() -> None:
    program = Program("0.5 :: p(X, X).")
    x = Var("X")
    query = Query((Struct(Functor("p", 2), (tower(LONG, x), tower(LONG, Atom("z")))),), {"X": x})
    assert dpl.prob(program, query) == 0.5
    assert list(dpl.solve(program, query)) == [{"X": "z"}]


def test_deep_terms_unify_both_ways() -> None:
    x = Var()
    trail: Trail = []
    assert unify(tower(LONG, x), tower(LONG, Atom("z")), trail, occurs_check=True)
    assert x.ref is Atom("z")
    undo(trail, 0)
    assert not unify(tower(LONG, x), tower(LONG - 1, x), trail, occurs_check=True)


def test_deep_terms_in_text() -> None:
    text = "nat(" + "s(" * LONG + "z" + ")" * LONG + ")"
    program = Program("0.5 :: nat(_).")
    assert dpl.prob(program, text) == 0.5
    assert dpl.answers(program, text) == {text: 0.5}


def test_deep_terms_are_equal_and_hash_alike() -> None:
    one, other = tower(LONG, Atom("z")), tower(LONG, Atom("z"))
    assert one == other
    assert hash(one) == hash(other)
    assert one != tower(LONG, Atom("y"))


# -- long derivations and long goals ---------------------------------------------------------------


def test_a_chain_of_fifty_thousand_goals() -> None:
    """Three goals for each number; 0 is followed by stop, True and a test that fails."""
    program = Program("p(0) :- stop. p(N) :- N > 0, M is N - 1, p(M). 0.5 :: stop.")
    result = dpl.success(program, f"p({LONG // 3})")
    assert result.lower == pytest.approx(0.5, rel=1e-9)
    assert result.goals == 3 * (LONG // 3) + 4


def test_a_two_state_chain() -> None:
    """Each step keeps or changes the state; wherever it ends, the weight is 1."""
    program = Program(
        "0.9 :: step(a, a). 0.1 :: step(a, b). 0.3 :: step(b, a). 0.7 :: step(b, b).\n"
        "chain(_, []). chain(S, [_|T]) :- step(S, R), chain(R, T)."
    )
    result = dpl.success(program, dpl.goal("chain(a, L)", L=[0] * 20_000))
    assert result.log_lower == pytest.approx(0.0, abs=1e-9)
    assert result.goals == pytest.approx(4 * 20_000, rel=0.01)


def test_a_conjunction_of_many_atoms() -> None:
    text = ", ".join(["p"] * 2000)
    assert dpl.success(Program("0.5 :: p."), text).log_lower == pytest.approx(2000 * math.log(0.5))
    body = Program("0.5 :: p.\nq :- " + text + ".")
    assert dpl.success(body, "q").log_lower == pytest.approx(2000 * math.log(0.5))


CASINO = (
    "casino(Os) :- init(S), hmm(S, Os).\n"
    "hmm(_, []). hmm(S, [O|Os]) :- emit(S, O), trans(S, T), hmm(T, Os).\n"
    "0.5 :: init(f). 0.5 :: init(l).\n"
    "0.95 :: trans(f, f). 0.05 :: trans(f, l). 0.1 :: trans(l, f). 0.9 :: trans(l, l).\n"
    + "".join(
        f"1/6 :: emit(f, {i}). {p} :: emit(l, {i}).\n" for i, p in enumerate([0.1] * 5 + [0.5], 1)
    )
)


def forward(rolls: list[int]) -> float:
    """log p(rolls) of the casino by the forward algorithm, normalised at each step."""
    emit = np.array([[1 / 6] * 6, [0.1] * 5 + [0.5]])
    move = np.array([[0.95, 0.05], [0.1, 0.9]])
    alpha, log = np.array([0.5, 0.5]), 0.0
    for roll in rolls:
        alpha = (alpha * emit[:, roll - 1]) @ move
        log += math.log(alpha.sum())
        alpha /= alpha.sum()
    return log


@pytest.mark.parametrize("length", [1, 7, 10_000])
def test_a_hidden_markov_model(length: int) -> None:
    rolls = np.random.default_rng(0).integers(1, 7, length).tolist()
    result = dpl.success(Program(CASINO), dpl.goal("casino(L)", L=rolls))
    assert result.exact
    assert result.log_lower == pytest.approx(forward(rolls), rel=1e-11)
