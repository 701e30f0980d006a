"""Conjunctive questions, against plain resolution: the answers it finds, and their derivations."""

from __future__ import annotations

import math
import warnings
from itertools import permutations

import pytest

import deepprooflog as dpl
from deepprooflog.errors import DataError, ProofLogError
from deepprooflog.kg.data.rules import parse_rules
from deepprooflog.kg.data.triples import Graph, graph_of
from deepprooflog.kg.prove import conjunctive_answers
from deepprooflog.kg.prove.answers import Answers
from deepprooflog.kg.prove.conjunction import cheapest_order, read_conjunction
from deepprooflog.kg.prove.conjunctive_answers import answer_conjunction
from deepprooflog.kg.prove.program import program_of
from deepprooflog.kg.prove.prover import Prover
from deepprooflog.logic.program import Program
from deepprooflog.syntax.writer import write_term
from kg.test_proofs import enumerated, prover_of
from kg.test_prover import RULES, TRIPLES

QUESTIONS = [
    "uncle(X, Y), parent(Y, Z)",
    "uncle(X, Y), uncle(Z, Y), X \\= Z",
    "parent(X, Y), brother(Z, X), Z \\== Y",
    "brother(X, Y), uncle(X, Z), Y == Y",
    "uncle(dan, X), parent(X, _)",
    "brother(X, Y), brother(X, Z), Y \\= Z, parent(Y, W)",
    "parent(X, X), uncle(X, Y)",
]


@pytest.fixture(scope="module")
def graph() -> Graph:
    return graph_of(TRIPLES)


@pytest.fixture(scope="module")
def proves(graph: Graph) -> tuple[Prover, Program]:
    return prover_of(graph, parse_rules(RULES))


def ask(prover: Prover, graph: Graph, text: str, **options: object) -> Answers:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        question = read_conjunction(graph, text)
        return answer_conjunction(prover, graph, question, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", QUESTIONS)
def test_answers_by_clauses_are_those_of_plain_resolution(
    graph: Graph, proves: tuple[Prover, Program], text: str
) -> None:
    found = ask(proves[0], graph, text, top=10_000, proofs=0)
    named = text.replace("_)", "Anyone)")
    facts = program_of(graph, parse_rules(RULES))
    expected = {tuple(one.values()) for one in dpl.solve(facts, named)}
    assert {tuple(one.bindings.values()) for one in found if one.by_proof > 0} == expected
    assert expected or "parent(X, X)" in text
    assert [one.probability for one in found] == sorted(
        (one.probability for one in found), reverse=True
    )


@pytest.mark.parametrize("text", QUESTIONS[:3])
def test_a_probability_is_the_sum_of_all_derivations(
    graph: Graph, proves: tuple[Prover, Program], text: str
) -> None:
    """Of the ground conjunction as it is written, by plain resolution; the proof is the best."""
    prover, program = proves
    found = ask(prover, graph, text, top=6, proofs=1000)
    assert found
    for one in found:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # guards that the policy does not know
            expected = enumerated(prover, program, one.triple)
        total = math.fsum(math.exp(log) for log, _ in expected)
        assert one.probability == pytest.approx(total, rel=1e-5)
        assert len(one.proofs) == len(expected)
        assert all(proof.check() for proof in one.proofs)
        assert math.fsum(p.probability for p in one.proofs) == pytest.approx(total, rel=1e-5)


def test_the_order_of_the_atoms_changes_no_answer(
    graph: Graph, proves: tuple[Prover, Program]
) -> None:
    atoms = ["uncle(X, Y)", "parent(Y, Z)", "brother(X, W)"]
    sets = []
    for order in permutations(atoms):
        found = ask(proves[0], graph, ", ".join(order), top=10_000, proofs=0)
        sets.append({frozenset(one.bindings.items()) for one in found if one.by_proof > 0})
    assert sets[0]
    assert all(one == sets[0] for one in sets)


def test_bound_atoms_and_small_relations_are_explored_first(graph: Graph) -> None:
    question = read_conjunction(graph, "brother(X, Y), parent(ann, Z), X \\= Z, kin(W, Y)")
    shown = [write_term(atom) for atom in cheapest_order(graph, question.atoms)]
    # Of brother and kin, both open, kin has fewer facts.
    names = [text.split("(")[0] for text in shown]
    assert names[:3] == ["parent", "kin", "brother"]
    assert "\\=" in names[3]


def test_what_is_left_out_is_said(
    graph: Graph, proves: tuple[Prover, Program], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = ask(proves[0], graph, QUESTIONS[0], top=10_000, proofs=0)
    assert whole.notes == []
    monkeypatch.setattr(conjunctive_answers, "MOST_SCORED", 1)
    few = ask(proves[0], graph, QUESTIONS[0], top=10_000, proofs=0)
    assert few.candidates == 1
    assert few.notes == [f"{whole.candidates - 1} further answers were not scored"]
    assert all(one.by_proof > 0 for one in few)
    monkeypatch.setattr(conjunctive_answers, "MOST_GOALS", 10)
    assert "there may be more answers" in ask(proves[0], graph, QUESTIONS[0]).notes[-1]


@pytest.mark.parametrize(
    ("text", "said", "hint"),
    [
        ("uncle(X, Y), parnt(Y, Z)", "unknown relation parnt", "did you mean parent?"),
        ("uncle(X, Y), parent(Y, bop)", "unknown entity bop", "did you mean bob?"),
        ("uncle(X, Y), X \\= Z", "compares what no triple binds: Z", "behind the triples"),
        ("X \\= Y, uncle(X, Y)", "stands before the triple that binds X", "behind the triples"),
        ("uncle(X, Y), (parent(Y, X) ; parent(X, Y))", "no triple and no guard", "relation(head"),
        ("uncle(X, Y), \\+ parent(X, Y)", "no triple and no guard", "relation(head"),
        ("uncle(X, Y), X = Y", "no triple and no guard", "guards such as"),
        ("uncle(X, Y), f(X) \\= Y", "compares what is no entity", "guards such as"),
        ("uncle(X, Y), X \\= nobody", "unknown entity nobody", None),
    ],
)
def test_what_cannot_be_asked(graph: Graph, text: str, said: str, hint: str | None) -> None:
    with pytest.raises(DataError) as error:
        read_conjunction(graph, text)
    assert said in error.value.message
    assert hint is None or hint in (error.value.hint or "")


def test_integers_are_compared_and_names_are_not(proves: tuple[Prover, Program]) -> None:
    people = graph_of([("ann", "age", 7), ("bob", "age", 9), ("ann", "knows", "bob")])
    prover = dpl.kg.prover(people)
    found = ask(prover, people, "age(X, A), age(Y, B), A < B")
    assert [one.bindings for one in found] == [{"X": "ann", "A": "7", "Y": "bob", "B": "9"}]
    with pytest.raises(ProofLogError, match="compares what is no integer"):
        ask(prover, people, "knows(X, Y), X < Y")


def test_guards_that_no_rule_has_are_told_of(graph: Graph) -> None:
    prover = dpl.kg.prover(graph)
    question = read_conjunction(graph, "parent(X, Y), parent(X, Z), Y \\= Z")
    with pytest.warns(dpl.Notice, match="no rule of the run has"):
        answer_conjunction(prover, graph, question)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = answer_conjunction(prover, graph, question)
    assert all(one.bindings["Y"] != one.bindings["Z"] for one in again)
