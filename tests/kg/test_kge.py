"""Embedding scores against their formulas in complex arithmetic, and their gradients."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from deepprooflog.errors import ModelError
from deepprooflog.kg.kge import kge, modulus
from deepprooflog.kg.kge.complex import ComplEx
from deepprooflog.kg.kge.distmult import DistMult
from deepprooflog.kg.kge.kge import Kge
from deepprooflog.kg.kge.modulus import modulus_distance, plain_distance
from deepprooflog.kg.kge.rotate import RotatE
from deepprooflog.kg.kge.transe import TransE

ENTITIES, RELATIONS, DIMENSION = 7, 3, 5


def models() -> list[Kge]:
    torch.manual_seed(0)
    rotate = RotatE(ENTITIES, RELATIONS, DIMENSION, margin=4.0)
    euclidean = RotatE(ENTITIES, RELATIONS, DIMENSION, margin=4.0, norm="euclidean")
    size = ENTITIES, RELATIONS, DIMENSION
    rest = ComplEx(*size, 1.0), TransE(*size, margin=4.0), DistMult(*size, 1.0)
    return [m.double() for m in (rotate, euclidean, *rest)]


NAMES = ["rotate", "euclidean", "complex", "transe", "distmult"]
MODELS = pytest.mark.parametrize("model", models(), ids=NAMES)


def as_complex(rows: Tensor) -> Tensor:
    """Real parts first, then imaginary ones, as torch's complex numbers."""
    half = rows.shape[-1] // 2
    return torch.complex(rows[..., :half], rows[..., half:])


def formula(model: Kge, h: int, r: int, t: int) -> float:
    """A triple's score from the paper's formula."""
    entity = as_complex(model.entity.detach())
    if isinstance(model, RotatE):
        phase = model.phase[r].detach()
        distance = (entity[h] * torch.polar(torch.ones_like(phase), phase) - entity[t]).abs()
        norm = distance.sum() if model.norm == "moduli" else distance.square().sum().sqrt()
        return model.margin - norm.item()
    if isinstance(model, TransE):
        plain, shift = model.entity.detach(), model.shift.detach()
        return model.margin - (plain[h] + shift[r] - plain[t]).abs().sum().item()
    if isinstance(model, DistMult):
        plain, scale = model.entity.detach(), model.factor.detach()
        return float((plain[h] * scale[r] * plain[t]).sum())
    assert isinstance(model, ComplEx)
    factor = as_complex(model.factor.detach())
    forward = (entity[h] * factor[r] * entity[t].conj()).sum().real
    backward = (entity[t] * factor[r + RELATIONS] * entity[h].conj()).sum().real
    return ((forward + backward) / 2).item()


def table(model: Kge) -> Tensor:
    """Every triple's score, [head, relation, tail]."""
    rows = [
        [[formula(model, h, r, t) for t in range(ENTITIES)] for r in range(RELATIONS)]
        for h in range(ENTITIES)
    ]
    return torch.tensor(rows, dtype=torch.float64)


@MODELS
@pytest.mark.parametrize("held", [1, 1 << 24])
def test_every_way_to_a_score_is_the_formula(
    model: Kge, held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Triples and all entities, cut into many pieces or into one."""
    monkeypatch.setattr(kge, "HELD", held)
    expected = table(model)
    h = torch.arange(ENTITIES)[:, None, None]
    r = torch.arange(RELATIONS)[None, :, None]
    t = torch.arange(ENTITIES)[None, None]
    torch.testing.assert_close(model.score(h, r, t).detach(), expected)

    generator = torch.Generator().manual_seed(1)
    one, two = torch.randint(ENTITIES, (2, 11), generator=generator)
    rel = torch.randint(RELATIONS, (11,), generator=generator)
    torch.testing.assert_close(model.all_tails(one, rel).detach(), expected[one, rel])
    torch.testing.assert_close(model.all_heads(rel, two).detach(), expected[:, rel, two].T)


@MODELS
def test_no_triples_no_scores(model: Kge) -> None:
    none = torch.zeros(0, dtype=torch.int64)
    assert model.score(none, none, none).shape == (0,)
    assert model.all_heads(none, none).shape == (0, ENTITIES)


def test_a_rotation_can_be_symmetric_inverse_or_composed() -> None:
    """The patterns of the paper: phases π, −θ and θ₁ + θ₂ give the margin itself."""
    model = RotatE(4, 4, 3, margin=2.0).double()
    angle = torch.tensor([0.3, 1.1, -2.0], dtype=torch.float64)
    turns = [angle, -angle, torch.full((3,), torch.pi, dtype=torch.float64), 2 * angle]
    first = torch.complex(torch.tensor([1.0, 2.0, 0.5]), torch.tensor([0.2, -1.0, 3.0]))
    first = first.to(torch.complex128)
    turned = [first, first * torch.exp(1j * angle), first * torch.exp(2j * angle), -first]
    with torch.no_grad():
        model.set_phase(torch.stack(turns))
        model.entity.copy_(torch.stack([torch.cat([z.real, z.imag]) for z in turned]))
    triples = [(0, 0, 1), (1, 1, 0), (0, 2, 3), (3, 2, 0), (0, 3, 2), (1, 0, 2)]
    h, r, t = torch.tensor(triples).unbind(1)
    expected = torch.full((len(triples),), 2.0, dtype=torch.float64)
    torch.testing.assert_close(model.score(h, r, t).detach(), expected)


def test_a_translation_can_be_inverse_or_composed() -> None:
    """Points on a line, h + r = t: the margin itself, and one less for each unit beyond."""
    model = TransE(5, 3, 2, margin=2.0).double()
    along = torch.tensor([0.25, -0.25, 0.25, 0.25], dtype=torch.float64)  # of length 1
    with torch.no_grad():
        model.entity.copy_(torch.arange(5)[:, None] * along)
        model.shift.copy_(torch.tensor([1, -1, 2])[:, None] * along)
    triples = torch.tensor([(0, 0, 1), (1, 1, 0), (1, 2, 3), (0, 0, 4), (4, 2, 4)])
    expected = torch.tensor([2.0, 2.0, 2.0, -1.0, 0.0], dtype=torch.float64)
    torch.testing.assert_close(model.score(*triples.unbind(1)).detach(), expected)


@pytest.mark.parametrize("block", [1, 40, 1 << 17])
@pytest.mark.parametrize(("groups", "rows", "n"), [(6, 1, 5), (2, 3, 5), (1, 7, 2)])
def test_distance_in_blocks_is_the_definition(
    groups: int, rows: int, n: int, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values and both gradients, whatever the blocks; equal vectors have gradient 0."""
    monkeypatch.setattr(modulus, "BLOCK", block)
    torch.manual_seed(0)
    x = torch.randn(groups, rows, 8, dtype=torch.float64)
    y = torch.randn(groups, n, 8, dtype=torch.float64)
    y[0, 0] = x[0, 0]
    weight = torch.randn(groups, rows, n, dtype=torch.float64)
    found = []
    for distance in (modulus_distance, plain_distance):
        a, b = x.clone().requires_grad_(), y.clone().requires_grad_()
        value = distance(a, b)
        (value * weight).sum().backward()
        found.append((value.detach(), a.grad, b.grad))
    torch.testing.assert_close(found[0], found[1])
    exact = (as_complex(x)[:, :, None] - as_complex(y)[:, None]).abs().sum(-1)
    torch.testing.assert_close(found[0][0], exact, atol=1e-11, rtol=1e-7)


def test_gradient_of_the_distance_by_finite_differences() -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 3, 6, dtype=torch.float64, requires_grad=True)
    y = torch.randn(2, 4, 6, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(modulus_distance, (x, y))


def test_initial_weights_lie_in_the_range_of_the_paper() -> None:
    model = RotatE(400, 20, 50, margin=9.0)
    assert 0.2 < model.entity.abs().max() <= 11 / 50
    assert 3.0 < model.phase.abs().max() <= torch.pi


def test_an_empty_embedding_is_refused() -> None:
    with pytest.raises(ModelError, match="0 relations"):
        ComplEx(3, 0, 4)


def test_phases_are_learned_on_the_scale_of_entities() -> None:
    """Adam's first step has the length of its rate: as seen from an entity, and as seen from θ."""
    model = RotatE(3, 1, dimension=5, margin=6.0)
    entity, phase = model.entity.detach().clone(), model.phase.detach().clone()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, eps=1e-12)
    (-model.score(torch.tensor(0), torch.tensor(0), torch.tensor(1))).backward()
    optimizer.step()
    moved, turned = (model.entity - entity)[:2].abs(), (model.phase - phase).abs()
    torch.testing.assert_close(moved, torch.full_like(moved, 1e-4), rtol=1e-2, atol=0)
    share = turned / torch.pi  # of half a turn; entities begin within (6 + 2) / 5
    torch.testing.assert_close(share, torch.full_like(share, 1e-4 / 1.6), rtol=1e-2, atol=0)


def test_a_kge_without_a_score_cannot_be_made() -> None:
    """What the models share is no model: relation and match are missing."""
    with pytest.raises(TypeError, match="abstract"):
        Kge(3, 2, 4)  # type: ignore[abstract]
