"""Training of walks: the loss by hand, resumed runs, what a small graph teaches."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from deepprooflog.errors import DataError
from deepprooflog.kg.data.triples import Graph, graph_of
from deepprooflog.kg.walk.options import WalkOptions
from deepprooflog.kg.walk.queries import WalkQueries
from deepprooflog.kg.walk.training import train_walks, walk_losses
from deepprooflog.learn.run import loop
from kg.walk.small import facts_of, model_of

SMALL = WalkOptions(hops=2, states=2, width=8, hidden=16)


def family() -> Graph:
    """Twelve families: gran is mother of a parent."""
    train: list[tuple[str, str, str]] = []
    test: list[tuple[str, str, str]] = []
    for i in range(12):
        train += [(f"g{i}", "mother", f"p{i}"), (f"p{i}", "father", f"c{i}")]
        (train if i < 9 else test).append((f"g{i}", "gran", f"c{i}"))
    return graph_of(train, valid=test[:1], test=test[1:])


def test_the_loss_by_hand() -> None:
    """Own fact left out, other known tails out of the sum, smoothing over all entities."""
    graph = graph_of([("a", "p", "b"), ("a", "p", "c"), ("b", "q", "c")])
    model, facts = model_of(WalkOptions(hops=2, states=2)), facts_of(graph)
    queries = WalkQueries.of(graph, graph.relations, graph.train, ("train",))
    part = queries.batch(np.array([0]), "cpu")
    score = model(facts, part.head, part.relation, part.tail)[0]
    logits = score * model.policy(part.relation).sharp
    plain = torch.logsumexp(logits[[0, 1]], 0) - logits[1]
    found = walk_losses(model, facts, part)
    torch.testing.assert_close(found, plain[None])
    smooth = torch.logsumexp(logits[[0, 1]], 0) - 0.9 * logits[1] - 0.1 * logits.mean()
    torch.testing.assert_close(walk_losses(model, facts, part, smoothing=0.1), smooth[None])


def test_a_composition_is_learned() -> None:
    """gran(X, Y) :- mother(X, Z), father(Z, Y): the held-out ones come first."""
    training = replace(SMALL, epochs=20, batch=32, lr=0.05, validations=2)
    trained = train_walks(family(), training)
    assert trained.learned.best == 1.0


def test_a_resumed_run_is_the_same_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bit by bit, with hidden facts too; other options are refused."""
    graph = family()
    training = replace(SMALL, epochs=2, batch=16, hide=0.2, validations=4)
    whole = train_walks(graph, training)
    assert whole.learned.steps > 3
    path = tmp_path / "walks.pt"

    def stop(row: dict[str, float]) -> None:
        if row["step"] >= 3:
            raise InterruptedError

    monkeypatch.setattr(loop, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    with pytest.raises(InterruptedError):
        train_walks(graph, training, path=path, on_row=stop)
    first = train_walks(graph, training, path=path)
    again = train_walks(graph, training, path=path)
    for one in (first, again):
        assert one.learned.best_step == whole.learned.best_step
        for name, value in whole.model.state_dict().items():
            torch.testing.assert_close(one.model.state_dict()[name], value, rtol=0, atol=0)
    with pytest.raises(DataError, match="trained with another lr"):
        train_walks(graph, replace(training, lr=0.1), path=path)


def test_seconds_bound_the_steps() -> None:
    """Where time is short, fewer steps are taken than the epochs ask for."""
    training = replace(SMALL, epochs=10**6, seconds=0.5, batch=32, validations=1)
    trained = train_walks(family(), training)
    assert 1 <= trained.learned.steps < 10**6


def test_states_are_shared_out_evenly() -> None:
    with pytest.raises(DataError, match="5 states cannot be shared out evenly among 2 heads"):
        WalkOptions(states=5, heads=2)
