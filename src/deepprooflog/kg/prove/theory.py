"""A theory: a graph with its rules, the program they are, and where answers are looked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from deepprooflog.kg.data.domains import ANYONE, Candidates
from deepprooflog.kg.data.notice import DataNotice
from deepprooflog.kg.data.rule_remarks import unknown_relations, without_integers
from deepprooflog.kg.data.rules import Rules
from deepprooflog.kg.data.triples import Graph
from deepprooflog.kg.prove.hiding import Hiding
from deepprooflog.kg.prove.program import program_of
from deepprooflog.logic.program import Program


@dataclass(frozen=True, eq=False)
class Theory:
    """What is given before anything is learned.

    >>> from deepprooflog.kg.data.rules import parse_rules
    >>> from deepprooflog.kg.data.triples import graph_of
    >>> graph = graph_of([("ann", "mother", "bob"), ("bob", "father", "cy")])
    >>> theory = Theory(graph, parse_rules("gran(X, Y) :- mother(X, Z), father(Z, Y)."))
    >>> sorted(map(str, theory.program.predicates))
    ['father/2', 'gran/2', 'mother/2']
    """

    graph: Graph
    rules: Rules = field(default_factory=lambda: Rules(()))
    believes: bool = False
    candidates: Candidates = ANYONE
    hiding: Hiding | None = None

    @cached_property
    def program(self) -> Program:
        """Facts, rules and belief as clauses, with the places they were read from."""
        return program_of(self.graph, self.rules, believe=self.believes)

    def symbols(self, constants: str) -> Program:
        """A program with all symbols that a policy embeds: facts, where each entity has its own."""
        if constants == "own":
            return self.program
        return program_of(self.graph, self.rules, believe=self.believes, facts=False)

    @property
    def notices(self) -> tuple[DataNotice, ...]:
        """What is odd about triples and rules."""
        rules, graph = self.rules, self.graph
        own = (*unknown_relations(rules, graph), *without_integers(rules, graph))
        return (*graph.notices, *rules.notices, *own)
