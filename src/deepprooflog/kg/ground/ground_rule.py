"""Rules as numbers for the grounder: relations and entities of the graph, and variables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from deepprooflog.errors import ProgramError
from deepprooflog.kg.data.rules import Rule, clause_text
from deepprooflog.kg.data.triples import Graph
from deepprooflog.kg.prove.program import program_of, symbols_of
from deepprooflog.logic.clause import Clause
from deepprooflog.relational.rules import EncodedRule, read_rules

GroundAtom = tuple[int, int, int]
"""A relation and two terms: constants from 0, variable i as −2 − i."""


@dataclass(frozen=True)
class GroundRule:
    """A rule over the relations of a graph."""

    head: GroundAtom
    body: tuple[GroundAtom, ...]
    clause: Clause

    def __str__(self) -> str:
        return clause_text(self.clause)


def ground_rules(graph: Graph, rules: Iterable[Rule]) -> tuple[GroundRule, ...]:
    """The rules in the order of their predicates; those that cannot be grounded are refused.

    >>> from deepprooflog.kg.data.rules import parse_rules
    >>> from deepprooflog.kg.data.triples import graph_of
    >>> graph = graph_of([("ann", "mother", "bob"), ("bob", "father", "cy"), ("ann", "gran", "cy")])
    >>> rule = ground_rules(graph, parse_rules("gran(X, Y) :- mother(X, Z), father(Z, Y)."))[0]
    >>> rule.head, rule.body
    ((2, -2, -3), ((0, -2, -4), (1, -4, -3)))
    """
    program = program_of(graph, rules, facts=False)
    found = read_rules(program, symbols_of(graph, program))
    return tuple(_ground_rule(rule, len(graph.relations)) for rule in found)


def _ground_rule(rule: EncodedRule, relations: int) -> GroundRule:
    atoms = (rule.head, *rule.body)
    bound = {term for atom in rule.body for term in atom[1:]}
    wrong = None
    if not rule.body:
        wrong = "it has no body"
    elif any(len(atom) != 3 or atom[0] >= relations for atom in atoms):
        wrong = "an atom of it is no triple of the graph"
    elif any(term < 0 and term not in bound for term in rule.head[1:]):
        wrong = "a variable of its head is not in its body, so that it would hold of every entity"
    if wrong is not None:
        place = rule.clause.place
        raise ProgramError(
            f"{clause_text(rule.clause)} cannot be grounded: {wrong}",
            file=place.file if place else None, line=place.line if place else None,
            hint="leave the rule out, or train kg, which proves with it",
        )  # fmt: skip
    head, *body = ((atom[0], atom[1], atom[2]) for atom in atoms)
    return GroundRule(head, tuple(body), rule.clause)
