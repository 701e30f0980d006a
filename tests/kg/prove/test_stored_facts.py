"""Facts that stay in the graph's arrays are the facts that entries of terms give."""

from __future__ import annotations

import numpy as np
import pytest

from deepprooflog.kg.data.triples import Graph, graph_of
from deepprooflog.kg.prove.stored_facts import stored_facts
from deepprooflog.logic.index import Entries
from deepprooflog.syntax.reader import read_term
from deepprooflog.syntax.terms import Atom, Functor, Struct, Term, Var


@pytest.fixture
def graph() -> Graph:
    rng = np.random.default_rng(3)
    rows = [(f"e{h}", f"r{r}", int(t)) for h, r, t in rng.integers(0, 9, (200, 3)) if r < 3]
    return graph_of([*rows, ("e1", "r0", "e1")])


def copied(graph: Graph, relation: int) -> Entries:
    """The relation's facts as terms, in file order."""
    entries = Entries(Functor(graph.relations[relation], 2))
    for head, number, tail in graph.train.tolist():
        if number == relation:
            entries.add_fact((graph.entities[head], graph.entities[tail]), 1)
    return entries


def said(entries: Entries, call: tuple[Term, Term]) -> list[tuple[object, object]]:
    """The clauses that a call finds; asked twice they are the same objects."""
    found = list(entries.candidates(call))
    assert all(a is b for a, b in zip(found, entries.candidates(call), strict=True))
    return [(clause.head, clause.place) for clause in found]


def test_calls_of_every_pattern_find_the_same_clauses_in_the_same_order(graph: Graph) -> None:
    for relation, store in enumerate(stored_facts(graph)):
        functor = Functor(graph.relations[relation], 2)
        stored, plain = Entries(functor, store=store), copied(graph, relation)
        constants: list[Term] = [*graph.entities, Atom("nobody"), 77]
        for one in constants:
            for other in constants:
                assert said(stored, (one, other)) == said(plain, (one, other))
            for call in ((one, Var()), (Var(), one)):
                assert said(stored, call) == said(plain, call)
        assert said(stored, (Var(), Var())) == said(plain, (Var(), Var()))
        assert len(stored) == len(plain) == (graph.train[:, 1] == relation).sum()
        assert [c.head for c in stored] == [c.head for c in plain]
        assert list(stored.argument_rows()) == list(plain.argument_rows())


def test_bound_variables_and_compounds(graph: Graph) -> None:
    stored = Entries(Functor("r0", 2), store=stored_facts(graph)[0])
    bound = Var()
    bound.ref = Atom("e1")
    (found, *_) = stored.candidates((bound, Atom("e1")))
    assert found.head == read_term("r0(e1,e1).").term
    compound = Struct(Functor("f", 1), (Var(),))
    assert not list(stored.candidates((compound, Var())))


def test_rules_come_after_the_facts_of_the_store(graph: Graph) -> None:
    stored = Entries(Functor("r0", 2), store=stored_facts(graph)[0])
    before = list(stored)
    rule = before[0]
    stored.add(rule)
    assert list(stored)[-1] is rule
    assert list(stored.items())[-1] is rule
    assert list(stored.explicit()) == [rule]
    found = list(stored.candidates(rule.args))
    assert found[-1] is rule and len(found) == 1 + sum(c.head == rule.head for c in before)
