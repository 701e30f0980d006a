"""Best-first search for the best derivation, against every derivation and against tables."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest
from hypothesis import given

import deepprooflog as dpl
from deepprooflog.graph.explore import explore
from deepprooflog.infer.best import best_path
from deepprooflog.infer.foremost import best_first
from deepprooflog.logic.goal import Interner
from deepprooflog.logic.resolve import start
from deepprooflog.score.fixed import fixed_weights
from programs.labelled import Labelled, chains, layered


def best(text: str, query: str, budget: dpl.Budget | None = None) -> float | None:
    program = dpl.Program(text)
    interner = Interner()
    goal = start(program.query(query).atoms, interner)
    found = best_first(program, goal, interner, fixed_weights(program), budget)
    return None if found is None else math.exp(math.fsum(found[1]))


def by_graph(text: str, query: str) -> tuple[float, int] | None:
    """Weight and length of the best derivation of a finite goal graph."""
    program = dpl.Program(text)
    interner = Interner()
    graph = explore(program, [start(program.query(query).atoms, interner)], interner)
    assert graph.complete
    weights = fixed_weights(program)(graph, graph.choices)
    path = best_path(graph, weights, int(graph.roots[0]))
    return None if path is None else (math.exp(math.fsum(weights[path])), len(path))


@pytest.mark.parametrize("kind", ["chains", "layered"])
def test_finite_graphs(kind: str) -> None:
    """The same weight and length as by the max semiring over the whole graph."""

    @given({"chains": chains(), "layered": layered()}[kind])
    def check(case: Labelled) -> None:
        program = dpl.Program(case.text)
        interner = Interner()
        goal = start(program.query("p0").atoms, interner)
        found = best_first(program, goal, interner, fixed_weights(program))
        meant = by_graph(case.text, "p0")
        assert (found is None) == (meant is None)
        if found is not None and meant is not None:
            assert math.isclose(math.exp(math.fsum(found[1])), meant[0], rel_tol=1e-12)
            assert len(found[0]) == meant[1]

    check()


def test_an_endless_graph_with_a_proof_that_cannot_be_beaten() -> None:
    """The rest of the graph weighs less than the proof, so it need not be looked at."""
    assert best("0.5 :: p(X) :- p(f(X)). 0.5 :: p(_).", "p(a)") == 0.5
    assert best("0.4 :: p(X) :- p(f(X)). 0.3 :: p(f(f(_))). 0.3 :: p(a) :- fail.", "p(a)") == (
        pytest.approx(0.4 * 0.4 * 0.3)
    )


def test_words_of_an_endless_language() -> None:
    """Of all words that end in bab, read backwards: b, a, b cost .25, .5, .25, then .25."""
    text = "0.5 :: s(X) :- s([a|X]). 0.25 :: s(X) :- s([b|X]). 0.25 :: s([b, a, b|_])."
    assert best(text, "s([])") == pytest.approx(0.25 * 0.5 * 0.25 * 0.25)


def test_no_derivation() -> None:
    assert best("0.5 :: p :- q. 0.5 :: p :- p. 0.5 :: q :- fail.", "p") is None


def test_what_the_budget_cuts_off_is_said() -> None:
    """Bounds: the best derivation met, and the best that may still come."""
    text = "0.5 :: p(X) :- p(f(X)). 0.5 :: p(X) :- p(g(X))."
    with pytest.raises(dpl.Inexact) as caught:
        best(text, "p(a)", dpl.Budget(max_goals=200))
    assert caught.value.lower == 0.0
    assert caught.value.upper is not None
    assert 0.0 < caught.value.upper < 0.05


def test_a_proof_that_is_as_good_as_what_runs_for_ever() -> None:
    """The other clause's guard never ends; no proof through it could be better."""
    text = "0.5 :: p :- \\+ loop. 0.5 :: p. loop :- loop."
    proof = dpl.Model(dpl.Program(text)).best_proof("p", budget=dpl.Budget(max_seconds=0.5))
    assert proof.probability == 0.5
    assert proof.check()


def test_on_the_command_line() -> None:
    """It comes at once, without a budget."""
    run = subprocess.run(
        [sys.executable, "-m", "deepprooflog.cli", "prove", "/dev/stdin", "p(a)"],
        input="0.5 :: p(X) :- p(f(X)). 0.5 :: p(_).", capture_output=True, text=True, timeout=60,
        check=True,
    )  # fmt: skip
    assert "probability 0.5" in run.stdout
