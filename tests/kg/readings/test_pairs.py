"""What bodies connect: walked or joined, as the plain solver proves it with guards written out."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepprooflog.api import solve
from deepprooflog.kg.data.rules import Rule, parse_rules
from deepprooflog.kg.data.triples import SIDES, Graph, graph_of
from deepprooflog.kg.mining.found import FREE, FoundRule
from deepprooflog.kg.prove.program import program_of
from deepprooflog.kg.readings.bodies import path_rule
from deepprooflog.kg.readings.pairs import BodyReader
from deepprooflog.kg.readings.traits import trait_pairs
from kg.mining.brute_force import predictions
from kg.mining.random_graphs import Triples, triples

BODIES = (
    "r1(X,Y)", "r1(Y,X)", "r0(X,Z), r1(Z,Y)", "r1(Y,Z), r0(Z,X)", "r0(Z,X), r0(Z,W), r1(W,Y)",
    "r0(X,Z), r1(W,Z), r0(W,Y)", "r1(X,Z), r0(Z,Y), r0(Z,W)", "r0(X,Y), r1(X,Y)",
    "r0(X,Z), r1(Z,W), r0(W,V), r1(V,Y)", "r0(X,Z), r0(Z,e1), r1(X,Y)",
)  # fmt: skip
UNARY = ("r1(X,e1)", "r1(e0,X)", "r0(X,Z)", "r0(Z,X)", "r0(X,Z), r1(Z,e2)", "r1(X,Z), r0(Z,W)")
HEADS = ("r0(X,Y)", "r0(X,e2)", "r0(e2,X)")


def proved(graph: Graph, rule: str) -> set[tuple[int, int]]:
    """The pairs of a rule by the solver, the differences written into the body."""
    head, body = rule.rstrip(".").split(" :- ")
    constants = {f"e{n}" for n in range(5) if f"e{n}" in rule}
    names = sorted({c for c in rule if c in "XYZWV"} | constants)
    apart = [f"{a} \\= {b}" for a, b in combinations(names, 2) if {a, b} - constants]
    known = program_of(graph)
    ends = head[3:-1].split(",")
    numbers = {graph.entity_text(n): n for n in range(len(graph.entities))}
    found = set()
    for answer in solve(known, ", ".join([body, *apart])):
        x, y = (numbers[str(answer.get(end, end))] for end in ends)
        found.add((x, y))
    return found


@given(triples(most=12), st.sampled_from(HEADS), st.data())
@settings(max_examples=30)
def test_bodies_connect_what_the_solver_proves(
    rows: Triples, head: str, data: st.DataObject
) -> None:
    named: Triples = [(f"e{n}", "r0", f"e{n + 3}") for n in range(2)]
    graph = graph_of([*dict.fromkeys([*rows, *named, ("e2", "r1", "e1")])])
    body = data.draw(st.sampled_from(BODIES if head == HEADS[0] else UNARY))
    text = f"{head} :- {body}."
    rule = parse_rules(text)[0]
    reader = BodyReader(graph)
    read = reader.body(rule)
    assert read is not None
    expected = proved(graph, text)
    everyone = np.arange(len(graph.entities))
    for side in SIDES:
        (x, y) = reader.pairs([read], side, everyone)[0]
        assert len(x) == len(set(zip(x.tolist(), y.tolist(), strict=True)))
        assert set(zip(x.tolist(), y.tolist(), strict=True)) == expected
        some = reader.pairs([read], side, everyone[::2])[0]
        kept = {pair for pair in expected if pair[SIDES.index(side)] % 2 == 0}
        assert set(zip(some[0].tolist(), some[1].tolist(), strict=True)) == kept


@given(triples(entities=4, relations=2, most=10), st.lists(st.integers(0, 3), unique=True))
@settings(max_examples=10)
def test_all_rules_about_traits_at_once(rows: Triples, some: list[int]) -> None:
    """Each rule's pairs are those of the definition, whatever rules are read beside it."""
    graph = graph_of([*dict.fromkeys([*rows, ("e0", "r0", "e1"), ("e2", "r1", "e3")])])
    everyone, facts = range(len(graph.entities)), {(h, r, t) for h, r, t in graph.train.tolist()}
    facts = {(h, r, t) for h, r, t in facts if h != t}
    rules = [
        FoundRule(0, (a,), x, y, end, 0, 0, 0)
        for a, end, c in product(range(4), (FREE, *everyone), everyone)
        for x, y in ((FREE, c), (c, FREE))
    ]
    reader = BodyReader(graph)
    for side in SIDES:
        found = trait_pairs(reader.edges, rules, side, np.array(some, np.int64))
        for rule, (x, y) in zip(rules, found, strict=True):
            expected = predictions(graph, facts, rule, True)
            expected = {pair for pair in expected if pair[SIDES.index(side)] in some}
            assert sorted(zip(x.tolist(), y.tolist(), strict=True)) == sorted(expected)


def rule_of(text: str) -> Rule:
    return parse_rules(text)[0]


@pytest.mark.parametrize(
    "text",
    [
        "r0(X,Y) :- r1(X,Y), X < Y.",  # a guard that identity does not say
        "r0(X,Y) :- other(X,Y).",
        "other(X,Y) :- r0(X,Y).",
        "r0(X,Y) :- r1(X,Z), r1(W,Y).",  # nothing connects its halves
        "r0(X,Y) :- r1(X,nobody), r1(X,Y).",
        "r0(X,Y) :- r1(X,Z).",
    ],
)
def test_what_cannot_be_read(text: str) -> None:
    graph = graph_of([("e0", "r0", "e1"), ("e1", "r1", "e0")])
    assert BodyReader(graph).body(rule_of(text)) is None


def test_the_order_of_atoms_and_guards_make_no_difference() -> None:
    graph = graph_of([("e0", "r0", "e1"), ("e1", "r1", "e0")])
    one = path_rule(graph, rule_of("r0(X,Y) :- r0(X,Z), r1(Z,W), r0(W,Y).").clause)
    other = path_rule(graph, rule_of("r0(X,Y) :- r0(W,Y), r0(X,Z), X \\= Y, r1(Z,W).").clause)
    assert one == other
