"""From a score to a probability: Platt scaling, p = σ(a_r · score + b_r + c_r · evidence).

The evidence, where it is asked for, is what the facts say of the two entities. Fitted on validation
triples against sampled corruptions, weighed so that the true ones are a stated share of all, the
base rate π: a calibrated probability means nothing without it. One line for the whole graph, or one
for each relation, drawn towards the first as if by so many more examples of the whole graph:

    Σᵢ wᵢ · cross-entropy(yᵢ, σ(θ_r · xᵢ)) + κ/2 (θ_r − θ)ᵀ H (θ_r − θ),    x = (score, 1, evidence)

with H the mean Hessian of an example at θ, so that κ counts examples whatever the scores' scale.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Float64, Int
from torch import Tensor

from deepprooflog.errors import DataError, ModelError
from deepprooflog.kg.belief.evidence import Evidence
from deepprooflog.kg.belief.logistic import example_weights, mean_hessian, newton
from deepprooflog.kg.data.triple_set import TripleSet
from deepprooflog.kg.kge.negatives import uniform_corruptions
from deepprooflog.kg.kge.triple_model import TripleModel


@dataclass(frozen=True)
class Calibration:
    """A slope and an offset for each relation, and the base rate they were fitted for.

    With evidence, each relation also has a weight for each of its numbers.

    >>> line = Calibration(torch.tensor([2.0]), torch.tensor([0.0]), base_rate=0.5)
    >>> line.logit(torch.tensor([1.5]), torch.tensor([0])).tolist()
    [3.0]
    >>> round(line.at(0.1).offset.item(), 4)  # log(0.1 / 0.9)
    -2.1972
    """

    slope: Float[Tensor, " relations"]
    offset: Float[Tensor, " relations"]
    base_rate: float
    facts: Float[Tensor, "relations k"] | None = None

    def logit(
        self,
        score: Float[Tensor, "*batch"],
        relation: Int[Tensor, "*batch"],
        evidence: Float[Tensor, "*batch k"] | None = None,
    ) -> Float[Tensor, "*batch"]:
        """log p/(1 − p) of triples, by their scores and relations, and the evidence weighed."""
        if (evidence is None) != (self.facts is None):
            raise ModelError("a calibration with evidence needs it, and one without takes none")
        line = self.slope[relation] * score + self.offset[relation]
        if evidence is None or self.facts is None:
            return line
        return line + (self.facts[relation] * evidence).sum(-1)

    def at(self, base_rate: float) -> Calibration:
        """The same evidence at another base rate: prior odds move every logit alike."""
        check_rate(base_rate)
        shift = log_odds(base_rate) - log_odds(self.base_rate)
        return replace(self, offset=self.offset + shift, base_rate=base_rate)

    def to(self, device: torch.device | str) -> Calibration:
        """The same lines on a device."""
        facts = None if self.facts is None else self.facts.to(device)
        return replace(
            self, slope=self.slope.to(device), offset=self.offset.to(device), facts=facts
        )


def calibrate(
    kge: TripleModel,
    valid: Int[Tensor, "n 3"],
    known: TripleSet[Tensor],
    *,
    base_rate: float = 0.5,
    negatives: int = 50,
    per_relation: bool = True,
    shrinkage: float = 50.0,
    seed: int = 0,
    evidence: Evidence | None = None,
    facts: Float[Tensor, "relations k"] | None = None,
) -> Calibration:
    """Calibrate an embedding on validation triples and their filtered uniform corruptions.

    `negatives` are drawn for each triple and side; those that are known triples are left out.
    `evidence` of facts is weighed beside the score; validation triples must not be among them.
    Where what they weigh is known, `facts` for a score of weight 1, lines are fitted to the sum.
    """
    if not len(valid):
        raise DataError("there are no validation triples to calibrate on")
    device = kge.device
    drawn = uniform_corruptions(valid.cpu().long(), kge.entities, negatives, seed).to(device)
    false = drawn[~known.to(device).holds(*drawn.unbind(1))]
    if not len(false):
        raise DataError("every corruption drawn is a known triple", hint="more negatives")
    triples = torch.cat([valid.to(device).long(), false])
    with torch.no_grad():
        head, relation, tail = triples.unbind(1)
        score = kge.score(head, relation, tail).double()
        beside = None if evidence is None else evidence.to(device)(relation, head, tail)
        if beside is not None and facts is not None:
            score, beside = score + (facts.to(score)[relation] * beside).sum(1), None
    true = torch.arange(len(triples), device=device) < len(valid)
    lines = fit_platt(
        score, true, relation, relations=kge.relations, base_rate=base_rate,
        per_relation=per_relation, shrinkage=shrinkage, evidence=beside,
    )  # fmt: skip
    if facts is None:
        return lines
    # A line that falls would turn the lists around.
    slope = lines.slope.clamp_min(1e-3)
    return replace(lines, slope=slope, facts=slope[:, None] * facts.to(slope))


def fit_platt(
    score: Float64[Tensor, " n"],
    true: Bool[Tensor, " n"],
    relation: Int[Tensor, " n"],
    *,
    relations: int,
    base_rate: float,
    per_relation: bool = True,
    shrinkage: float = 50.0,
    evidence: Float64[Tensor, "n k"] | None = None,
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
    seen = score[:, None] if evidence is None else torch.cat([score[:, None], evidence], 1)
    centre, spread = seen.mean(0), seen.std(0).clamp_min(1e-12)
    x = torch.cat([(seen - centre) / spread, torch.ones_like(score)[:, None]], 1)
    width = x.shape[1]

    one = torch.zeros_like(relation)
    weight = example_weights(true, one, 1, base_rate)
    start, flat = x.new_zeros(1, width), x.new_zeros(width, width)
    whole = newton(x, target, weight, one, start, flat)
    lines = whole.expand(relations, width)
    if per_relation and relations > 1:
        # Each relation at the base rate, by its own numbers of true and false triples.
        weight = example_weights(true, relation, relations, base_rate)
        prior = shrinkage * mean_hessian(x, weight, whole)
        lines = newton(x, target, weight, relation, lines, prior)
    weights = lines[:, :-1] / spread
    offset = lines[:, -1] - (weights * centre).sum(1)
    facts = None if evidence is None else weights[:, 1:].clone()
    return Calibration(weights[:, 0].clone(), offset, base_rate, facts)


def check_rate(base_rate: float) -> None:
    """Raise where a base rate is no share."""
    if not 0 < base_rate < 1:
        raise DataError(f"a base rate is above 0 and below 1, not {base_rate:g}")


def log_odds(p: float) -> float:
    return math.log(p) - math.log1p(-p)
