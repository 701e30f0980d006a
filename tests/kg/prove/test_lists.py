"""Whole lists against their candidates one by one: p_success, proof and belief."""

from __future__ import annotations

import warnings
from typing import get_args

import pytest
import torch
from hypothesis import strategies as st
from torch import Tensor

from deepprooflog.kg.belief.believe import Belief
from deepprooflog.kg.belief.calibration import Calibration
from deepprooflog.kg.belief.evidence import Evidence
from deepprooflog.kg.belief.lists import believed_lists
from deepprooflog.kg.data.rules import parse_rules
from deepprooflog.kg.data.triple_set import Side, column
from deepprooflog.kg.data.triples import Graph, graph_of
from deepprooflog.kg.evaluation.evaluate import Ranker, evaluate_prover
from deepprooflog.kg.evaluation.scores import CountedLists, CountedScore, counted_score
from deepprooflog.kg.kge.complex import ComplEx
from deepprooflog.kg.prove.build import prover
from deepprooflog.kg.prove.lists import why_not_lists
from deepprooflog.kg.prove.program import database_of, program_of
from deepprooflog.kg.prove.prover import ExploreLimits, Prover
from deepprooflog.score.clause_weights import ClauseWeights
from deepprooflog.score.embedding.embedding import Embedding
from deepprooflog.score.embedding.leftmost import Leftmost
from deepprooflog.score.scorer import Scorer
from programs.fresh import fresh

ENTITIES = ("a", "b", "c", "d", "e", "f")
RELATIONS = ("p", "q", "r")

variables = st.sampled_from("XYZW")
terms = st.one_of(variables, variables, variables, st.sampled_from("abc"))
atoms = st.builds("{}({}, {})".format, st.sampled_from(RELATIONS), terms, terms)
PATHS = (
    "p(X, Y) :- q(X, Z), r(Z, Y).", "q(X, Y) :- p(Y, X).", "r(X, Y) :- p(X, Z), p(Z, Y), X \\= Y.",
    "p(X, Y) :- q(X, Y).", "p(X, Y) :- q(Y, X).", "r(X, b) :- q(X, Z).",
    "q(X, Y) :- r(X, a), p(a, Y).", "r(X, X) :- p(X, Z), q(Z, X).",
    "p(X, Y) :- r(Z, Y), q(X, Z), Z \\== a, X \\= Z.",
)  # fmt: skip
rules = st.one_of(
    st.sampled_from(PATHS),
    st.sampled_from(PATHS),
    st.builds("{} :- {}.".format, atoms, st.lists(atoms, min_size=1, max_size=3).map(", ".join)),
)
facts = st.lists(
    st.tuples(st.sampled_from(ENTITIES), st.sampled_from(RELATIONS), st.sampled_from(ENTITIES)),
    min_size=4, max_size=14,
)  # fmt: skip
programs = st.lists(rules, min_size=1, max_size=5, unique=True).map("\n".join)


def graph_with(triples: list[tuple[str, str, str]]) -> Graph:
    """The triples, with every entity and relation in them."""
    named = [(e, "other", ENTITIES[0]) for e in ENTITIES]
    return graph_of([*named, *triples, *((ENTITIES[0], r, ENTITIES[1]) for r in RELATIONS)])


def belief_of(graph: Graph, *, known: int | None = None) -> Belief:
    torch.manual_seed(3)
    kge = ComplEx(known or len(graph.entities), len(graph.relations), 3, scale=1.0)
    weights = torch.linspace(-1, 1, 6 * len(graph.relations)).reshape(-1, 6).double()
    slope = torch.linspace(0.2, 0.6, len(graph.relations)).double()
    line = Calibration(slope, slope - 0.7, base_rate=0.5, facts=weights)
    train = torch.from_numpy(graph.train)
    counted = Evidence(train, entities=len(graph.entities), relations=len(graph.relations))
    return Belief(kge, line, graph.relations, graph.entities, counted)


def one_by_one(proves: Prover, graph: Graph, queries: Tensor, side: Side) -> Tensor:
    """p_success of each ground query by itself."""
    triples = queries.repeat_interleave(len(graph.entities), 0)
    triples[:, column(side)] = torch.arange(len(graph.entities)).repeat(len(queries))
    with torch.no_grad():
        success: Tensor = proves(triples).success
        return success.reshape(len(queries), -1)


def lists_of(proves: Prover, graph: Graph, queries: Tensor, side: Side) -> Tensor:
    made = counted_score(proves, keep=False, entities=len(graph.entities), batch=300)
    assert isinstance(made, CountedLists)
    return made.of_lists(queries, side)


def check(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-6)


def every_list(graph: Graph) -> Tensor:
    """Lists of all relations that rules may have, from half of the entities."""
    relations = torch.tensor([graph.relation_ids[name] for name in RELATIONS])
    pairs = torch.cartesian_prod(torch.arange(3), relations)
    return torch.cat([pairs, pairs[:, :1]], 1)


@fresh(10, facts, programs, st.booleans(), st.integers(0, 2), st.sampled_from(get_args(Side)))
def test_lists_are_their_candidates_one_by_one(
    triples: list[tuple[str, str, str]], text: str, believe: bool, nesting: int, side: Side
) -> None:
    """Constants, guards, loops, bodies that leave head variables free; each list of the graph."""
    graph = graph_with(triples)
    proves = prover(
        graph, parse_rules(text), belief_of(graph) if believe else None, nesting=nesting
    )
    queries = every_list(graph)
    if why_not_lists(proves) is None:
        check(lists_of(proves, graph, queries, side), one_by_one(proves, graph, queries, side))


POLICIES = ("goal", "goal with False", "term", "clause")


@pytest.mark.parametrize("kind", POLICIES)
@pytest.mark.parametrize("side", get_args(Side))
def test_every_policy_to_which_constants_are_alike(kind: str, side: Side) -> None:
    graph = graph_with([("a", "q", "b"), ("b", "r", "c"), ("c", "q", "a"), ("d", "p", "d")])
    # Of candidates without a proof, e has one rule more and f two that lead to one goal.
    more = "r(X, e) :- p(X, X). q(X, Y) :- p(Y, X), r(Y, Z). q(X, Y) :- p(f, X), r(Y, Z)."
    own = parse_rules("\n".join([*PATHS, more]))
    program = program_of(graph, own, believe=True)
    made: dict[str, Scorer] = {
        "goal": Embedding(program, 5, "mlp", "gru", constants="shared", numbers="symbols", seed=1),
        "goal with False": Embedding(
            program, 5, "transe", "mean", constants="shared", numbers="symbols",
            false_action=True, seed=1,
        ),
        "term": Leftmost(program, 5, constants="shared", numbers="symbols", seed=1),
        "clause": ClauseWeights(program, facts="shared"),
    }  # fmt: skip
    proves = prover(graph, own, belief_of(graph), policy=made[kind], nesting=1)
    queries = every_list(graph)
    check(lists_of(proves, graph, queries, side), one_by_one(proves, graph, queries, side))


@pytest.mark.parametrize("side", get_args(Side))
def test_belief_in_lists_is_that_in_triples(side: Side) -> None:
    """Facts among the candidates, and an entity that the embedding does not know."""
    graph = graph_with([("a", "q", "b"), ("a", "q", "c"), ("b", "q", "b"), ("f", "r", "c")])
    for belief in (belief_of(graph), belief_of(graph, known=4)):
        queries, n = every_list(graph), len(graph.entities)
        triples = queries.repeat_interleave(n, 0)
        triples[:, column(side)] = torch.arange(n).repeat(len(queries))
        expected = belief.of_triples(triples).reshape(-1, n)
        check(believed_lists(belief, queries, side, n), expected)


def test_what_is_not_alike_falls_back_and_says_so() -> None:
    graph = graph_with([("a", "q", "b")])
    own = parse_rules("p(X, Y) :- q(X, Y).")
    belief = belief_of(graph)
    each = Embedding(program_of(graph, own, believe=True), 4, "mlp", "mean", seed=0)
    cases = {
        "policy.constants=own": prover(graph, own, belief, policy=each),
        "search.believe=everywhere": prover(graph, own, belief, believe="everywhere"),
        "search.goals": prover(graph, own, limits=ExploreLimits(goals=9)),
        "guard of p(_0,_1)": prover(graph, parse_rules("p(X, Y) :- X \\= Y, q(X, Y).")),
        "p(_0,_1) leaves": prover(graph, parse_rules("p(X, Y) :- q(X, Z), X \\= Z.")),
    }  # fmt: skip
    for reason, proves in cases.items():
        assert reason in str(why_not_lists(proves))
        with pytest.warns(match="one by one: .*" + reason.split("(")[0]):
            made = counted_score(proves, keep=False, entities=len(graph.entities), batch=9)
        assert not isinstance(made, CountedLists)
    # Without belief nothing depends on how steps weigh.
    alone = Embedding(program_of(graph, own), 4, "mlp", "mean", seed=0)
    assert why_not_lists(prover(graph, own, policy=alone)) is None


def test_figures_are_those_of_candidates_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """p_success, late fusion, belief and the prior, ties and pooled precision among them."""
    graph = graph_of(
        [("a", "q", "b"), ("b", "r", "c"), ("c", "q", "d"), ("d", "r", "a"), ("a", "p", "c"),
         ("e", "q", "b"), ("f", "q", "d")],
        valid=[("c", "p", "a"), ("a", "p", "b")],
        test=[("e", "p", "c"), ("f", "p", "a"), ("f", "p", "b"), ("e", "q", "d")],
    )  # fmt: skip
    proves = prover(graph, parse_rules("p(X, Y) :- q(X, Z), r(Z, Y)."), belief_of(graph))
    ranker = Ranker(graph, protocol="full")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lists = evaluate_prover(proves, ranker, graph.test, graph.valid).to_dict()
    name = "deepprooflog.kg.evaluation.evaluate."
    monkeypatch.setattr(name + "counted_score", lambda own, keep, **_: CountedScore(own, keep))
    monkeypatch.setattr(name + "BeliefScore", lambda own, entities: own.of_triples)
    each = evaluate_prover(proves, ranker, graph.test, graph.valid).to_dict()
    for figures in (lists, each):
        for part in (figures, figures["late_fusion"], figures["belief"], figures["prior"]):
            del part["seconds"]
        assert figures.pop("goals") > 0
    assert lists == each


def test_a_database_with_many_open_goals_is_explored_in_parts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("deepprooflog.kg.prove.lists.TOGETHER", 20)
    graph = graph_with([("a", "q", "b"), ("b", "r", "c"), ("b", "r", "d"), ("c", "q", "a")])
    proves = Prover(
        database_of(graph, parse_rules("\n".join(PATHS)), nesting=2),
        prover(graph, parse_rules("\n".join(PATHS))).policy,
    )
    queries = every_list(graph)
    found = lists_of(proves, graph, queries, "tail")
    expected = one_by_one(proves, graph, queries, "tail")
    check(found, expected)
