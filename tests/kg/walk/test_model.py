"""All tails at once against walks counted one by one, and against the program's derivations."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from deepprooflog.kg.data.triples import Graph, graph_of
from deepprooflog.kg.prove.prover import ExploreLimits, Prover
from deepprooflog.kg.walk import model as walk_model
from deepprooflog.kg.walk.hops import reached
from deepprooflog.kg.walk.hops import sums as walk_sums
from deepprooflog.kg.walk.hops.sums import PLAIN, sums_for
from deepprooflog.kg.walk.model import WalkGraph, WalkModel
from deepprooflog.kg.walk.options import WalkOptions
from deepprooflog.kg.walk.program import directed_names, fact_atom, walk_program
from deepprooflog.kg.walk.scorer import WalkScorer
from deepprooflog.model import Model
from deepprooflog.relational.database import Database
from kg.walk.interpreted import WHERE, sums_of_a_gpu
from kg.walk.small import RELATIONS, Facts, drawn, facts, facts_of, model_of, walk_options, without

DEVICES = st.sampled_from([(), ("cpu",)])
"""Where all queries are worked out at once."""


def enumerated(model: WalkModel, graph: Graph, head: int, relation: int) -> Tensor:
    """Σ over walks, each walk and each sequence of states on its own."""
    o, weights = model.options, model.policy(torch.tensor([relation]))
    power, entities = model.policy.powers(), len(graph.entities)
    steps = [(h, r, t) for h, r, t in graph.train.tolist()]
    steps += [(t, r + len(RELATIONS), h) for h, r, t in graph.train.tolist()]
    stays = [(x, 2 * len(RELATIONS), x) for x in range(entities)]
    degree = {(x, r): sum(s[:2] == (x, r) for s in steps) for x, r, _ in steps}
    counts = torch.zeros(entities, 2 * len(RELATIONS), dtype=torch.float64)
    for x, r, _ in steps:
        counts[x, r] += 1
    total = counts.sum(1, keepdim=True)
    seen = torch.cat([(counts > 0).double(), total.log1p() / 4], 1)
    heads = torch.zeros(entities, o.heads, dtype=torch.float64)
    of_head = o.states // o.heads
    for walk in product([*steps, *stays], repeat=o.hops):
        if walk[0][0] != head or any(a[2] != b[0] for a, b in pairwise(walk)):
            continue
        for states in product(range(o.states), repeat=o.hops + 1):
            if len({s // of_head for s in states}) > 1:
                continue
            weight = weights.begin[0, states[0]]
            for n, (x, r, _) in enumerate(walk):
                if weights.gate is not None:
                    gate = weights.gate[n, :, 0, states[n]]
                    weight = weight * (gate[:-1] @ seen[x] + gate[-1]).sigmoid()
                weight = weight * weights.turn[n, 0, states[n], states[n + 1]]
                weight = weight * weights.step[n, r, 0, states[n + 1]]
                if r < 2 * len(RELATIONS):
                    weight = weight * float(degree[x, r]) ** -power[r]
            row = torch.zeros_like(heads)
            row[walk[-1][2], states[0] // of_head] = 1
            heads = heads + row * weight
    score: Tensor = (heads + weights.leap).prod(1)
    if weights.suit is not None:
        numbers = [(counts > 0).double(), counts.log1p() / 2, total.log1p() / 4]
        suits = torch.cat([*numbers, (total == 0).double()], 1) @ weights.suit[:, 0]
        score = score * (suits - suits.max()).exp()
    return score


def gradients(values: Tensor, model: WalkModel) -> list[Tensor]:
    parameters = list(model.parameters())
    return list(torch.autograd.grad(values, parameters, allow_unused=True, materialize_grads=True))


def same(a: list[Tensor], b: list[Tensor]) -> None:
    for x, y in zip(a, b, strict=True):
        torch.testing.assert_close(x, y, rtol=1e-6, atol=1e-9)


@settings(deadline=None, max_examples=15)
@given(facts(most=3), walk_options(hops=2), st.integers(0, 3), st.integers(0, 3))
def test_scores_are_sums_over_walks(
    rows: Facts, options: WalkOptions, head: int, relation: int
) -> None:
    """Values and gradients, against walks enumerated by brute force."""
    graph, model = drawn(rows), model_of(options)
    swept = model(facts_of(graph), torch.tensor([head]), torch.tensor([relation]))[0].exp()
    expected = enumerated(model, graph, head, relation)
    torch.testing.assert_close(swept, expected, rtol=1e-9, atol=0)
    mix = torch.arange(1, len(swept) + 1, dtype=torch.float64)
    same(gradients(swept @ mix, model), gradients(expected @ mix, model))


@settings(deadline=None, max_examples=12)
@given(st.data(), facts(), walk_options(hops=2))
def test_scores_are_p_success_of_the_program(
    data: st.DataObject, rows: Facts, options: WalkOptions
) -> None:
    """The same weights through `successors` and the goal graph, a fact left out or not."""
    graph, model = drawn(rows), model_of(options)
    row = data.draw(st.integers(0, len(graph.train) - 1))
    head, relation, tail = graph.train[row].tolist()
    program = walk_program(graph, options, RELATIONS)
    out = data.draw(st.booleans())
    if out:
        program = program.without(fact_atom(graph, graph.train[row]))
    if data.draw(st.booleans()):
        head, relation, tail = tail, relation + len(RELATIONS), head
    tails = torch.tensor([tail]) if out else None
    swept = model(facts_of(graph), torch.tensor([head]), torch.tensor([relation]), tails)[0]
    # Weights above 1 in all are no probability: the engines refuse them.
    asked = [y for y in range(len(graph.entities)) if swept[y].item() < 0][:2]
    name = directed_names(RELATIONS)[relation]
    goals = [f"'{name}'({graph.entity_text(head)}, {graph.entity_text(y)})" for y in asked]
    if not goals:
        return
    found = Model(program, scorer=WalkScorer(model)).log_prob(goals)
    torch.testing.assert_close(swept[asked], found, rtol=1e-9, atol=1e-9)
    same(gradients(swept[asked].sum(), model), gradients(found.sum(), model))


@settings(deadline=None, max_examples=25)
@given(st.data(), facts(), walk_options())
def test_a_fact_left_out_is_a_graph_without_it(
    data: st.DataObject, rows: Facts, options: WalkOptions
) -> None:
    """One batch leaves a fact of its own out of each query, in both directions."""
    graph, model = drawn(rows), model_of(options)
    h, r, t = torch.from_numpy(graph.train).unbind(1)
    queries = torch.cat([h, t]), torch.cat([r, r + len(RELATIONS)]), torch.cat([t, h])
    found = model(facts_of(graph), *queries)
    query = data.draw(st.integers(0, len(found) - 1))
    less = facts_of(without(graph, query % len(graph.train)))
    alone = model(less, queries[0][query, None], queries[1][query, None])
    torch.testing.assert_close(found[query], alone[0], rtol=1e-9, atol=1e-9)
    mix = torch.arange(1, found.shape[1] + 1, dtype=torch.float64)
    same(gradients(found[query] @ mix, model), gradients(alone[0] @ mix, model))


@settings(deadline=None, max_examples=40)
@given(st.data(), facts(), walk_options())
def test_cells_and_sweeps_are_one(data: st.DataObject, rows: Facts, options: WalkOptions) -> None:
    """Over all entities, over what is reached, or first that and then all; with facts hidden.

    Over what is reached query by query, as on a CPU, or for all queries at once, as on a GPU.
    """
    graph, model = drawn(rows), model_of(options)
    torch.manual_seed(data.draw(st.integers(0, 99)))
    known = facts_of(graph).thinned(data.draw(st.sampled_from([0.0, 0.3])))
    h, r, t = torch.from_numpy(graph.train).unbind(1)
    head, relation = torch.cat([h, t]), torch.cat([r, r + len(RELATIONS)])
    tail = torch.cat([t, h]) if data.draw(st.booleans()) else None
    found, some = [], data.draw(st.sampled_from([0.1, 0.3, 0.6]))
    for share, devices in ((-1.0, ()), (some, data.draw(DEVICES)), (math.inf, data.draw(DEVICES))):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(reached, "FEW", share)
            patch.setattr(reached, "AT_ONCE", devices)
            score = model(known, head, relation, tail)
        mix = torch.arange(1, score.numel() + 1, dtype=torch.float64).view(score.shape)
        found.append([score, *gradients((score * mix).sum(), model)])
    same(found[1], found[0])
    same(found[2], found[0])


@settings(deadline=None, max_examples=4)
@given(st.data(), facts(), walk_options())
def test_the_sums_of_a_gpu_are_those_of_torch(
    data: st.DataObject, rows: Facts, options: WalkOptions
) -> None:
    """Over all entities, with facts hidden and each query's own left out."""
    if WHERE.type != "cpu":
        pytest.skip("a GPU does not sum what is on a CPU")
    graph, model, sums = drawn(rows), model_of(options), sums_of_a_gpu()
    torch.manual_seed(data.draw(st.integers(0, 99)))
    known = facts_of(graph).thinned(data.draw(st.sampled_from([0.0, 0.3])))
    h, r, t = torch.from_numpy(graph.train).unbind(1)
    queries = torch.cat([h, t]), torch.cat([r, r + len(RELATIONS)]), torch.cat([t, h])
    found = []
    for own in (PLAIN, sums):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(reached, "FEW", -1.0)
            patch.setattr(walk_model, "sums_for", lambda *_, own=own: own)
            score = model(known, *queries)
        mix = torch.arange(1, score.numel() + 1, dtype=torch.float64).view(score.shape)
        found.append([score, *gradients((score * mix).sum(), model)])
    same(found[1], found[0])


@pytest.mark.parametrize(
    ("device", "states", "fused"),
    [("cpu", 8, False), ("cuda", 8, True), ("cuda", 1, True), ("cuda", 6, False)],
)
def test_who_adds_up_dense_hops(
    device: str, states: int, fused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kernels where there is a GPU, the states of a head are a power of two, Triton is there."""
    pytest.importorskip("triton", reason="Triton runs the kernels of a GPU")
    assert (sums_for(torch.device(device), states) is not PLAIN) == fused
    monkeypatch.setattr(walk_sums, "find_spec", lambda name: None)
    assert sums_for(torch.device(device), states) is PLAIN


def test_what_is_no_fact_is_not_left_out() -> None:
    """A query of the validation triples is scored on the whole graph."""
    graph = graph_of([("a", "p", "b"), ("b", "q", "c"), ("c", "p", "a")])
    model, facts = model_of(WalkOptions(hops=3, states=2)), facts_of(graph)
    whole = model(facts, torch.tensor([0]), torch.tensor([0]))
    asked = model(facts, torch.tensor([0]), torch.tensor([0]), torch.tensor([2]))
    torch.testing.assert_close(whole, asked, rtol=1e-12, atol=1e-12)


@settings(deadline=None, max_examples=15)
@given(st.data(), facts(), walk_options())
def test_hidden_facts_are_as_if_they_had_never_been(
    data: st.DataObject, rows: Facts, options: WalkOptions
) -> None:
    """Degrees and profiles too; a query's own fact is left out besides."""
    graph, model = drawn(rows), model_of(options)
    hidden = data.draw(st.sets(st.integers(0, len(rows) - 1)))
    whole = facts_of(graph)
    kept = torch.ones(whole.edges.count, dtype=torch.float64)
    for a, p, b in (rows[i] for i in sorted(hidden)):
        there = [torch.tensor(x) for x in ((a, b), (p, p + len(RELATIONS)), (b, a))]
        kept[whole.edges.find(*there)[0]] = 0
    fact = [whole.edges.fact_of[kept == 0].tolist().count(i) for i in range(len(rows))]
    assert sorted(fact) == [0] * (len(rows) - len(hidden)) + [2] * len(hidden)
    thin = WalkGraph.keeping(whole.edges, kept, torch.float64)
    less = facts_of(replace(graph, train=np.delete(graph.train, sorted(hidden), axis=0)))
    h, r, t = torch.from_numpy(graph.train).unbind(1)
    found, expected = model(thin, h, r, t), model(less, h, r, t)
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)
    same(gradients(found.sum(), model), gradients(expected.sum(), model))


@pytest.mark.parametrize("heads", [1, 2])
def test_the_relational_engine_runs_the_program(heads: int) -> None:
    """The same p_success from the tensor engine's goals."""
    graph = graph_of([("a", "p", "b"), ("b", "q", "c"), ("a", "q", "b"), ("c", "p", "c")])
    model = model_of(WalkOptions(hops=2, states=2 * heads, heads=heads, counting="one"))
    program = walk_program(graph, model.options)
    prover = Prover(Database.of(program), WalkScorer(model), limits=ExploreLimits(depth=40))
    goals = prover.database.goals(["p(a, c)", "p(a, a)", "'p^-1'(c, b)"])
    found = prover.weigh(prover.explore(goals)).success
    swept = model(facts_of(graph), torch.tensor([0, 0, 2]), torch.tensor([0, 0, 2])).exp()
    torch.testing.assert_close(found, swept[[0, 1, 2], [2, 0, 1]], rtol=1e-9, atol=0)
