"""Holding out triples of a graph that has no validation or no test split of its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from deepprooflog.errors import DataError
from deepprooflog.kg.data.triples import Graph, SplitName

SHARE = 0.1


def with_splits(graph: Graph, seed: int = 0, *, test: bool = False) -> tuple[Graph, str]:
    """The graph with the splits that training needs, and what to say of those held out."""
    told = []
    if test and not len(graph.test):
        graph = hold_out(graph, SHARE, seed, "test")
        told.append(f"{len(graph.test):,} as test")
    if not len(graph.valid):
        graph = hold_out(graph, SHARE, seed)
        told.append(f"{len(graph.valid):,} as validation")
    if not told:
        return graph, ""
    return graph, f"of the training triples of {graph.name} are held out: {', '.join(told)}"


def hold_out(graph: Graph, share: float, seed: int = 0, split: SplitName = "valid") -> Graph:
    """The graph with a share of its training triples as another split, drawn at random.

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
            f"{graph.name} has no triple that could be held out for the split {split}",
            hint=f"more triples, or a file {split}.tsv beside train.tsv; in Python {split}=[...]",
        )
    sources = dict(graph.sources)
    if "train" in sources:
        own = sources["train"]
        sources["train"] = replace(own, lines=own.lines[~out])
        sources[split] = replace(own, lines=own.lines[out])
    held = rows[out]
    kept = replace(graph, train=rows[~out], sources=sources)
    return replace(kept, valid=held) if split == "valid" else replace(kept, test=held)
