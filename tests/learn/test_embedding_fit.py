"""The paper's setting in small: an embedding scorer learns from labelled queries, exactly.

A negative query has a proof too; what is learned is not to take it.
"""

from __future__ import annotations

import torch

import deepprooflog as dpl
from deepprooflog.learn import fit

KINSHIP = """
uncle(X, Y) :- brother(X, Z), parent(Z, Y).
uncle(X, Y) :- near(X, Z), parent(Z, Y).
brother(tom, ann). brother(max, eva).
near(tom, eva). near(kim, ann). near(max, ann).
parent(ann, bob). parent(ann, joe). parent(eva, lea).
"""
POSITIVE = ["uncle(tom, bob)", "uncle(tom, joe)", "uncle(max, lea)"]
NEGATIVE = ["uncle(kim, bob)", "uncle(kim, joe)", "uncle(max, bob)", "uncle(tom, lea)"]


def test_learns_which_proofs_to_believe() -> None:
    torch.manual_seed(0)
    program = dpl.Program(KINSHIP)
    scorer = dpl.Embedding(program, dim=16, false_action=True, seed=0)
    model = dpl.Model(program, scorer=scorer)
    data = [(q, 1) for q in POSITIVE] + [(q, 0) for q in NEGATIVE]
    before = model.log_prob(POSITIVE + NEGATIVE).exp()
    assert 0.0 < before.min() < before.max() < 0.9
    history = fit(model, data, loss="cross_entropy", epochs=150, lr=0.02)
    assert history.losses[-1] < 0.1 * history.losses[0]
    after = model.log_prob(POSITIVE + NEGATIVE).exp().tolist()
    assert min(after[: len(POSITIVE)]) > 0.8
    assert max(after[len(POSITIVE) :]) < 0.2
    proof = model.best_proof("uncle(tom, bob)")
    assert proof.check()
    assert "brother(tom,ann)" in str(proof)
