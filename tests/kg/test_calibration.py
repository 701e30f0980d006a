"""Calibration finds the line that made the labels, and its probabilities are frequencies."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from deepprooflog.errors import DataError, ModelError
from deepprooflog.kg.belief.calibration import Calibration, calibrate, fit_platt
from deepprooflog.kg.data.triple_set import TripleSet
from deepprooflog.kg.kge.negatives import uniform_corruptions
from deepprooflog.kg.kge.rotate import RotatE


def labelled(n: int, slope: float, offset: float, seed: int) -> tuple[Tensor, Tensor]:
    """Scores, and labels that are true with probability σ(slope · score + offset)."""
    generator = torch.Generator().manual_seed(seed)
    score = 3 * torch.randn(n, generator=generator, dtype=torch.float64) - 1
    p = torch.sigmoid(slope * score + offset)
    return score, torch.rand(n, generator=generator, dtype=torch.float64) < p


def test_a_known_line_is_found() -> None:
    """At the labels' own base rate the line is the one that drew them."""
    score, true = labelled(200_000, 0.8, -1.5, seed=0)
    one = torch.zeros(len(score), dtype=torch.int64)
    rate = true.double().mean().item()
    line = fit_platt(score, true, one, relations=1, base_rate=rate)
    assert line.slope.item() == pytest.approx(0.8, abs=0.02)
    assert line.offset.item() == pytest.approx(-1.5, abs=0.03)


def test_the_fit_is_that_of_another_optimizer() -> None:
    """The optimum by torch's L-BFGS on the weighted cross-entropy, written out."""
    score, true = labelled(500, 0.5, 0.3, seed=1)
    one = torch.zeros(len(score), dtype=torch.int64)
    line = fit_platt(score, true, one, relations=1, base_rate=0.2)
    positives, negatives = int(true.sum()), int((~true).sum())
    target, weight = torch.empty_like(score), torch.ones_like(score)
    target[true], target[~true] = (positives + 1) / (positives + 2), 1 / (negatives + 2)
    weight[~true] = 4 * positives / negatives
    theta = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    rule = torch.optim.LBFGS(
        [theta], max_iter=500, tolerance_grad=1e-12, tolerance_change=1e-16,
        line_search_fn="strong_wolfe",
    )  # fmt: skip

    def closure() -> Tensor:
        rule.zero_grad()
        p = torch.sigmoid(theta[0] * score + theta[1])
        loss = -(weight * (target * p.log() + (1 - target) * (1 - p).log())).sum() / weight.sum()
        loss.backward()
        return loss

    rule.step(closure)
    found = torch.stack([line.slope[0], line.offset[0]])
    torch.testing.assert_close(found, theta.detach(), atol=1e-6, rtol=1e-6)


def test_probabilities_are_frequencies() -> None:
    """Of fresh triples believed with p in a bin, about p are true: within 4 standard errors."""
    score, true = labelled(50_000, 0.8, -1.5, seed=2)
    rate = true.double().mean().item()
    one = torch.zeros(len(score), dtype=torch.int64)
    line = fit_platt(score, true, one, relations=1, base_rate=rate)
    score, true = labelled(100_000, 0.8, -1.5, seed=3)
    p = torch.sigmoid(line.logit(score, torch.zeros(len(score), dtype=torch.int64)))
    filled = 0
    for low in range(10):
        mine = (p >= low / 10) & (p < (low + 1) / 10)
        filled += int(mine.sum() > 100)
        mean = p[mine].mean().item()
        error = (mean * (1 - mean) / mine.sum().item()) ** 0.5
        assert true[mine].double().mean().item() == pytest.approx(mean, abs=4 * error + 0.005)
    assert filled == 10


def test_another_base_rate_is_bayes_rule() -> None:
    """Odds are multiplied by the ratio of prior odds: what weighing the examples gives too."""
    score, true = labelled(20_000, 0.8, -1.5, seed=4)
    one = torch.zeros(len(score), dtype=torch.int64)
    line = fit_platt(score, true, one, relations=1, base_rate=0.5)
    moved = line.at(0.1)
    p = torch.sigmoid(line.logit(score, one))
    bayes = p * 0.1 / 0.5 / (p * 0.1 / 0.5 + (1 - p) * 0.9 / 0.5)
    torch.testing.assert_close(torch.sigmoid(moved.logit(score, one)), bayes)
    assert moved.base_rate == 0.1
    # At the base rate fitted, the mean probability of true and false is the base rate.
    own = torch.where(true, 0.5 / true.sum(), 0.5 / (~true).sum())
    assert (own * p).sum().item() == pytest.approx(0.5, abs=1e-3)


def test_relations_have_lines_of_their_own_drawn_to_the_whole() -> None:
    """Many examples speak for themselves, none at all leaves the whole graph's line."""
    first, yes = labelled(20_000, 2.0, 1.0, seed=5)
    second, no = labelled(20_000, 0.3, 0.2, seed=6)
    score, true = torch.cat([first, second]), torch.cat([yes, no])
    relation = torch.arange(2).repeat_interleave(20_000)
    both = torch.zeros_like(relation)
    whole = fit_platt(score, true, both, relations=1, base_rate=0.5)
    lines = fit_platt(score, true, relation, relations=3, base_rate=0.5, shrinkage=50)
    assert lines.slope[0].item() == pytest.approx(2.0, abs=0.15)
    assert lines.slope[1].item() == pytest.approx(0.3, abs=0.03)
    torch.testing.assert_close(lines.slope[2], whole.slope[0], rtol=1e-6, atol=0)
    torch.testing.assert_close(lines.offset[2], whole.offset[0], rtol=1e-6, atol=1e-9)
    slopes = [
        fit_platt(score, true, relation, relations=3, base_rate=0.5, shrinkage=k).slope[0].item()
        for k in (1e1, 1e5, 1e6, 1e9)
    ]
    assert slopes == sorted(slopes, reverse=True)
    assert slopes[-1] == pytest.approx(whole.slope.item(), rel=1e-3)
    alone = fit_platt(score, true, relation, relations=3, base_rate=0.5, per_relation=False)
    torch.testing.assert_close(alone.slope, whole.slope.expand(3))


def test_separable_scores_stay_finite() -> None:
    score = torch.tensor([-2.0, -1.0, 3.0, 4.0], dtype=torch.float64)
    true = score > 0
    relation = torch.tensor([0, 1, 0, 1])
    line = fit_platt(score, true, relation, relations=2, base_rate=0.5, shrinkage=1.0)
    assert line.slope.isfinite().all() and (line.slope > 0).all()
    flat = fit_platt(torch.zeros_like(score), true, relation, relations=2, base_rate=0.25)
    p = torch.sigmoid(flat.logit(torch.zeros(2, dtype=torch.float64), torch.arange(2)))
    # A score that says nothing leaves the base rate, but for Platt's targets: ¼·¾ + ¾·¼.
    torch.testing.assert_close(p, torch.full((2,), 0.375, dtype=torch.float64))


def test_an_embedding_is_calibrated_on_filtered_corruptions() -> None:
    """The same as fitting its scores of the corruptions that are not known."""
    torch.manual_seed(0)
    model = RotatE(12, 2, 4, margin=3.0)
    triples = torch.stack([torch.randint(n, (40,)) for n in (12, 2, 12)], 1)
    known = TripleSet.of(triples, entities=12)
    found = calibrate(model, triples[:10], known, base_rate=0.3, negatives=20, seed=5)
    facts = {tuple(row) for row in triples.tolist()}
    drawn = uniform_corruptions(triples[:10], 12, 20, seed=5)
    assert drawn.shape == (400, 3)
    changed = (drawn.reshape(2, 10, 20, 3) != triples[:10][None, :, None]).sum(-1)
    assert changed.max() == 1
    false = torch.tensor([row for row in drawn.tolist() if tuple(row) not in facts])
    assert 0 < len(false) < 400
    rows = torch.cat([triples[:10], false])
    score = model.score(*rows.unbind(1)).detach().double()
    true = torch.arange(len(rows)) < 10
    expected = fit_platt(score, true, rows[:, 1], relations=2, base_rate=0.3)
    torch.testing.assert_close(found.slope, expected.slope)
    torch.testing.assert_close(found.offset, expected.offset)


def test_bad_input_is_named() -> None:
    score = torch.tensor([1.0, float("nan")], dtype=torch.float64)
    true = torch.tensor([True, False])
    one = torch.zeros(2, dtype=torch.int64)
    with pytest.raises(ModelError, match="not finite"):
        fit_platt(score, true, one, relations=1, base_rate=0.5)
    with pytest.raises(DataError, match="true and false"):
        fit_platt(torch.zeros_like(score), true | True, one, relations=1, base_rate=0.5)
    with pytest.raises(DataError, match="base rate is above 0 and below 1, not 1"):
        Calibration(torch.ones(1), torch.zeros(1), 0.5).at(1.0)
    model = RotatE(3, 1, 2)
    every = torch.cartesian_prod(torch.arange(3), torch.arange(1), torch.arange(3))
    known = TripleSet.of(every, entities=3)
    with pytest.raises(DataError, match="every corruption drawn is a known triple"):
        calibrate(model, every, known)
    with pytest.raises(DataError, match="no validation triples"):
        calibrate(model, every[:0], known)
