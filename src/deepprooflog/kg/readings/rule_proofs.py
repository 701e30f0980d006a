"""Proofs of a triple by one rule over facts: its derivations, replayed through plain resolution."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Int64

from deepprooflog.kg.data.rules import Rule
from deepprooflog.kg.data.triples import Graph
from deepprooflog.kg.prove.program import program_of
from deepprooflog.logic.choice import Choice
from deepprooflog.logic.clause import Clause
from deepprooflog.logic.goal import Goal, Interner
from deepprooflog.logic.program import Program
from deepprooflog.logic.query import Query
from deepprooflog.logic.resolve import start, successors
from deepprooflog.proof.build import Derivation, build_proof
from deepprooflog.proof.tree import Proof

MOST_STEPS = 100_000
"""Steps after which a rule's proof is given up: its body may meet many facts before it holds."""


def rule_proofs(
    graph: Graph, triple: Int64[np.ndarray, " 3"], rules: Sequence[tuple[Rule, float]]
) -> Iterator[Proof]:
    """For each of some rules that back a triple a proof by it, with the rule's weight.

    >>> from deepprooflog.kg.data.rules import parse_rules
    >>> from deepprooflog.kg.data.triples import graph_of
    >>> rows = [("ann", "mother", "bob"), ("bob", "father", "cy")]
    >>> graph = graph_of(rows, valid=[("ann", "gran", "cy")])
    >>> (rule,) = parse_rules("gran(X, Y) :- mother(X, Z), father(Z, Y).")
    >>> (proof,) = rule_proofs(graph, graph.valid[0], [(rule, 0.5)])
    >>> [node.atom for node in proof.nodes], proof.probability, proof.check()
    (['gran(ann,cy)', 'mother(ann,bob)', 'father(bob,cy)'], 0.5, True)
    """
    if not rules:
        return
    program = program_of(graph, [rule for rule, _ in rules])
    query = Query((graph.term(triple),))
    for rule, weight in rules:
        choices = _derivation(program, query, rule.clause)
        if choices is not None:
            weights = [float(np.log(weight)), *(0.0 for _ in choices[1:])]
            yield build_proof(program, query, Derivation(choices, weights))


def _derivation(program: Program, query: Query, rule: Clause) -> list[Choice] | None:
    """The first derivation that begins with a rule and goes on by facts and guards alone."""
    interner = Interner()
    begin = start(query.atoms, interner)
    agenda: list[Iterator[tuple[Goal, Choice]]] = [
        iter([(s.goal, s.choice) for s in successors(program, begin, interner)
              if s.choice.clause is rule])
    ]  # fmt: skip
    path: list[Choice] = []
    for _ in range(MOST_STEPS):
        if not agenda:
            return None
        step = next(agenda[-1], None)
        if step is None:
            agenda.pop()
            if path:
                path.pop()
            continue
        goal, choice = step
        path.append(choice)
        if goal.is_true:
            return path
        agenda.append(
            (s.goal, s.choice) for s in successors(program, goal, interner)
            if s.choice.clause is None or not s.choice.clause.body
        )  # fmt: skip
    return None
