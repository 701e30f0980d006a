"""f_agg: what each does with the order and the number of atoms."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from deepprooflog.errors import ModelError
from deepprooflog.score.embedding.aggregate import aggregate_function
from deepprooflog.score.segments import segments

DIM = 4
LENGTHS = [3, 1, 2]


@pytest.fixture
def atoms() -> Tensor:
    return torch.from_numpy(np.random.default_rng(0).normal(size=(sum(LENGTHS), 2, DIM)))


def run(name: str, atoms: Tensor) -> np.ndarray:
    torch.manual_seed(0)
    f_agg = aggregate_function(name, DIM)
    if isinstance(f_agg, torch.nn.Module):
        f_agg = f_agg.double()
    return f_agg(atoms, segments(LENGTHS, backwards=True)).detach().numpy()


def goals(atoms: Tensor) -> list[np.ndarray]:
    return np.split(atoms.numpy(), np.cumsum(LENGTHS)[:-1])


def test_sum_and_mean(atoms: Tensor) -> None:
    np.testing.assert_allclose(run("sum", atoms), [g.sum(0) for g in goals(atoms)])
    np.testing.assert_allclose(run("mean", atoms), [g.mean(0) for g in goals(atoms)])


def test_attention_weighs_atoms_by_a_softmax(atoms: Tensor) -> None:
    torch.manual_seed(0)
    f_agg = aggregate_function("attention", DIM).double()  # type: ignore[attr-defined]
    first, _, second = f_agg.score
    w, b, v = (p.detach().numpy() for p in (first.weight, first.bias, second.weight))
    expected = []
    for goal in goals(atoms):
        score = np.tanh(goal @ w.T + b) @ v[0]  # [atoms, batch]
        alpha = np.exp(score) / np.exp(score).sum(0)
        expected.append((alpha[..., None] * goal).sum(0))
    np.testing.assert_allclose(run("attention", atoms), expected)


@pytest.mark.parametrize(
    ("name", "sees_order"), [("sum", False), ("mean", False), ("attention", False), ("gru", True)]
)
def test_who_sees_the_order_of_atoms(name: str, sees_order: bool, atoms: Tensor) -> None:
    other = atoms[[2, 0, 1, 3, 5, 4]]
    same = np.isclose(run(name, atoms), run(name, other), atol=1e-9).all(axis=(1, 2))
    assert same.tolist() == ([False, True, False] if sees_order else [True, True, True])


def test_gru_reads_the_leftmost_atom_last(atoms: Tensor) -> None:
    """Its result is torch's own GRU run over the goal from its end."""
    torch.manual_seed(0)
    gru = aggregate_function("gru", DIM).double().gru  # type: ignore[attr-defined]
    expected = [gru(torch.from_numpy(g[::-1].copy()))[1][0].detach().numpy() for g in goals(atoms)]
    np.testing.assert_allclose(run("gru", atoms), expected)


def test_unknown_name() -> None:
    with pytest.raises(ModelError, match="attention"):
        aggregate_function("max", DIM)
