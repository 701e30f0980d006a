"""Proofs as JSON-LD, read by pyoxigraph and asked by SPARQL."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

import deepprooflog as dpl
from deepprooflog.cli import main
from deepprooflog.kg.prove.labels import iris_in
from deepprooflog.proof.render.jsonld import ProvenanceRecord, to_jsonld
from deepprooflog.proof.tree import Node, Proof

rdf = pytest.importorskip("pyoxigraph", reason="pyoxigraph is not installed")

TOWNS = Path(__file__).parents[2] / "examples" / "towns.ttl"
RULES = "lies_in(X, Z) :- 'geo:part_of'(X, Y), 'geo:part_of'(Y, Z)."
CLAUSE = "lies_in(X,Z) :- 'geo:part_of'(X,Y), 'geo:part_of'(Y,Z)."
HERE, GEO = "http://example.org/towns/", "http://example.org/geo#"
PREFIXES = """
PREFIX prov: <http://www.w3.org/ns/prov#>
PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX dpl: <urn:deepprooflog:>
"""
USED = """
SELECT ?s ?p ?o ?place WHERE {
  ?proof a dpl:Proof ; prov:used ?fact .
  ?fact a rdf:Statement, prov:Entity ; rdf:subject ?s ; rdf:predicate ?p ; rdf:object ?o .
  OPTIONAL { ?fact prov:hadPrimarySource/dpl:place ?place }
}"""
FACTS = {
    (f"{HERE}q3", f"{GEO}part_of", f"{HERE}flanders"),
    (f"{HERE}flanders", f"{GEO}part_of", f"{HERE}belgium"),
}


def store_of(text: str) -> Any:
    store = rdf.Store()
    store.load(text.encode(), format=rdf.RdfFormat.JSON_LD)
    return store


def asked(store: Any, query: str) -> list[tuple[str, ...]]:
    found = store.query(PREFIXES + query)
    return [tuple("" if v is None else v.value for v in row) for row in found]


@pytest.fixture(scope="module")
def model() -> dpl.kg.GraphModel:
    return dpl.kg.train(
        dpl.kg.load(str(TOWNS), valid=[("q3", "lies_in", "belgium")]), RULES, prior="none",
        exact={"steps": 2}, threads=1,
    )  # fmt: skip


def test_the_facts_of_a_proof_are_found_by_sparql(model: dpl.kg.GraphModel) -> None:
    """They are statements of the file that was read."""
    proof = model.explain("lies_in(q3, belgium)", proofs=1).proof
    assert proof is not None
    store = store_of(proof.to_jsonld())
    rows = asked(store, USED)
    assert {row[:3] for row in rows} == FACTS
    assert {Path(row[3]).name for row in rows} == {"towns.ttl"}
    told = rdf.Store()
    told.load(path=str(TOWNS))
    for s, p, o in FACTS:
        quad = rdf.Quad(rdf.NamedNode(s), rdf.NamedNode(p), rdf.NamedNode(o))
        assert quad in told
    labels = "SELECT ?x ?label WHERE { ?x rdfs:label ?label }"
    assert (f"{HERE}q3", "Bruges") in asked(store, labels)


def test_a_conclusion_says_by_which_step_and_clause(model: dpl.kg.GraphModel) -> None:
    answer = model.explain("lies_in(q3, belgium)", proofs=3)
    store = store_of(answer.to_jsonld())
    (row,) = asked(store, """
        SELECT ?p ?clause ?probability ?step WHERE {
          ?x a dpl:Answer ; rdf:subject ?s ; rdf:predicate ?p ; dpl:probability ?probability ;
             prov:wasGeneratedBy ?activity .
          ?activity a dpl:Step ; prov:used ?plan ; dpl:probability ?step .
          ?plan a prov:Plan ; dpl:clause ?clause }""")  # fmt: skip
    assert row[:2] == (f"{HERE}lies_in", CLAUSE)
    assert float(row[2]) == answer.probability
    assert float(row[3]) == answer.proofs[0].probability
    derived = """
        SELECT ?s WHERE { ?x a dpl:Answer ; prov:wasDerivedFrom+ ?fact .
                          ?fact a dpl:Fact ; rdf:subject ?s }"""
    assert set(asked(store, derived)) == {(f"{HERE}q3",), (f"{HERE}flanders",)}


def test_the_form_survives_json(model: dpl.kg.GraphModel) -> None:
    proof = model.explain("lies_in(q3, belgium)", proofs=1).proof
    assert proof is not None
    again = Proof.from_json(proof.to_json())
    assert again.iris["q3"] == f"{HERE}q3"
    assert json.loads(again.to_jsonld()) == json.loads(proof.to_jsonld())


def test_several_answers_share_their_facts(model: dpl.kg.GraphModel) -> None:
    found = model.query("lies_in(X, belgium)", top=5, proofs=2)
    store = store_of(found.to_jsonld())
    subjects = asked(store, "SELECT ?s WHERE { ?x a dpl:Answer ; rdf:subject ?s }")
    assert sorted(subjects) == sorted((f"{HERE}{one.bindings['X']}",) for one in found)
    shared = f"""SELECT ?x WHERE {{ ?x a dpl:Fact ; rdf:subject <{HERE}flanders> ;
                                     rdf:object <{HERE}belgium> }}"""
    assert len(asked(store, shared)) == 1


def test_belief_is_a_step_of_an_agent() -> None:
    """And what no file named has a name of its own; numbers and strings are literals."""
    nodes = (
        Node("age(ann,7)", "rule", "age(X,Y) :- …", None, math.log(0.5), -1, 0),
        Node("believe(age,ann,7)", "belief", "kge", None, math.log(0.25), 0, 1),
        Node("says('Ann B','x\\n\"y')", "fact", "…", "f:1", 0.0, -1, 0),
        Node("weighs(ann,2.5)", "fact", "…", None, 0.0, -1, 0),
        Node("X is 1+1", "builtin", "is/2", None, 0.0, -1, 0),
    )
    store = store_of(to_jsonld(Proof("age(ann,X)", {"X": "7"}, math.log(0.125), nodes)))
    (row,) = asked(
        store,
        """
        SELECT ?agent ?o ?s ?p WHERE { ?x rdf:object ?o ; rdf:subject ?s ; prov:wasDerivedFrom ?b .
          ?b prov:wasGeneratedBy ?a . ?a prov:wasAssociatedWith ?agent ; dpl:probability ?p }""",
    )
    assert row[:3] == ("urn:deepprooflog:prior", "7", "urn:deepprooflog:name:ann")
    assert float(row[3]) == pytest.approx(0.25)
    objects = store.query(PREFIXES + "SELECT ?o WHERE { ?x rdf:object ?o }")
    kinds = {str(o[0]) for o in objects}
    integer, double = (f"<http://www.w3.org/2001/XMLSchema#{k}>" for k in ("integer", "double"))
    assert {f'"7"^^{integer}', f'"2.5"^^{double}'} <= kinds
    assert "<urn:deepprooflog:name:x%0A%22y>" in kinds


def test_a_blank_node_stays_one() -> None:
    names = dpl.kg.load(str(TOWNS)).rdf
    assert names is not None
    assert iris_in(["p('_:b1', nobody_else)"], names)["'_:b1'"] == "_:b1"
    record = ProvenanceRecord()
    record.statement("p('_:b1','_:b1')", {"'_:b1'": "_:b1", "p": "http://e.org/p"}, {})
    same = "ASK { ?x rdf:subject ?b ; rdf:object ?b FILTER isBlank(?b) }"
    assert bool(store_of(record.text()).query(PREFIXES + same))


def test_the_command_line_writes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = dpl.kg.load(str(TOWNS), valid=[("q3", "lies_in", "belgium")])
    model = dpl.kg.train(graph, RULES, prior="none", exact={"steps": 2}, threads=1)
    model.save(tmp_path / "run")
    asked_for = ["explain", str(tmp_path / "run"), "lies_in(q3, belgium)", "--format", "jsonld"]
    assert main(asked_for) == 0
    assert {row[:3] for row in asked(store_of(capsys.readouterr().out), USED)} == FACTS
