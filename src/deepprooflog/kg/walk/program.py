"""Walks as a logic program: its derivations are the walks, one for one.

    uncle(X, Y)            :- begin(uncle, 0, X, Y), suits(answer, uncle, Y).
    begin(Q, 0, X, Y)      :- walk(Q, 0, 1, X, Y).                 for each state of the head
    begin(Q, 0, X, Y)      :- entity(Y).                           a leap, to anyone
    walk(Q, 0, 1, X, Y)    :- step(Q, 0, 2, X, Y).                 hop 0: from state 1 to 2
    step(Q, 0, 2, X, Y)    :- fact(father, X, Z), walk(Q, 1, 2, Z, Y).
    step(Q, 0, 2, X, Y)    :- fact(father, Z, X), walk(Q, 1, 2, Z, Y).      against the arrow
    step(Q, 0, 2, X, Y)    :- walk(Q, 1, 2, X, Y).                          stay
    walk(Q, 3, S, X, X).                                           after the last hop
    suits(answer, Q, Y).
    fact(father, abe, bob).   entity(abe).   …

A proof with several heads begins several walks between the same two entities. A question for a head
is one for a tail: `'uncle^-1'(Y, X)` is walked from Y as a relation of its own. Facts are atoms
`fact(r, x, y)`, so that a query is not its own proof; `program.without(fact(r, x, y))` leaves one
out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Int64

from deepprooflog.errors import DataError
from deepprooflog.kg.data.triples import Graph
from deepprooflog.kg.prove.program import relation_functors
from deepprooflog.kg.walk.options import WalkOptions
from deepprooflog.logic.clause import Clause
from deepprooflog.logic.index import Entries
from deepprooflog.logic.limits.gc_pause import gc_paused
from deepprooflog.logic.program import Predicate, PredicateKind, Program
from deepprooflog.syntax.terms import Atom, Functor, Struct, Term, canonical_var

BEGIN, WALK, STEP = Functor("begin", 4), Functor("walk", 5), Functor("step", 5)
FACT, ENTITY, SUITS = Functor("fact", 3), Functor("entity", 1), Functor("suits", 3)
ANSWER = Atom("answer")
INVERSE = "^-1"


def walk_program(
    graph: Graph, options: WalkOptions, relations: Sequence[str] | None = None
) -> Program:
    """The program of a graph's training triples; `relations` are those of a model, by default all.

    >>> from deepprooflog.api import solve
    >>> from deepprooflog.kg.data.triples import graph_of
    >>> graph = graph_of([("ann", "mother", "bob"), ("bob", "father", "cy")])
    >>> program = walk_program(graph, WalkOptions(hops=2, states=1, suits=False))
    >>> query = "walk(gran, 0, 0, ann, Y)"
    >>> [answer["Y"] for answer in solve(program, query)]
    ['cy', 'ann', 'bob', 'bob', 'ann']
    """
    names = tuple(graph.relations if relations is None else relations)
    relation_functors(graph)
    directed = directed_names(names)
    source = graph.sources.get("train")
    file = source.file if source is not None else graph.name
    entries: dict[Functor, Entries] = {}
    with gc_paused():
        for clause in _clauses(directed, options):
            entries.setdefault(clause.functor, Entries(clause.functor, file)).add(clause)
        facts, entity = Entries(FACT, file), Entries(ENTITY, graph.name)
        lines = [1] * len(graph.train) if source is None else source.lines.tolist()
        known = [name in names for name in graph.relations]
        for (h, r, t), line in zip(graph.train.tolist(), lines, strict=True):
            if known[r]:
                args = (Atom(graph.relations[r]), graph.entities[h], graph.entities[t])
                facts.add_fact(args, line)
        for term in graph.entities:
            entity.add_fact((term,), 1)
    entries |= {FACT: facts, ENTITY: entity}
    predicates = {f: Predicate(f, e, PredicateKind.PLAIN, False, False) for f, e in entries.items()}
    return Program.of(predicates, file=file, order="written")


def directed_names(relations: Sequence[str]) -> tuple[str, ...]:
    """The names of relations and then of their inverses.

    >>> directed_names(["father"])
    ('father', 'father^-1')
    """
    clash = next((r for r in relations if r + INVERSE in relations), None)
    if clash is not None:
        raise DataError(
            f"the relation {clash + INVERSE} has the name of {clash}'s inverse",
            hint="rename it in the triples",
        )
    return (*relations, *(name + INVERSE for name in relations))


def fact_atom(graph: Graph, triple: Sequence[int] | Int64[np.ndarray, " 3"]) -> Struct:
    """A triple as the program has it."""
    head, relation, tail = map(int, triple)
    args = (Atom(graph.relations[relation]), graph.entities[head], graph.entities[tail])
    return Struct(FACT, args, True)


def query_clause(relation: str, options: WalkOptions) -> Clause:
    """`r(X, Y) :- begin(r, 0, X, Y), …, suits(answer, r, Y).`"""
    name = Atom(relation)
    body = [_struct(BEGIN, name, head, X, Y) for head in range(options.heads)]
    if options.suits:
        body.append(_struct(SUITS, ANSWER, name, Y))
    return Clause(_struct(Functor(relation, 2), X, Y), tuple(body), 2, names=("X", "Y"))


def begin_clause(head: int, state: int | None) -> Clause:
    """A walk that begins in a state, or a leap."""
    q, x, y = (canonical_var(i) for i in range(3))
    atom = _struct(ENTITY, y) if state is None else _struct(WALK, q, 0, state, x, y)
    return Clause(_struct(BEGIN, q, head, x, y), (atom,), 3, names=("Q", "X", "Y"))


def turn_clause(hop: int, state: int, other: int) -> Clause:
    """At a hop, from one state to another."""
    q, x, y = (canonical_var(i) for i in range(3))
    body = (_struct(STEP, q, hop, other, x, y),)
    return Clause(_struct(WALK, q, hop, state, x, y), body, 3, names=("Q", "X", "Y"))


def step_clause(hop: int, state: int, relation: str | None, forward: bool = True) -> Clause:
    """At a hop, along a relation or against it; None stays."""
    q, x, y, z = (canonical_var(i) for i in range(4))
    head = _struct(STEP, q, hop, state, x, y)
    if relation is None:
        body = (_struct(WALK, q, hop + 1, state, x, y),)
        return Clause(head, body, 3, names=("Q", "X", "Y"))
    ends = (x, z) if forward else (z, x)
    both = (_struct(FACT, Atom(relation), *ends), _struct(WALK, q, hop + 1, state, z, y))
    return Clause(head, both, 4, names=("Q", "X", "Y", "Z"))


def end_clause(hops: int, state: int) -> Clause:
    """After the last hop a walk has arrived."""
    q, x = canonical_var(0), canonical_var(1)
    return Clause(_struct(WALK, q, hops, state, x, x), (), 2, names=("Q", "X"))


def _clauses(directed: Sequence[str], options: WalkOptions) -> Iterator[Clause]:
    hops, states = options.hops, options.states
    of_head = states // options.heads
    for name in directed:
        yield query_clause(name, options)
    for head in range(options.heads):
        for state in range(head * of_head, (head + 1) * of_head):
            yield begin_clause(head, state)
        yield begin_clause(head, None)
    for hop in range(hops):
        for state in range(states):
            first = state // of_head * of_head
            for other in range(first, first + of_head):
                yield turn_clause(hop, state, other)
            for forward in (True, False):
                for name in directed[: len(directed) // 2]:
                    yield step_clause(hop, state, name, forward)
            yield step_clause(hop, state, None)
    for state in range(states):
        yield end_clause(hops, state)
    if options.suits:
        yield Clause(_struct(SUITS, ANSWER, X, Y), (), 2, names=("Q", "Y"))


def _struct(functor: Functor, *args: Term) -> Struct:
    return Struct(functor, args)


X, Y = canonical_var(0), canonical_var(1)
