"""Ranks of triples in their own lists, from the pairs that rules back: all others score 0."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int64

from deepprooflog.graph.goalgraph import ragged_ranges
from deepprooflog.kg.data.triple_set import column
from deepprooflog.kg.data.triples import SIDES, Graph
from deepprooflog.kg.evaluation.metrics import ranks
from deepprooflog.kg.readings.backing import Backing


@dataclass(frozen=True, eq=False)
class BackedLists:
    """For each list, the triple's own pair and the candidates that a rule backs."""

    own: Int64[np.ndarray, " lists"]  # −1 where no rule backs it
    unbacked: Int64[np.ndarray, " lists"]  # candidates that no rule backs
    list: Int64[np.ndarray, " candidates"]
    pair: Int64[np.ndarray, " candidates"]

    def ranks(self, score: Float64[np.ndarray, " pairs"]) -> Float64[np.ndarray, " lists"]:
        """The rank of each list's triple, ties averaged."""
        own = np.where(self.own >= 0, np.append(score, 0.0)[self.own], 0.0)
        other, at_least = score[self.pair], own[self.list]
        lists = len(own)
        better = np.bincount(self.list[other > at_least], minlength=lists)
        equal = np.bincount(self.list[other == at_least], minlength=lists)
        return ranks(better, equal + np.where(own == 0, self.unbacked, 0))


def backed_lists(graph: Graph, backing: Backing, triples: Int64[np.ndarray, "n 3"]) -> BackedLists:
    """The lists of some triples of one relation on both sides, without known truths."""
    entities = len(graph.entities)
    keys = backing.x * entities + backing.y
    asked = triples[:, 0] * entities + triples[:, 2]
    at = np.searchsorted(keys, asked)
    at = np.where(np.append(keys, -1)[at] == asked, at, -1)
    parts = []
    for side in SIDES:
        ends, fixed = (backing.y, 2) if side == "head" else (backing.x, 0)
        order = np.argsort(ends, kind="stable")
        low, high = (np.searchsorted(ends[order], triples[:, fixed], s) for s in ("left", "right"))
        owner, place = ragged_ranges(low, high - low)
        pair = order[place]
        entity = (backing.x if side == "head" else backing.y)[pair]
        known = graph.known(side)
        context = graph.contexts(triples, side)
        kept = ~known.has(context[owner], entity) & (pair != at[owner])
        owner, pair = owner[kept], pair[kept]
        own_known = known.has(context, triples[:, column(side)])
        others = entities - known.count(context) - (1 - own_known)
        unbacked = others - np.bincount(owner, minlength=len(triples))
        parts.append((unbacked, owner, pair))
    (a, first, x), (b, second, y) = parts
    return BackedLists(
        np.concatenate([at, at]), np.concatenate([a, b]),
        np.concatenate([first, second + len(triples)]), np.concatenate([x, y]),
    )  # fmt: skip
