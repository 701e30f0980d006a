"""Rules with constants whose body does not lead back to the head, counted exactly.

    r(X, c) :- a(X, d).        r(c, Y) :- a(Y, d).        a a relation or an inverse
    r(X, c) :- a(X, Z).        r(c, Y) :- a(Y, Z).

An entity x has the trait (a, d) where a(x, d) holds. A rule says that those with one trait have
another; counting goes through the members of a trait and all the traits they have. Traits of few
members cannot support a rule and are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Int64

from deepprooflog.graph.goalgraph import ragged_ranges
from deepprooflog.kg.mining.adjacency import DirectedGraph
from deepprooflog.kg.mining.closed import Thresholds
from deepprooflog.kg.mining.found import FREE, FoundRule, at_least


@dataclass(frozen=True, eq=False)
class Incidence:
    """Which entity has which trait, by entity; a trait is the number of a column."""

    begin: Int64[np.ndarray, " entities_and_end"]
    trait: Int64[np.ndarray, " items"]
    traits: int

    def counts(self, entities: Int64[np.ndarray, " members"]) -> Int64[np.ndarray, " traits"]:
        """How many of some entities have each trait."""
        return np.bincount(self.of(entities), minlength=self.traits)

    def of(self, entities: Int64[np.ndarray, " members"]) -> Int64[np.ndarray, " items"]:
        """The traits of some entities, one after another."""
        begin = self.begin[entities]
        return np.asarray(self.trait[ragged_ranges(begin, self.begin[entities + 1] - begin)[1]])


@dataclass(frozen=True, eq=False)
class Traits:
    """The traits (a, d) with enough members, by a, then d; and who has some a(x, ·)."""

    edges: DirectedGraph
    label: Int64[np.ndarray, " traits"]
    value: Int64[np.ndarray, " traits"]
    begin: Int64[np.ndarray, " traits_and_end"]
    member: Int64[np.ndarray, " items"]
    exact: Incidence
    some: Incidence

    def __len__(self) -> int:
        return len(self.label)

    @cached_property
    def sizes(self) -> Int64[np.ndarray, " traits"]:
        """The number of each trait's members."""
        return np.diff(self.begin)

    @cached_property
    def domains(self) -> Int64[np.ndarray, " directed"]:
        """The number of entities with some a(x, ·), for each a."""
        return np.array([len(a.domain) for a in self.edges.by_relation])

    @cached_property
    def sole(self) -> Bool[np.ndarray, " edges"]:
        """For each edge c → x whether c is the only one that x is so related to."""
        edges = self.edges
        back = edges.inverse(edges.label)
        degrees = np.stack([a.out_degree for a in edges.by_relation])
        return np.asarray(degrees[back, edges.target] == 1)

    def members(self, trait: int) -> Int64[np.ndarray, " members"]:
        """The entities that have a trait, in order."""
        return self.member[self.begin[trait] : self.begin[trait + 1]]


def traits_of(edges: DirectedGraph, least: int) -> Traits:
    """The traits that at least so many entities have."""
    label = np.repeat(np.arange(edges.directed), [len(a) for a in edges.by_relation])
    value = np.concatenate([a.targets for a in edges.by_relation])
    member = np.concatenate([a.sources for a in edges.by_relation])
    key = label * edges.entities + value
    _, number, sizes = np.unique(key, return_inverse=True, return_counts=True)
    kept = (sizes >= least)[number]
    member = member[kept]
    names, number, sizes = np.unique(key[kept], return_inverse=True, return_counts=True)
    some = np.concatenate([a.domain for a in edges.by_relation])
    which = np.repeat(np.arange(edges.directed), [len(a.domain) for a in edges.by_relation])
    return Traits(
        edges,
        names // edges.entities,
        names % edges.entities,
        np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]),
        member,
        _incidence(member, number, edges.entities, len(names)),
        _incidence(some, which, edges.entities, edges.directed),
    )


@dataclass(frozen=True, eq=False)
class Subjects:
    """Those whom the PCA counts: for r(c, x) all x, for r(x, c) those with some r(x, ·)."""

    has: Bool[np.ndarray, " entities"]
    exact: Int64[np.ndarray, " traits"]  # how many of them have each trait
    some: Int64[np.ndarray, " directed"]


def subjects_of(traits: Traits, label: int) -> Subjects:
    """The subjects that the PCA counts for heads of a directed relation."""
    edges = traits.edges
    if label >= edges.relations:
        return Subjects(np.ones(edges.entities, bool), traits.sizes, traits.domains)
    adjacency = edges.by_relation[label]
    exact, some = traits.exact.counts(adjacency.domain), traits.some.counts(adjacency.domain)
    return Subjects(adjacency.has_edge, exact, some)


Counts = tuple[
    Int64[np.ndarray, " bodies"], Int64[np.ndarray, " bodies"], Int64[np.ndarray, " bodies"]
]
"""Support, predictions and PCA predictions."""


def acyclic_rules(
    traits: Traits, head: int, identity: bool, kept: Thresholds, subjects: Subjects
) -> Iterator[FoundRule]:
    """The rules that predict one trait (r, c), from some a(x, ·) and from other traits."""
    support, predictions, pca = _from_some(traits, head, identity, subjects)
    general = np.divide(support, predictions, out=np.zeros(len(support)), where=predictions > 0)
    for a in kept.passing(support, predictions).tolist():
        yield _rule(traits, head, a, FREE, (support[a], predictions[a], pca[a]))
    support, predictions, pca = _from_traits(traits, head, identity, subjects)
    passing = kept.passing(support, predictions)
    surer = at_least(support[passing], predictions[passing]) > general[traits.label[passing]]
    for t in passing[surer].tolist():
        a, end = int(traits.label[t]), int(traits.value[t])
        yield _rule(traits, head, a, end, (support[t], predictions[t], pca[t]))


def _from_traits(traits: Traits, head: int, identity: bool, subjects: Subjects) -> Counts:
    """What is counted of r(X,c) :- a(X,d), for each trait (a, d)."""
    support = traits.exact.counts(traits.members(head))
    support[head] = 0  # the head itself
    predictions, pca = traits.sizes.copy(), subjects.exact.copy()
    if identity:
        c = int(traits.value[head])
        own = traits.exact.of(np.array([c]))
        predictions[own] -= 1
        pca[own] -= int(subjects.has[c])
    return support, predictions, pca


def _from_some(traits: Traits, head: int, identity: bool, subjects: Subjects) -> Counts:
    """What is counted of r(X,c) :- a(X,Z), for each a."""
    edges, label, c = traits.edges, int(traits.label[head]), int(traits.value[head])
    members = traits.members(head)
    support = traits.some.counts(members)
    predictions, pca = traits.domains.copy(), subjects.some.copy()
    if not identity:
        support[label] = 0  # r(X,c) :- r(X,Z) holds of every fact by itself
        return support, predictions, pca
    # Neither Z nor X is c: those who have a(x, c) alone do not count, nor does c itself.
    near = np.arange(edges.begin[c], edges.begin[c + 1])
    near = near[traits.sole[near]]
    a, x = edges.inverse(edges.label[near]), edges.target[near]
    member = np.zeros(edges.entities, bool)
    member[members] = True
    own = traits.some.of(np.array([c]))
    support -= np.bincount(a[member[x]], minlength=edges.directed)
    predictions -= np.bincount(np.concatenate([a, own]), minlength=edges.directed)
    pca -= np.bincount(a[subjects.has[x]], minlength=edges.directed)
    pca[own] -= int(subjects.has[c])
    return support, predictions, pca


def _rule(
    traits: Traits, head: int, a: int, end: int, counts: tuple[np.int64, np.int64, np.int64]
) -> FoundRule:
    label, c = int(traits.label[head]), int(traits.value[head])
    forward = label < traits.edges.relations
    x, y = (FREE, c) if forward else (c, FREE)
    support, predictions, pca = map(int, counts)
    relation = label % traits.edges.relations
    return FoundRule(relation, (a,), x, y, end, support, predictions, pca)


def example_of(edges: DirectedGraph, rule: FoundRule) -> tuple[int, int]:
    """The first fact that an acyclic rule predicts."""
    forward = rule.x == FREE
    c = rule.y if forward else rule.x
    head = edges.by_relation[rule.relation + (0 if forward else edges.relations)]
    body = edges.by_relation[rule.path[0]]
    members = head.sources[slice(*np.searchsorted(head.targets, [c, c + 1]))]
    if rule.end == FREE:
        others = body.sources[body.targets != c]
        degree = np.bincount(others, minlength=edges.entities)
        found = members[degree[members] > 0] if len(others) else members
    else:
        those = body.sources[slice(*np.searchsorted(body.targets, [rule.end, rule.end + 1]))]
        found = members[np.isin(members, those)]
    member = int(found[0]) if len(found) else int(members[0])
    return (member, c) if forward else (c, member)


def _incidence(
    entity: Int64[np.ndarray, " items"],
    trait: Int64[np.ndarray, " items"],
    entities: int,
    traits: int,
) -> Incidence:
    order = np.argsort(entity, kind="stable")
    begin = np.searchsorted(entity[order], np.arange(entities + 1))
    return Incidence(begin, trait[order], traits)
