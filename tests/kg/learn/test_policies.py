"""Scalar, term and goal as transition models of one run, by the table of policies."""

from __future__ import annotations

from pathlib import Path

import pytest

import deepprooflog as dpl
from deepprooflog.kg.learn.learners import LEARNERS
from deepprooflog.kg.learn.options import GraphOptions
from deepprooflog.kg.learn.policies import POLICIES
from deepprooflog.kg.walk.options import WALKS
from deepprooflog.learn.run.settings import described

TRIPLES = [(f"a{i}", "good", f"b{i}") for i in range(8)]
TRIPLES += [(f"a{i}", "likes", f"b{i}") for i in range(8)]
TRIPLES += [(f"a{i}", "poor", f"b{(i + 1) % 8}") for i in range(8)]
RULES = "likes(X, Y) :- good(X, Y). likes(X, Y) :- poor(X, Y)."


KINDS = {"goal": dpl.Embedding, "term": dpl.Leftmost, "clause": dpl.ClauseWeights}


@pytest.mark.parametrize("kind", POLICIES)
def test_each_is_trained_saved_and_opened(kind: str, tmp_path: Path) -> None:
    """p_success of likes(a0, b1), which one rule proves, is the same before and after."""
    graph = dpl.kg.load(TRIPLES)
    with pytest.warns(dpl.Notice, match="held out"):
        model = dpl.kg.train(
            graph, rules=RULES, prior="none", learner="exact", policy=kind,
            exact={"steps": 4, "batch": 8, "negatives": 4},
        )  # fmt: skip
    assert type(model.prover.policy) is KINDS[kind]
    (proof,) = model.explain("likes(a0, b1)", proofs=3).proofs
    assert "poor(a0,b1)" in str(proof)
    model.save(tmp_path / "run")
    again = dpl.kg.open(tmp_path / "run").explain("likes(a0, b1)")
    assert 0 < again.probability < 1
    assert again.probability == pytest.approx(proof.probability, rel=1e-9)


def test_the_tables_are_the_choices() -> None:
    """`--set help` shows what the tables hold; who adds a line to one adds a choice."""
    shown = described(GraphOptions)
    assert "|".join(POLICIES) in shown
    assert "|".join(["auto", *LEARNERS, WALKS, "none"]) in shown
