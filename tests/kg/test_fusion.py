"""Late fusion: the score by hand, and weights found on a graph where they are known."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from deepprooflog.kg.belief.believe import Belief
from deepprooflog.kg.belief.calibration import Calibration
from deepprooflog.kg.data.domains import Candidates
from deepprooflog.kg.data.rules import parse_rules
from deepprooflog.kg.data.triples import Graph, graph_of
from deepprooflog.kg.evaluation.fusion import FLOORS, WEIGHTS, LateFusion, Recorded, fit_fusion
from deepprooflog.kg.evaluation.metrics import means, ranks
from deepprooflog.kg.evaluation.ranking import rank
from deepprooflog.kg.kge.complex import ComplEx
from deepprooflog.kg.prove.program import database_of, program_of
from deepprooflog.kg.prove.prover import Prover
from deepprooflog.score.embedding.embedding import Embedding


def graph() -> Graph:
    names = [f"p{i}" for i in range(15)]
    mothers = [(names[i], "mother", names[i + 1]) for i in range(14)]
    parents = [(a, "parent", b) for a, _, b in mothers]
    return graph_of([*mothers, *parents[:4]], parents[4:10], parents[10:])


def prover(seed: int = 0) -> Prover:
    """A rule that is always right beside a prior that knows nothing."""
    world = graph()
    rules = parse_rules("parent(X, Y) :- mother(X, Y).")
    torch.manual_seed(seed)
    kge = ComplEx(len(world.entities), len(world.relations), 4)
    for parameter in kge.parameters():
        torch.nn.init.normal_(parameter)
    flat = Calibration(torch.ones(2), torch.zeros(2), 0.5)
    policy = Embedding(program_of(world, rules, believe=True), 8, seed=0, constants="shared")
    database = database_of(world, rules, believe="query", nesting=1)
    return Prover(database, policy, Belief(kge, flat, world.relations, world.entities))


def test_the_score() -> None:
    found = LateFusion(0.5, 0.1).score(
        torch.tensor([math.log(0.25), 0.0]), torch.tensor([0.4, 0.0])
    )
    assert found.tolist() == pytest.approx([0.5 * math.log(0.25) + math.log(0.5), math.log(0.1)])


def test_a_useless_prior_gets_little_weight() -> None:
    world, found = graph(), prover()
    fusion = fit_fusion(found, world, world.valid, negatives=10)
    assert fusion.weight in WEIGHTS
    assert fusion.floor in FLOORS
    recorded = Recorded(found)
    rank(world, recorded, world.test, negatives=10)
    ranked = rank(world, recorded.again(fusion), world.test, negatives=10).ranked
    # Each test triple is provable and none of its corruptions is.
    assert means(ranks(ranked.better, ranked.equal))["mrr"] == pytest.approx(1.0)
    heavy = rank(world, recorded.again(LateFusion(30.0, 0.1)), world.test, negatives=10).ranked
    assert means(ranks(heavy.better, heavy.equal))["mrr"] < 1.0


def test_what_is_recorded_is_what_was_scored() -> None:
    world, found = graph(), prover(1)
    recorded = Recorded(found)
    triples = torch.from_numpy(world.test)
    success = recorded(triples)
    ((prior, proof),) = recorded.calls
    assert torch.equal(success, found(triples).success.detach())
    assert torch.equal(proof, found(triples).proof.detach())
    again = recorded.again(LateFusion(1.0, 1e-8))(triples)
    assert torch.allclose(again, prior + (proof + 1e-8).log())


def test_weights_are_fitted_among_the_candidates() -> None:
    """Ranked as the run ranks: what is scored while fitting has tails of the domain only."""
    world, found = graph(), prover()
    domain = np.sort(np.unique(world.valid[:, 2]))
    seen: list[torch.Tensor] = []
    explore = found.forward

    def kept(triples: torch.Tensor, **given: Any) -> Any:
        seen.append(triples)
        return explore(triples, **given)

    found.forward = kept  # type: ignore[method-assign]
    fit_fusion(found, world, world.valid, candidates=Candidates(("tail",), domain))
    scored = torch.cat(seen)
    assert set(scored[:, 2].tolist()) == set(domain.tolist())
    assert set(scored[:, 0].tolist()) == set(world.valid[:, 0].tolist())
