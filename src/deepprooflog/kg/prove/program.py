"""The program of a knowledge graph: its training triples as facts, its rules, and belief.

    uncle(ann, bob).   …                                facts, in the order of train
    uncle(X, Y) :- brother(X, Z), father(Z, Y).   …     rules
    uncle(X, Y) :- ground(X), ground(Y), !, believe(uncle, X, Y).   …       when belief is on
    nn(kge, [R, X, Y]) :: believe(R, X, Y).

Facts and rules keep the file and line they were read from. A relation that has neither is declared,
so that asking about it fails instead of being an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from deepprooflog.errors import DataError
from deepprooflog.kg.belief.believe import BELIEVE, belief_rule, neural_fact
from deepprooflog.kg.data.large.entity_names import EntityNames
from deepprooflog.kg.data.rules import Rule
from deepprooflog.kg.data.triples import Graph
from deepprooflog.kg.prove.stored_facts import StoredFacts, stored_facts
from deepprooflog.logic.builtins import PROTECTED, is_builtin
from deepprooflog.logic.index import Entries
from deepprooflog.logic.program import BodyOrder, Predicate, PredicateKind, Program
from deepprooflog.relational.database import Believe, Database
from deepprooflog.relational.rules import is_fact
from deepprooflog.relational.symbols import Symbols
from deepprooflog.syntax.terms import Functor, functor_of


def program_of(
    graph: Graph,
    rules: Iterable[Rule] = (),
    *,
    order: BodyOrder = "bound_first",
    believe: bool = False,
    facts: bool = True,
) -> Program:
    """The program of a graph's training triples and some rules; `facts=False` leaves triples out.

    >>> from deepprooflog.kg.data.rules import parse_rules
    >>> from deepprooflog.kg.data.triples import graph_of
    >>> from deepprooflog.api import solve
    >>> graph = graph_of([("ann", "mother", "bob"), ("bob", "father", "cy")])
    >>> rules = parse_rules("gran(X, Y) :- mother(X, Z), father(Z, Y).")
    >>> list(solve(program_of(graph, rules), "gran(X, cy)"))
    [{'X': 'ann'}]
    """
    rules = list(rules)
    source = graph.sources.get("train")
    file = source.file if source is not None else graph.name
    functors = relation_functors(graph)
    stores: Sequence[StoredFacts | None] = [None] * len(functors)
    if facts:
        stores = stored_facts(graph)
    entries = {f: Entries(f, file, store) for f, store in zip(functors, stores, strict=True)}
    for rule in rules:
        for atom in (rule.clause.head, *rule.clause.body):
            functor = functor_of(atom)
            if functor is None or functor in entries:
                continue
            if atom is rule.clause.head or not is_builtin(functor):
                entries[functor] = Entries(functor, file)
        entries[rule.clause.functor].add(rule.clause)
    if believe:
        _add_belief(graph, entries, file)
    believed = set(relation_functors(graph)) if believe else set()
    predicates = {
        functor: Predicate(
            functor,
            found,
            PredicateKind.NEURAL if believe and functor is BELIEVE else PredicateKind.PLAIN,
            has_cut=functor in believed,
            has_nested_cut=False,
        )
        for functor, found in entries.items()
    }  # fmt: skip
    return Program.of(predicates, file=file, order=order)


def relation_functors(graph: Graph) -> list[Functor]:
    """The predicates of a graph's relations, in order."""
    functors = [Functor(name, 2) for name in graph.relations]
    for functor in functors:
        if functor in PROTECTED:
            raise DataError(
                f"the relation {functor.name} has the name of the builtin {functor}",
                file=graph.name,
                hint="rename the relation in the triples and rules",
            )
    return functors


def symbols_of(graph: Graph, program: Program | None = None) -> Symbols:
    """Names for the relational engine: predicate and constant numbers are the graph's own.

    What else a program names, such as a rule's auxiliary predicates, is numbered after them.
    """
    names, functors = graph.entities, tuple(relation_functors(graph))
    if isinstance(names, EntityNames) and names.numbers is not None:
        symbols = Symbols(functors, names, names.numbers)
    else:
        symbols = Symbols(functors, tuple(names))
    return symbols if program is None else symbols.extended(program)


def database_of(
    graph: Graph,
    rules: Iterable[Rule] = (),
    *,
    order: BodyOrder = "bound_first",
    believe: bool | Believe = False,
    nesting: int | None = None,
    device: torch.device | str = "cpu",
) -> Database:
    """The same program for the relational engine, its facts taken from the arrays.

    A triple (h, r, t) of the graph is the ground query `database.triples(r, (h, t))`. Where belief
    is on, `believe` may say at which atoms: `"everywhere"` as for True, or `"query"`.
    """
    program = program_of(graph, rules, order=order, believe=bool(believe), facts=False)
    where: Believe = "everywhere" if isinstance(believe, bool) else believe
    symbols, own = symbols_of(graph), graph.sorted_train
    if own is not None and not _has_facts(program):
        return Database.of_pairs(
            symbols, own.facts, program, nesting=nesting, believe=where, device=device
        )
    return Database.of_columns(
        symbols, fact_columns(graph), program, nesting=nesting, believe=where, device=device
    )


def _has_facts(rules: Program) -> bool:
    """Whether a program of rules has facts of its own, which are to be sorted with the others."""
    every = (p.entries.explicit() for p in rules.predicates.values())
    return any(is_fact(clause) for clauses in every for clause in clauses)


def rules_of(database: Database, rules: Iterable[Rule]) -> tuple[Rule | None, ...]:
    """For each rule number of a database the rule it came from; None for belief."""
    found = {(rule.clause.place, rule.clause.head): rule for rule in rules}
    clauses = (database.clause(number) for number in range(len(database.rules)))
    return tuple(found.get((clause.place, clause.head)) for clause in clauses)


def fact_columns(graph: Graph) -> dict[int, Int[Tensor, "facts 2"]]:
    """The training triples of each relation that has some: heads and tails in file order."""
    order, begin = graph.by_relation
    rows = np.stack([graph.train[:, 0][order], graph.train[:, 2][order]], 1)
    return {
        number: torch.from_numpy(rows[begin[number] : begin[number + 1]])
        for number in range(len(graph.relations))
        if begin[number] < begin[number + 1]
    }


def _add_belief(graph: Graph, entries: dict[Functor, Entries], file: str) -> None:
    if BELIEVE in entries:
        raise DataError(
            "the rules use believe/3, which belief defines", hint="give it another name"
        )
    for functor in relation_functors(graph):
        entries[functor].add(belief_rule(functor))
    entries[BELIEVE] = Entries(BELIEVE, file)
    entries[BELIEVE].add(neural_fact())
