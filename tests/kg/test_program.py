"""A graph and its rules as a program, for the reference engine and for the relational one."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from pathlib import Path

import pytest
import torch

import deepprooflog as dpl
import deepprooflog.logic.load
from deepprooflog.errors import DataError
from deepprooflog.kg.data.folder import read_graph
from deepprooflog.kg.data.reading import SHIPPED
from deepprooflog.kg.data.rules import Rules, parse_rules, read_rules
from deepprooflog.kg.data.triples import Graph, graph_of
from deepprooflog.kg.prove import program as kg_program
from deepprooflog.kg.prove.program import (
    database_of,
    fact_columns,
    program_of,
    rules_of,
    symbols_of,
)
from deepprooflog.logic.builtins import is_builtin
from deepprooflog.logic.program import PredicateKind
from deepprooflog.relational.layers import explore
from deepprooflog.relational.sweep import provable
from deepprooflog.syntax.terms import Functor
from kg.bottom_up import levels, read_clauses, read_facts

FOLDER = SHIPPED / "village"


@pytest.fixture(scope="module")
def village() -> Graph:
    return read_graph("village")


@pytest.fixture(scope="module")
def rules(village: Graph) -> Rules:
    assert village.rules is not None
    return read_rules(village.rules)


def test_the_library_is_not_read_for_relations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only of what neither triples nor rules define it is asked whether it is a builtin."""
    graph = graph_of([("ann", "mother", "bob"), ("bob", "father", "cy")])
    rules = parse_rules("gran(X, Y) :- mother(X, Z), father(Z, Y), X \\= Y.")
    looked_up: list[Functor] = []

    def asked(functor: Functor) -> bool:
        looked_up.append(functor)
        return is_builtin(functor)

    monkeypatch.setattr(kg_program, "is_builtin", asked)
    assert Functor("gran", 2) in program_of(graph, rules).predicates
    assert looked_up == [Functor("\\=", 2)]


def test_no_text_is_read_for_clauses_that_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph_of([("ann", "mother", "bob"), ("bob", "father", "cy")])
    rules = parse_rules("gran(X, Y) :- mother(X, Z), father(Z, Y).")
    texts: list[str] = []
    monkeypatch.setattr(deepprooflog.logic.load, "load", lambda text, file: texts.append(text))
    program = program_of(graph, rules)
    assert not texts
    assert (program.text, program.tabled, program.order) == (None, {}, "bound_first")
    assert list(dpl.solve(program, "gran(X, cy)")) == [{"X": "ann"}]


def test_the_same_answers_as_the_text(village: Graph, rules: Rules) -> None:
    """Facts and rules pasted into one text and read as a program."""
    made = program_of(village, rules, order="written")
    text = (FOLDER / "train.pl").read_text() + rules.text()
    read = dpl.Program(text)
    # The first answers only: as written, kinship recurses without end.
    for query, count in (("father(X, Y)", 40), ("works_at(X, Y)", 80), ("part_of(mill, X)", 1)):
        ours, theirs = (list(islice(dpl.solve(p, query), count)) for p in (made, read))
        assert ours == theirs and len(ours) == count
    assert sum(1 for _ in made.clauses()) == len(village.train) + len(rules)


def test_clauses_know_where_they_were_read(village: Graph, rules: Rules) -> None:
    program = program_of(village, rules)
    lines = {name: (FOLDER / name).read_text().splitlines() for name in ("train.pl", "rules.pl")}
    seen: Counter[str] = Counter()
    for clause in program.clauses():
        assert clause.place is not None
        path = Path(clause.place.file)
        line = lines[path.name][clause.place.line - 1]
        assert clause.functor.name in line.split("::")[-1].split("(")[0]
        seen[path.name] += 1
    assert seen == {"train.pl": len(village.train), "rules.pl": len(rules)}


def test_what_nothing_defines_fails_instead_of_erring() -> None:
    graph = graph_of([("a", "r", "b")], test=[("a", "s", "b")])
    program = program_of(graph, parse_rules("t(X, Y) :- r(X, Y), other(Y, X), X \\= Y."))
    for query in ("s(a, b)", "t(a, b)", "other(a, b)"):
        assert list(dpl.solve(program, query)) == []
    assert program.order == "bound_first"
    assert not program.defines(Functor("\\=", 2))


def test_belief_is_a_neural_fact(village: Graph, rules: Rules) -> None:
    program = program_of(village, rules, believe=True)
    believe = program.predicates[Functor("believe", 3)]
    assert believe.kind is PredicateKind.NEURAL
    assert list(program.networks()) == ["kge"]
    text = (
        "nn(kge, [R,X,Y]) :: believe(R,X,Y).\nr(X,Y) :- ground(X), ground(Y), !, believe(r,X,Y).\n"
    )
    read = dpl.Program(text)
    made = program_of(graph_of([("a", "r", "b")]), believe=True)
    for functor in (Functor("believe", 3), Functor("r", 2)):
        ours, theirs = (list(p.predicates[functor].entries)[-1] for p in (made, read))
        assert (ours.head, ours.body, ours.size) == (theirs.head, theirs.body, theirs.size)
        assert (ours.label, ours.names) == (theirs.label, theirs.names)
    with pytest.raises(DataError, match="believe/3"):
        program_of(village, parse_rules("believe(X, Y, Z) :- p(X, Y, Z)."), believe=True)


def test_a_relation_with_a_builtins_name() -> None:
    with pytest.raises(DataError, match="atom_length"):
        program_of(graph_of([("a", "atom_length", "b")]))


def test_numbers_are_the_graphs_own(village: Graph, rules: Rules) -> None:
    symbols = symbols_of(village, program_of(village, rules, believe=True, facts=False))
    for number, entity in enumerate(village.entities):
        assert symbols.constant(entity) == number
    for number, name in enumerate(village.relations):
        assert symbols.predicate(Functor(name, 2)) == number
    columns = fact_columns(village)
    rows = [(h, number, t) for number, pairs in columns.items() for h, t in pairs.tolist()]
    assert sorted(rows) == sorted(map(tuple, village.train.tolist()))


def test_the_relational_engine_has_the_same_program(village: Graph, rules: Rules) -> None:
    from deepprooflog.relational.database import Database

    ours = database_of(village, rules)
    theirs = Database.of(program_of(village, rules))
    numbers = range(len(theirs.rules))
    heads, others = ([str(d.clause(n).head) for n in numbers] for d in (ours, theirs))
    assert heads == others and len(ours.rules) == len(rules)
    assert len(ours.facts.predicate) == len(theirs.facts.predicate) == len(village.train)
    test = torch.from_numpy(village.test)
    goals = ours.triples(test[:, 1], test[:, [0, 2]])
    texts = [village.text(row) for row in village.test]
    assert goals.atoms.tolist() == ours.goals(texts).atoms.tolist()


def test_rule_numbers_lead_back_to_the_rules(village: Graph, rules: Rules) -> None:
    database = database_of(village, rules, believe=True)
    found = rules_of(database, rules)
    assert {rule for rule in found if rule is not None} == set(rules)
    for number, rule in enumerate(found):
        clause = database.clause(number)
        believes = clause.label is not None or clause.body[-1].functor.name == "believe"  # type: ignore[union-attr]
        assert (rule is None) == believes
        if rule is not None:
            assert str(rule.clause.head) == str(clause.head)
    assert found.count(None) == len(village.relations) + 1


def test_levels_by_the_relational_engine(village: Graph, rules: Rules) -> None:
    """Rule nesting k proves exactly what k rounds of joins prove."""
    least = levels(read_facts(FOLDER / "train.pl"), read_clauses(FOLDER / "rules.pl"), 3)
    test = torch.from_numpy(village.test)
    expected = [least.get(triple, 9) for triple in read_facts(FOLDER / "test.pl")]
    for nesting in (1, 2, 3):
        database = database_of(village, rules, nesting=nesting)
        goals = database.triples(test[:, 1], test[:, [0, 2]])
        proved = provable(explore(database, goals, max_depth=3 * 2**nesting))
        assert proved.tolist() == [level <= nesting for level in expected]
