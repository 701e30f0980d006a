"""A program's session over HTTP: probabilities known from outside, errors with their places."""

from __future__ import annotations

import json

import pytest

from deepprooflog.syntax.terms import Atom
from deepprooflog.syntax.writer import write_term
from serve.conftest import Client
from serve.names import HOSTILE, PROGRAM


def test_the_session_says_what_it_is_about(program: Client) -> None:
    session = program.get("/api/session").json()
    assert (session["kind"], session["name"]) == ("program", "two.pl")
    assert session["program"] == PROGRAM
    found = {(one["name"], one["arity"], one["line"]) for one in session["predicates"]}
    assert found == {("s", 1, 1), ("p", 1, 3), ("q", 1, 4)}
    assert session["limits"]["max_seconds"] == 20


def test_an_open_query(program: Client) -> None:
    found = program.result("query", query="s(X)")
    assert found["probability"] == pytest.approx(0.832) and found["exact"]
    answers = {one["text"]: one["probability"] for one in found["answers"]}
    assert answers == {"s(b)": pytest.approx(0.676), "s(a)": pytest.approx(0.156)}
    assert [one["text"] for one in found["answers"]] == ["s(b)", "s(a)"]
    # The best derivation is s(b) by q: 0.6 · 0.8.
    assert found["proof"]["probability"] == pytest.approx(0.48)
    assert found["proof"]["checked"] is True
    one = program.result("query", query="s(X)", top=1)
    assert len(one["answers"]) == 1 and one["more"] == 1 and one["complete"]


def test_a_ground_query_explained(program: Client) -> None:
    found = program.result("explain", query="s(a).")
    assert found["probability"] == pytest.approx(0.156)
    (proof,) = found["proofs"]
    assert [node["place"] for node in proof["nodes"]] == ["two.pl:2", "two.pl:4"]
    assert program.result("explain", query="p(c)")["proofs"] == []


@pytest.mark.parametrize(
    ("query", "column"), [("s(X", 2), ("s(X))", 5), ("s(a) s(b)", 6), ("p('a", 3)]
)
def test_a_query_that_does_not_parse_is_refused_at_once(
    program: Client, query: str, column: int
) -> None:
    reply = program.post("/api/query", json={"query": query})
    assert reply.status_code == 400
    error = reply.json()["error"]
    assert (error["line"], error["column"]) == (1, column)


@pytest.mark.parametrize(
    "body",
    [
        {}, {"query": ""}, {"query": " . "}, {"query": 7}, {"query": "p(X)", "top": 0},
        {"query": "p(X)", "tpo": 3}, {"query": "p(X)", "seconds": -1}, [], "text",
        {"query": "p(X)", "seconds": "NaN"}, {"query": "p(" + "a" * 100_001 + ")"},
    ],
)  # fmt: skip
def test_a_wrong_body_is_refused_in_words(program: Client, body: object) -> None:
    reply = program.post("/api/query", json=body)
    assert reply.status_code == 400
    assert reply.json()["error"]["message"]


def test_text_that_is_no_json_is_refused(program: Client) -> None:
    for body in (b"{", b"[" * 100_000, b"\xff"):
        headers = {"content-type": "application/json"}
        reply = program.post("/api/query", content=body, headers=headers)
        assert reply.status_code == 400 and reply.json()["error"]["message"]
    reply = program.post("/api/query", content=b'{"query": ', headers=headers)
    assert reply.json()["error"]["message"].startswith("the body is no JSON: Expecting value")


def test_a_refused_request_says_what_the_route_takes(program: Client) -> None:
    error = program.post("/api/query", json={"query": "s(X)", "tpo": 3}).json()["error"]
    assert error["message"].startswith("tpo: ")
    keys, _, where = error["hint"].partition("; ")
    assert keys == "the keys are query, seconds, top, proofs, new, as_trained"
    assert where == "/openapi.json says what each takes"
    error = program.get("/api/facts/about").json()["error"]
    assert "entity" in error["message"] and error["hint"].startswith("the keys are entity, most;")
    error = program.get("/api/querry").json()["error"]
    assert error["message"] == "there is no GET /api/querry"
    assert error["hint"] == "/openapi.json lists the routes"
    error = program.get("/api/query").json()["error"]
    assert error["message"] == "there is no GET /api/query" and error["hint"] == "POST /api/query"
    job = program.ask("compare", left="s(a)", right="s(b)")
    assert job["error"]["message"] == "this program cannot be asked for compare"
    assert job["error"]["hint"] == "query, explain, why_not, steps, graph"


def test_an_unknown_predicate_fails_the_job_with_a_hint(program: Client) -> None:
    job = program.ask("query", query="t(X)")
    assert job["state"] == "failed" and job["result"] is None
    assert "t/1" in job["error"]["message"] and "s/1" in job["error"]["hint"]


def test_another_text_is_checked_and_used(program: Client) -> None:
    wrong = program.post("/api/program", json={"text": "p(a).\np(b) :- q(.\n"}).json()
    assert not wrong["ok"]
    assert (wrong["errors"][0]["line"], wrong["errors"][0]["column"]) == (2, 10)
    # The session keeps the program it had.
    assert program.get("/api/session").json()["program"] == PROGRAM
    text = ":- op(700, xfx, likes). 0.25 :: ann likes bob. 0.5 :: ann likes cy."
    assert program.post("/api/program", json={"text": text}).json()["ok"]
    found = program.result("query", query="ann likes X")
    assert found["probability"] == 0.75
    assert program.get("/api/session").json()["program"] == text


def test_what_a_program_prints_is_told(program: Client) -> None:
    text = "p :- write(hello), nl. long :- forall(between(1, 30000, _), write(x))."
    program.post("/api/program", json={"text": text})
    assert program.result("query", query="p", proofs=0)["output"].startswith("hello\n")
    long = program.result("query", query="long", proofs=0)
    assert len(long["output"]) == 20_000 and "20,000" in " ".join(long["notes"])


def test_hostile_names_come_back_as_they_went(program: Client) -> None:
    atoms = [write_term(Atom(name)) for name in HOSTILE]
    program.post("/api/program", json={"text": "\n".join(f"0.1 :: p({one})." for one in atoms)})
    reply = program.result("query", query="p(X)")
    assert {one["text"] for one in reply["answers"]} == {f"p({one})" for one in atoms}
    for one in atoms[:3]:
        assert program.result("explain", query=f"p({one})")["probability"] == 0.1
    # A lone surrogate has no UTF-8 form; it is still text.
    headers = {"content-type": "application/json"}
    body = json.dumps({"query": "p('\ud800')"}).encode("ascii")
    lone = program.post("/api/query", content=body, headers=headers)
    assert lone.status_code in (200, 400)
    if lone.status_code == 200:
        found = program.get(f"/api/jobs/{lone.json()['job']}?wait=60").json()
        assert found["result"]["probability"] == 0


def test_completion(program: Client) -> None:
    def items(prefix: str) -> list[tuple[str, str]]:
        found = program.get("/api/complete", params={"prefix": prefix}).json()
        return [(one["text"], one["kind"]) for one in found["items"]]

    assert items("") == [("p", "predicate"), ("q", "predicate"), ("s", "predicate")]
    assert items("s(a), q") == [("q", "predicate")]
    assert items("s(") == [("a", "entity"), ("b", "entity")]
    assert items("s(b") == [("b", "entity")]
    assert items("z") == []
    assert items("a" * 19_000 + "(") == [("a", "entity"), ("b", "entity")]
    assert items("'" * 19_999) == [("p", "predicate"), ("q", "predicate"), ("s", "predicate")]
    found = program.get("/api/complete", params={"prefix": "s(b), p", "at": 3}).json()
    assert [one["text"] for one in found["items"]] == ["b"] and found["from"] == 2


def test_what_a_program_has_not_is_said(program: Client) -> None:
    assert program.post("/api/facts", json={"added": ["p(a)"]}).status_code == 400
    assert program.ask("compare", left="s(a)", right="s(b)")["state"] == "failed"
    assert program.get("/api/jobs/none").status_code == 404
    assert program.get("/api/nothing").status_code == 404


def test_what_a_query_misses(program: Client) -> None:
    text = "gran(X, Y) :- mother(X, Z), father(Z, Y). mother(ann, bob). father(joe, cy)."
    program.post("/api/program", json={"text": text})
    found = program.result("why_not", query="gran(ann, cy)")
    assert found["probability"] == 0.0
    missing = {tuple(one["missing"]) for one in found["derivations"]}
    # By hand: ann's child bob, or joe, who fathered cy.
    assert {("father(bob,cy)",), ("mother(ann,joe)",)} <= missing


def test_steps_multiply_to_the_derivations_probability(program: Client) -> None:
    first = program.result("steps", query="s(X)")
    assert [one["probability"] for one in first["choices"]] == [0.4, 0.6]
    end = program.result("steps", query="s(X)", path=[1, 1])
    assert end["is_true"] and end["bindings"] == {"X": "b"}
    assert end["probability"] == pytest.approx(0.48)


def test_the_goal_graph_is_drawn_up_to_so_many_goals(program: Client) -> None:
    found = program.result("graph", query="s(X)")
    # s, then p, p and q, then p(a), p(b) and true.
    assert found["complete"] and len(found["nodes"]) == 6
    assert found["svg"].startswith("<svg")
    text = "0.5 :: n(X) :- n(s(X)). 0.5 :: n(_)."
    program.post("/api/program", json={"text": text})
    found = program.result("graph", query="n(z)", most=20)
    assert not found["complete"] and len(found["nodes"]) <= 20


def test_the_events_of_a_job_end_with_its_record(program: Client) -> None:
    job = program.post("/api/query", json={"query": "s(X)"}).json()["job"]
    text = program.get(f"/api/jobs/{job}/events").text
    *before, last = [block.splitlines() for block in text.strip().split("\n\n")]
    assert all(block[0] == "event: progress" for block in before)
    assert last[0] == "event: done"
    record = json.loads(last[1].removeprefix("data: "))
    assert record["result"]["probability"] == pytest.approx(0.832)
