"""Exact learning of a policy: losses by hand, what is learned, interruption."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

import deepprooflog as dpl
from deepprooflog.kg.data.rules import parse_rules
from deepprooflog.kg.data.triples import Graph, graph_of
from deepprooflog.kg.learn.exact_learner import ranking_losses, train_exact
from deepprooflog.kg.learn.exact_options import ExactOptions
from deepprooflog.kg.prove.depth import depths
from deepprooflog.kg.prove.program import database_of, program_of
from deepprooflog.kg.prove.prover import ExploreLimits, Prover
from deepprooflog.learn.run import loop
from deepprooflog.score.embedding.embedding import Embedding

# Of the two rules only the first leads from mothers to parents; the second proves the negatives.
RULES = "parent(X, Y) :- mother(X, Y). parent(X, Y) :- rival(X, Y)."


def family() -> Graph:
    names = [f"p{i}" for i in range(12)]
    mothers = [(names[i], "mother", names[i + 1]) for i in range(11)]
    rivals = [(a, "rival", b) for i, a in enumerate(names) for b in names[:i]]
    parents = [(a, "parent", b) for a, _, b in mothers]
    return graph_of([*mothers, *rivals, *parents[:8]], parents[8:10], parents[10:])


def prover_of(graph: Graph, rules: str = RULES, seed: int = 0) -> Prover:
    read = parse_rules(rules)
    policy = Embedding(program_of(graph, read), 8, "mlp", "mean", seed=seed, constants="shared")
    return Prover(database_of(graph, read, nesting=1), policy, limits=ExploreLimits(depth=10))


def test_the_losses_by_hand() -> None:
    p = torch.tensor([0.5, 0.2], dtype=torch.float64)
    n = torch.tensor([0.25, 0.25, 0.0], dtype=torch.float64)
    origin = torch.tensor([0, 0, 1])
    ranking = [math.log(1.0 / 0.5), 0.0]
    cross = [-math.log(0.5) - 2 * math.log(0.75), -math.log(0.2)]
    assert ranking_losses(p, n, origin, 0.0).tolist() == pytest.approx(ranking, abs=1e-6)
    both = [r + 0.3 * c for r, c in zip(ranking, cross, strict=True)]
    assert ranking_losses(p, n, origin, 0.3).tolist() == pytest.approx(both, abs=1e-6)
    alone = ranking_losses(p, n, origin, 1.0, ranking=0.0)
    assert alone.tolist() == pytest.approx(cross, abs=1e-6)


def test_a_query_without_a_proof_has_a_finite_loss_and_no_gradient() -> None:
    p = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    loss = ranking_losses(p, torch.zeros(1, dtype=torch.float64), torch.tensor([0]), 0.0)
    assert loss.item() == pytest.approx(math.log(2))
    assert math.isfinite(loss.item())


def test_the_right_rule_is_learned() -> None:
    """p_success of unseen parents rises towards 1, that of rivals falls towards 0."""
    graph = family()
    prover = prover_of(graph)
    held = torch.from_numpy(graph.test)
    wrong = held.clone()
    wrong[:, [0, 2]] = held[:, [2, 0]]
    before = prover(held).success.detach()
    parents = graph.train[graph.train[:, 1] == graph.relation_ids["parent"]]
    options = ExactOptions(steps=60, batch=8, negatives=6, lr=0.05, calibration=1.0)
    learned = train_exact(prover, graph, parents, options)
    assert learned.steps == 60
    assert float(before.max()) < 0.9
    assert prover(held).success.min().item() > 0.95
    assert prover(wrong).success.max().item() < 0.05


def test_an_interrupted_run_goes_on_bit_by_bit(tmp_path: Path) -> None:
    graph = family()
    parents = graph.train[graph.train[:, 1] == graph.relation_ids["parent"]]
    options = ExactOptions(steps=12, batch=4, negatives=2, validate_every=4)
    whole = prover_of(graph)
    train_exact(whole, graph, parents, options, path=tmp_path / "whole.pt")

    class Killed(Exception):
        pass

    def kill(row: dict[str, float]) -> None:
        if row["step"] == 8:
            raise Killed

    cut = prover_of(graph)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
        with pytest.raises(Killed):
            train_exact(cut, graph, parents, options, path=tmp_path / "cut.pt", on_row=kill)
    again = prover_of(graph, seed=5)
    found = train_exact(again, graph, parents, options, path=tmp_path / "cut.pt")
    assert [row["step"] for row in found.history] == [4.0, 8.0, 12.0]
    for one, two in zip(whole.policy.parameters(), again.policy.parameters(), strict=True):
        assert torch.equal(one, two)


def test_validation_keeps_the_best(tmp_path: Path) -> None:
    graph = family()
    values = iter([0.1, 0.5, 0.3, 0.2])
    seen = []

    def validate(prover: Prover) -> float:
        seen.append(_true(prover).clone())
        return next(values)

    prover = prover_of(graph)
    options = ExactOptions(steps=15, batch=4, negatives=2, validate_every=5)
    learned = train_exact(prover, graph, graph.train, options, validate=validate)
    assert (learned.best_step, learned.best) == (5, 0.5)
    assert torch.equal(_true(prover), seen[1])
    stop = iter([0.5, 0.4, 0.4, 0.4])
    early = train_exact(
        prover_of(graph), graph, graph.train, replace(options, patience=1),
        validate=lambda _: next(stop),
    )  # fmt: skip
    assert early.steps == 5


def test_another_runs_checkpoint_is_refused(tmp_path: Path) -> None:
    graph = family()
    options = ExactOptions(steps=2, batch=4, negatives=1, validate_every=1)
    train_exact(prover_of(graph), graph, graph.train, options, path=tmp_path / "a.pt")
    with pytest.raises(dpl.ProofLogError, match="another lr"):
        train_exact(
            prover_of(graph), graph, graph.train, replace(options, lr=1.0), path=tmp_path / "a.pt"
        )
    with pytest.raises(dpl.ProofLogError, match="no triples"):
        train_exact(prover_of(graph), graph, graph.train[:0], options)


def test_depths_count_resolution_steps() -> None:
    """A fact is one step, a rule over facts one more for each atom of its body."""
    graph = graph_of(
        [("a", "r", "b"), ("b", "r", "c"), ("c", "r", "d"), ("a", "s", "c")],
        [("a", "s", "b")],
        [("a", "s", "d")],
    )
    rules = "s(X, Z) :- r(X, Y), r(Y, Z). s(X, Z) :- r(X, Y), s(Y, Z)."
    read = parse_rules(rules)
    policy = Embedding(program_of(graph, read), 4, constants="shared", seed=0)
    prover = Prover(database_of(graph, read, nesting=2), policy)
    ids = graph.entity_ids
    s = graph.relation_ids["s"]
    names = {str(graph.entity_text(i)): i for i in ids.values()}
    rows = [[names[x], s, names[y]] for x, y in (("a", "c"), ("b", "d"), ("a", "d"), ("d", "a"))]
    found = depths(prover, torch.tensor(rows).numpy())
    assert found.tolist() == [1, 3, 5, -1]


def _true(prover: Prover) -> Tensor:
    policy = prover.policy
    assert isinstance(policy, Embedding)
    return policy.true.detach()
