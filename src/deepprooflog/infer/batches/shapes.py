"""Queries of one shape: the same unfolded graph with other weights, solved as one batch.

Where layers are too wide for small matrices, queries are grouped by the graph they unfold into, and
each group is solved level by level with a column for each query. A step that leads nowhere in one
query and to True in another keeps its edge, with weight 0 in the former, so that queries that
differ only in their outcome have one shape.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from deepprooflog.graph.schedule import arrows, schedule
from deepprooflog.graph.unfold.flat import Flat
from deepprooflog.graph.unfold.way_table import LABEL, Ints
from deepprooflog.infer.batches.chain import FIRST_ENTRY, ONE_ENTRY
from deepprooflog.infer.graphs.exact import Layered, layered, log_values


@dataclass(frozen=True)
class SharedGraph:
    """Queries that unfold into one graph."""

    queries: Ints  # [Q] positions in the batch
    layers: Layered
    root: int
    index: Int[Tensor, "edges factors"]  # into each query's own atomic weights
    constant: Float[Tensor, "shapes edges"]  # log weights of labels, −inf for steps to nowhere
    rows: tuple[Ints, ...]  # for each network: [Q, rows, arity] the query's own slots

    def to(self, device: torch.device) -> SharedGraph:
        """The same shape with its indices on a device."""
        if self.index.device == device:
            return self
        return SharedGraph(
            self.queries, self.layers.to(device), self.root, self.index.to(device),
            self.constant.to(device), self.rows,
        )  # fmt: skip


def find_shapes(flat: Flat, queries: Ints, starts: list[Ints]) -> list[SharedGraph]:
    """The shapes of some queries of a flat graph (those that have a root)."""
    order = np.lexsort((flat.source, flat.query[flat.source]))
    edge_query = flat.query[flat.source][order]
    begin = np.searchsorted(edge_query, np.arange(len(flat.roots) + 1))
    node_order = np.argsort(flat.query, kind="stable")
    node_begin = np.searchsorted(flat.query[node_order], np.arange(len(flat.roots) + 1))
    own_number = np.zeros(len(flat.query), dtype=np.int64)
    found: dict[bytes, list[tuple[int, Ints]]] = {}
    parts: dict[bytes, tuple[int, int, Ints, Ints, Ints]] = {}
    for q in queries.tolist():
        if flat.roots[q] <= 0:
            continue
        nodes = node_order[node_begin[q] : node_begin[q + 1]]
        own_number[nodes] = np.arange(1, len(nodes) + 1)  # 0 is True
        edges = order[begin[q] : begin[q + 1]]
        source, target = own_number[flat.source[edges]], own_number[flat.target[edges]]
        target[flat.target[edges] == 0] = 0
        index = _entries(flat, edges, starts)
        sizes = [int(s[q + 1] - s[q]) for s in starts]
        root = int(own_number[flat.roots[q]])
        key = b"|".join(
            a.tobytes() for a in (np.asarray([len(nodes), root, *sizes]), source, target, index)
        )
        found.setdefault(key, []).append((q, edges))
        parts.setdefault(key, (len(nodes) + 1, root, source, target, index))
    return [_shape(flat, parts[key], members, starts) for key, members in found.items()]


def _entries(flat: Flat, edges: Ints, starts: list[Ints]) -> Ints:
    """Where each factor of some edges stands among its query's own atomic weights."""
    kind, row, column = flat.kind[edges], flat.row[edges], flat.column[edges]
    query = np.broadcast_to(flat.query[flat.source[edges]][:, None], kind.shape)
    result = np.full(kind.shape, ONE_ENTRY, dtype=np.int64)
    labelled = kind == LABEL
    result[labelled] = FIRST_ENTRY + column[labelled]
    base = np.full(kind.shape, FIRST_ENTRY + len(flat.clauses), dtype=np.int64)
    for number, (asked, start) in enumerate(zip(flat.asked, starts, strict=True)):
        at = kind == number
        own = row[at] - start[query[at]]
        result[at] = base[at] + own * asked.domain + column[at]
        # A query's rows of the next network follow those of this one.
        base += (start[1:] - start[:-1])[query] * asked.domain
    return result


def _shape(
    flat: Flat,
    part: tuple[int, int, Ints, Ints, Ints],
    members: list[tuple[int, Ints]],
    starts: list[Ints],
) -> SharedGraph:
    nodes, root, source, target, index = part
    graph = arrows(nodes, source, target)
    plan = schedule(graph, np.zeros(1, dtype=np.int64))
    queries = np.asarray([q for q, _ in members], dtype=np.int64)
    rows = tuple(
        np.stack([a.slots[s[q] : s[q + 1]] for q in queries.tolist()])
        for a, s in zip(flat.asked, starts, strict=True)
    )
    constant = np.stack([flat.constant[edges] for _, edges in members])
    return SharedGraph(
        queries, layered(plan), root, torch.as_tensor(index), torch.as_tensor(constant), rows
    )


def shape_log_prob(
    shape: SharedGraph,
    labels: Float[Tensor, "labels"],
    outputs: list[Float[Tensor, "shapes _ _"]],
    select: Int[Tensor, "shapes"] | None = None,
) -> Float[Tensor, "shapes"]:
    """log p of each query; `outputs` are the networks' log-probabilities for its rows.

    With `select` only these queries are computed, and `outputs` are theirs.
    """
    constant = shape.constant if select is None else shape.constant[select]
    batch = len(constant)
    fixed = labels.new_zeros((batch, 2))
    weights = torch.cat(
        [fixed, labels.expand(batch, -1), *(o.reshape(batch, -1) for o in outputs)], dim=1
    )
    picked = weights[:, shape.index].sum(-1) + constant  # [batch, edges]
    return log_values(shape.layers, picked.T.contiguous())[shape.root]
