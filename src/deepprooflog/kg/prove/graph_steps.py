"""A triple's derivation step by step: the prover's own choices, with their probabilities."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from deepprooflog.graph.goalgraph import CallGraph, GoalGraph
from deepprooflog.insight.steps import StepProcess, StepView, first_view
from deepprooflog.kg.belief.believe import BELIEVE, Belief
from deepprooflog.kg.data.triples import Graph
from deepprooflog.kg.prove.prover import Prover
from deepprooflog.kg.prove.question import TripleQuestion
from deepprooflog.kg.prove.why_not import offers_of, policy_weights
from deepprooflog.logic.choice import Choice, WeightSource
from deepprooflog.logic.goal import Interner
from deepprooflog.logic.query import Query
from deepprooflog.logic.resolve import start
from deepprooflog.proof.build import step_kind
from deepprooflog.proof.tree import NodeKind
from deepprooflog.score.fixed import Weigh
from deepprooflog.syntax.terms import Functor, Struct, Term, Var, functor_of


def triple_steps(prover: Prover, graph: Graph, question: TripleQuestion) -> StepView:
    """The first goal of a triple, or of a question with variables, with all its choices.

    >>> from deepprooflog.kg.data.rules import parse_rules
    >>> from deepprooflog.kg.data.triples import graph_of
    >>> from deepprooflog.kg.prove.build import prover
    >>> from deepprooflog.kg.prove.question import read_question
    >>> graph = graph_of([("ann", "mother", "bob"), ("bob", "father", "cy"), ("ann", "gran", "cy")])
    >>> rules = parse_rules("gran(X, Y) :- mother(X, Z), father(Z, Y).")
    >>> question = read_question(graph, "gran(ann, Who)")
    >>> view = triple_steps(prover(graph, rules), graph, question)
    >>> [one.goal for one in view.choices]
    ['true', 'mother(ann,A), father(A,Who)']
    >>> round(sum(one.probability for one in view.choices), 6)
    1.0
    """
    interner = Interner()
    query = query_of(graph, question)
    process = StepProcess(
        prover.program, query, _weights(prover), interner,
        false_action=prover.transitions.false_action, nesting=prover.database.nesting,
        offers=offers_of(prover), kind=_kind,
    )  # fmt: skip
    return first_view(process, start(query.atoms, interner))


def query_of(graph: Graph, question: TripleQuestion) -> Query:
    """A question as the query of a program."""
    named: dict[str, Var] = {}
    ends: list[Term] = []
    for number, name in zip((question.head, question.tail), question.names, strict=True):
        if number is not None:
            ends.append(graph.entities[number])
        elif name is None or name == "_":
            ends.append(Var())
        else:
            ends.append(named.setdefault(name, Var(name)))
    return Query((Struct(Functor(graph.relations[question.relation], 2), tuple(ends)),), named)


def _kind(atom: Term, choice: Choice) -> NodeKind:
    return "belief" if functor_of(atom) is BELIEVE else step_kind(atom, choice)


def _weights(prover: Prover) -> Weigh:
    """The policy's weights, and the prior's at what is believed."""
    by_policy = policy_weights(prover.policy)

    def weigh(graph: GoalGraph | CallGraph, choices: Sequence[Choice]) -> NDArray[np.float64]:
        log = by_policy(graph, choices)
        if prover.belief is not None:
            for at, choice in enumerate(choices):
                if choice.weigher is WeightSource.BERNOULLI:
                    log[at] = _believed(prover.belief, choice)
        return log

    return weigh


def _believed(belief: Belief, choice: Choice) -> float:
    relation, head, tail = (
        torch.tensor([belief.number(place, term)], device=belief.kge.device)
        for place, term in enumerate(choice.inputs)
    )
    with torch.no_grad():
        return float(belief.log_probability(relation, head, tail)[0])
