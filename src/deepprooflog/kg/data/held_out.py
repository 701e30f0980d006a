"""Holding out triples of a graph that has no validation split of its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from deepprooflog.errors import DataError
from deepprooflog.kg.data.triples import Graph


def hold_out(graph: Graph, share: float, seed: int = 0) -> Graph:
    """The graph with a share of its training triples as the validation split, drawn at random.

    A triple stays in train where it is the last there of its relation or of one of its entities.

    >>> from deepprooflog.kg.data.triples import graph_of
    >>> graph = hold_out(graph_of([(a, "r", b) for a in "abc" for b in "abc"]), 0.25)
    >>> len(graph.train), len(graph.valid)
    (7, 2)
    """
    rows = graph.train
    ends = np.bincount(rows[:, [0, 2]].ravel(), minlength=len(graph.entities))
    relations = np.bincount(rows[:, 1], minlength=len(graph.relations))
    wanted = max(1, round(share * len(rows)))
    out = np.zeros(len(rows), dtype=bool)
    for at in np.random.default_rng(seed).permutation(len(rows)).tolist():
        head, relation, tail = rows[at].tolist()
        least = 3 if head == tail else 2
        if ends[head] >= least and ends[tail] >= least and relations[relation] >= 2:
            ends[head] -= 1
            ends[tail] -= 1
            relations[relation] -= 1
            out[at] = True
            if out.sum() == wanted:
                break
    if not out.any():
        raise DataError(
            f"{graph.name} has no triple that could be held out for validation",
            hint="valid=[...] beside the training triples",
        )
    sources = {
        name: replace(source, lines=source.lines[~out]) if name == "train" else source
        for name, source in graph.sources.items()
    }
    return replace(graph, train=rows[~out], valid=rows[out], sources=sources)
