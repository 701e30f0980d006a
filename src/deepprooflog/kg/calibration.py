"""From a score to a probability: Platt scaling, p = σ(a_r · score + b_r).

Fitted on validation triples against sampled corruptions, weighed so that the true ones are a stated
share of all, the base rate π: a calibrated probability means nothing without it. One line for the
whole graph, or one for each relation, drawn towards the first as if by so many more examples of the
whole graph:

    Σᵢ wᵢ · cross-entropy(yᵢ, σ(θ_r · (scoreᵢ, 1))) + κ/2 (θ_r − θ)ᵀ H (θ_r − θ)

with H the mean Hessian of an example at θ, so that κ counts examples whatever the scores' scale.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Float64, Int
from torch import Tensor
from torch.nn.functional import softplus

from deepprooflog.errors import DataError, ModelError
from deepprooflog.kg.kge import Kge
from deepprooflog.kg.kge_known import KnownTriples

ITERATIONS = 100
AT_REST = 1e-10


@dataclass(frozen=True)
class Calibration:
    """A slope and an offset for each relation, and the base rate they were fitted for.

    >>> line = Calibration(torch.tensor([2.0]), torch.tensor([0.0]), base_rate=0.5)
    >>> line.logit(torch.tensor([1.5]), torch.tensor([0])).tolist()
    [3.0]
    >>> round(line.at(0.1).offset.item(), 4)  # log(0.1 / 0.9)
    -2.1972
    """

    slope: Float[Tensor, " relations"]
    offset: Float[Tensor, " relations"]
    base_rate: float

    def logit(
        self, score: Float[Tensor, "*batch"], relation: Int[Tensor, "*batch"]
    ) -> Float[Tensor, "*batch"]:
        """log p/(1 − p) of triples, by their scores and relations."""
        return self.slope[relation] * score + self.offset[relation]

    def at(self, base_rate: float) -> Calibration:
        """The same evidence at another base rate: prior odds move every logit alike."""
        check_rate(base_rate)
        shift = log_odds(base_rate) - log_odds(self.base_rate)
        return replace(self, offset=self.offset + shift, base_rate=base_rate)

    def to(self, device: torch.device | str) -> Calibration:
        """The same lines on a device."""
        return replace(self, slope=self.slope.to(device), offset=self.offset.to(device))


def calibrate(
    kge: Kge,
    valid: Int[Tensor, "n 3"],
    known: KnownTriples,
    *,
    base_rate: float = 0.5,
    negatives: int = 50,
    per_relation: bool = True,
    shrinkage: float = 50.0,
    seed: int = 0,
) -> Calibration:
    """Calibrate an embedding on validation triples and their filtered uniform corruptions.

    `negatives` are drawn for each triple and side; those that are known triples are left out.
    """
    if not len(valid):
        raise DataError("there are no validation triples to calibrate on")
    device = kge.entity.device
    drawn = corrupted(valid.cpu().long(), kge.entities, negatives, seed).to(device)
    false = drawn[~known.to(device).holds(*drawn.unbind(1))]
    if not len(false):
        raise DataError("every corruption drawn is a known triple", hint="more negatives")
    triples = torch.cat([valid.to(device).long(), false])
    with torch.no_grad():
        score = kge.score(*triples.unbind(1)).double()
    true = torch.arange(len(triples), device=device) < len(valid)
    return fit_platt(
        score, true, triples[:, 1], relations=kge.relations, base_rate=base_rate,
        per_relation=per_relation, shrinkage=shrinkage,
    )  # fmt: skip


def corrupted(
    triples: Int[Tensor, "n 3"], entities: int, count: int, seed: int
) -> Int[Tensor, "m 3"]:
    """`count` uniform corruptions of each triple on each side."""
    generator = torch.Generator().manual_seed(seed)
    result = []
    for column in (0, 2):
        rows = triples.repeat_interleave(count, 0)
        rows[:, column] = torch.randint(entities, (len(rows),), generator=generator)
        result.append(rows)
    return torch.cat(result)


def fit_platt(
    score: Float64[Tensor, " n"],
    true: Bool[Tensor, " n"],
    relation: Int[Tensor, " n"],
    *,
    relations: int,
    base_rate: float,
    per_relation: bool = True,
    shrinkage: float = 50.0,
) -> Calibration:
    """The lines that fit labelled scores; targets are Platt's, a little inside 0 and 1.

    >>> score = torch.tensor([-1.0, 1.0, -1.0, 1.0] * 1000, dtype=torch.float64)
    >>> true = torch.tensor([False, True, False, True] * 1000)
    >>> group = torch.zeros(4000, dtype=torch.int64)
    >>> line = fit_platt(score, true, group, relations=1, base_rate=0.5)
    >>> round(line.slope.item(), 6), round(math.log(2001), 6)
    (7.601402, 7.601402)
    """
    check_rate(base_rate)
    if not bool(score.isfinite().all()):
        raise ModelError("a score is not finite", hint="train with a smaller lr")
    positives, count = int(true.sum()), len(true)
    if not 0 < positives < count:
        raise DataError("calibration needs true and false triples")
    sure = (positives + 1) / (positives + 2), 1 / (count - positives + 2)
    high, low = torch.tensor(sure, dtype=score.dtype, device=score.device)
    target = torch.where(true, high, low)
    centre, spread = score.mean(), score.std().clamp_min(1e-12)
    x = torch.stack([(score - centre) / spread, torch.ones_like(score)], 1)

    one = torch.zeros_like(relation)
    weight = example_weights(true, one, 1, base_rate)
    start, flat = x.new_zeros(1, 2), x.new_zeros(2, 2)
    whole = newton(x, target, weight, one, start, flat)
    lines = whole.expand(relations, 2)
    if per_relation and relations > 1:
        # Each relation at the base rate, by its own numbers of true and false triples.
        weight = example_weights(true, relation, relations, base_rate)
        prior = shrinkage * mean_hessian(x, weight, whole)
        lines = newton(x, target, weight, relation, lines, prior)
    slope = lines[:, 0] / spread
    return Calibration(slope.clone(), (lines[:, 1] - slope * centre).clone(), base_rate)


def example_weights(
    true: Bool[Tensor, " n"], group: Int[Tensor, " n"], groups: int, base_rate: float
) -> Float64[Tensor, " n"]:
    """1 for a true triple; what false ones weigh so that π of a group's weight is true."""
    empty = torch.zeros(groups, dtype=torch.float64, device=true.device)
    positive = empty.index_add(0, group, true.double())
    negative = empty.index_add(0, group, (~true).double())
    each = (1 - base_rate) / base_rate * positive / negative.clamp_min(1)
    return torch.where(true, torch.ones_like(each[group]), each[group])


def newton(
    x: Float64[Tensor, "n 2"],
    target: Float64[Tensor, " n"],
    weight: Float64[Tensor, " n"],
    group: Int[Tensor, " n"],
    start: Float64[Tensor, "groups 2"],
    prior: Float64[Tensor, "2 2"],
) -> Float64[Tensor, "groups 2"]:
    """The lines of all groups at once, by Newton steps halved until the loss falls."""
    groups = len(start)
    theta = start.clone()

    def summed(values: Tensor) -> Tensor:
        shape = (groups, *values.shape[1:])
        return values.new_zeros(shape).index_add(0, group, values)

    def loss(lines: Tensor) -> Tensor:
        z = (x * lines[group]).sum(1)
        away = lines - start
        return summed(weight * (softplus(z) - target * z)) + (away @ prior * away).sum(1) / 2

    # A relation without examples, or a constant score, leaves a direction open.
    ridge = 1e-9 * torch.eye(2, dtype=x.dtype, device=x.device)
    value = loss(theta)
    for _ in range(ITERATIONS):
        p = torch.sigmoid((x * theta[group]).sum(1))
        gradient = summed((weight * (p - target))[:, None] * x) + (theta - start) @ prior
        outer = x[:, :, None] * x[:, None, :]
        hessian = summed((weight * p * (1 - p))[:, None, None] * outer) + prior + ridge
        step = torch.linalg.solve(hessian, gradient)
        length = torch.ones(groups, dtype=x.dtype, device=x.device)
        for _ in range(40):
            worse = loss(theta - length[:, None] * step) > value
            if not bool(worse.any()):
                break
            length = torch.where(worse, length / 2, length)
        length = torch.where(worse, 0.0, length)
        theta = theta - length[:, None] * step
        value = loss(theta)
        if float((length[:, None] * step).abs().max()) < AT_REST:
            break
    return theta


def mean_hessian(
    x: Float64[Tensor, "n 2"], weight: Float64[Tensor, " n"], line: Float64[Tensor, "1 2"]
) -> Float64[Tensor, "2 2"]:
    """The Hessian of one example's cross-entropy at a line, on average."""
    p = torch.sigmoid((x * line).sum(1))
    curvature = weight * p * (1 - p) / weight.sum()
    return (curvature[:, None] * x).T @ x


def check_rate(base_rate: float) -> None:
    """Raise where a base rate is no share."""
    if not 0 < base_rate < 1:
        raise DataError(f"a base rate is above 0 and below 1, not {base_rate:g}")


def log_odds(p: float) -> float:
    return math.log(p) - math.log1p(-p)
