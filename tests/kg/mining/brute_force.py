"""Rules counted from their definition, by loops over all entities."""

from __future__ import annotations

from itertools import combinations

from deepprooflog.kg.data.triples import Graph
from deepprooflog.kg.mining.found import CLOSED, FREE, FoundRule

Facts = set[tuple[int, int, int]]


def counts(graph: Graph, rule: FoundRule, identity: bool) -> tuple[int, int, int]:
    """Support, predictions and PCA predictions."""
    facts: Facts = {(h, r, t) for h, r, t in graph.train.tolist() if not identity or h != t}
    predicted = predictions(graph, facts, rule, identity)
    known = {h for h, r, _ in facts if r == rule.relation}
    support = {(x, y) for x, y in predicted if (x, rule.relation, y) in facts}
    return len(support), len(predicted), len({(x, y) for x, y in predicted if x in known})


def predictions(
    graph: Graph, facts: Facts, rule: FoundRule, identity: bool
) -> set[tuple[int, int]]:
    """The pairs (x, y) that the rule's body holds of."""
    found: set[tuple[int, int]] = set()
    for stops in walks(graph, facts, rule.path):
        for x, y in _heads(rule, stops):
            fits = all(fixed in (FREE, at) for fixed, at in ((rule.x, x), (rule.y, y)))
            if fits and (not identity or _different(rule, x, y, stops)):
                found.add((x, y))
    return found


def walks(graph: Graph, facts: Facts, path: tuple[int, ...]) -> list[tuple[int, ...]]:
    """All ways along a path of relations and inverses."""
    found: list[tuple[int, ...]] = [(entity,) for entity in range(len(graph.entities))]
    for label in path:
        inverse = label >= len(graph.relations)
        steps = [
            (t, h) if inverse else (h, t) for h, r, t in facts if r == label % len(graph.relations)
        ]
        found = [
            (*stops, target) for stops in found for source, target in steps if source == stops[-1]
        ]
    return found


def _heads(rule: FoundRule, stops: tuple[int, ...]) -> list[tuple[int, int]]:
    if rule.end == CLOSED:
        return [(stops[0], stops[-1])]
    if rule.end not in (FREE, stops[-1]):
        return []
    return [(stops[0], rule.y) if rule.x == FREE else (rule.x, stops[0])]


def _different(rule: FoundRule, x: int, y: int, stops: tuple[int, ...]) -> bool:
    """Whether no two terms are the same entity, unless they are one term or two constants."""
    terms: dict[str, tuple[int, bool]] = {"x": (x, rule.x != FREE), "y": (y, rule.y != FREE)}
    for number, stop in enumerate(stops[1:-1]):
        terms[f"middle {number}"] = stop, False
    if rule.end != CLOSED:
        terms["end"] = stops[-1], rule.end != FREE
    return all(a != b or (c and d) for (a, c), (b, d) in combinations(terms.values(), 2))
