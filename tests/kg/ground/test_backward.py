"""The grounder equals the plain one on random graphs, and what it counts on Family is published."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from deepprooflog.errors import DataError, ProgramError
from deepprooflog.kg.data.load import load_graph
from deepprooflog.kg.data.rules import parse_rules, read_rules
from deepprooflog.kg.data.triples import Graph, graph_of
from deepprooflog.kg.ground import backward
from deepprooflog.kg.ground.atom_levels import AtomLevels
from deepprooflog.kg.ground.backward import Grounder, GroundRound
from deepprooflog.kg.ground.ground_rule import ground_rules
from deepprooflog.kg.ground.join import join_bodies
from kg.ground.plain import Grounding, PlainGrounder, Triple

ENTITIES, RELATIONS = 4, 3
TRIPLES = st.tuples(*(st.integers(0, n - 1) for n in (ENTITIES, RELATIONS, ENTITIES)))
TERMS = st.sampled_from(["X", "Y", "Z", "W", "e0", "e1"])
ATOMS = st.builds("r{}({}, {})".format, st.integers(0, RELATIONS - 1), TERMS, TERMS)


@st.composite
def rule_texts(draw: st.DrawFn) -> str:
    """A rule whose head has no variable of its own."""
    body = draw(st.lists(ATOMS, min_size=1, max_size=3))
    names = [*(name for name in "XYZW" if any(name in atom for atom in body)), "e0"]
    first, second = draw(st.sampled_from(names)), draw(st.sampled_from(names))
    return f"r{draw(st.integers(0, RELATIONS - 1))}({first}, {second}) :- {', '.join(body)}."


def named(triples: list[Triple]) -> Graph:
    """A graph that has all entities and relations, in the order of their numbers."""
    every = [(f"e{e}", f"r{min(e, RELATIONS - 1)}", f"e{e}") for e in range(ENTITIES)]
    rows = [(f"e{h}", f"r{r}", f"e{t}") for h, r, t in dict.fromkeys(triples)]
    return graph_of([*every, *(row for row in rows if row not in every)])


def as_set(found: GroundRound) -> set[Grounding]:
    """The groundings of a round, each once."""
    asked, result = [tuple(row) for row in found.asked.tolist()], set()
    columns = found.rule.tolist(), found.head.tolist(), found.body.tolist()
    for rule, head, body in zip(*columns, strict=True):
        atoms = tuple(tuple(atom) for atom in body if atom[0] >= 0)
        result.add((rule, asked[head], atoms))
    assert len(result) == len(found)
    return result


@settings(max_examples=25, deadline=None)
@given(
    st.lists(TRIPLES, max_size=8),
    st.lists(rule_texts(), min_size=1, max_size=4),
    st.lists(TRIPLES, min_size=1, max_size=3, unique=True),
    st.integers(0, 2),
    st.integers(1, 3),
)
def test_rounds_are_those_of_the_plain_grounder(
    triples: list[Triple], texts: list[str], queries: list[Triple], width: int, depth: int
) -> None:
    graph, rules = named(triples), parse_rules("\n".join(texts))
    grounder = Grounder.of(graph, rules, width=width, depth=depth)
    facts = frozenset(tuple(row) for row in graph.train.tolist())
    plain = PlainGrounder(facts, ground_rules(graph, rules), width, ENTITIES)
    found = grounder.rounds(torch.tensor(queries))
    assert [as_set(one) for one in found] == plain.rounds(set(queries), depth)
    for above, below in pairwise(found):
        asked = above.below >= 0
        assert torch.equal(below.asked[above.below[asked]], above.body[asked])


def test_what_a_query_gets_does_not_depend_on_the_others() -> None:
    """Both ask for q: one in the first round, one in the last, where it may not nest further."""
    graph = graph_of([("a", "s", "b"), ("a", "p", "c"), ("a", "q", "c"), ("a", "r", "c")])
    rules = parse_rules("q(X, Y) :- s(X, Y). p(X, Y) :- s(X, X), q(X, Y). p(X, Y) :- q(X, Y).")
    grounder = Grounder.of(graph, rules, width=1, depth=2)
    p, q = [0, 1, 1], [0, 2, 1]  # p(a, b), q(a, b)
    both, alone = grounder.rounds(torch.tensor([p, q])), grounder.rounds(torch.tensor([p]))
    assert as_set(both[1]) == as_set(alone[1])
    assert {g for g in as_set(both[0]) if g[1] == (0, 1, 1)} == as_set(alone[0]) == set()


def test_a_body_that_is_unknown_but_for_no_fact_is_not_anchored() -> None:
    """p(X, Y) :- q(X, Y) has no fact to hold on to where q is only proved."""
    graph = graph_of([("a", "s", "b"), ("c", "q", "c"), ("c", "p", "c")])
    rules = parse_rules("q(X, Y) :- s(X, Y). p(X, Y) :- q(X, Y), s(X, Y). p(X, Y) :- q(X, Y).")
    found = Grounder.of(graph, rules, width=2, depth=2).rounds(torch.tensor([[0, 2, 1]]))
    assert [len(one) for one in found] == [1, 1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("p(X, Y) :- s(X, Z).", "a variable of its head"),
        ("p(X, Y) :- s(X, Y), X \\= Y.", "no triple of the graph"),
        ("p(X, Y) :- t(X, Y).", "no triple of the graph"),
    ],
)
def test_rules_that_cannot_be_grounded_are_refused(text: str, message: str) -> None:
    graph = graph_of([("a", "s", "b"), ("a", "p", "b")])
    with pytest.raises(ProgramError, match=message):
        Grounder.of(graph, parse_rules(text), width=0, depth=1)


def test_a_closure_that_grows_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backward, "MOST_DERIVED", 4)
    graph = graph_of([(f"e{n}", "r", f"e{n + 1}") for n in range(4)])
    with pytest.raises(DataError, match="more than 4 atoms"):
        Grounder.of(graph, parse_rules("r(X, Y) :- r(X, Z), r(Z, Y)."), width=1, depth=2)


def test_a_chain_is_joined_from_both_ends() -> None:
    """In a ring of five, r∘r∘r leads from each entity to one."""
    ring = torch.tensor([[n, 0, (n + 1) % 5] for n in range(5)])
    atoms = AtomLevels.of(ring, torch.zeros(5, dtype=torch.int64), 5)
    graph = graph_of([(f"e{n}", "r", f"e{(n + 1) % 5}") for n in range(5)])
    [rule] = ground_rules(graph, parse_rules("r(X, Y) :- r(X, A), r(A, B), r(B, Y)."))
    every = join_bodies(rule, atoms, 0)
    assert sorted(map(tuple, every.head.tolist())) == [(n, 0, (n + 3) % 5) for n in range(5)]
    one = join_bodies(rule, atoms, 0, torch.tensor([[0, 0, 4], [2, 0, 0]]))
    assert one.query.tolist() == [1] and one.body.tolist() == [[[2, 0, 3], [3, 0, 4], [4, 0, 0]]]


@pytest.mark.skipif("DEEPPROOFLOG_DATA" not in os.environ, reason="no folder of data sets")
def test_the_published_count_of_family() -> None:
    """18,071 groundings for the test set at depth 1 (the paper, section on knowledge graphs)."""
    folder = Path(os.environ["DEEPPROOFLOG_DATA"]) / "kg" / "family"
    if not folder.is_dir():
        pytest.skip("Family is not there")
    graph = load_graph(folder)
    assert graph.rules is not None
    grounder = Grounder.of(graph, read_rules(graph.rules), width=0, depth=1)
    [found] = grounder.rounds(torch.from_numpy(graph.test))
    assert len(found) == 18_071
