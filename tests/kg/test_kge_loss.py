"""Losses against sums written out, and what negatives are drawn."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from deepprooflog.kg.data.triple_set import TripleSet
from deepprooflog.kg.kge.complex import ComplEx, one_against_all
from deepprooflog.kg.kge.loss import adversarial_loss, subsampling_weights
from deepprooflog.kg.kge.negatives import CorruptedSide, corrupted_sides, known_negatives
from deepprooflog.kg.kge.options import KgeOptions
from deepprooflog.kg.kge.rotate import RotatE

TRIPLES = torch.tensor([[0, 0, 1], [2, 1, 3], [4, 0, 0], [1, 1, 4]])


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def written_out(
    model: RotatE, triple: list[int], others: list[int], tails: bool, alpha: float
) -> float:
    """The loss of one triple by plain arithmetic on scores."""

    def score(h: int, r: int, t: int) -> float:
        return model.score(*torch.tensor([h, r, t])).item()

    h, r, t = triple
    corrupt = [score(h, r, o) if tails else score(o, r, t) for o in others]
    weights = [math.exp(alpha * s) for s in corrupt]
    against = sum(w * math.log(sigmoid(-s)) for w, s in zip(weights, corrupt, strict=True))
    return -(math.log(sigmoid(score(h, r, t))) + against / sum(weights)) / 2


@pytest.mark.parametrize("alpha", [0.0, 0.7])
@pytest.mark.parametrize("tails", [True, False])
@pytest.mark.parametrize("group", [1, 2])
def test_self_adversarial_loss(alpha: float, tails: bool, group: int) -> None:
    torch.manual_seed(0)
    model = RotatE(5, 2, 3, margin=2.0).double()
    negatives = torch.randint(5, (4 // group, 6))
    side = CorruptedSide(tails, TRIPLES.reshape(-1, group, 3), negatives)
    expected = [
        written_out(model, TRIPLES[i].tolist(), negatives[i // group].tolist(), tails, alpha)
        for i in range(4)
    ]
    loss = adversarial_loss(model, side, alpha).detach()
    torch.testing.assert_close(loss, torch.tensor(expected, dtype=torch.float64))


def test_the_weights_of_negatives_are_no_path_for_gradients() -> None:
    """With the softmax held constant, the gradient is that of a weighted sum."""
    torch.manual_seed(0)
    model = RotatE(5, 2, 3, margin=2.0).double()
    side = CorruptedSide(True, TRIPLES[:, None], torch.randint(5, (4, 6)))
    adversarial_loss(model, side, 0.9).sum().backward()
    found = model.entity.grad
    h, r, t = TRIPLES.unbind(1)
    scores = model.score(h[:, None], r[:, None], side.negatives)
    weight = torch.softmax(0.9 * scores.detach(), 1)
    other = torch.log(torch.sigmoid(model.score(h, r, t)))
    other = other + (weight * torch.log(torch.sigmoid(-scores))).sum(1)
    (grad,) = torch.autograd.grad(-other.sum() / 2, [model.entity])
    torch.testing.assert_close(found, grad)


@pytest.mark.parametrize("tails", [True, False])
def test_known_corruptions_are_left_out(tails: bool) -> None:
    """The loss is that of the other negatives alone; 0 and flat where none is left."""
    torch.manual_seed(0)
    model = RotatE(5, 2, 3, margin=2.0).double()
    known = TripleSet.of(TRIPLES, entities=5)
    negatives = torch.tensor([[1, 0, 2], [3, 2, 1], [0, 4, 4], [4, 1, 0]])
    side = CorruptedSide(tails, TRIPLES[:, None], negatives)
    mask = known_negatives(known, side)
    facts = {tuple(row) for row in TRIPLES.tolist()}
    expected = []
    for (h, r, t), others in zip(TRIPLES.tolist(), negatives.tolist(), strict=True):
        false = [o for o in others if ((h, r, o) if tails else (o, r, t)) not in facts]
        assert len(false) < len(others)
        expected.append(written_out(model, [h, r, t], false, tails, 0.5))
    loss = adversarial_loss(model, side, 0.5, mask).detach()
    torch.testing.assert_close(loss, torch.tensor(expected, dtype=torch.float64))
    alone = adversarial_loss(model, side, 0.5, torch.ones_like(mask))
    scores = model.score(*TRIPLES.unbind(1))
    torch.testing.assert_close(alone, -torch.log(torch.sigmoid(scores)) / 2)


def test_one_against_all() -> None:
    """Softmax over all entities in both directions, and moduli cubed."""
    torch.manual_seed(0)
    model = ComplEx(5, 2, 3, scale=1.0).double()

    def complex_rows(table: Tensor) -> Tensor:
        return torch.complex(table[:, :3], table[:, 3:])

    entity, factor = complex_rows(model.entity.detach()), complex_rows(model.factor.detach())
    expected = []
    for h, r, t in TRIPLES.tolist():
        tails = (entity[h] * factor[r] * entity.conj()).sum(1).real
        heads = (entity[t] * factor[r + 2] * entity.conj()).sum(1).real
        entropy = tails.exp().sum().log() - tails[t] + heads.exp().sum().log() - heads[h]
        parts = (entity[h], entity[t], factor[r], factor[r + 2])
        cubes = torch.stack([v.abs().pow(3).sum() for v in parts]).sum()
        expected.append(((entropy + 0.1 * cubes) / 2).item())
    loss = one_against_all(model, TRIPLES, 0.1).detach()
    torch.testing.assert_close(loss, torch.tensor(expected, dtype=torch.float64))


def test_the_dual_regularizer() -> None:
    """Norms by complex arithmetic; without its weight the loss is as before."""
    torch.manual_seed(0)
    model = ComplEx(5, 2, 3, scale=1.0)

    def vector(row: Tensor) -> Tensor:
        return torch.complex(*row.detach().double().chunk(2))

    plain = one_against_all(model, TRIPLES, 0.0)
    more = one_against_all(model, TRIPLES, 0.0, 0.2) - plain
    for row, (h, r, t) in enumerate(TRIPLES.tolist()):
        head, tail = vector(model.entity[h]), vector(model.entity[t])
        ends = (head.abs() ** 2).sum() + (tail.abs() ** 2).sum()
        both = 0.0
        for own in (vector(model.factor[r]), vector(model.factor[r + 2])):
            turned = ((head * own).abs() ** 2).sum() + ((tail * own).abs() ** 2).sum()
            both += float(ends + 3 * turned) / 2
        assert more[row].item() == pytest.approx(0.2 * both / 2, rel=1e-5)


def test_telling_the_relation() -> None:
    """Softmax over the relations between two entities, and over their inverses the other way."""
    torch.manual_seed(0)
    model = ComplEx(5, 2, 3, scale=1.0).double()
    plain = one_against_all(model, TRIPLES, 0.0)
    more = (one_against_all(model, TRIPLES, 0.0, telling=0.5) - plain).detach()
    entity, factor = (torch.complex(t[:, :3], t[:, 3:]) for t in (model.entity, model.factor))
    expected = []
    for h, r, t in TRIPLES.tolist():
        along = (entity[h] * factor[:2] * entity[t].conj()).sum(1).real
        back = (entity[t] * factor[2:] * entity[h].conj()).sum(1).real
        entropy = along.exp().sum().log() - along[r] + back.exp().sum().log() - back[r]
        expected.append(0.5 * entropy.item() / 2)
    torch.testing.assert_close(more, torch.tensor(expected, dtype=torch.float64))


def test_negatives_of_each_and_shared_of_both_sides() -> None:
    batch = torch.arange(30).reshape(10, 3) % 4
    split = corrupted_sides(batch, 4, KgeOptions(negatives=7))
    assert [(s.tails, list(s.triples.shape), list(s.negatives.shape)) for s in split] == [
        (True, [5, 1, 3], [5, 7]), (False, [5, 1, 3], [5, 7]),
    ]  # fmt: skip
    torch.testing.assert_close(torch.cat([s.triples.reshape(-1, 3) for s in split]), batch)
    both = corrupted_sides(
        batch, 4, KgeOptions(negatives=7, sides="both", sharing="shared", group=4)
    )
    # The largest group up to 4 that divides 10 triples.
    assert [list(s.triples.shape) for s in both] == [[5, 2, 3], [5, 2, 3]]
    one = corrupted_sides(batch[:1], 4, KgeOptions())
    assert [s.tails for s in one] == [True]


def test_negatives_are_uniform() -> None:
    """χ² of 40,000 draws over 20 entities: below the 99.9 % point of 19 degrees, 43.8."""
    torch.manual_seed(0)
    sides = corrupted_sides(TRIPLES, 20, KgeOptions(negatives=10_000))
    count = torch.cat([s.negatives.reshape(-1) for s in sides]).bincount(minlength=20)
    assert count.sum() == 40_000
    assert ((count - 2000.0) ** 2 / 2000).sum() < 43.8


def test_subsampling_weights() -> None:
    """1/√(count of (h, r) + count of (r, t)): here 2 + 1, 2 + 2, 1 + 2 and 1 + 1."""
    triples = torch.tensor([[0, 0, 1], [0, 0, 2], [3, 0, 2], [0, 1, 2]])
    raw = torch.tensor([3.0, 4.0, 3.0, 2.0]).rsqrt()
    torch.testing.assert_close(subsampling_weights(triples, 2), raw / raw.mean())
