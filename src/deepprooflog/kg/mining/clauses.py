"""Found rules as clauses: names for numbers, variables X, Y, Z, W."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

from deepprooflog.kg.data.rule_files.rule_counts import RuleCounts
from deepprooflog.kg.data.rules import Rule
from deepprooflog.kg.data.triples import Graph
from deepprooflog.kg.mining.acyclic import example_of
from deepprooflog.kg.mining.adjacency import DirectedGraph
from deepprooflog.kg.mining.found import CLOSED, FREE, NONE, FoundRule
from deepprooflog.logic.clause import Clause, abstract
from deepprooflog.syntax.terms import Functor, Struct, Term, Var

UNEQUAL = Functor("\\=", 2)


def rules_of(
    graph: Graph, edges: DirectedGraph, found: Iterable[FoundRule], guards: bool
) -> list[Rule]:
    """The rules with their counts; the weight is the confidence, to six digits."""
    facts = [len(adjacency) for adjacency in edges.by_relation[: edges.relations]]
    rules: list[Rule] = []
    for number, rule in enumerate(found):
        x, y = rule.example if rule.example != NONE else example_of(edges, rule)
        counts = RuleCounts(
            rule.support, rule.predictions, rule.pca_predictions, facts[rule.relation],
            graph.text((x, rule.relation, y)),
        )  # fmt: skip
        clause = clause_of(graph, rule, guards)
        rules.append(Rule(clause, f"r{number}", round(rule.confidence, 6), counts))
    return rules


def clause_of(graph: Graph, rule: FoundRule, guards: bool = False) -> Clause:
    """A found rule as a clause.

    >>> from deepprooflog.kg.data.rules import clause_text
    >>> from deepprooflog.kg.data.triples import graph_of
    >>> graph = graph_of([("ann", "mother", "bob")])
    >>> print(clause_text(clause_of(graph, FoundRule(0, (1, 0), FREE, FREE, CLOSED, 1, 1, 1))))
    mother(A,B) :- mother(C,A), mother(C,B).
    """
    head = tuple(
        Var(name) if number == FREE else graph.entities[number]
        for name, number in (("X", rule.x), ("Y", rule.y))
    )
    names = iter(("Z", "W"))
    at, end = (head[0], head[1]) if rule.end == CLOSED else (head[rule.x != FREE], None)
    stops: list[Term] = [at, *(Var(next(names)) for _ in rule.path[1:])]
    if end is None:
        end = Var(next(names)) if rule.end == FREE else graph.entities[rule.end]
    stops.append(end)
    body: list[Term] = [
        _atom(graph, label, stops[i], stops[i + 1]) for i, label in enumerate(rule.path)
    ]
    if guards:
        body += _guards([*head, *stops])
    numbers: dict[Var, int] = {}
    relation = Functor(graph.relations[rule.relation], 2)
    first = abstract(Struct(relation, head), numbers)
    rest = tuple(abstract(atom, numbers) for atom in body)
    assert type(first) is Struct
    return Clause(first, rest, len(numbers), None, None, tuple(v.name or "_" for v in numbers))


def _atom(graph: Graph, label: int, source: Term, target: Term) -> Struct:
    relations = len(graph.relations)
    arguments = (source, target) if label < relations else (target, source)
    return Struct(Functor(graph.relations[label % relations], 2), arguments)


def _guards(terms: Iterable[Term]) -> list[Term]:
    """A guard for each pair of terms that could be the same entity."""
    different = list(dict.fromkeys(terms))
    return [
        Struct(UNEQUAL, pair)
        for pair in combinations(different, 2)
        if any(type(term) is Var for term in pair)
    ]
