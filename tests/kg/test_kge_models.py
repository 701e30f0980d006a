"""Embedding models by name: what a new one is made of, and that nothing else has to know it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from deepprooflog.errors import DataError, ModelError
from deepprooflog.kg.belief.calibration import Calibration
from deepprooflog.kg.belief.prior import as_belief, load_prior, save_prior
from deepprooflog.kg.data.triple_set import TripleSet
from deepprooflog.kg.data.triples import graph_of
from deepprooflog.kg.kge.joined import joined
from deepprooflog.kg.kge.kge import Kge, beside, conjugate, rows
from deepprooflog.kg.kge.loss import adversarial_objective
from deepprooflog.kg.kge.options import KgeOptions
from deepprooflog.kg.kge.table import BY_NAME, make_model
from deepprooflog.kg.kge.training import train_kge
from deepprooflog.kg.learn.options import GraphOptions
from deepprooflog.learn.run.options import option_fields


class RealDiagonal(Kge):
    """Re Σᵢ hᵢ rᵢ t̄ᵢ with real rᵢ: a ComplEx that does not know head from tail."""

    def __init__(self, entities: int, relations: int, dimension: int) -> None:
        super().__init__(entities, relations, dimension)
        self.diagonal = nn.Parameter(torch.randn(relations, dimension))
        nn.init.normal_(self.entity)

    @classmethod
    def make(
        cls, entities: int, relations: int, dimension: int, options: KgeOptions
    ) -> RealDiagonal:
        return cls(entities, relations, dimension)

    def relation(self, relation: Int[Tensor, "*batch"]) -> Float[Tensor, "*batch width"]:
        real = rows(self.diagonal, relation)
        return torch.cat([real, torch.zeros_like(real)], -1)

    def match(
        self, query: Float[Tensor, "group rows width"], entity: Float[Tensor, "group n width"]
    ) -> Float[Tensor, "group rows n"]:
        return query @ entity.mT

    def objective(
        self, options: KgeOptions, known: TripleSet[Tensor]
    ) -> Callable[[Int[Tensor, "batch 3"]], Float[Tensor, " batch"]]:
        return adversarial_objective(self, options, known)

    @classmethod
    def side_by_side(cls, members: Sequence[Any], dimension: int) -> RealDiagonal:
        result = cls(members[0].entities, members[0].relations, dimension)
        result.diagonal.copy_(torch.cat([m.diagonal for m in members], 1))
        result.entity.copy_(beside([m.entity for m in members]) / len(members) ** 0.5)
        return result


def test_a_new_model_is_a_class_and_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BY_NAME, "diagonal", RealDiagonal)
    married = torch.tensor([[0, 0, 1], [2, 0, 3], [4, 0, 5]])
    options = KgeOptions(kind="diagonal", dimension=8, steps=120, batch=3, negatives=4, lr=0.05)
    models = [
        train_kge(married, entities=6, relations=1, options=o).model
        for o in (options, KgeOptions(**{**vars(options), "seed": 1}))
    ]
    assert all(type(model) is RealDiagonal for model in models)
    h, r, t = married.unbind(1)
    for model in models:
        assert torch.equal(model.all_tails(h, r).argmax(1), t)
        torch.testing.assert_close(model.score(h, r, t), model.score(t, r, h))
    mean = torch.stack([m.score(h, r, t) for m in models]).mean(0)
    torch.testing.assert_close(joined(models).score(h, r, t), mean)


def test_a_new_model_is_written_and_read_as_a_prior(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(BY_NAME, "diagonal", RealDiagonal)
    graph = graph_of([("a", "r", "b"), ("b", "r", "c")])
    options = KgeOptions(kind="diagonal", dimension=4)
    lines = Calibration(torch.ones(1), torch.zeros(1), 0.5)
    belief = as_belief(make_model(options, 3, 1), lines, graph)
    save_prior(tmp_path / "prior.safetensors", belief)
    again = load_prior(tmp_path / "prior.safetensors", graph)
    assert isinstance(again.kge, RealDiagonal) and isinstance(belief.kge, RealDiagonal)
    assert torch.equal(again.kge.entity, belief.kge.entity)
    monkeypatch.delitem(BY_NAME, "diagonal")
    with pytest.raises(DataError, match="not a prior of a kind that is known here"):
        load_prior(tmp_path / "prior.safetensors", graph)


@pytest.mark.parametrize("kind", BY_NAME)
def test_a_tail_and_a_head_are_asked_the_same(kind: str) -> None:
    """Re Σ h r t̄, |h r − t| and |h + r − t| are those of the mirrored question, t ∘ r⁻¹."""
    model = make_model(KgeOptions(kind=kind, dimension=5), 4, 3)
    h, r, t = torch.tensor([0, 1]), torch.tensor([2, 0]), torch.tensor([3, 3])
    torch.testing.assert_close(model.all_tails(h, r)[[0, 1], t], model.all_heads(r, t)[[0, 1], h])
    torch.testing.assert_close(conjugate(conjugate(model.entity)), model.entity)


def test_the_kinds_of_a_prior_are_those_of_the_table() -> None:
    choices = option_fields(GraphOptions)["prior.kind"].metadata["choices"]
    assert choices == (*BY_NAME, "none", "module")


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ModelError, match="no embedding 'hole'") as refused:
        make_model(KgeOptions(kind="hole"), 2, 1)
    assert refused.value.hint == "rotate or complex or transe or distmult"
