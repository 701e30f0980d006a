"""The most probable derivation, against listing all of them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given

import deepprooflog as dpl
from deepprooflog.infer.best import best_path
from infer.weighed import DRAWS, weighed
from programs.labelled import Labelled, chains, derivations, layered, reaching


@given(layered())
def test_the_best_of_all_derivations(case: Labelled) -> None:
    model = dpl.Model(dpl.Program(case.text))
    weights = list(derivations(case, 0))
    if not weights:
        with pytest.raises(dpl.ProgramError, match="no proof"):
            model.best_proof("p0")
        return
    proof = model.best_proof("p0")
    assert proof.probability == pytest.approx(max(weights), rel=1e-12)
    assert proof.check()
    steps = math.fsum(node.log_weight for node in proof.nodes)
    assert steps == pytest.approx(proof.log_prob, abs=1e-12)


@given(chains())
def test_around_cycles_a_best_proof_replays(case: Labelled) -> None:
    model = dpl.Model(dpl.Program(case.text))
    for i, live in enumerate(reaching(case).tolist()):
        if not live:
            continue
        proof = model.best_proof(f"p{i}")
        assert proof.check()
        assert proof.log_prob <= model.log_prob([f"p{i}"]).item() + 1e-9
        # No derivation that goes round a cycle is better than the same one without the turn.
        names = [node.atom for node in proof.nodes if node.atom.startswith("p")]
        assert len(names) == len(set(names))


def test_the_most_probable_answer_of_an_open_query() -> None:
    program = dpl.Program(
        "0.4 :: s(X) :- p(X), p(X). 0.6 :: s(X) :- q(X). "
        "0.3 :: p(a). 0.7 :: p(b). 0.2 :: q(a). 0.8 :: q(b)."
    )
    proof = dpl.Model(program).best_proof("s(X)")
    assert proof.bindings == {"X": "b"}
    assert proof.probability == pytest.approx(0.48)


@pytest.mark.parametrize("n", [1, 2, 5, 9])
def test_the_best_tree_of_an_ambiguous_grammar(n: int) -> None:
    """All trees of aⁿ weigh .4ⁿ⁻¹ .6ⁿ; one of them has 2n − 1 nodes."""
    program = dpl.Program("0.4 :: s --> s, s. 0.6 :: s --> [a].")
    proof = dpl.Model(program).best_proof(f"s([{', '.join('a' * n)}], [])")
    assert proof.probability == pytest.approx(0.4 ** (n - 1) * 0.6**n, rel=1e-12)
    assert len([node for node in proof.nodes if node.atom.startswith("s(")]) == 2 * n - 1
    assert proof.check()


@pytest.mark.parametrize(("pi", "best"), [(0.3, 0.7), (0.9, 0.1)])
def test_the_best_derivation_where_goals_grow_without_end(pi: float, best: float) -> None:
    program = dpl.Program(f"{pi} :: p :- p, p. {1 - pi:.1f} :: p.")
    proof = dpl.Model(program).best_proof("p")
    assert proof.probability == pytest.approx(best)
    assert proof.check()


def test_of_equal_derivations_the_shortest() -> None:
    """Going round the unlabelled cycle costs nothing; the best proof does not."""
    program = dpl.Program("0.5 :: w. a :- b. b :- c. c :- b, fail. c :- w.")
    proof = dpl.Model(program).best_proof("a")
    assert [node.atom for node in proof.nodes] == ["a", "b", "c", "w"]


def test_the_steps_of_the_best_derivation() -> None:
    """Of the nine sums of two draws, 1 + 1 is drawn with ½ · ½; its steps lead to True."""
    graph, weights, _ = weighed(DRAWS, "sum(S)")
    path = best_path(graph, weights, int(graph.roots[0]))
    assert path is not None and graph.goals[int(graph.target[path[-1]])].is_true
    assert math.exp(math.fsum(weights[path])) == pytest.approx(0.25)
