"""Why not, of graphs: against all graphs one fact on, proved level by level by another program."""

from __future__ import annotations

import pytest

import deepprooflog as dpl
from deepprooflog.errors import DataError
from deepprooflog.kg.model import GraphModel
from kg.bottom_up import Triple, Written, levels

RULES = """
uncle(X,Y) :- brother(X,Z), parent(Z,Y).
parent(X,Y) :- child(Y,X).
brother(X,Y) :- brother(Y,X).
"""
CLAUSES: list[Written] = [
    (("uncle", "X", "Y"), [("brother", "X", "Z"), ("parent", "Z", "Y")]),
    (("parent", "X", "Y"), [("child", "Y", "X")]),
    (("brother", "X", "Y"), [("brother", "Y", "X")]),
]
FACTS: list[Triple] = [
    ("brother", "abe", "bob"), ("child", "cal", "bob"), ("parent", "bob", "dan"),
    ("brother", "eli", "fox"), ("parent", "fox", "gus"), ("uncle", "abe", "cal"),
]  # fmt: skip
NAMES = sorted({name for _, *pair in FACTS for name in pair})


def text(fact: Triple) -> str:
    return f"{fact[0]}({fact[1]},{fact[2]})"


@pytest.fixture(scope="module", params=["goal", "clause"])
def model(request: pytest.FixtureRequest) -> GraphModel:
    graph = dpl.kg.load([(h, r, t) for r, h, t in FACTS], valid=[("abe", "uncle", "dan")])
    options: dict[str, object] = {
        "learner": "none", "threads": 1,
        "policy": {"dimension": 8, "kind": request.param}, "search": {"nesting": 2},
    }  # fmt: skip
    prior = {"kind": "complex", "dimension": 4, "steps": 5, "batch": 4}
    return dpl.kg.train(graph, RULES, prior, seed=0, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "query", [("uncle", "eli", "dan"), ("uncle", "gus", "abe"), ("uncle", "abe", "gus")]
)
def test_all_single_facts_that_would_prove_it(model: GraphModel, query: Triple) -> None:
    every = [
        (relation, a, b)
        for relation in ("brother", "child", "parent", "uncle")
        for a in NAMES
        for b in NAMES
        if a != b and (relation, a, b) not in (*FACTS, query)
    ]
    expected = {text(f) for f in every if query in levels([*FACTS, f], CLAUSES, 2)}
    found = model.why_not(text(query), most=10_000, missing=1)
    assert found.stopped is None
    assert {fact for one in found.derivations for fact in one.missing} == expected
    logs = [one.log_prob for one in found.derivations]
    assert logs == sorted(logs, reverse=True)


def test_with_its_facts_the_model_proves_it(model: GraphModel) -> None:
    found = model.why_not("uncle(eli, dan)", most=6)
    assert found.probability == pytest.approx(model.explain("uncle(eli, dan)").probability)
    assert any(len(one.missing) == 2 for one in found.derivations)
    for one in found.derivations:
        then = model.with_facts(added=one.missing).explain("uncle(eli, dan)", proofs=40)
        assert then.by_proof > 0
        assert one.then == pytest.approx(then.probability)
        assert one.steps.check()
        assert one.believed is not None
        for fact, belief in zip(one.missing, one.believed, strict=True):
            if not one.invented:
                assert belief == pytest.approx(model.explain(fact).prior)
        atoms = [(node.atom, node.parent) for node in one.steps.nodes]
        assert atoms in [[(n.atom, n.parent) for n in proof.nodes] for proof in then.proofs]


def test_somebody_whom_no_one_has_named(model: GraphModel) -> None:
    found = model.why_not("uncle(gus, eli)", most=10)
    assert {"new_1"} == {name for one in found.derivations for name in one.invented}
    assert ("brother(gus,new_1)", "parent(new_1,eli)") in [one.missing for one in found.derivations]


def test_what_is_refused(model: GraphModel) -> None:
    with pytest.raises(DataError, match="is open"):
        model.why_not("uncle(X, dan)")
    with pytest.raises(DataError, match="unknown entity"):
        model.why_not("uncle(abel, dan)")
