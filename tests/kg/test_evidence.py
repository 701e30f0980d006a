"""Evidence counts what the facts say but for the triple itself, and calibration weighs it."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from torch import Tensor

from deepprooflog.errors import ModelError
from deepprooflog.kg.belief.believe import Belief
from deepprooflog.kg.belief.calibration import Calibration, calibrate, fit_platt
from deepprooflog.kg.belief.evidence import Evidence
from deepprooflog.kg.data.triple_set import TripleSet
from deepprooflog.kg.data.triples import SIDES
from deepprooflog.kg.kge.rotate import RotatE

ENTITIES, RELATIONS = 6, 3
TRIPLE = st.tuples(
    st.integers(0, ENTITIES - 1), st.integers(0, RELATIONS - 1), st.integers(0, ENTITIES - 1)
)


@given(st.lists(TRIPLE, min_size=1, max_size=30), st.lists(TRIPLE, min_size=1, max_size=10))
def test_counts_are_those_of_a_loop_over_the_facts(
    facts: list[tuple[int, int, int]], asked: list[tuple[int, int, int]]
) -> None:
    """Facts of a set, loops included, the triple itself left out."""
    known = Evidence(torch.tensor(facts), entities=ENTITIES, relations=RELATIONS)
    queries = torch.tensor(asked + facts)
    head, relation, tail = queries.unbind(1)
    counts = known.counts(relation, head, tail)
    seen = known(relation, head, tail)
    for row, (h, r, t) in enumerate(queries.tolist()):
        others = set(facts) - {(h, r, t)}
        expected = [
            sum(f[:2] == (h, r) for f in others),
            sum(f[1:] == (r, t) for f in others),
            sum(h in (f[0], f[2]) for f in others),
            sum(t in (f[0], f[2]) for f in others),
        ]
        assert counts[row].tolist() == expected
        heads, tails, of_head, of_tail = expected
        numbers = [
            float(heads > 0), math.log(1 + heads), float(tails > 0), math.log(1 + tails),
            math.log(1 + of_head), math.log(1 + of_tail),
        ]  # fmt: skip
        assert seen[row].tolist() == pytest.approx(numbers)


def labelled(n: int, weights: Tensor, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Scores with two numbers of evidence, and labels drawn from σ(w · (score, 1, evidence))."""
    generator = torch.Generator().manual_seed(seed)
    score = 2 * torch.randn(n, generator=generator, dtype=torch.float64) + 1
    evidence = torch.rand(n, 2, generator=generator, dtype=torch.float64) * 3
    z = weights[0] * score + weights[1] + evidence @ weights[2:]
    return score, evidence, torch.rand(n, generator=generator, dtype=torch.float64) < z.sigmoid()


def test_known_weights_are_found() -> None:
    """At the labels' own base rate they are those that drew the labels."""
    weights = torch.tensor([0.8, -0.5, -1.2, 0.6], dtype=torch.float64)
    score, evidence, true = labelled(200_000, weights, seed=0)
    one = torch.zeros(len(score), dtype=torch.int64)
    line = fit_platt(
        score, true, one, relations=1, base_rate=true.double().mean().item(), evidence=evidence
    )
    assert line.facts is not None
    found = [line.slope.item(), line.offset.item(), *line.facts[0].tolist()]
    assert found == pytest.approx(weights.tolist(), abs=0.03)


def test_the_fit_is_that_of_scipy() -> None:
    """Two relations drawn to the whole: the objective of the docstring, minimised by BFGS."""
    kappa, rate = 30.0, 0.3
    parts = [
        labelled(300, torch.tensor(w, dtype=torch.float64), seed)
        for seed, w in enumerate(([0.5, 0.1, -1.0, 0.3], [1.0, -0.4, 0.8, 0.0]))
    ]
    score, evidence, true = (torch.cat([p[i] for p in parts]) for i in range(3))
    relation = torch.arange(2).repeat_interleave(300)
    line = fit_platt(
        score, true, relation, relations=2, base_rate=rate, shrinkage=kappa, evidence=evidence
    )
    assert line.facts is not None
    x = np.column_stack([score, np.ones(600), evidence])
    y, group = true.numpy(), relation.numpy()
    soft = np.where(y, (y.sum() + 1) / (y.sum() + 2), 1 / ((~y).sum() + 2))

    def weights(mine: np.ndarray) -> np.ndarray:
        return np.where(y, 1.0, (1 - rate) / rate * y[mine].sum() / (~y)[mine].sum())

    def loss(theta: np.ndarray, mine: np.ndarray, w: np.ndarray) -> float:
        z = x @ theta
        return float((w * (np.logaddexp(0, z) - soft * z))[mine].sum())

    every = np.ones(600, bool)
    w = weights(every)
    whole = minimize(lambda th: loss(th, every, w), np.zeros(4), options={"gtol": 1e-9}).x
    each = np.zeros(600)
    for r in range(2):
        each[group == r] = weights(group == r)[group == r]
    p = 1 / (1 + np.exp(-x @ whole))
    hessian = (x * (each * p * (1 - p) / each.sum())[:, None]).T @ x
    for r in range(2):
        own = minimize(
            lambda th, r=r: loss(th, group == r, each)
            + kappa / 2 * (th - whole) @ hessian @ (th - whole),
            whole, options={"gtol": 1e-9},
        ).x  # fmt: skip
        found = [line.slope[r].item(), line.offset[r].item(), *line.facts[r].tolist()]
        assert found == pytest.approx(own.tolist(), abs=1e-5)


def test_a_relation_that_each_has_once_is_believed_of_who_lacks_it() -> None:
    """An embedding that knows nothing: only the facts tell whose mother is still missing."""
    people = 60
    mothers = torch.tensor([[child, 0, people + child % 5] for child in range(people)])
    likes = torch.tensor([[child, 1, (child * 7 + 1) % people] for child in range(people)])
    hidden = torch.arange(people) % 6 == 0
    facts = torch.cat([mothers[~hidden], likes])
    kge = RotatE(people + 5, 2, 4)
    with torch.no_grad():
        kge.entity.zero_()
    shape = {"entities": people + 5, "relations": 2}
    known = TripleSet.of(torch.cat([facts, mothers[hidden]]), entities=shape["entities"])
    evidence = Evidence(facts, **shape)
    found = calibrate(kge, mothers[hidden], known, evidence=evidence)
    belief = Belief(kge, found, evidence=evidence)
    child = torch.arange(people)
    p = belief(torch.zeros_like(child), child, torch.full_like(child, people)).sigmoid()
    assert p[hidden].min() > p[~hidden].max()
    plain = Belief(kge, calibrate(kge, mothers[hidden], known))
    q = plain(torch.zeros_like(child), child, torch.full_like(child, people)).sigmoid()
    assert q.max() == q.min()


def test_belief_is_the_line_and_the_weighed_facts() -> None:
    torch.manual_seed(0)
    kge = RotatE(5, 2, 3)
    facts = torch.tensor([[0, 0, 1], [0, 0, 2], [1, 1, 3], [4, 0, 2]])
    evidence = Evidence(facts, entities=5, relations=2)
    weights = torch.randn(2, 6, dtype=torch.float64)
    line = Calibration(torch.tensor([1.5, 0.5]), torch.tensor([0.1, -0.2]), 0.5, weights)
    belief = Belief(kge, line, evidence=evidence)
    h, r, t = torch.tensor([[0, 0, 2], [1, 1, 0]]).unbind(1)
    score = kge.score(h, r, t).detach().double()
    # 0 has another r0 fact, 2 another one as its tail; 0 and 2 stand in one other fact each.
    # 1 has an r1 fact, 0 none as its tail; 1 stands in two facts, 0 in two.
    one, two, three = (math.log(1 + n) for n in (1, 2, 0))
    numbers = torch.tensor(
        [[1, one, 1, one, one, one], [1, one, 0, three, two, two]], dtype=torch.float64
    )
    expected = line.slope[r] * score + line.offset[r] + (weights[r] * numbers).sum(1)
    torch.testing.assert_close(belief(r, h, t).detach(), expected)
    weighed = belief.weighed(r, h, t)
    assert weighed is not None
    counts, added = weighed
    assert counts.tolist() == [[1, 1, 1, 1], [1, 0, 2, 2]]
    torch.testing.assert_close(
        added.sum(1), (belief(r, h, t) - line.slope[r] * score - line.offset[r]).detach()
    )
    moved = line.at(0.1)
    assert moved.facts is weights
    assert Belief(kge, Calibration(line.slope, line.offset, 0.5)).weighed(r, h, t) is None


def test_evidence_and_its_weights_come_together() -> None:
    kge = RotatE(5, 1, 3)
    evidence = Evidence(torch.tensor([[0, 0, 1]]), entities=5, relations=1)
    plain = Calibration(torch.ones(1), torch.zeros(1), 0.5)
    with pytest.raises(ModelError, match="with evidence"):
        Belief(kge, plain, evidence=evidence)
    weighing = Calibration(torch.ones(1), torch.zeros(1), 0.5, torch.zeros(1, 6))
    with pytest.raises(ModelError, match="with evidence"):
        Belief(kge, weighing)
    with pytest.raises(ModelError, match="with evidence"):
        weighing.logit(torch.zeros(1), torch.zeros(1, dtype=torch.int64))


def test_duplicate_facts_count_once() -> None:
    facts = torch.tensor([[0, 0, 1]] * 3 + [[0, 0, 2]])
    known = Evidence(facts, entities=3, relations=1)
    zero = torch.tensor([0])
    assert known.counts(zero, zero, zero).tolist() == [[2, 0, 2, 2]]
    assert [len(known.known(side)) for side in SIDES] == [2, 2]
