"""The miner against counting by hand, against the engine, and on planted rules."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deepprooflog as dpl
from deepprooflog.errors import DataError
from deepprooflog.kg.data.rules import clause_text
from deepprooflog.kg.data.triples import Graph, graph_of
from deepprooflog.kg.mining.adjacency import directed_graph
from deepprooflog.kg.mining.clauses import clause_of
from deepprooflog.kg.mining.found import CLOSED, FREE, FoundRule
from deepprooflog.kg.mining.miner import mine
from deepprooflog.kg.mining.options import MineOptions
from deepprooflog.kg.mining.search import RuleSearch
from deepprooflog.syntax.terms import Var
from kg.mining.brute_force import counts
from kg.mining.random_graphs import Triples, triples

EVERYTHING = MineOptions(
    min_support=1,
    min_confidence=0.0,
    constant_length=3,
    most=None,
    most_of_constant=None,
    facts=1000,
)


def search(graph: Graph, options: MineOptions) -> list[FoundRule]:
    found = RuleSearch(directed_graph(graph, options.identity), options)
    for _ in found.run():
        pass
    return found.found()


def all_closed(graph: Graph, length: int) -> list[FoundRule]:
    """Every closed rule without constants."""
    relations = len(graph.relations)
    return [
        FoundRule(head, path, FREE, FREE, CLOSED, 0, 0, 0)
        for n in range(1, length + 1)
        for path in product(range(2 * relations), repeat=n)
        for head in range(relations)
        if path != (head,)
    ]


@given(triples(), st.booleans())
@settings(max_examples=12)
def test_every_count_is_that_of_the_definition(rows: Triples, identity: bool) -> None:
    graph = graph_of(rows)
    options = MineOptions(**{**vars(EVERYTHING), "identity": identity})
    rules = search(graph, options)
    assert len({rule[:5] for rule in rules}) == len(rules)
    for rule in rules:
        assert rule[5:8] == counts(graph, rule, identity), clause_text(clause_of(graph, rule))
    for mined in mine(graph, min_support=1, min_confidence=0.0, identity=identity):
        assert mined.counts is not None and mined.counts.example is not None
        head, relation, tail = graph.pattern(mined.counts.example)
        assert [head, relation, tail] in graph.train.tolist()


@given(triples(entities=4, relations=2, most=10), st.booleans())
@settings(max_examples=8)
def test_no_closed_rule_with_support_is_missed(rows: Triples, identity: bool) -> None:
    graph = graph_of(rows)
    options = MineOptions(**{**vars(EVERYTHING), "identity": identity, "constants": False})
    found = {rule[:5] for rule in search(graph, options)}
    relations = len(graph.relations)
    for rule in all_closed(graph, 3):
        restates = rule.path == (rule.relation, rule.relation + relations, rule.relation)
        if restates and not identity:
            assert rule[:5] not in found
        else:
            supported = counts(graph, rule, identity)[0] >= (2 if len(rule.path) == 3 else 1)
            assert not supported or rule[:5] in found, clause_text(clause_of(graph, rule))


@given(triples())
@settings(max_examples=8)
def test_no_rule_with_a_constant_is_missed(rows: Triples) -> None:
    """Of the acyclic ones: those that are not surer than a(X,Z) alone are left out."""
    graph = graph_of(rows)
    options = MineOptions(**{**vars(EVERYTHING), "max_length": 1})
    found = {rule[:5] for rule in search(graph, options)}
    for head, a in product(range(2), range(4)):
        if head >= len(graph.relations) or a >= 2 * len(graph.relations):
            continue
        for c in range(len(graph.entities)):
            for x, y in ((FREE, c), (c, FREE)):
                rule = FoundRule(head, (a,), x, y, FREE, 0, 0, 0)
                assert (counts(graph, rule, True)[0] >= 1) == (rule[:5] in found)


@given(triples(entities=4, relations=2, most=8), st.booleans())
@settings(max_examples=8)
def test_the_solver_proves_as_many_pairs_as_were_counted(rows: Triples, identity: bool) -> None:
    """Clauses with guards under object identity, without guards otherwise."""
    graph = graph_of(rows)
    rules = mine(
        graph, min_support=1, min_confidence=0.0, identity=identity, guards=identity, most=4
    )
    # A fact from an entity to itself is no part of a rule under object identity.
    facts = [graph.text(t) for t in graph.train.tolist() if not identity or t[0] != t[2]]
    program = dpl.Program("".join(f"{fact}.\n" for fact in facts))
    for rule in rules:
        head, body = str(rule).removesuffix(".").split(" :- ")
        shown = {v for v in ("A", "B") if v in head.replace("(", ",").replace(")", ",").split(",")}
        answers = list(dpl.solve(program, body))
        pairs = {tuple((v, answer[v]) for v in sorted(shown)) for answer in answers}
        assert rule.counts is not None
        assert len(pairs) == rule.counts.predictions, str(rule)


def planted(rng: np.random.Generator, noise: float) -> list[tuple[str, str, str]]:
    """uncle = brother ∘ parent, of which a share is left out; and a relation by chance."""
    triples: list[tuple[str, str, str]] = []
    for n in range(60):
        triples.append((f"u{n}", "brother", f"p{n}"))
        triples += [(f"p{n}", "parent", f"c{n}_{k}") for k in range(2)]
        triples += [(f"u{n}", "uncle", f"c{n}_{k}") for k in range(2) if rng.random() > noise]
        triples.append((f"u{n}", "likes", f"c{int(rng.integers(60))}_0"))
    return triples


def test_a_planted_rule_is_found_with_its_confidence() -> None:
    triples = planted(np.random.default_rng(0), 0.25)
    facts = sum(relation == "uncle" for _, relation, _ in triples)
    rules = mine(graph_of(triples), constants=False)
    best = next(rule for rule in rules if rule.clause.functor.name == "uncle")
    assert str(best) == "uncle(A,B) :- brother(A,C), parent(C,B)."
    assert best.counts is not None
    assert (best.counts.support, best.counts.predictions) == (facts, 120)
    assert best.weight == round(facts / 120, 6)
    assert best.counts.head_coverage == 1.0


def test_a_planted_trait_is_found() -> None:
    triples = [(f"e{n}", "lives_in", "rome" if n % 2 else "oslo") for n in range(40)]
    triples += [(f"e{n}", "speaks", "italian" if n % 2 else "norse") for n in range(36)]
    rules = mine(graph_of(triples), max_length=1)
    texts = {str(rule): rule.weight for rule in rules}
    assert texts["speaks(A,italian) :- lives_in(A,rome)."] == 0.9
    assert texts["lives_in(A,oslo) :- speaks(A,norse)."] == 1.0


def test_the_same_seed_gives_the_same_rules() -> None:
    graph = graph_of(planted(np.random.default_rng(1), 0.1))
    first = mine(graph, facts=20, seed=3)
    assert first.text() == mine(graph, facts=20, seed=3).text()


def test_the_longest_rules_restate_nothing() -> None:
    """Without identity every p proves itself by p, q and back; with it the rule has no support."""
    graph = graph_of(
        [(f"a{n}", "p", f"b{n}") for n in range(9)] + [(f"b{n}", "q", f"c{n}") for n in range(9)]
    )
    texts = [str(rule) for rule in mine(graph, constants=False)]
    assert texts == []
    texts = [str(rule) for rule in mine(graph, constants=False, identity=False)]
    assert "p(A,B) :- p(A,C), q(C,D), q(B,D)." in texts


def test_the_surest_rules_of_each_constant_are_kept() -> None:
    """speaks(X,italian) has as many rules kept as speaks(X,norse), however sure each is."""
    towns = [(f"e{n}", f"r{k}", "rome" if n % 2 else "oslo") for n in range(40) for k in range(3)]
    tongues = [(f"e{n}", "speaks", "italian" if n % 2 else "norse") for n in range(40)]
    graph = graph_of([*towns, *tongues[:30]])
    found: dict[int, Counter[str]] = {}
    for most in (2, 100):
        rules = mine(graph, max_length=2, most_of_constant=most)
        heads = [str(rule).split(" :- ")[0] for rule in rules]
        found[most] = Counter(head for head in heads if head.startswith("speaks(A,"))
        surest = [rule.weight for rule in rules if str(rule).startswith("speaks(A,italian)")]
        assert surest == sorted(surest, reverse=True)
    assert found[2] == {"speaks(A,italian)": 2, "speaks(A,norse)": 2}
    assert all(count > 2 for count in found[100].values())


def test_paths_with_a_constant_are_as_long_as_asked() -> None:
    """b leads to c and to d, and r to c alone."""
    steps = [row for n in range(30) for row in ((f"x{n}", "a", f"z{n}"), (f"z{n}", "e", f"w{n}"))]
    ends = [(f"{at}{n}", "b", end) for n in range(30) for at in "zw" for end in "cd"]
    graph = graph_of([*steps, *ends, *[(f"x{n}", "r", "c") for n in range(30)]])
    lengths = {
        most: {
            len(rule.clause.body)
            for rule in mine(graph, constant_length=most)
            if any(type(t) is not Var for t in rule.clause.args)
        }
        for most in (1, 2, 3)
    }
    assert lengths == {1: {1}, 2: {1, 2}, 3: {1, 2, 3}}


def test_stopping_leaves_what_was_found() -> None:
    graph = graph_of(planted(np.random.default_rng(0), 0.1))
    asked = iter(range(10**6))
    rules = mine(graph, stop=lambda: next(asked) > 12)
    assert rules.notices[0].message.startswith("the search was cut short while ")
    assert 0 < len(rules) < len(mine(graph))


def test_a_budget_that_is_over_at_once() -> None:
    rules = mine(graph_of(planted(np.random.default_rng(0), 0.1)), seconds=1e-9)
    assert "cut short" in rules.notices[0].message


@pytest.mark.parametrize(
    "triples",
    [
        [("a", "r", "b")],
        [("a", "r", "a")],
        [("a", "r", "b"), ("b", "s", "a")],
        [(f"a{n}", "r", f"a{n + 1}") for n in range(20)],
    ],
)
def test_small_triples(triples: list[tuple[str, str, str]]) -> None:
    """One relation, one triple, a loop: no error, and words where there can be no rule."""
    rules = mine(graph_of(triples))
    messages = [notice.message for notice in rules.notices]
    if len(triples) < 5:
        assert len(rules) == 0
        assert any("fewer than 5 facts" in message for message in messages)
        assert any(message.startswith("no rule has") for message in messages)


def test_a_graph_without_training_triples() -> None:
    with pytest.raises(DataError, match="no training triples"):
        mine(graph_of([], [("a", "r", "b")]))


@pytest.mark.parametrize(
    ("option", "value"),
    [("seconds", 0.0), ("max_length", 4), ("constant_length", 4), ("min_support", 0),
     ("most_of_constant", 0), ("min_confidence", 1.5),
     ("most", 0), ("facts", 0), ("seed", -1)],
)  # fmt: skip
def test_options_out_of_range(option: str, value: float) -> None:
    with pytest.raises(DataError, match=option) as caught:
        MineOptions(**{option: value})  # type: ignore[arg-type]
    assert caught.value.hint


def test_guards_need_identity() -> None:
    with pytest.raises(DataError, match="guards"):
        MineOptions(guards=True, identity=False)
