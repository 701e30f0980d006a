"""Steps of triples, and two triples compared: against the engine that computes p_success."""

from __future__ import annotations

import pytest

import deepprooflog as dpl
from deepprooflog.insight.steps import StepView
from deepprooflog.kg.model import GraphModel
from deepprooflog.relational.layers import explore

RULES = """
uncle(X,Y) :- brother(X,Z), parent(Z,Y).
parent(X,Y) :- child(Y,X).
brother(X,Y) :- brother(Y,X).
"""
FACTS = [
    ("abe", "brother", "bob"), ("cal", "child", "bob"), ("bob", "parent", "dan"),
    ("abe", "brother", "eli"), ("eli", "parent", "cal"), ("dan", "uncle", "abe"),
]  # fmt: skip


@pytest.fixture(scope="module", params=["goal", "false", "term", "clause", "everywhere"])
def model(request: pytest.FixtureRequest) -> GraphModel:
    graph = dpl.kg.load(FACTS, valid=[("abe", "uncle", "dan")])
    kind = request.param if request.param in ("term", "clause") else "goal"
    where = "everywhere" if request.param == "everywhere" else "query"
    options: dict[str, object] = {
        "learner": "none", "threads": 1,
        "policy": {"dimension": 8, "kind": kind, "false_action": request.param == "false"},
        "search": {"nesting": 2, "believe": where},
    }  # fmt: skip
    prior = {"kind": "complex", "dimension": 4, "steps": 5, "batch": 4}
    return dpl.kg.train(graph, RULES, prior, seed=0, **options)  # type: ignore[arg-type]


def total(view: StepView, kinds: tuple[str, ...] = ()) -> float:
    if view.is_true:
        return view.probability
    return sum(total(view.take(one.number)) for one in view.choices if one.kind not in kinds)


def test_all_derivations_add_up_to_the_answer(model: GraphModel) -> None:
    for triple in ("uncle(abe, cal)", "uncle(bob, cal)", "brother(bob, abe)"):
        view = model.steps(triple)
        assert total(view) == pytest.approx(model.explain(triple).probability, abs=1e-6)
        if model.prover.transitions.normalises:
            assert view.failing == pytest.approx(0.0, abs=1e-6)


def test_the_first_step_is_the_engines(model: GraphModel) -> None:
    prover = model.prover
    goals = prover.database.goals(["uncle(X, cal)"])
    layers = explore(prover.database, goals, max_depth=1, every_clause=prover.policy.local)
    weights = prover.log_weights(layers)[0][0].exp().tolist()
    view = model.steps("uncle(X, cal)")
    found = [one.probability for one in view.choices if one.kind != "false"]
    assert sorted(found) == pytest.approx(sorted(weights), abs=1e-6)


def test_belief_is_a_step_of_its_own(model: GraphModel) -> None:
    view = model.steps("uncle(eli, abe)")
    believe = next(one for one in view.choices if one.goal.startswith("believe("))
    (one,) = view.take(believe.number).choices
    answer = model.explain("uncle(eli, abe)")
    assert one.kind == "belief"
    assert one.probability == pytest.approx(answer.prior, abs=1e-6)


def test_two_answers_compared(model: GraphModel) -> None:
    found = model.compare("uncle(abe, dan)", "uncle(abe, cal)", proofs=20)
    left, right = model.explain("uncle(abe, dan)"), model.explain("uncle(abe, cal)")
    assert found.difference["probability"] == pytest.approx(left.probability - right.probability)
    assert found.difference["by_proof"] == pytest.approx(left.by_proof - right.by_proof)
    assert set(found.facts.left) == {"parent(bob,dan)"}
    assert {"parent(eli,cal)", "child(cal,bob)"} <= set(found.facts.right)
    assert "brother(abe,bob)" in found.facts.both
    assert "uncle(X,Y) :- brother(X,Z), parent(Z,Y)." in found.rules.both
    if model.prover.database.believe == "query":  # elsewhere a child may be believed
        assert set(found.rules.right) == {"parent(X,Y) :- child(Y,X)."}
    assert found.to_dict()["facts"]["left"] == dict(found.facts.left)
    assert "facts that only uncle(abe,dan) rests on" in str(found)


def test_facts_about_an_entity(model: GraphModel) -> None:
    assert [fact.triple for fact in model.facts_about("abe")] == [
        "brother(abe,bob)", "brother(abe,eli)", "uncle(dan,abe)"
    ]  # fmt: skip
    more = model.with_facts(added=["child(abe, eli)"]).facts_about("abe")
    assert more[-1].triple == "child(abe,eli)"
    with pytest.raises(dpl.DataError, match="unknown entity"):
        model.facts_about("abel")


def test_walks_have_no_rules_to_look_into() -> None:
    graph = dpl.kg.load(FACTS, valid=[("abe", "uncle", "dan")])
    walk = {"hops": 2, "states": 2, "width": 4, "hidden": 4, "epochs": 1.0}
    model = dpl.kg.train(graph, prior="none", learner="walks", seed=0, walk=walk, threads=1)
    for ask, reason in (
        (model.why_not, "walks have no nearest failure"),
        (model.supported_by, "walks follow facts, not rules"),
    ):
        with pytest.raises(dpl.DataError, match=reason):
            ask("uncle(abe, dan)")
    found = model.run_summary()
    assert (found.rules, found.reliability) == ((), None)
    assert model.compare("uncle(abe, dan)", "uncle(abe, cal)").difference["prior"] is None
