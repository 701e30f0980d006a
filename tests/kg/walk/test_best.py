"""The heaviest walks against all of them, and as proofs that replay."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from deepprooflog.kg.data.triple_set import Side
from deepprooflog.kg.data.triples import graph_of
from deepprooflog.kg.walk.best import best_walks
from deepprooflog.kg.walk.options import WalkOptions
from deepprooflog.kg.walk.proofs import walk_proofs
from kg.walk.small import RELATIONS, Facts, drawn, facts, facts_of, model_of, walk_options


@settings(max_examples=15)
@given(st.data(), facts(most=4), walk_options(hops=2))
def test_all_walks_add_up_to_the_score(
    data: st.DataObject, rows: Facts, options: WalkOptions
) -> None:
    """Every walk once, the heaviest first; a fact left out or not."""
    graph, model = drawn(rows), model_of(options)
    head, relation, tail = data.draw(st.sampled_from(rows))
    out = data.draw(st.booleans())
    found = best_walks(model, facts_of(graph), head, relation, tail, 10**6, leave_out=out)
    weights = [proof.log_weight for proof in found]
    assert all(a >= b - 1e-12 for a, b in pairwise(weights))
    assert len({proof.walks for proof in found}) == len(found)
    asked = [torch.tensor([x]) for x in (head, relation)]
    score = model(facts_of(graph), *asked, torch.tensor([tail]) if out else None)[0, tail]
    assert math.fsum(map(math.exp, weights)) == pytest.approx(score.exp().item(), rel=1e-9)
    some = best_walks(model, facts_of(graph), head, relation, tail, 3, leave_out=out)
    assert [p.log_weight for p in some] == pytest.approx(weights[:3])


@pytest.mark.parametrize("side", ["head", "tail"])
@pytest.mark.parametrize("heads", [1, 2])
def test_walks_are_proofs(side: Side, heads: int) -> None:
    """They replay through `successors`, name the facts, and weigh what the walk weighs."""
    graph = graph_of([("ann", "p", "bob"), ("bob", "q", "cy"), ("ann", "q", "cy")])
    model = model_of(WalkOptions(hops=2, states=2 * heads, heads=heads))
    facts = facts_of(graph)
    proofs = walk_proofs(model, facts, graph, (0, 1, 2), 50, side=side)
    assert all(proof.check() for proof in proofs)
    start, end = (0, 2) if side == "tail" else (2, 0)
    number = 1 if side == "tail" else 1 + len(RELATIONS)
    found = best_walks(model, facts, start, number, end, 50, leave_out=True)
    expected = [proof.log_weight for proof in found]
    assert [proof.log_prob for proof in proofs] == pytest.approx(expected)
    ways = {tuple(hop.entity for hop in proof.walks[0].hops) for proof in found}
    assert ways == {(1, end), ()}
    assert all("q(ann,cy)" not in str(proof).splitlines()[1:] for proof in proofs)
    used = [str(proof) for proof in proofs if "fact(p,ann,bob)" in str(proof)]
    assert used and all("fact(q,bob,cy)" in text for text in used)
