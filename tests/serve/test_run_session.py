"""A run's session over HTTP: answers, proofs, changed facts, hostile names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import deepprooflog as dpl
from deepprooflog.syntax.terms import Atom
from deepprooflog.syntax.writer import write_term
from serve.conftest import Client
from serve.names import HOSTILE

ATOMS = [write_term(Atom(name)) for name in HOSTILE]


def test_the_session_says_what_it_is_about(run: Client) -> None:
    session = run.get("/api/session").json()
    assert session["kind"] == "run"
    graph = session["graph"]
    assert graph["entities"] == 4 + len(HOSTILE) and graph["rules"] == 1
    assert graph["relations"] == ["uncle", "mother", "brother"]
    assert graph["triples"] == {"train": 3 + len(HOSTILE), "valid": 1, "test": 0}


def test_answers_with_proofs_whatever_they_are_called(run: Client) -> None:
    found = run.result("query", query="uncle(X, bob)")
    by_rule = {one["bindings"]["X"]: one for one in found["answers"]}
    # Who is told only by the fact shares N(G) with the rule; whom the rule alone proves has p 1.
    assert set(by_rule) == {"cy", "dan", *ATOMS}
    for name in ("cy", *ATOMS):
        assert by_rule[name]["probability"] == pytest.approx(1.0)
        assert [node["kind"] for node in by_rule[name]["proof"]["nodes"]] == [
            "rule",
            "fact",
            "fact",
        ]
    assert by_rule["dan"]["probability"] < 0.9


@pytest.mark.parametrize("atom", ATOMS[:3])
def test_a_hostile_name_is_explained(run: Client, atom: str) -> None:
    found = run.result("explain", query=f"uncle({atom}, bob)")
    assert found["triple"] == f"uncle({atom},bob)"
    assert found["proof"]["checked"] is True


def test_facts_are_changed_and_put_back(run: Client) -> None:
    before = run.result("explain", query="uncle(cy, bob)")["probability"]
    assert before == pytest.approx(1.0)
    was = run.get("/api/revision").json()["revision"]
    changed = run.post("/api/facts", json={"removed": ["brother(cy, ann)"]}).json()
    assert (changed["added"], changed["removed"]) == ([], ["brother(cy, ann)"])
    assert changed == run.get("/api/facts").json()
    # Another page learns of it by the revision, which comes with each job too.
    assert was != changed["revision"] == run.get("/api/revision").json()["revision"]
    job = run.post("/api/query", json={"query": "uncle(X, bob)"}).json()
    assert job["revision"] == changed["revision"]
    assert run.result("explain", query="uncle(cy, bob)")["probability"] == 0.0
    now, then = (run.result("query", query="uncle(cy, bob)", as_trained=t) for t in (False, True))
    assert [found["answers"][0]["probability"] for found in (now, then)] == [0.0, before]
    added = run.post("/api/facts", json={"added": ["brother(eve, ann)"]})
    assert added.status_code == 200
    assert run.result("explain", query="uncle(eve, bob)")["probability"] == pytest.approx(1.0)
    assert run.result("explain", query="uncle(cy, bob)")["probability"] == before
    items = run.get("/api/complete", params={"prefix": "uncle(ev"}).json()["items"]
    assert [one["text"] for one in items] == ["eve"]


@pytest.mark.parametrize(
    "body",
    [
        {"removed": ["brother(dan, ann)"]}, {"added": ["nephew(dan, ann)"]},
        {"added": ["brother(dan"]}, {"added": ["brother"]}, {"added": ["brother(a, b)"] * 1001},
    ],
)  # fmt: skip
def test_facts_that_cannot_be_changed_change_nothing(run: Client, body: object) -> None:
    reply = run.post("/api/facts", json=body)
    assert reply.status_code == 400 and reply.json()["error"]["message"]
    facts = run.get("/api/facts").json()
    assert (facts["added"], facts["removed"]) == ([], [])


def test_what_is_missing_proves_it_once_it_is_added(run: Client) -> None:
    found = run.result("why_not", query="uncle(bob, bob)")
    assert found["probability"] == 0.0
    (missing,) = found["derivations"][0]["missing"]
    assert missing == "brother(bob,ann)"
    assert run.post("/api/facts", json={"added": [missing]}).status_code == 200
    assert run.result("explain", query="uncle(bob, bob)")["probability"] == pytest.approx(1.0)


def test_steps_lead_to_the_triple_and_back(run: Client) -> None:
    first = run.result("steps", query="uncle(cy, bob)")
    assert first["goal"] == "uncle(cy,bob)" and first["history"] == []
    assert sum(one["probability"] for one in first["choices"]) == pytest.approx(1.0)
    (rule,) = [one["number"] for one in first["choices"] if one["kind"] == "rule"]
    path, view = [rule], run.result("steps", query="uncle(cy, bob)", path=[rule])
    while view["choices"]:
        path.append(0)
        view = run.result("steps", query="uncle(cy, bob)", path=path)
    assert view["is_true"] and view["history"] == path
    wrong = run.ask("steps", query="uncle(cy, bob)", path=[99])
    assert wrong["state"] == "failed" and "99" in wrong["error"]["message"]


def test_two_answers_compared(run: Client) -> None:
    found = run.result("compare", left="uncle(cy, bob)", right="uncle(dan, bob)")
    assert found["difference"]["probability"] == pytest.approx(
        found["left"]["probability"] - found["right"]["probability"]
    )
    assert "brother(cy,ann)" in json.dumps(found["facts"]["left"])
    assert "uncle(dan,bob)" in json.dumps(found["facts"]["right"])


def test_the_facts_about_an_entity(run: Client) -> None:
    found = run.get("/api/facts/about", params={"entity": "bob"}).json()
    assert [one["triple"] for one in found["facts"]] == ["uncle(dan,bob)", "mother(ann,bob)"]
    found = run.get("/api/facts/about", params={"entity": ATOMS[0], "most": 1}).json()
    assert [one["head"] for one in found["facts"]] == [ATOMS[0]] and found["more"] == 0
    assert run.get("/api/facts/about", params={"entity": "nobody"}).status_code == 400


def test_the_run_at_a_glance(run: Client, run_folder: Path) -> None:
    found = run.get("/api/run").json()
    assert set(found) == {"curves", "relations", "test", "reliability", "rules"}
    assert found["rules"] == [row.to_dict() for row in dpl.kg.open(run_folder).rule_table()]
    (rule,) = found["rules"]
    assert rule["rule"] == "uncle(A,B) :- brother(A,C), mother(C,B)."
    # No step of training was recorded, and nothing was held out to be ranked.
    assert found["curves"] == {} and found["relations"] == {}


def test_unknown_names_fail_with_a_hint(run: Client) -> None:
    job = run.ask("query", query="uncel(X, bob)")
    assert job["state"] == "failed" and "uncle" in job["error"]["hint"]
    assert run.ask("explain", query="uncle(X, bob)")["state"] == "failed"
    assert run.post("/api/program", json={"text": "p."}).status_code == 400


def test_completion_of_entities(run: Client) -> None:
    def items(prefix: str) -> list[str]:
        found = run.get("/api/complete", params={"prefix": prefix}).json()["items"]
        return [one["text"] for one in found]

    assert items("un") == ["uncle"]
    assert items("uncle(c") == ["cy"]
    assert items("uncle(cy, '<scr") == [ATOMS[0]]


def test_what_a_fact_supports_follows_the_session_s_facts(run: Client) -> None:
    found = run.result("supports", query="mother(ann, bob)")
    # By hand: the brothers of ann are the uncles of bob.
    uncles = [f"uncle({name},bob)" for name in ("cy", *ATOMS)]
    assert [one["triple"] for one in found["triples"]] == uncles
    assert found["told"] and found["stopped"] is None
    assert [one["known"] for one in found["triples"]] == [True] + [False] * len(HOSTILE)
    assert all(one["needs_it"] for one in found["triples"])
    run.post("/api/facts", json={"removed": ["brother(cy, ann)"], "added": ["brother(eve, ann)"]})
    now = run.result("supports", query="mother(ann, bob)")
    assert {one["triple"] for one in now["triples"]} == {*uncles[1:], "uncle(eve,bob)"}
    few = run.result("supports", query="mother(ann, bob)", most=2)
    assert (len(few["triples"]), few["stopped"]) == (2, "most")
    failed = run.ask("supports", query="mother(ann, X)")
    assert failed["state"] == "failed" and "open" in failed["error"]["message"]
