"""Why not, of programs: every missing fact, against the least models of all programs one fact on.

`kg.bottom_up` joins facts level by level and shares no code with resolution.
"""

from __future__ import annotations

import itertools
import math

import pytest
import torch

import deepprooflog as dpl
from deepprooflog.insight.open_tree import mended
from kg.bottom_up import Triple, Written, levels

RULES = """
gran(X,Y) :- parent(X,Z), parent(Z,Y).
parent(X,Y) :- mother(X,Y).
parent(X,Y) :- wife(X,Z), father(Z,Y).
"""
CLAUSES: list[Written] = [
    (("gran", "X", "Y"), [("parent", "X", "Z"), ("parent", "Z", "Y")]),
    (("parent", "X", "Y"), [("mother", "X", "Y")]),
    (("parent", "X", "Y"), [("wife", "X", "Z"), ("father", "Z", "Y")]),
]
FACTS: list[Triple] = [
    ("mother", "ann", "bea"), ("wife", "ann", "abe"), ("father", "abe", "cal"),
    ("mother", "dot", "eve"), ("wife", "cal", "dot"), ("father", "abe", "dot"),
]  # fmt: skip
NAMES = sorted({name for _, *pair in FACTS for name in pair})
TOLD = {"mother", "wife", "father"}  # the predicates with facts; parent and gran have rules alone


def text(fact: Triple) -> str:
    return f"{fact[0]}({fact[1]},{fact[2]})"


def enough(query: Triple, count: int) -> set[frozenset[str]]:
    """The smallest sets of so many facts that make a query true, by trying all of them."""
    every = [(r, a, b) for r in TOLD for a in NAMES for b in NAMES]
    fresh = [fact for fact in every if fact not in FACTS]
    return {
        frozenset(map(text, some))
        for some in itertools.combinations(fresh, count)
        if query in levels([*FACTS, *some], CLAUSES, 5)
    }


@pytest.fixture(scope="module")
def program() -> dpl.Program:
    return dpl.Program(RULES + "".join(f"{text(f)}. " for f in FACTS))


@pytest.mark.parametrize("query", [("gran", "ann", "cal"), ("gran", "bea", "eve")])
def test_all_single_facts_that_would_prove_it(program: dpl.Program, query: Triple) -> None:
    found = dpl.why_not(program, text(query), most=10_000, missing=1)
    assert found.stopped is None
    assert found.probability == 0.0
    assert all(len(one.missing) == 1 for one in found.derivations)
    assert {frozenset(one.missing) for one in found.derivations} == enough(query, 1)


def test_pairs_come_after_single_facts(program: dpl.Program) -> None:
    query = ("gran", "dot", "bea")
    found = dpl.why_not(program, text(query), most=10_000, missing=2)
    sizes = [len(one.missing) for one in found.derivations]
    assert sizes == sorted(sizes)
    named = {frozenset(one.missing) for one in found.derivations if not one.invented}
    single = enough(query, 1)
    pairs = {p for p in enough(query, 2) if not any(s <= p for s in single)}
    assert {m for m in named if len(m) == 1} == single
    # A pair that only meets in someone whom no fact names is found once, for anybody.
    assert {m for m in named if len(m) == 2} <= pairs
    for pair in pairs - named:
        assert any(len(one.invented) == 1 for one in found.derivations), pair


def test_each_derivation_succeeds_with_its_facts(program: dpl.Program) -> None:
    for one in dpl.why_not(program, "gran(bea, eve)", most=20).derivations:
        assert one.steps.check()
        changed = dpl.Program(
            RULES + "".join(f"{text(f)}. " for f in FACTS) + " ".join(f"{f}." for f in one.missing)
        )
        assert dpl.provable(changed, "gran(bea, eve)")
        leaves = {node.atom for node in one.steps.nodes if node.kind == "missing"}
        assert leaves == set(one.missing)


def test_a_check_fails_without_the_facts(program: dpl.Program) -> None:
    same, added = mended(program, [])
    assert added == []
    assert not dpl.provable(same, "gran(bea, eve)")


def test_probabilities_order_what_lacks_the_same() -> None:
    slp = dpl.Program("0.4 :: s(X) :- p(X). 0.6 :: s(X) :- q(X). 1 :: p(a). 0.25 :: q(b).")
    found = dpl.why_not(slp, "s(c)")
    assert [one.missing for one in found.derivations] == [("q(c)",), ("p(c)",)]
    logs = [one.log_prob for one in found.derivations]
    assert logs == pytest.approx([math.log(0.6), math.log(0.4)])
    # What a labelled fact would weigh nobody can say.
    assert [one.then for one in found.derivations] == [None, None]


def test_a_test_that_does_not_hold() -> None:
    adults = dpl.Program("adult(X) :- age(X, A), A >= 18. age(bob, 17). age(eve, 20).")
    (one,) = dpl.why_not(adults, "adult(bob)").derivations
    assert (one.missing, one.failed) == ((), ("17>=18",))
    assert not one.steps.check()
    assert "fails   17>=18" in str(one)


def test_an_open_query(program: dpl.Program) -> None:
    (one, *_) = dpl.why_not(program, "gran(X, ann)", most=1).derivations
    changed = dpl.Program(
        RULES + "".join(f"{text(f)}. " for f in FACTS) + " ".join(f"{f}." for f in one.missing)
    )
    assert dpl.provable(changed, "gran(X, ann)")


def test_the_bound_is_said() -> None:
    endless = dpl.Program("p(X) :- p(f(X)). p(X) :- q(X). q(b).")
    found = dpl.why_not(endless, "p(a)", most=2, budget=dpl.Budget(max_goals=50))
    assert found.stopped == "max_goals"
    assert found.goals <= 50
    assert [one.missing for one in found.derivations] == [("q(a)",), ("q(f(a))",)]
    assert "cut by max_goals" in str(found)


def test_nothing_helps() -> None:
    found = dpl.why_not(dpl.Program("p(X) :- p(f(X)), q. q :- q. r :- q."), "r")
    assert found.derivations == ()
    assert "no derivation comes near" in str(found)
    with pytest.raises(dpl.ProgramError, match="no clause defines q/1"):
        dpl.why_not(dpl.Program("p(a)."), "q(a)")


def test_a_model_weighs_its_own_way(program: dpl.Program) -> None:
    torch.manual_seed(0)
    model = dpl.Model(program, scorer=dpl.Embedding(program, dim=8, seed=0))
    found = dpl.why_not(model, "gran(bea, eve)", most=50, missing=1)
    assert {frozenset(one.missing) for one in found.derivations} == enough(
        ("gran", "bea", "eve"), 1
    )
    logs = [one.log_prob for one in found.derivations]
    assert logs == sorted(logs, reverse=True)
    assert all(log < 0 for log in logs)
    assert found.to_dict()["derivations"][0]["missing"] == list(found.derivations[0].missing)


def test_an_error_after_an_assumption_is_a_dead_end() -> None:
    """`age(bob, A)` may be missing, but then `A >= 18` cannot be asked."""
    adults = dpl.Program("adult(X) :- age(X, A), A >= 18. age(eve, 20).")
    found = dpl.why_not(adults, "adult(bob)")
    assert found.derivations == ()


def test_a_search_without_end_is_ended() -> None:
    endless = dpl.Program("p(X) :- n(Y), q(X, Y). n(X) :- between(1, inf, X). q(a, 0).")
    found = dpl.why_not(endless, "p(b)", most=3, budget=dpl.Budget(max_goals=50))
    assert found.stopped is not None
    assert found.derivations[0].missing == ("q(b,1)",)
