"""The candidates of an open query: what proofs find, and what the prior holds most likely."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from deepprooflog.kg.data.triples import Graph, SplitName
from deepprooflog.kg.prove.prover import Prover
from deepprooflog.kg.prove.question import TripleQuestion
from deepprooflog.logic.query import Query
from deepprooflog.syntax.terms import Functor, Struct, Var

# Entities that the prior adds to the candidates of an open query, for each answer asked for.
BELIEVED = 10
AT_LEAST = 100
TOLD: tuple[SplitName, ...] = ("train", "valid")
"""The splits whose triples are known: what only test has is to be found."""


@dataclass(frozen=True)
class CandidateTriples:
    """The triples that may answer a query."""

    triples: Int[Tensor, "n 3"]
    cut: int = 0  # goals that a budget left open


def candidates(
    prover: Prover,
    graph: Graph,
    question: TripleQuestion,
    top: int,
    new: bool = False,
    max_goals: int | None = None,
) -> CandidateTriples:
    """The triples that may answer a query: itself, or what proofs and the prior suggest.

    With `new`, triples that are known make room for others.
    """
    head, relation, tail = question.head, question.relation, question.tail
    if head is not None and tail is not None:
        ground = torch.tensor([[head, relation, tail]])
        return CandidateTriples(ground[unknown(graph, ground)] if new else ground)
    by_clauses = proved(prover, graph, question, max_goals)
    parts = [by_clauses.triples]
    if prover.belief is not None and (head is not None or tail is not None):
        everyone = torch.arange(len(graph.entities))
        triples = torch.full((len(everyone), 3), relation)
        triples[:, 0] = everyone if head is None else head
        triples[:, 2] = everyone if tail is None else tail
        if new:
            triples = triples[unknown(graph, triples)]
        parts.append(most_believed(prover, triples, max(AT_LEAST, BELIEVED * top)))
    if new:
        parts[0] = parts[0][unknown(graph, parts[0])]
    found: Tensor = torch.unique(torch.cat(parts), dim=0)
    return CandidateTriples(found, by_clauses.cut)


def unknown(graph: Graph, triples: Int[Tensor, "n 3"]) -> Bool[Tensor, " n"]:
    """Which triples neither train nor valid has."""
    return torch.from_numpy(~graph.holds(triples.numpy(), TOLD))


def proved(
    prover: Prover, graph: Graph, question: TripleQuestion, max_goals: int | None = None
) -> CandidateTriples:
    """The answers of an open query that clauses alone prove."""
    same = question.names[0] is not None and question.names[0] == question.names[1] != "_"
    first = Var("X")
    ends = (first, first if same else Var("Y"))
    numbers = (question.head, question.tail)
    terms = tuple(
        end if number is None else graph.entities[number]
        for end, number in zip(ends, numbers, strict=True)
    )
    atom = Struct(Functor(graph.relations[question.relation], 2), terms)
    goals = prover.database.goals([Query((atom,))])
    if max_goals is None:
        layers = prover.explore(goals)
    else:
        layers = prover.neighbourhood(goals, max_goals).layers
    rows = torch.cat([goals.answer[goals.is_true] for goals in layers.goals]).long().cpu()
    result = torch.full((len(rows), 3), question.relation)
    column = 0
    for place, number in zip((0, 2), numbers, strict=True):
        result[:, place] = rows[:, column] if number is None else number
        column += number is None and not same
    # An answer that is still a variable stands for every entity, and says nothing.
    named = ((result >= 0) & (result < len(graph.entities))).all(1)
    return CandidateTriples(result[named], layers.cut.total)


def most_believed(prover: Prover, triples: Int[Tensor, "n 3"], count: int) -> Int[Tensor, "m 3"]:
    """Of some triples those that the prior holds most likely."""
    assert prover.belief is not None
    scores = prover.belief.of_triples(triples).cpu()
    return triples[scores.topk(min(count, len(scores))).indices]
