"""f_atom against the formulas of its authors, in numpy with complex numbers."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch

from deepprooflog.errors import ModelError
from deepprooflog.score.embedding.atom_table import atom_function
from deepprooflog.score.embedding.atoms import (
    Mlp,
)

DIM = 6


def complex_of(x: np.ndarray) -> np.ndarray:
    real, imaginary = np.split(x, 2, axis=-1)
    return real + 1j * imaginary


def halves(z: np.ndarray) -> np.ndarray:
    return np.concatenate([z.real, z.imag], axis=-1)


# Bordes et al. 2013; Yang et al. 2015; Trouillon et al. 2016; Sun et al. 2019.
FORMULAS: dict[str, Callable[..., np.ndarray]] = {
    "transe": lambda r, h, t: h + r - t,
    "distmult": lambda r, h, t: h * r * t,
    "complex": lambda r, h, t: halves(complex_of(h) * complex_of(r) * np.conj(complex_of(t))),
    "rotate": lambda r, h, t: halves(
        complex_of(h) * np.exp(1j * np.angle(complex_of(r))) - complex_of(t)
    ),
}


@pytest.fixture
def triple() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    r, h, t = rng.normal(size=(3, 5, 2, DIM))
    return r, h, t


@pytest.mark.parametrize("name", FORMULAS)
def test_binary_models(name: str, triple: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    r, h, t = triple
    f_atom = atom_function(name, DIM, 4)
    found = f_atom(torch.from_numpy(r), torch.from_numpy(np.stack([h, t], axis=2)))
    np.testing.assert_allclose(found.numpy(), FORMULAS[name](r, h, t), atol=1e-12)


def test_complex_keeps_the_published_score(
    triple: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    """Re⟨r, h, t̄⟩ is the sum of the real half."""
    r, h, t = triple
    vector = atom_function("complex", DIM, 4)(
        torch.from_numpy(r), torch.from_numpy(np.stack([h, t], axis=2))
    ).numpy()
    score = np.real(np.sum(complex_of(r) * complex_of(h) * np.conj(complex_of(t)), axis=-1))
    np.testing.assert_allclose(vector[..., : DIM // 2].sum(-1), score)


def test_rotation_keeps_length() -> None:
    """With t = 0, |h ∘ r| = |h| whatever the length of r."""
    r, h = torch.randn(4, 1, DIM), torch.randn(4, 1, DIM)
    arguments = torch.stack([h, torch.zeros_like(h)], dim=2)
    turned = atom_function("rotate", DIM, 4)(100 * r, arguments)
    torch.testing.assert_close(turned.norm(dim=-1), h.norm(dim=-1))
    still = atom_function("rotate", DIM, 4)(torch.zeros_like(r), arguments)
    assert bool(still.isfinite().all())


@pytest.mark.parametrize("arity", [0, 1, 2, 3, 7])
def test_mlp_is_two_layers_on_the_concatenation(arity: int) -> None:
    torch.manual_seed(0)
    mlp = Mlp(DIM, positions=3).double()
    torch.nn.init.normal_(mlp.bias)
    predicate = torch.randn(2, 1, DIM, dtype=torch.float64)
    arguments = torch.randn(2, 1, arity, DIM, dtype=torch.float64)
    w, b = mlp.weight.detach().numpy(), mlp.bias.detach().numpy()
    parts = [predicate.numpy()] + [arguments[:, :, i].numpy() for i in range(arity)]
    hidden = sum((x @ w[min(i, 3)] for i, x in enumerate(parts)), b)
    gelu = hidden * (1 + np.vectorize(math.erf)(hidden / np.sqrt(2))) / 2
    expected = gelu @ mlp.out.weight.detach().numpy().T + mlp.out.bias.detach().numpy()
    np.testing.assert_allclose(mlp(predicate, arguments).detach().numpy(), expected, atol=1e-12)


@pytest.mark.parametrize("name", [*FORMULAS, "mlp"])
@pytest.mark.parametrize("dim", [16, 256])
def test_first_scores_are_moderate(name: str, dim: int) -> None:
    """Else the first softmax is flat or saturated, and gradients vanish."""
    torch.manual_seed(0)
    f_atom = atom_function(name, dim, 4)
    spread = f_atom.spread  # type: ignore[attr-defined]
    predicate = spread * torch.randn(200, 1, dim)
    arguments = spread * torch.randn(200, 1, 2, dim)
    atoms = f_atom(predicate, arguments)[:, 0]
    scores = (atoms @ atoms.T)[~torch.eye(200, dtype=torch.bool)]
    assert 0.03 < scores.std().item() < 2


@pytest.mark.parametrize("name", ["complex", "rotate"])
def test_complex_numbers_take_two_components(name: str) -> None:
    with pytest.raises(ModelError, match="even"):
        atom_function(name, 5, 4)


def test_unknown_name() -> None:
    with pytest.raises(ModelError, match="transe, distmult"):
        atom_function("transh", DIM, 4)
