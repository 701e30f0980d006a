"""Chains of narrow layers: log p as a product of small matrices, by an associative scan.

    log p = (M_L ⊗ … ⊗ M_2 ⊗ M_1)[root, True]        ⊗ the matrix product of log space

Where the unfolded goals of a query fall into layers of a few goals each, and every step leads to
the next layer, the steps between two layers are a small matrix whose entries are sums of products
of atomic weights. All matrices of a batch are made by one gather and one log-sum-exp, and
multiplied pairwise, so that the depth of the computation is the logarithm of the chain's length.
Shorter chains of a batch go on as True to the length of the longest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from deepprooflog.graph.flat import LABEL, Flat, Ints, without_dead_ends

# Stands for log 0 where −inf would make the gradient of a sum undefined.
NEVER = -1e30
# Entries of the atomic weights that are no weight: log 1 and log 0.
ONE_ENTRY, ZERO_ENTRY, FIRST_ENTRY = 0, 1, 2

# A layer may be this wide, and padding may cost this many times what the edges need.
MOST_WIDE = 8
MOST_PADDING = 16
# Chains of different lengths are padded to one as long as this many times the layers are enough.
MOST_UNUSED = 1.5


@dataclass(frozen=True)
class Chains:
    """Queries whose graphs are chains of one length: indices of the atomic weights to combine."""

    queries: Ints  # [Q] positions in the batch
    index: Int[Tensor, "chains layers wide wide terms factors"]
    constant: Float[Tensor, "chains layers wide wide terms"] | None
    rows: tuple[Ints, ...]  # for each network: [Q, rows, arity] the query's own slots

    def to(self, device: torch.device) -> Chains:
        """The same chains with their indices on a device."""
        if self.index.device == device:
            return self
        constant = None if self.constant is None else self.constant.to(device)
        return Chains(self.queries, self.index.to(device), constant, self.rows)


def find_chains(flat: Flat, starts: list[Ints]) -> tuple[list[Chains], Ints]:
    """The chains among a flat graph's queries, by shape, and the queries that are none.

    `starts` are, for each network, where each query's rows begin.
    """
    flat = without_dead_ends(flat)
    count = len(flat.roots)
    fits = np.full(count, flat.simple) & (flat.roots > 0)
    edge_query = flat.query[flat.source]
    from_depth = flat.depth[flat.source]
    to_true = flat.target == 0
    steady = to_true | (flat.depth[flat.target] == from_depth + 1)
    fits[np.unique(edge_query[~steady])] = False
    length = np.zeros(count, dtype=np.int64)
    np.maximum.at(length, edge_query, from_depth + 1)
    fits[np.unique(edge_query[to_true & (from_depth + 1 != length[edge_query])])] = False
    # What a chain ends in is True alone: no other node may stand behind its last layer.
    behind = ~to_true & (from_depth + 1 >= length[edge_query])
    fits[np.unique(edge_query[behind])] = False
    has_true = np.zeros(count, dtype=bool)
    has_true[edge_query[to_true]] = True
    fits &= has_true
    position, wide = _positions(flat)
    fits &= wide <= MOST_WIDE
    shapes: dict[tuple[int, ...], list[int]] = {}
    for q in np.nonzero(fits)[0].tolist():
        shapes.setdefault(tuple(int(s[q + 1] - s[q]) for s in starts), []).append(q)
    found: list[Chains] = []
    rest = [np.nonzero(~fits)[0]]
    for members in shapes.values():
        for queries in _alike(np.asarray(members, dtype=np.int64), length):
            chains = _chains(flat, queries, length[queries], position, starts)
            if chains is None:
                rest.append(queries)
            else:
                found.append(chains)
    return found, np.sort(np.concatenate(rest))


def _alike(queries: Ints, length: Ints) -> list[Ints]:
    """Queries whose lengths differ little enough to be padded to the longest."""
    own = length[queries]
    if own.max(initial=0) * len(own) <= MOST_UNUSED * own.sum():
        return [queries]
    return [queries[own == n] for n in np.unique(own)]


def _positions(flat: Flat) -> tuple[Ints, Ints]:
    """Each node's place in its layer, and each query's widest layer."""
    order = np.lexsort((flat.depth, flat.query))
    query, depth = flat.query[order], flat.depth[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (query[1:] != query[:-1]) | (depth[1:] != depth[:-1])
    start = np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))
    position = np.empty(len(order), dtype=np.int64)
    position[order] = np.arange(len(order)) - start
    wide = np.zeros(len(flat.roots), dtype=np.int64)
    real = flat.query >= 0
    np.maximum.at(wide, flat.query[real], position[real] + 1)
    position[0] = 0
    return position, wide


def _chains(
    flat: Flat, queries: Ints, lengths: Ints, position: Ints, starts: list[Ints]
) -> Chains | None:
    length = int(lengths.max())
    count = len(flat.roots)
    place = np.full(count + 1, -1, dtype=np.int64)
    place[queries] = np.arange(len(queries))
    edge_query = flat.query[flat.source]
    mine = np.nonzero(place[edge_query] >= 0)[0]
    chain = place[edge_query[mine]]
    layer = flat.depth[flat.source[mine]]
    row, column = position[flat.source[mine]], position[flat.target[mine]]
    wide = int(max(row.max(initial=0), column.max(initial=0))) + 1
    cell = ((chain * length + layer) * wide + row) * wide + column
    order = np.argsort(cell, kind="stable")
    mine, cell = mine[order], cell[order]
    new = np.ones(len(cell), dtype=bool)
    new[1:] = cell[1:] != cell[:-1]
    start = np.maximum.accumulate(np.where(new, np.arange(len(cell)), 0))
    term = np.arange(len(cell)) - start
    terms, factors = int(term.max(initial=0)) + 1, flat.kind.shape[1]
    cells = len(queries) * length * wide * wide
    if cells * terms > MOST_PADDING * len(mine):
        return None
    index = np.full((cells, terms, factors), ONE_ENTRY, dtype=np.int64)
    index[:, :, 0] = ZERO_ENTRY
    index[cell, term] = entries(flat, mine, starts)
    ended = np.arange(length)[None, :] >= lengths[:, None]  # [queries, layers]
    index.reshape(len(queries), length, wide, wide, terms, factors)[ended, 0, 0, 0] = ONE_ENTRY
    shape = (len(queries), length, wide, wide, terms)
    constant: Tensor | None = None
    if (flat.constant[mine] != 0).any():
        full = np.zeros((cells, terms))
        full[cell, term] = np.maximum(flat.constant[mine], NEVER)
        constant = torch.as_tensor(full.reshape(shape))
    rows = tuple(
        np.stack([a.slots[s[q] : s[q + 1]] for q in queries.tolist()])
        for a, s in zip(flat.asked, starts, strict=True)
    )
    return Chains(queries, torch.as_tensor(index.reshape(*shape, factors)), constant, rows)


def entries(flat: Flat, edges: Ints, starts: list[Ints]) -> Ints:
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


def chain_log_prob(
    chains: Chains,
    labels: Float[Tensor, "labels"],
    outputs: list[Float[Tensor, "chains _ _"]],
    select: Int[Tensor, "chains"] | None = None,
) -> Float[Tensor, "chains"]:
    """log p of each chain; `outputs` are the networks' log-probabilities for its rows.

    With `select` only these chains are computed, and `outputs` are theirs.
    """
    index = chains.index if select is None else chains.index[select]
    constant = chains.constant
    if constant is not None and select is not None:
        constant = constant[select]
    batch = len(index)
    one, zero = labels.new_zeros((batch, 1)), labels.new_full((batch, 1), NEVER)
    weights = torch.cat(
        [one, zero, labels.expand(batch, -1), *(o.reshape(batch, -1) for o in outputs)], dim=1
    )
    shape = index.shape
    picked = weights.gather(1, index.reshape(batch, -1)).view(shape).sum(-1)
    if constant is not None:
        picked = picked + constant
    matrices = torch.logsumexp(picked.clamp_min(NEVER), dim=-1) if shape[4] > 1 else picked[..., 0]
    log = product(matrices)[:, 0, 0]
    return torch.where(log > NEVER / 2, log, -torch.inf)


def product(matrices: Float[Tensor, "batch layers wide wide"]) -> Float[Tensor, "batch wide wide"]:
    """The product of each row of matrices in log space, pairwise: depth log₂ layers."""
    while matrices.shape[1] > 1:
        if matrices.shape[1] % 2:
            last, matrices = matrices[:, -1:], matrices[:, :-1]
        else:
            last = matrices[:, :0]
        left, right = matrices[:, 0::2], matrices[:, 1::2]
        joined = torch.logsumexp(left.unsqueeze(-1) + right.unsqueeze(-3), dim=-2)
        matrices = torch.cat([joined.clamp_min(NEVER), last], dim=1)
    return matrices[:, 0]
