"""What a fact supports: against all joins of all facts, and against resolution itself."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pytest

import deepprooflog as dpl
from deepprooflog.errors import DataError
from deepprooflog.kg.data.reading import SHIPPED
from deepprooflog.kg.data.rules import Rules, parse_rules
from deepprooflog.kg.data.triples import Graph, graph_of
from deepprooflog.kg.prove.program import program_of
from deepprooflog.kg.prove.support import FactSupport, supported_by
from deepprooflog.logic.goal import Interner
from deepprooflog.logic.limits.budget import Budget
from deepprooflog.logic.resolve import start, successors
from deepprooflog.syntax.writer import write_term
from kg.bottom_up import Triple, read_clauses

RULES = """
r(X,Y) :- s(X,Z), t(Z,Y).
r(X,Y) :- s(Y,X).
s(X,Y) :- r(X,Z), r(Y,Z).
t(X,Y) :- t(X,Z), s(Z,W), r(W,Y).
t(X,a) :- s(X,b).
"""
_ATOM = re.compile(r"(\w+)\((\w+),(\w+)\)")
CLAUSES = [(_ATOM.findall(line)[0], _ATOM.findall(line)[1:]) for line in RULES.strip().splitlines()]
Conclusion = tuple[Triple, int, tuple[Triple, ...]]


def random_facts(seed: int) -> list[Triple]:
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, [3, 5, 5], (14, 3)).tolist()
    return list(dict.fromkeys(("rst"[r], "abcde"[h], "abcde"[t]) for r, h, t in rows))


def graph_with(facts: list[Triple]) -> Graph:
    # Told beside the facts, so that all names are there whichever facts are.
    names = [(a, r, b) for r in "rst" for a, b in ("ab", "cd", "ea")]
    return graph_of([(h, r, t) for r, h, t in facts], test=names)


def conclusions(facts: list[Triple]) -> set[Conclusion]:
    """Every way in which a rule's whole body is among the facts: all of them are tried."""
    found: set[Conclusion] = set()
    for number, (head, body) in enumerate(CLAUSES):
        for used in product(facts, repeat=len(body)):
            frame: dict[str, str] = {}
            fits = all(
                atom[0] == fact[0]
                and all(
                    (frame.setdefault(term, name) if term.isupper() else term) == name
                    for term, name in zip(atom[1:], fact[1:], strict=True)
                )
                for atom, fact in zip(body, used, strict=True)
            )
            if fits:
                ends = [frame.get(term, term) for term in head[1:]]
                found.add(((head[0], ends[0], ends[1]), number, used))
    return found


def text(triple: Triple) -> str:
    return f"{triple[0]}({triple[1]},{triple[2]})"


@pytest.mark.parametrize("seed", range(12))
def test_the_conclusions_are_those_of_trying_all_facts(seed: int) -> None:
    facts, rules = random_facts(seed), parse_rules(RULES)
    graph, every = graph_with(facts), conclusions(facts)
    names = [str(rule) for rule in rules]
    for fact in facts:
        using = {one for one in every if fact in one[2] and one[0] != fact}
        without = {head for head, _, _ in conclusions([f for f in facts if f != fact])}
        found = supported_by(graph, rules, text(fact))
        assert found.told and found.stopped is None and found.passed_over == ()
        assert {(one.triple, names.index(one.rule)): one.ways for one in found.triples} == {
            (text(head), number): sum(other[:2] == (head, number) for other in using)
            for head, number, _ in using
        }
        for one in found.triples:
            mine = {used for head, _, used in using if text(head) == one.triple}
            assert {*one.facts, text(fact)} in [{text(f) for f in used} for used in mine]
            head = next(head for head, _, _ in using if text(head) == one.triple)
            # Derived with the fact and not without it.
            assert one.needs_it == (head not in without and head not in facts)
            assert one.known == (head in facts)


@pytest.mark.parametrize("seed", range(4))
def test_each_conclusion_is_a_derivation_of_the_graph_s_program(seed: int) -> None:
    facts, rules = random_facts(seed), parse_rules(RULES)
    graph = graph_with(facts)
    program = program_of(graph, rules)
    for fact in facts:
        for one in supported_by(graph, rules, text(fact)).triples:
            interner = Interner()
            goal = start([graph.term(graph.pattern(one.triple))], interner)  # type: ignore[arg-type]
            (goal,) = {
                step.goal
                for step in successors(program, goal, interner)
                if step.choice.clause is not None
                and step.choice.clause.place is not None
                and f"<text>:{step.choice.clause.place.line}" == one.place
            }
            used = {*one.facts, text(fact)}
            assert _resolved(program, goal, interner, used)


def _resolved(program: dpl.Program, goal: object, interner: Interner, facts: set[str]) -> bool:
    """Whether a goal comes to true through these facts and no other clause."""
    goals = [goal]
    while goals:
        goal = goals.pop()
        if goal.is_true:  # type: ignore[attr-defined]
            return True
        for step in successors(program, goal, interner):  # type: ignore[arg-type]
            clause = step.choice.clause
            if clause is not None and not clause.body and write_term(clause.head) in facts:
                goals.append(step.goal)
    return False


def test_a_triple_that_is_no_fact_would_support_what_it_does_as_one() -> None:
    facts, rules = random_facts(3), parse_rules(RULES)
    fact: Triple = next(
        (r, a, b) for r, a, b in product("rst", "abcde", "abcde") if (r, a, b) not in facts
    )
    would = supported_by(graph_with(facts), rules, text(fact))
    then = supported_by(graph_with([*facts, fact]), rules, text(fact))
    assert (would.told, then.told) == (False, True)
    assert would.triples == then.triples


def village() -> tuple[Graph, Rules]:
    graph = dpl.kg.load("village")
    return graph, dpl.kg.read_rules(SHIPPED / "village" / "rules.pl")


def test_on_the_village_a_fact_and_what_it_alone_supports_go_together() -> None:
    graph, rules = village()
    clauses = read_clauses(SHIPPED / "village" / "rules.pl")
    facts = {(graph.relations[r], graph.entity_text(h), graph.entity_text(t))
             for h, r, t in graph.train.tolist()}  # fmt: skip
    fact = next(f for f in sorted(facts) if f[0] == "father")
    found = supported_by(graph, rules, text(fact), most=1000)
    assert found.stopped is None

    def derived(known: set[Triple]) -> set[Triple]:
        heads: set[Triple] = set()
        for head, body in clauses:
            frames: list[dict[str, str]] = [{}]
            for relation, x, y in body:
                frames = [
                    {**frame, x: a, y: b}
                    for frame in frames
                    for r, a, b in known
                    if r == relation and frame.get(x, a) == a and frame.get(y, b) == b
                ]
            heads |= {(head[0], frame[head[1]], frame[head[2]]) for frame in frames}
        return heads

    lost = derived(facts) - derived(facts - {fact}) - facts
    assert {one.triple for one in found.triples if one.needs_it} == {text(t) for t in lost}
    assert {one.triple for one in found.triples} <= {text(t) for t in derived(facts)}


def test_limits_are_said_and_what_was_found_is_kept() -> None:
    facts, rules = random_facts(0), parse_rules(RULES)
    graph = graph_with(facts)
    whole = max((supported_by(graph, rules, text(f)) for f in facts), key=lambda s: len(s.triples))
    cut = supported_by(graph, rules, whole.fact, most=2)
    assert (cut.stopped, len(cut.triples), len(whole.triples) > 2) == ("most", 2, True)
    few = supported_by(graph, rules, whole.fact, budget=Budget(max_goals=1))
    assert few.stopped == "max_goals" and len(few.triples) == 1
    late = supported_by(graph, rules, whole.fact, budget=Budget(max_seconds=0.0))
    assert late.stopped == "max_seconds"
    assert "cut by max_goals" in str(few)


def test_guards_hold_and_rules_that_facts_do_not_decide_are_named() -> None:
    rules = parse_rules(
        r"s(X,Y) :- r(Z,X), r(Z,Y), X \= Y. r(X,Y) :- helps(X,Y). r(X,_) :- s(X,X). "
        "helps(X,Y) :- s(Y,X)."
    )
    graph = graph_of([("a", "r", "b"), ("a", "r", "c"), ("c", "s", "b")])
    found = supported_by(graph, rules, "r(a, b)")
    assert [one.triple for one in found.triples] == ["s(b,c)", "s(c,b)"]
    assert [one.facts for one in found.triples] == [("r(a,c)",), ("r(a,c)",)]
    assert [one.known for one in found.triples] == [False, True]
    assert len(found.passed_over) == 3
    assert "helps" in str(found)


def test_a_model_says_the_same_of_its_graph() -> None:
    facts = [("ann", "mother", "bob"), ("bob", "father", "cy"), ("ann", "gran", "cy")]
    graph = dpl.kg.load(facts, valid=[("ann", "gran", "bob")])
    rules = "gran(X, Y) :- mother(X, Z), father(Z, Y)."
    model = dpl.kg.train(graph, rules=rules, prior="none", exact={"steps": 1}, threads=1)
    found = model.supported_by("father(bob, cy)")
    assert isinstance(found, FactSupport)
    assert found.to_dict()["triples"] == [
        {"triple": "gran(ann,cy)", "rule": "gran(A,B) :- mother(A,C), father(C,B).",
         "place": "<text>:1", "facts": ["mother(ann,bob)"], "ways": 1, "known": True,
         "needs_it": False}
    ]  # fmt: skip
    other = model.with_facts(removed=["gran(ann, cy)"]).supported_by("father(bob, cy)")
    assert [one.needs_it for one in other.triples] == [True]
    with pytest.raises(DataError, match="open"):
        model.supported_by("father(bob, X)")
    with pytest.raises(DataError, match="unknown entity"):
        model.supported_by("father(bob, zoe)")
