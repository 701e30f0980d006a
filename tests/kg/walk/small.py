"""Small graphs and walk models for tests, drawn by Hypothesis."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

import numpy as np
import torch
from hypothesis import strategies as st

from deepprooflog.kg.data.triples import Graph
from deepprooflog.kg.walk.model import WalkGraph, WalkModel, walk_graph
from deepprooflog.kg.walk.options import WalkOptions
from deepprooflog.syntax.terms import Atom

RELATIONS, ENTITIES = ("p", "q"), 4


Facts: TypeAlias = list[tuple[int, int, int]]


def facts(most: int = 7) -> st.SearchStrategy[Facts]:
    """A few facts (h, r, t); loops and facts in both directions among them."""
    one = st.tuples(st.integers(0, ENTITIES - 1), st.integers(0, 1), st.integers(0, ENTITIES - 1))
    return st.lists(one, min_size=1, max_size=most, unique=True)


def drawn(facts: Facts) -> Graph:
    """The graph of these facts; every entity and relation is there, whatever was drawn."""
    names = tuple(Atom(f"e{i}") for i in range(ENTITIES))
    none = np.zeros((0, 3), dtype=np.int64)
    return Graph("drawn", names, RELATIONS, np.array(facts, dtype=np.int64), none, none)


@st.composite
def walk_options(draw: st.DrawFn, hops: int = 3) -> WalkOptions:
    """Any kind of model, small."""
    heads = draw(st.integers(1, 2))
    return WalkOptions(
        hops=draw(st.integers(1, hops)),
        states=heads * draw(st.integers(1, 2)),
        heads=heads,
        alike=draw(st.booleans()),
        width=3,
        hidden=4,
        counting=draw(st.sampled_from(["each", "one", "learned"])),
        gates=draw(st.booleans()),
        suits=draw(st.booleans()),
        seed=draw(st.integers(0, 99)),
    )


def model_of(options: WalkOptions) -> WalkModel:
    """A model in which no parameter is at a point of symmetry."""
    model = WalkModel(RELATIONS, options).double()
    generator = torch.Generator().manual_seed(options.seed)
    with torch.no_grad():
        for p in model.parameters():
            p.add_(torch.randn(p.shape, generator=generator, dtype=p.dtype) / 2)
        model.policy.leap.bias.add_(8.0)
    return model


def facts_of(graph: Graph) -> WalkGraph:
    """The graph's facts in float64."""
    return walk_graph(graph, RELATIONS, dtype=torch.float64)


def without(graph: Graph, row: int) -> Graph:
    """The graph with one training triple deleted, its entities still there."""
    return replace(graph, train=np.delete(graph.train, row, axis=0))
