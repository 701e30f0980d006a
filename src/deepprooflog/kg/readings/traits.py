"""What all rules of one atom and one head variable connect, at once: a relation may have many.

    r(X, c) :- a(X, d).        r(X, c) :- a(X, Z).        and for r(c, Y)

The rules of one body relation are matched with its edges by a sort, never rule by rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Int64

from deepprooflog.graph.goalgraph import ragged_ranges
from deepprooflog.kg.data.triple_set import Side
from deepprooflog.kg.mining.adjacency import Adjacency, DirectedGraph
from deepprooflog.kg.mining.found import FREE, FoundRule
from deepprooflog.kg.mining.identity import Pairs

Matches = tuple[Int64[np.ndarray, " matches"], Int64[np.ndarray, " matches"]]
"""The numbers of rules, and a member that each is true of."""


def trait_pairs(
    edges: DirectedGraph, rules: Sequence[FoundRule], side: Side, ends: Int64[np.ndarray, " ends"]
) -> list[Pairs]:
    """For each rule the pairs (x, y) that it connects with x (`head`) or y among some ends."""
    forward = np.array([rule.x == FREE for rule in rules], bool)
    constant = np.array([max(rule.x, rule.y) for rule in rules], np.int64)
    label = np.array([rule.path[0] for rule in rules], np.int64)
    end = np.array([rule.end for rule in rules], np.int64)
    asked = np.zeros(edges.entities, bool)
    asked[ends] = True
    by_member = forward == (side == "head")
    # A head whose constant is asked about holds of all members; another, of members asked about.
    wanted = by_member | asked[constant]
    owners, members = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for a in np.unique(label[wanted]).tolist():
        body = edges.by_relation[a]
        for some in (by_member, wanted & ~by_member):
            near = asked if some is by_member else np.ones(edges.entities, bool)
            own = np.flatnonzero(some & (label == a))
            for rule, member in _matches(body, own, constant[own], end[own], near):
                owners.append(rule)
                members.append(member)
    owner, member = np.concatenate(owners), np.concatenate(members)
    order = np.lexsort((member, owner))
    owner, member = owner[order], member[order]
    fixed, ahead = constant[owner], forward[owner]
    x, y = np.where(ahead, member, fixed), np.where(ahead, fixed, member)
    begin = np.searchsorted(owner, np.arange(1, len(rules)))
    return list(zip(np.split(x, begin), np.split(y, begin), strict=True)) if len(rules) else []


def _matches(
    body: Adjacency,
    rule: Int64[np.ndarray, " rules"],
    constant: Int64[np.ndarray, " rules"],
    end: Int64[np.ndarray, " rules"],
    near: np.ndarray,
) -> Iterator[Matches]:
    """The members of rules over one relation, none of them a constant of the rule."""
    named = np.flatnonzero(end != FREE)
    low, high = (np.searchsorted(body.targets, end[named], s) for s in ("left", "right"))
    owner, edge = ragged_ranges(low, high - low)
    owner, member = named[owner], body.sources[edge]
    kept = near[member] & (member != constant[owner]) & (member != end[owner])
    yield rule[owner[kept]], member[kept]
    free = np.flatnonzero(end == FREE)
    some = body.domain[near[body.domain]]
    owner, member = np.repeat(free, len(some)), np.tile(some, len(free))
    # Z is not the head's constant: who has no other is no member.
    low, high = (np.searchsorted(body.targets, constant[free], s) for s in ("left", "right"))
    which, edge = ragged_ranges(low, high - low)
    which, lone = free[which], body.sources[edge]
    single = body.out_degree[lone] == 1
    entities = body.entities
    dropped = which[single] * entities + lone[single]
    kept = (member != constant[owner]) & ~np.isin(owner * entities + member, dropped)
    yield rule[owner[kept]], member[kept]
