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

from deepprooflog.graph.unfold.flat import Links, find_links
from deepprooflog.graph.unfold.way_table import LABEL, NONE, Floats, InstanceRows, Ints, Unfolded

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


def find_chains(unfolded: Unfolded, starts: list[Ints]) -> tuple[list[Chains], Ints]:
    """The chains among unfolded queries, by shape, and the queries that are none.

    `starts` are, for each network, where each query's rows begin.
    """
    links = find_links(unfolded)
    count = len(unfolded.roots)
    fits = unfolded.roots > 0
    for part in unfolded.parts:
        if part.nodes > 1:
            fits[part.query] = False
    query = unfolded.query[links.source]
    depth = unfolded.depth[links.source]
    to_true = links.target == 0
    fits[query[~to_true & (unfolded.depth[links.target] != depth + 1)]] = False
    length = np.zeros(count, dtype=np.int64)
    np.maximum.at(length, query, depth + 1)
    # What a chain ends in is True alone, and nothing else stands behind its last layer.
    fits[query[to_true != (depth + 1 == length[query])]] = False
    has_true = np.zeros(count, dtype=bool)
    has_true[query[to_true]] = True
    fits &= has_true
    position, wide = _positions(unfolded)
    fits &= wide <= MOST_WIDE
    offsets = _offsets(unfolded, starts)
    sizes = np.diff(np.stack([np.zeros(count + 1, dtype=np.int64), *starts]), axis=1).T
    found: list[Chains] = []
    rest = [np.nonzero(~fits)[0]]
    for members in _grouped(np.nonzero(fits)[0], sizes):
        for queries in _alike(members, length):
            chains = _chains(unfolded, links, queries, length[queries], position, offsets, starts)
            if chains is None:
                rest.append(queries)
            else:
                found.append(chains)
    return found, np.sort(np.concatenate(rest))


def _grouped(queries: Ints, sizes: Ints) -> list[Ints]:
    """Queries by how many rows they give each network."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for q, size in zip(queries.tolist(), sizes[queries].tolist(), strict=True):
        groups.setdefault(tuple(size), []).append(q)
    return [np.asarray(members, dtype=np.int64) for members in groups.values()]


def _alike(queries: Ints, length: Ints) -> list[Ints]:
    """Queries whose lengths differ little enough to be padded to the longest."""
    own = length[queries]
    if own.max(initial=0) * len(own) <= MOST_UNUSED * own.sum():
        return [queries]
    return [queries[own == n] for n in np.unique(own)]


def _positions(unfolded: Unfolded) -> tuple[Ints, Ints]:
    """Each instance's place in its layer, and each query's widest layer."""
    order = np.lexsort((unfolded.depth, unfolded.query))
    query, depth = unfolded.query[order], unfolded.depth[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (query[1:] != query[:-1]) | (depth[1:] != depth[:-1])
    start = np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))
    position = np.empty(len(order), dtype=np.int64)
    position[order] = np.arange(len(order)) - start
    wide = np.zeros(len(unfolded.roots), dtype=np.int64)
    real = unfolded.query >= 0
    np.maximum.at(wide, unfolded.query[real], position[real] + 1)
    position[0] = 0
    return position, wide


def _offsets(unfolded: Unfolded, starts: list[Ints]) -> list[Ints]:
    """For each network and query: its row r begins at offset + r · domain among the query's own."""
    offsets = []
    base = np.full(len(unfolded.roots), FIRST_ENTRY + len(unfolded.clauses), dtype=np.int64)
    for asked, start in zip(unfolded.asked, starts, strict=True):
        offsets.append(base - start[:-1] * asked.domain)
        # A query's rows of the next network follow those of this one.
        base = base + (start[1:] - start[:-1]) * asked.domain
    return offsets


def _chains(
    unfolded: Unfolded,
    links: Links,
    queries: Ints,
    lengths: Ints,
    position: Ints,
    offsets: list[Ints],
    starts: list[Ints],
) -> Chains | None:
    length = int(lengths.max())
    place = np.full(len(unfolded.roots) + 1, -1, dtype=np.int64)
    place[queries] = np.arange(len(queries))
    chain = place[unfolded.query[links.source]]
    mine = np.nonzero(chain >= 0)[0]
    chain, source = chain[mine], links.source[mine]
    row, column = position[source], position[links.target[mine]]
    wide = int(max(row.max(initial=0), column.max(initial=0))) + 1
    cell = ((chain * length + unfolded.depth[source]) * wide + row) * wide + column
    first, terms = _terms(cell, links.ways[mine])
    cells = len(queries) * length * wide * wide
    if cells * terms > MOST_PADDING * int(links.ways[mine].sum()):
        return None
    factors = max((part.table.kind.shape[1] for part in unfolded.parts), default=1)
    index = np.full((cells * terms, factors), ONE_ENTRY, dtype=np.int64)
    index[:, 0] = ZERO_ENTRY
    constant = np.zeros(cells * terms)
    at = np.full(len(links.source), -1, dtype=np.int64)
    at[mine] = cell * terms + first
    bounds = np.searchsorted(links.part, np.arange(len(unfolded.parts) + 1))
    for number, part in enumerate(unfolded.parts):
        here = slice(bounds[number], bounds[number + 1])
        _write(unfolded, part, offsets, (links.row[here], links.exit[here], at[here]),
               index, constant)  # fmt: skip
    shape = (len(queries), length, wide, wide, terms)
    ended = np.arange(length)[None, :] >= lengths[:, None]  # [queries, layers]
    index = index.reshape(*shape, factors)
    index[ended, 0, 0, 0] = ONE_ENTRY
    rows = tuple(
        a.slots[s[queries][:, None] + np.arange(s[queries[0] + 1] - s[queries[0]])]
        for a, s in zip(unfolded.asked, starts, strict=True)
    )
    labelled = torch.as_tensor(constant.reshape(shape)) if constant.any() else None
    return Chains(queries, torch.as_tensor(index), labelled, rows)


def _terms(cell: Ints, ways: Ints) -> tuple[Ints, int]:
    """Where the ways of each link begin among those of its cell, and the most ways of a cell."""
    order = np.argsort(cell, kind="stable")
    before = np.cumsum(ways[order]) - ways[order]
    new = np.ones(len(cell), dtype=bool)
    new[1:] = cell[order[1:]] != cell[order[:-1]]
    start = np.maximum.accumulate(np.where(new, before, 0))
    first = np.empty(len(cell), dtype=np.int64)
    first[order] = before - start
    return first, int((first + ways).max(initial=1))


def _write(
    unfolded: Unfolded,
    part: InstanceRows,
    offsets: list[Ints],
    links: tuple[Ints, Ints, Ints],
    index: Ints,
    constant: Floats,
) -> None:
    """Write the ways of some instances of a template to their places: row, exit, place of links."""
    table, bunches = part.table, part.table.bunches
    row, exit_, at = links
    row, exit_, at = row[at >= 0], exit_[at >= 0], at[at >= 0]
    if not len(at):
        return
    begin = np.full((len(part.number), len(bunches.targets)), -1, dtype=np.int64)
    begin[row, exit_] = at
    some = np.unique(row)
    begin = begin[some][:, bunches.bunch]  # [n, W]
    where = begin + bunches.place
    factors = table.kind.shape[1]
    own = np.zeros((len(some), len(table.inputs) + 1), dtype=np.int64)
    for i, (network, _) in enumerate(table.inputs):
        number = unfolded.network[network]
        own[:, i] = offsets[number][part.query[some]]
        own[:, i] += part.rows[some, i] * unfolded.asked[number].domain
    kind, column = table.kind[bunches.ways], table.column[bunches.ways]
    labelled = kind == LABEL
    fixed = np.where(kind == NONE, ONE_ENTRY, column)
    fixed[labelled] = FIRST_ENTRY + unfolded.label[column[labelled]]
    # The last of an instance's own offsets is 0: that of labels and of no factor.
    entries = own[:, table.given[bunches.ways]] + fixed  # [n, W, factors]
    taken = begin >= 0
    if taken.all():
        index[where.reshape(-1), :factors] = entries.reshape(-1, factors)
        constant[where] = table.constant[bunches.ways]
    else:
        index[where[taken], :factors] = entries[taken]
        constant[where[taken]] = np.broadcast_to(table.constant[bunches.ways], where.shape)[taken]


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
