"""Training finds planted structure, repeats itself, and goes on after an interruption."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from deepprooflog.errors import DataError
from deepprooflog.kg.data.triple_set import TripleSet
from deepprooflog.kg.kge.distmult import DistMult, one_against_all_real
from deepprooflog.kg.kge.kge import Kge
from deepprooflog.kg.kge.options import KgeOptions
from deepprooflog.kg.kge.table import make_model
from deepprooflog.kg.kge.training import TrainedKge, kge_loop, objective, train_kge
from deepprooflog.learn.run import loop
from deepprooflog.learn.run.minibatch import BatchStream

RING, TURNS = 24, (1, 5, 12)  # 12 is its own inverse: a symmetric relation


def ring() -> tuple[Tensor, Tensor]:
    """Rotations of a ring by fixed turns, as triples for training and others for testing."""
    every = [(i, r, (i + turn) % RING) for r, turn in enumerate(TURNS) for i in range(RING)]
    order = torch.randperm(len(every), generator=torch.Generator().manual_seed(0))
    triples = torch.tensor(every)[order]
    return triples[12:], triples[:12]


def mrr(model: Kge, triples: Tensor, truths: Tensor) -> float:
    """The filtered mean reciprocal rank over all entities, both sides, ties at their mean."""
    known = {tuple(row) for row in truths.tolist()}
    total = 0.0
    with torch.no_grad():
        for h, r, t in triples.tolist():
            one = torch.tensor([h]), torch.tensor([r]), torch.tensor([t])
            tails, heads = model.all_tails(one[0], one[1])[0], model.all_heads(one[1], one[2])[0]
            for scores, own, tail in ((tails, t, True), (heads, h, False)):
                others = [
                    e for e in range(model.entities)
                    if e != own and ((h, r, e) if tail else (e, r, t)) not in known
                ]  # fmt: skip
                above = (scores[others] > scores[own]).sum().item()
                ties = (scores[others] == scores[own]).sum().item()
                total += 1 / (1 + above + ties / 2)
    return total / (2 * len(triples))


# Filtered: on so small a graph one negative in 24 is the triple itself.
ROTATE = KgeOptions(
    kind="rotate", dimension=16, margin=6.0, steps=250, batch=32, negatives=16, lr=0.04,
    validate_every=250, filtered=True,
)  # fmt: skip


@pytest.mark.parametrize(
    "options",
    [
        ROTATE,
        replace(ROTATE, sharing="shared", group=8),
        replace(ROTATE, sides="both", decay="cosine", subsampling=True),
    ],
    ids=["each", "shared", "both sides, weighed"],
)
def test_rotate_ranks_unseen_rotations_perfectly(options: KgeOptions) -> None:
    """A ring under rotations is RotatE's own model: every held-out triple comes first."""
    train, test = ring()
    found = train_kge(train, entities=RING, relations=3, options=options)
    assert mrr(found.model, test, torch.cat([train, test])) == 1.0


def test_complex_learns_symmetric_and_antisymmetric_relations() -> None:
    """Teams and an order of them: held-out triples follow from the rest."""
    teams = [range(4 * k, 4 * k + 4) for k in range(6)]
    mates = [(a, 0, b) for team in teams for a in team for b in team if a != b]
    beats = [
        (a, 1, b) for i, one in enumerate(teams) for two in teams[i + 1 :] for a in one for b in two
    ]
    triples = torch.tensor(mates + beats)
    order = torch.randperm(len(triples), generator=torch.Generator().manual_seed(0))
    train, test = triples[order[30:]], triples[order[:30]]
    options = KgeOptions(kind="complex", dimension=16, steps=300, batch=64, lr=0.05, n3=0.005)
    model = train_kge(train, entities=24, relations=2, options=options).model
    assert mrr(model, test, triples) > 0.95
    with torch.no_grad():
        h, r, t = train[train[:, 1] == 1].unbind(1)
        assert (model.score(h, r, t) > model.score(t, r, h)).all()


def test_distmult_learns_symmetric_relations_and_no_others() -> None:
    """Held-out mates come first; who beats whom has one score both ways."""
    mates = [(a, 0, b) for k in range(6) for a in range(4 * k, 4 * k + 4)
             for b in range(4 * k, 4 * k + 4) if a != b]  # fmt: skip
    beats = [(a, 1, b) for a in range(24) for b in range(24) if a // 4 < b // 4]
    triples = torch.tensor(mates + beats)
    order = torch.randperm(len(mates), generator=torch.Generator().manual_seed(0))
    train = triples[torch.cat([order[12:], torch.arange(len(mates), len(triples))])]
    options = KgeOptions(kind="distmult", dimension=16, steps=80, batch=64, lr=0.05, n3=0.005)
    model = train_kge(train, entities=24, relations=2, options=options).model
    assert mrr(model, triples[order[:12]], triples) > 0.95
    h, r, t = triples.unbind(1)
    torch.testing.assert_close(model.score(h, r, t), model.score(t, r, h))


def test_the_loss_of_distmult_is_its_formula() -> None:
    """−log softmax of both directions and the cubes, halved, by hand."""
    model = DistMult(3, 1, 1, scale=1.0).double()
    e, f = model.entity.detach(), model.factor.detach()[0]
    by_hand = sum(
        -torch.log_softmax(e @ (e[a] * f), 0)[b] for a, b in ((0, 2), (2, 0))
    ) + 0.3 * (e[0].abs() ** 3 + e[2].abs() ** 3 + 2 * f.abs() ** 3).sum()  # fmt: skip
    found = one_against_all_real(model, torch.tensor([[0, 0, 2]]), 0.3)
    torch.testing.assert_close(found[0].detach(), by_hand / 2)


def test_a_step_of_the_optimizer_is_adams_by_hand() -> None:
    """After one step each weight with a gradient has moved by lr·g/(|g| + ε)."""
    train, _ = ring()
    options = replace(ROTATE, steps=1, decay="constant", lr=0.01)
    torch.manual_seed(3)
    model = make_model(options, RING, 3)
    before = model.entity.detach().clone()
    state = torch.get_rng_state()
    kge_loop(model, train, options).run()
    torch.set_rng_state(state)
    other = make_model(options, RING, 3)
    batch = BatchStream(len(train), torch.device("cpu")).take(options.batch)
    objective(other, train, options)(batch).mean().backward()
    grad = other.entity.grad
    assert grad is not None and (grad != 0).any()
    torch.testing.assert_close(model.entity.detach(), before - 0.01 * grad / (grad.abs() + 1e-8))


def run(path: Path | None, options: KgeOptions, calls: list[int] | None = None) -> TrainedKge:
    train, test = ring()

    def validate(model: Kge) -> float:
        if calls is not None:
            calls.append(1)
            if len(calls) == 2:
                raise KeyboardInterrupt
        return mrr(model, test, torch.cat([train, test]))

    return train_kge(
        train, entities=RING, relations=3, options=options, validate=validate, path=path
    )


SHORT = replace(ROTATE, steps=60, validate_every=15)


@pytest.mark.parametrize("options", [SHORT, replace(SHORT, kind="complex")], ids=lambda o: o.kind)
def test_interrupted_and_resumed_bit_by_bit(
    options: KgeOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    whole = run(None, options)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "kge.pt", options, [])
    resumed = run(tmp_path / "kge.pt", options)
    assert [row["step"] for row in resumed.history] == [15, 30, 45, 60]
    for one, two in zip(whole.history, resumed.history, strict=True):
        assert {k: v for k, v in one.items() if k != "seconds"} == {
            k: v for k, v in two.items() if k != "seconds"
        }
    weights, again = whole.model.state_dict(), resumed.model.state_dict()
    assert all(torch.equal(weights[key], again[key]) for key in weights)


def test_seeds_and_the_global_random_numbers() -> None:
    """One seed, one result; another, another; and the caller's random numbers are left alone."""
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    one, same, other = (run(None, replace(SHORT, seed=s)).model.entity for s in (0, 0, 1))
    assert torch.equal(torch.rand(3), expected)
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


def test_a_finished_run_is_not_trained_further(tmp_path: Path) -> None:
    first = run(tmp_path / "kge.pt", SHORT)
    second = run(tmp_path / "kge.pt", SHORT)
    assert torch.equal(first.model.entity, second.model.entity)
    assert len(second.history) == 4


def test_early_stopping_keeps_the_best_weights() -> None:
    """With a validation that falls from the second look on, patience 2 ends the fourth."""
    train, _ = ring()
    values = iter([0.1, 0.4, 0.9, 0.5, 0.3, 0.2])
    seen: list[Tensor] = []

    def validate(model: Kge) -> float:
        seen.append(model.entity.detach().clone())
        return next(values)

    options = replace(ROTATE, steps=100, validate_every=10, patience=2)
    found = train_kge(train, entities=RING, relations=3, options=options, validate=validate)
    assert (found.steps, found.best_step, len(seen)) == (40, 20, 5)
    assert torch.equal(found.model.entity, seen[2])


def test_checkpoints_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "kge.pt"
    run(path, SHORT)
    with pytest.raises(DataError, match="another steps, lr"):
        run(path, replace(SHORT, steps=70, lr=0.5))
    other = torch.tensor([[0, 0, 1], [1, 0, 0]])
    with pytest.raises(DataError, match="does not fit this graph"):
        train_kge(other, entities=2, relations=1, options=SHORT, path=path)
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(DataError, match="damaged"):
        run(path, SHORT)


def test_a_stream_visits_everything_equally_often() -> None:
    stream = BatchStream(7, torch.device("cpu"))
    seen = torch.cat([stream.take(size) for size in (3, 5, 20, 1, 6)])
    assert seen.bincount(minlength=7).tolist() == [5] * 7
    assert all(len(set(seen[i : i + 7].tolist())) == 7 for i in range(0, 35, 7))


def test_bad_input_is_named() -> None:
    with pytest.raises(DataError, match="no triples"):
        train_kge(torch.zeros(0, 3, dtype=torch.int64), entities=2, relations=1, options=SHORT)
    with pytest.raises(DataError, match="triple 0 has tail 9"):
        train_kge(torch.tensor([[0, 0, 9]]), entities=2, relations=1, options=SHORT)
    with pytest.raises(DataError, match="sharing is one of each, shared, not 'none'"):
        replace(SHORT, sharing="none")
    with pytest.raises(DataError, match="lr is above 0"):
        replace(SHORT, lr=float("nan"))


def test_filtering_uses_the_training_triples() -> None:
    """On a complete graph every corruption is known: only the true triples count."""
    every = torch.cartesian_prod(torch.arange(4), torch.arange(1), torch.arange(4))
    options = replace(ROTATE, dimension=3, batch=16, filtered=True)
    model = make_model(options, 4, 1).double()
    losses = objective(model, every, options)(torch.arange(16)).detach()
    scores = model.score(*every.unbind(1)).detach()
    torch.testing.assert_close(losses, -torch.log(torch.sigmoid(scores)) / 2)
    assert TripleSet.of(every, entities=4).holds(*every.unbind(1)).all()
