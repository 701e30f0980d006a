"""Exploration: every goal once, budgets that say what they cut, recursion that never ends."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest

import deepprooflog as dpl
from deepprooflog import Budget, Program, ProofLogError
from deepprooflog.graph import explore
from deepprooflog.graph.explore import RECURSION
from deepprooflog.graph.goalgraph import goal_text as describe
from deepprooflog.infer.method import Method
from deepprooflog.logic.limits.watch import Watch
from graph.exploring import edges, graph_of, open_goals
from logic.stepping import goal_text

# -- the graph -------------------------------------------------------------------------------------

DIAMOND = "a :- b.\na :- c.\nb :- d.\nc :- d.\nc :- fail.\nd."


def test_every_goal_is_expanded_once() -> None:
    graph = graph_of(DIAMOND, "a")
    assert edges(graph) == ["a -> b", "a -> c", "b -> d", "c -> d", "c -> fail", "d -> true"]
    assert (graph.nodes, graph.edges, graph.stopped) == (6, 6, None)
    assert graph.complete
    assert graph.open.size == 0
    assert str(graph) == "GoalGraph(6 goals, 6 steps, complete)"


def test_goals_that_cannot_reach_true_stay_in_the_graph() -> None:
    """They are dropped after scoring: a softmax must see them."""
    shown = [goal_text(g) for g in graph_of(DIAMOND, "a").goals]
    assert "fail" in shown


def test_edges_are_grouped_by_source() -> None:
    graph = graph_of(DIAMOND, "a")
    for n in range(graph.nodes):
        assert set(graph.source[graph.first[n] : graph.first[n + 1]].tolist()) <= {n}
    assert int(graph.first[-1]) == graph.edges


def test_roots_share_their_goals() -> None:
    graph = graph_of(DIAMOND, "a", "c", "a")
    assert graph.nodes == 6
    assert graph.roots[0] == graph.roots[2] != graph.roots[1]


def test_variants_are_one_goal() -> None:
    graph = graph_of("p :- q(X, Y). p :- q(B, A). q(X, Y) :- q(Y, X). q(1, 2).", "p")
    assert edges(graph) == [
        "p -> q(A,B)", "p -> q(A,B)", "q(A,B) -> q(A,B)", "q(A,B) -> true",
    ]  # fmt: skip


def test_equal_successors_of_a_goal_are_twins() -> None:
    """N(G) is a set: under embeddings two clauses with the same successor count once."""
    graph = graph_of("p :- q. p :- r. p :- q. q. r. r.", "p")
    assert edges(graph)[:3] == ["p -> q", "p -> r", "p -> q"]
    assert graph.twin.tolist() == [0, 1, 0, 3, 4, 4]


def test_twins_must_agree_in_the_bindings_of_the_query() -> None:
    """q follows under X = a and under X = b: two successors, though one node when answers are
    not asked for."""
    program = "p(a) :- q. p(b) :- q. p(a) :- q. 0.5 :: q."
    graph = graph_of(program, "p(X)")
    assert edges(graph) == ["p(A) -> q", "p(A) -> q", "p(A) -> q", "q -> true"]
    assert graph.twin.tolist() == [0, 1, 0, 3]
    tracked = graph_of(program, "p(X)", answers=True)
    assert tracked.nodes == 5
    assert len(tracked.true_nodes()) == 2


def test_answers_have_true_nodes_of_their_own() -> None:
    graph = graph_of("p(X, Y) :- q(X), q(Y). q(1). q(2).", "p(X, Y)", answers=True)
    found = sorted(str(graph.goals[n].answer) for n in graph.true_nodes())
    assert found == ["(1, 1)", "(1, 2)", "(2, 1)", "(2, 2)"]
    assert len(graph_of("p(X, Y) :- q(X), q(Y). q(1). q(2).", "p(X, Y)").true_nodes()) == 1


# -- budgets ---------------------------------------------------------------------------------------

COUNT = "from(N) :- M is N + 1, from(M).\nfrom(N) :- stop.\n0.5 :: stop."


def test_max_depth_counts_resolution_steps() -> None:
    graph = graph_of("a :- b. b :- c. c :- d. d.", "a", max_depth=2)
    assert edges(graph) == ["a -> b", "b -> c"]
    assert open_goals(graph) == ["c"]
    assert graph.stopped == "max_depth"
    assert graph_of("a :- b. b :- c. c :- d. d.", "a", max_depth=4).complete


def test_max_depth_keeps_what_is_nearer() -> None:
    graph = graph_of(DIAMOND, "a", max_depth=2)
    assert sorted(open_goals(graph)) == ["d", "fail"]
    assert edges(graph) == ["a -> b", "a -> c", "b -> d", "c -> d", "c -> fail"]


def test_max_depth_that_cuts_nothing_leaves_the_graph_complete() -> None:
    graph = graph_of("p :- p. p :- q. q.", "p", max_depth=2)
    assert graph.complete
    assert graph.stopped is None


@pytest.mark.parametrize("limit", [1, 5, 100])
def test_max_goals(limit: int) -> None:
    graph = graph_of(COUNT, "from(0)", max_goals=limit)
    assert graph.stopped == "max_goals"
    # A goal is expanded in full, so the last one may go over by its successors.
    assert limit < graph.nodes <= limit + 2
    expanded = {*graph.source.tolist()}
    assert set(graph.open.tolist()) == {
        n for n in range(graph.nodes) if n not in expanded and not graph.goals[n].is_true
    }


def test_max_atoms() -> None:
    graph = graph_of("p(N) :- M is N + 1, p(M), q. q.", "p(0)", max_atoms=50)
    assert graph.stopped == "max_atoms"
    assert 50 < sum(len(g.atoms) for g in graph.goals) < 70
    assert len(graph.open) == 1


def test_max_seconds() -> None:
    begin = time.monotonic()
    graph = graph_of(COUNT, "from(0)", max_seconds=0.2, max_goals=None)
    assert graph.stopped == "max_seconds"
    assert len(graph.open) > 0
    assert time.monotonic() - begin < 30


def test_low_memory_of_a_block_around_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limits nearest by may be of seconds alone; memory is short all the same."""
    inner, inner.outer = Watch(Budget(max_seconds=600)), Watch(Budget(max_memory=10**9))
    monkeypatch.setattr(explore, "current", lambda: inner)
    assert graph_of(DIAMOND, "a").complete
    inner.outer.low = True
    assert graph_of(DIAMOND, "a").stopped == "max_memory"


def test_a_guard_without_an_end_is_stopped() -> None:
    program = "loop :- loop.\np :- q.\nq :- \\+ loop.\np :- r.\nr."
    graph = graph_of(program, "p", max_steps=1000)
    assert graph.stopped == "max_steps"
    assert r"\+loop" in open_goals(graph)
    assert graph_of(program, "p", max_seconds=0.2).stopped == "max_seconds"


def test_a_builtin_without_an_end_is_stopped() -> None:
    """A goal is expanded in full or not at all; what was found of it is forgotten."""
    graph = graph_of("p :- q, between(1, inf, X), r(X). q. r(_).", "p", max_goals=1000)
    assert graph.stopped == "max_goals"
    assert open_goals(graph) == ["between(1,inf,A), r(A)"]
    assert edges(graph) == [
        "p -> q, between(1,inf,A), r(A)",
        "q, between(1,inf,A), r(A) -> between(1,inf,A), r(A)",
    ]
    assert graph.nodes == 3
    graph = graph_of("p :- between(1, inf, X), r(X). r(_).", "p", max_seconds=0.2, max_goals=None)
    assert graph.stopped == "max_seconds"
    assert open_goals(graph) == ["between(1,inf,A), r(A)"]


def test_nothing_is_lost_between_found_and_open() -> None:
    """Found and open mass add up: 0.5 is found in each of the first goals, the rest is open."""
    program = Program("0.5 :: walk(N) :- M is N + 1, walk(M). 0.5 :: walk(_).")
    for depth in (3, 5, 9):
        found = dpl.success(program, "walk(0)", budget=Budget(max_depth=depth), method="graph")
        halves = (depth + 1) // 2
        assert found.lower == pytest.approx(1 - 0.5**halves)
        assert found.upper == 1.0
        assert (found.exact, found.stopped) == (False, "max_depth")


# -- recursion that never ends ---------------------------------------------------------------------

ENDLESS = {
    "binary": ("0.4 :: p :- p, p. 0.6 :: p.", "p"),
    "left-recursive grammar": (
        "0.4 :: s --> s, s. 0.6 :: s --> [a].",
        "s([a, a, a], [])",
    ),
    "left recursion with arguments": (
        "0.5 :: e(X, Z) :- e(X, Y), f(Y, Z). 0.5 :: e(X, X). 1 :: f(X, X).",
        "e(a, Z)",
    ),
    "mutual": ("0.5 :: a :- b, c. 0.5 :: a. b :- a, c. c.", "a"),
    "mutual over three": ("0.3 :: a :- b, d. 0.7 :: a. b :- c, d. c :- a, d. d.", "a"),
    "below others": ("q :- d, d, p. d. 0.4 :: p :- p, p. 0.6 :: p.", "q"),
    "continuation bound by the call": (
        "0.5 :: n(z). 0.5 :: n(s(X)) :- n(X), g(X). g(_).",
        "n(N)",
    ),
}


@pytest.mark.parametrize(("program", "query"), ENDLESS.values(), ids=ENDLESS)
def test_a_goal_graph_without_end_is_noticed(program: str, query: str) -> None:
    graph = graph_of(program, query)
    assert graph.stopped == RECURSION
    assert graph.nodes < 5000
    assert len(graph.open) > 0


FINITE = {
    "fold without tail recursion": (
        "sum([], 0). sum([X|Xs], S) :- sum(Xs, T), S is X + T.",
        f"sum({list(range(500))}, S)",
    ),
    "naive reverse": (
        "rev([], []). rev([X|Xs], R) :- rev(Xs, S), app(S, [X], R).\n"
        "app([], L, L). app([X|Xs], L, [X|R]) :- app(Xs, L, R).",
        f"rev({list(range(40))}, R)",
    ),
    "a long body that comes back": (
        "q :- c, d. 0.5 :: d :- c" + ", x" * 20 + ", d. 0.5 :: d. c. x.",
        "q",
    ),
    "the same call again and again": ("p :- " + ", ".join(["a"] * 100) + ". a.", "p"),
    "the same call nested in different ones": (
        "t(0) :- a. t(N) :- N > 0, M is N - 1, t(M), a, t(M). a.",
        "t(6)",
    ),
    "a cycle of equal length": ("a :- b, x, x. b :- c, x. c :- x, x. x.", "a"),
}


@pytest.mark.parametrize(("program", "query"), FINITE.values(), ids=FINITE)
def test_no_false_alarm_on_what_ends(program: str, query: str) -> None:
    assert graph_of(program, query).complete


def test_a_long_fold_has_the_right_value() -> None:
    program = Program("sum([], 0). sum([X|Xs], S) :- sum(Xs, T), S is X + T.")
    query = dpl.goal("sum(L, S)", L=list(range(500)))
    assert list(dpl.answers(program, query).values()) == [1.0]
    (answer,) = dpl.answers(program, query)
    assert answer.endswith(f",{500 * 499 // 2})")


@pytest.mark.parametrize("method", ["auto", "graph", "tabled"])
def test_a_fold_over_choices_has_the_right_value(method: Method) -> None:
    """How many of 60 coins fall heads is binomial."""
    program = Program(
        "0.5 :: bit(0). 0.5 :: bit(1).\n"
        "sum([], 0). sum([_|Xs], S) :- sum(Xs, T), bit(B), S is B + T."
    )
    result = dpl.success(program, dpl.goal("sum(L, 25)", L=[0] * 60), method=method)
    assert result.exact
    assert result.lower == pytest.approx(math.comb(60, 25) / 2**60, rel=1e-11)


# -- errors ----------------------------------------------------------------------------------------


def test_errors_name_the_clause_that_brought_the_atom_in() -> None:
    program = "p :- a, b.\na :- c, c.\nc.\nb :- c,\n  X is foo + 1, c."
    with pytest.raises(ProofLogError) as caught:
        graph_of(program, "p")
    assert caught.value.line == 4
    with pytest.raises(ProofLogError) as caught:
        graph_of("p.", "p, missing")
    assert caught.value.line is None


def test_long_goals_are_described_briefly() -> None:
    graph = graph_of("p :- " + ", ".join(["a"] * 20) + ". a.", "p", max_depth=1)
    assert describe(graph.goals[1]) == "a, a, a, a, a, a, a, a, … (12 more)"
    assert describe(graph_of("p.", "p").goals[1]) == "true"


def test_arrays_have_the_types_they_say() -> None:
    graph = graph_of(DIAMOND, "a")
    for array in (graph.source, graph.target, graph.twin, graph.roots, graph.open, graph.first):
        assert array.dtype == np.int64
