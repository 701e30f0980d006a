"""Long bodies in pieces: the same goals, the same steps, at a cost that grows with the length."""

from __future__ import annotations

import random

import pytest

import deepprooflog as dpl
from deepprooflog.graph.explore import RECURSION, Exploration
from deepprooflog.graph.goalgraph import GoalGraph
from deepprooflog.infer.method import write_down
from deepprooflog.infer.tables.tabled import Tabulation
from deepprooflog.logic.goal import Interner
from deepprooflog.logic.long_body import LONG, PIECE
from deepprooflog.logic.resolve import start

FACTS = "0.25 :: q(a, b). 0.125 :: q(a, a). 0.5 :: q(b, a). 0.125 :: q(b, b). r(_).\n"


def chain(n: int) -> str:
    body = ", ".join(f"q(X{i}, X{i + 1})" for i in range(n))
    return f"p :- {body}.\n{FACTS}"


def explored(program: dpl.Program, query: str, pieces: bool, **limits: int) -> Exploration:
    interner = Interner()
    interner.in_pieces = pieces
    goal = start(program.query(query).atoms, interner)
    exploration = Exploration(program, [goal], interner, dpl.Budget(**limits))
    exploration.advance()
    return exploration


def same_graph(a: GoalGraph, b: GoalGraph, interner: Interner) -> None:
    assert a.source.tolist() == b.source.tolist()
    assert a.target.tolist() == b.target.tolist()
    assert [(c.clause, c.number) for c in a.choices] == [(c.clause, c.number) for c in b.choices]
    assert [interner.whole(g) for g in a.goals] == b.goals


@pytest.mark.parametrize("seed", range(6))
def test_pieces_change_no_goal_and_no_step(seed: int) -> None:
    """Random bodies with variables near and far, compounds, guards and nested long bodies."""
    rng = random.Random(seed)
    n = rng.choice([LONG, LONG + 1, 2 * PIECE + 1, 3 * PIECE, 130])

    def atom(i: int) -> str:
        near, far = f"X{max(0, i - rng.randint(0, 3))}", f"X{rng.randrange(i + 1)}"
        return rng.choice(
            [
                f"q({near}, X{i + 1})",
                f"q({near}, X{i + 1})",
                f"r(f({far}, Y{i}))",
                "r(a)",
                f"{near} = {near}",
            ]
        )

    def body() -> str:
        return ", ".join(["X0 = a", *(atom(i) for i in range(n))])

    text = f"p(X0, X{n}) :- {body()}.\ns(X) :- p(X, Y), r(Y).\n{FACTS}"
    program = dpl.Program(text)
    # A program whose own interner can be compared with: goals in pieces, opened, are the others.
    limits = {"max_goals": 150}
    packed = explored(program, "s(a)", True, **limits)
    plain = explored(program, "s(a)", False, **limits)
    assert packed.interner.pieces.all
    same_graph(packed.graph(), plain.graph(), packed.interner)
    tables = [
        dpl.success(program, "s(a)", method=method, budget=dpl.Budget(max_goals=400))
        for method in ("auto", "tabled")
    ]
    if all(t.exact for t in tables):
        assert tables[0].log_lower == pytest.approx(tables[1].log_lower, rel=1e-9)


@pytest.mark.parametrize("method", ["graph", "tabled"])
def test_the_cost_of_a_long_clause_grows_with_its_length(method: str) -> None:
    work = []
    for n in (200, 400, 800):
        program = dpl.Program(chain(n))
        interner = Interner()
        interner.in_pieces = True
        goal = start(program.query("p").atoms, interner)
        search = (Exploration(program, [goal], interner) if method == "graph"
                  else Tabulation(program, goal, interner))  # fmt: skip
        search.advance()
        assert search.complete
        work.append(search.work)
    assert work[1] / work[0] < 2.2
    assert work[2] / work[1] < 2.2


def test_a_long_clause_has_the_right_value_and_a_proof() -> None:
    """Σ over paths of the product of labels, by multiplying matrices."""
    n = 300
    a, b = 1.0, 1.0  # weight of all ways on from a, from b
    for _ in range(n):
        a, b = 0.125 * a + 0.25 * b, 0.5 * a + 0.125 * b
    program = dpl.Program(chain(n))
    for method in ("auto", "graph", "tabled"):
        # Both states may begin: two derivations of an open first call.
        assert dpl.success(program, "p", method=method).lower == pytest.approx(a + b, rel=1e-9)
    proof = dpl.Model(program).best_proof("p")
    assert proof.check()
    assert len(proof.nodes) >= n


def test_recursion_and_errors_are_seen_through_pieces() -> None:
    many = ", ".join(["r(a)"] * 100)
    endless = dpl.Program(f"0.5 :: p :- p, {many}. 0.5 :: p. r(_).")
    assert explored(endless, "p", True).stopped == RECURSION
    round_ = dpl.Program(f"q :- c, {many}, d. 0.5 :: d :- c, {many}, d. 0.5 :: d. c. r(_).")
    assert explored(round_, "q", True).complete
    wrong = dpl.Program(f"s :- p.\np :- {many}, X is foo + 1, {many}.\nr(_).")
    for method in ("graph", "tabled"):
        with pytest.raises(dpl.ProofLogError) as caught:
            dpl.prob(wrong, "s", method=method)
        assert caught.value.line == 2


def test_what_is_behind_an_open_goal_is_seen_whole() -> None:
    """An upper bound is claimed only where nothing behind the open goals weighs more than 1."""
    many = ", ".join(["r(a)"] * 100)
    program = dpl.Program(f"p :- {many}, u. r(_). u. u.")
    lower, upper = dpl.bounds(program, "p", dpl.Budget(max_depth=5))
    assert (lower, upper) == (0.0, None)
    fine = dpl.Program(f"p :- {many}, u. r(_). 0.5 :: u. 0.5 :: u.")
    assert dpl.bounds(fine, "p", dpl.Budget(max_depth=5)) == (0.0, 1.0)


def test_scorers_of_whole_goals_see_no_pieces() -> None:
    program = dpl.Program(chain(100))
    interner = Interner()
    goal = start(program.query("p").atoms, interner)
    graph = write_down(program, goal, interner, local=False).graph
    assert graph is not None
    assert not interner.pieces.all
    assert max(len(g.atoms) for g in graph.goals) == 100
