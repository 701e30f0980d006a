"""The body of a rule as a path of relations, whichever way its atoms are ordered."""

from __future__ import annotations

from deepprooflog.kg.data.triples import Graph
from deepprooflog.kg.mining.clauses import UNEQUAL
from deepprooflog.kg.mining.found import CLOSED, FREE, FoundRule
from deepprooflog.kg.mining.options import LONGEST
from deepprooflog.logic.clause import Clause
from deepprooflog.syntax.terms import Term, Var, args_of, functor_of

BodyStep = tuple[int, Term, Term]
"""A directed relation, where it begins and where it leads."""


def path_rule(graph: Graph, clause: Clause) -> FoundRule | None:
    """A clause as a path from one head argument to the other or elsewhere; None where it is none.

    Guards `X \\= Y` are left out: under object identity they hold. The counts are 0.

    >>> from deepprooflog.kg.data.rules import parse_rules
    >>> from deepprooflog.kg.data.triples import graph_of
    >>> graph = graph_of([("ann", "mother", "bob"), ("ann", "gran", "cy")])
    >>> rules = parse_rules("gran(X, Y) :- mother(Z, Y), mother(X, Z).")
    >>> path_rule(graph, rules[0].clause).path
    (0, 0)
    """
    relation = graph.relation_ids.get(clause.functor.name)
    if relation is None or len(clause.args) != 2 or clause.args[0] == clause.args[1]:
        return None
    steps = _steps(graph, clause)
    ends = [_entity(graph, term) for term in clause.args]
    if not steps or len(steps) > LONGEST or None in ends or min(e or 0 for e in ends) != FREE:
        return None
    x, y = (end for end in ends if end is not None)
    first, last = clause.args
    path = _path(graph, steps, first, last)
    if path is not None:
        return FoundRule(relation, path, x, y, CLOSED, 0, 0, 0)
    if len(steps) > 1 or (x == FREE) == (y == FREE):
        return None
    begin = first if x == FREE else last
    label, *both = steps[0]
    if begin not in both or both[0] == both[1]:
        return None
    turned = both[0] != begin
    end = _entity(graph, both[0] if turned else both[1])
    if end is None:
        return None
    return FoundRule(relation, (_turned(graph, label) if turned else label,), x, y, end, 0, 0, 0)


def _steps(graph: Graph, clause: Clause) -> list[BodyStep]:
    """The atoms of a body over the graph's relations, none where it has another atom."""
    steps: list[BodyStep] = []
    for atom in clause.body:
        functor, terms = functor_of(atom), args_of(atom)
        if functor is UNEQUAL:
            continue
        label = None if functor is None else graph.relation_ids.get(functor.name)
        if label is None or len(terms) != 2:
            return []
        steps.append((label, terms[0], terms[1]))
    return steps


def _path(graph: Graph, steps: list[BodyStep], first: Term, last: Term) -> tuple[int, ...] | None:
    """The labels of steps that lead from one term to another through variables, each used once."""
    at, rest = first, list(steps)
    path: list[int] = []
    while rest:
        beside = [step for step in rest if at in step[1:]]
        if len(beside) != 1 or beside[0][1] == beside[0][2] or (at == last and path):
            return None
        label, source, target = beside[0]
        rest.remove(beside[0])
        path.append(label if source == at else _turned(graph, label))
        at = target if source == at else source
        if rest and type(at) is not Var:
            return None
    return tuple(path) if at == last else None


def _turned(graph: Graph, label: int) -> int:
    return label + len(graph.relations)


def _entity(graph: Graph, term: Term) -> int | None:
    """The number of a constant, FREE for a variable, None for what the graph does not have."""
    return FREE if type(term) is Var else graph.entity_ids.get(term)
