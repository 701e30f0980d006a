"""Ragged sequences against one sequence at a time, in numpy and in torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from deepprooflog.score.segments import run_gru, segment_logsumexp, segment_sum, segments

LENGTHS = st.lists(st.integers(1, 6), min_size=1, max_size=6)


def by_hand(gru: nn.GRU, x: np.ndarray, h: np.ndarray) -> np.ndarray:
    """The GRU's equations (Cho et al. 2014, as torch documents them), one step."""

    def sigmoid(z: np.ndarray) -> np.ndarray:
        return np.asarray(1 / (1 + np.exp(-z)))

    wi, wh = (w.detach().numpy() for w in (gru.weight_ih_l0, gru.weight_hh_l0))  # type: ignore[operator]
    bi, bh = (b.detach().numpy() for b in (gru.bias_ih_l0, gru.bias_hh_l0))  # type: ignore[operator]
    ri, zi, ni = np.split(wi @ x + bi, 3)
    rh, zh, nh = np.split(wh @ h + bh, 3)
    z = sigmoid(zi + zh)
    n = np.tanh(ni + sigmoid(ri + rh) * nh)
    return np.asarray((1 - z) * n + z * h)


@given(LENGTHS, st.booleans())
def test_gru_reads_each_sequence_by_itself(lengths: list[int], backwards: bool) -> None:
    torch.manual_seed(0)
    batch, dim = 2, 3
    gru = nn.GRU(dim, dim).double()
    items = torch.randn(sum(lengths), batch, dim, dtype=torch.float64)
    initial = torch.randn(len(lengths), batch, dim, dtype=torch.float64)
    sequences = segments(lengths, backwards=backwards)
    found = run_gru(gru, items, sequences, initial).detach().numpy()
    begin = 0
    for s, length in enumerate(lengths):
        rows = list(range(begin, begin + length))
        begin += length
        for b in range(batch):
            state = initial[s, b].numpy()
            for row in reversed(rows) if backwards else rows:
                state = by_hand(gru, items[row, b].numpy(), state)
                np.testing.assert_allclose(found[row, b], state, atol=1e-12)
        last_read = rows[0] if backwards else rows[-1]
        assert sequences.final[s].item() == last_read


@given(LENGTHS)
def test_sums_and_normalisers(lengths: list[int]) -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(scale=300.0, size=(sum(lengths), 2))
    parts = np.split(values, np.cumsum(lengths)[:-1])
    items, index = torch.from_numpy(values), segments(lengths).index
    expected = [part.sum(0) for part in parts]
    np.testing.assert_allclose(segment_sum(items, index, len(lengths)).numpy(), expected)
    expected = [np.logaddexp.reduce(part, axis=0) for part in parts]
    np.testing.assert_allclose(segment_logsumexp(items, index, len(lengths)).numpy(), expected)


def test_gradient_of_the_normaliser_is_the_softmax() -> None:
    x = torch.tensor([[0.0], [1.0], [5.0]], dtype=torch.float64, requires_grad=True)
    segment_logsumexp(x, torch.tensor([0, 0, 1]), 2).sum().backward()
    e = np.e
    assert x.grad is not None
    assert x.grad.flatten().tolist() == pytest.approx([1 / (1 + e), e / (1 + e), 1.0])
