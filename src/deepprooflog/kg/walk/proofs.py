"""Walks as proofs: derivations of the walk program, replayed through plain resolution."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from jaxtyping import Int64

from deepprooflog.kg.data.triple_set import Side
from deepprooflog.kg.data.triples import Graph
from deepprooflog.kg.walk.best import Walk, WalkProof, best_walks
from deepprooflog.kg.walk.model import WalkGraph, WalkModel, relation_numbers
from deepprooflog.kg.walk.options import WalkOptions
from deepprooflog.kg.walk.program import (
    ANSWER,
    ENTITY,
    FACT,
    SUITS,
    begin_clause,
    directed_names,
    end_clause,
    fact_atom,
    query_clause,
    step_clause,
    turn_clause,
    walk_program,
)
from deepprooflog.logic.clause import Clause
from deepprooflog.logic.program import Program
from deepprooflog.logic.query import Query
from deepprooflog.logic.resolve import Step
from deepprooflog.proof.build import Derivation, build_proof, retraced
from deepprooflog.proof.tree import Proof
from deepprooflog.syntax.terms import Atom, Functor, Struct, canonical_var


def walk_proofs(
    model: WalkModel,
    facts: WalkGraph,
    graph: Graph,
    triple: Sequence[int] | Int64[np.ndarray, " 3"],
    n: int = 10,
    *,
    side: Side = "tail",
    program: Program | None = None,
    leave_out: bool = True,
) -> list[Proof]:
    """The `n` heaviest proofs of a triple.

    Where it is a fact, they do without it if it is to be left out. `side` is what was asked for: a
    head is the tail of the inverse relation. Each proof is made of the walk program's clauses and
    replays there; `program` is that of the graph, if it is at hand.
    """
    head, relation, tail = map(int, triple)
    relations = len(model.relations)
    number = int(relation_numbers(graph, model.relations)[relation])
    if side == "head":
        head, number, tail = tail, number + relations, head
    found = best_walks(model, facts, head, number, tail, n, leave_out=leave_out)
    program = program or walk_program(graph, model.options, model.relations)
    if leave_out:
        program = program.without(fact_atom(graph, triple))
    name = directed_names(model.relations)[number]
    atom = Struct(Functor(name, 2), (graph.entities[head], graph.entities[tail]), True)
    return [_proof(program, Query((atom,)), model, graph, head, tail, one) for one in found]


def _steps(
    model: WalkModel, graph: Graph, head: int, walk: Walk
) -> Iterator[tuple[str | None, bool, Struct | None]]:
    """For each hop the relation, whether it goes along the arrow, and the fact."""
    relations = len(model.relations)
    places = [head, *(hop.entity for hop in walk.hops)]
    for hop, (a, b) in zip(walk.hops, pairwise(places), strict=True):
        if hop.relation == 2 * relations:
            yield None, True, None
            continue
        forward = hop.relation < relations
        name = model.relations[hop.relation % relations]
        ends = (a, b) if forward else (b, a)
        yield name, forward, Struct(FACT, (Atom(name), *(graph.entities[e] for e in ends)), True)


def _proof(
    program: Program, query: Query, model: WalkModel, graph: Graph, head: int, tail: int,
    proof: WalkProof,
) -> Proof:  # fmt: skip
    atom = query.atoms[0]
    assert isinstance(atom, Struct)
    used: list[tuple[Clause, float]] = [(query_clause(atom.functor.name, model.options), 0.0)]
    for number, walk in enumerate(proof.walks):
        used += _clauses(model, graph, head, tail, number, walk)
    if model.options.suits:
        answer = Struct(SUITS, (ANSWER, canonical_var(0), canonical_var(1)))
        used.append((Clause(answer, (), 2), proof.log_suit))
    choices = retraced(
        program, query, [clause for clause, _ in used], _by_clause,
        "give the program of the graph that the walks were found in",
    )  # fmt: skip
    return build_proof(program, query, Derivation(choices, [weight for _, weight in used]))


def _clauses(
    model: WalkModel, graph: Graph, head: int, tail: int, number: int, walk: Walk
) -> Iterator[tuple[Clause, float]]:
    """The clauses that a walk uses, in the order of its derivation, and their weights."""
    options: WalkOptions = model.options
    if walk.leaps:
        yield begin_clause(number, None), walk.log_begin
        yield Clause(Struct(ENTITY, (graph.entities[tail],), True), (), 0), 0.0
        return
    yield begin_clause(number, walk.state), walk.log_begin
    state = walk.state
    steps = zip(walk.hops, _steps(model, graph, head, walk), strict=True)
    for n, (hop, (name, forward, fact)) in enumerate(steps):
        turn, step, one = hop.log_weights
        yield turn_clause(n, state, hop.state), turn
        yield step_clause(n, hop.state, name, forward), step
        if fact is not None:
            yield Clause(fact, (), 0), one
        state = hop.state
    yield end_clause(options.hops, state), 0.0


def _by_clause(step: Step, wanted: Clause) -> bool:
    clause = step.choice.clause
    return clause is not None and clause.head == wanted.head and clause.body == wanted.body
