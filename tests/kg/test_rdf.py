"""RDF files: the same triples in every format, prefixes, labels, and counts of what is left out."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyoxigraph as rdf
import pytest

import deepprooflog as dpl
from deepprooflog.errors import DataError
from deepprooflog.kg.data.files import RdfReading, read_files
from deepprooflog.kg.data.folder import read_graph
from deepprooflog.kg.data.rdf import parse_rdf, read_rdf
from deepprooflog.kg.data.rdf_names import RdfNames
from deepprooflog.kg.data.snapshot import read_snapshot, save_snapshot, snapshot_of
from deepprooflog.kg.data.triples import Graph
from deepprooflog.kg.prove.labels import labels_in, with_labels
from deepprooflog.proof.tree import Node, Proof
from deepprooflog.syntax.terms import Atom, Float, Str

TOWNS = Path(__file__).parents[2] / "examples" / "towns.ttl"
FORMATS = {
    "nt": rdf.RdfFormat.N_TRIPLES, "nq": rdf.RdfFormat.N_QUADS, "ttl": rdf.RdfFormat.TURTLE,
    "trig": rdf.RdfFormat.TRIG, "rdf": rdf.RdfFormat.RDF_XML,
}  # fmt: skip


def iris(graph: Graph) -> set[tuple[str, str, str]]:
    """The training triples by their IRIs."""
    names = graph.rdf
    assert names is not None
    ends = [names.iri(e.name) if type(e) is Atom else str(e) for e in graph.entities]
    relations = [names.iri(r) for r in graph.relations]
    return {(ends[h], relations[r], ends[t]) for h, r, t in graph.train.tolist()}


@pytest.mark.parametrize("ending", [*FORMATS, "nt.gz", "ttl.gz"])
def test_every_format_holds_the_same_triples(ending: str, tmp_path: Path) -> None:
    """What pyoxigraph writes anew in each format, and what its own terms say."""
    statements = [q.triple for q in rdf.parse(path=str(TOWNS))]
    kind = FORMATS[ending.removesuffix(".gz")]
    raw = rdf.serialize(statements, format=kind)
    assert raw is not None
    path = tmp_path / f"towns.{ending}"
    path.write_bytes(gzip.compress(raw) if ending.endswith(".gz") else raw)
    graph = dpl.kg.load(path)
    wanted = {
        (t.subject.value, t.predicate.value, t.object.value)
        for t in statements
        if isinstance(t.subject, rdf.NamedNode) and isinstance(t.object, rdf.NamedNode)
    }
    assert iris(graph) == wanted and len(wanted) == 11
    assert [n.count for n in graph.notices] == [2], "two literals that are no labels"
    lines = graph.sources["train"].lines.tolist()
    if ending == "nt":
        shown = [raw.decode().split("\n")[line - 1].split()[0].strip("<>") for line in lines]
        assert {h for h, _, _ in iris(graph)} == set(shown)
    elif ending == "ttl":
        assert lines == [0] * 11


def test_prefixes_labels_and_literals() -> None:
    graph = dpl.kg.load(str(TOWNS))
    assert graph.relations == ("geo:part_of", "lies_in") and graph.name == "towns"
    assert graph.rdf is not None
    assert graph.rdf.labels["q1"] == "Ghent" and graph.rdf.labels["q4"] == "Liège"
    french = dpl.kg.load(TOWNS, language="fr")
    assert french.rdf is not None and french.rdf.labels["q2"] == "Louvain"
    (notice,) = graph.notices
    assert "2 statements with literals are left out: http://example.org/towns/inhabitants 2" in str(
        notice
    )
    kept = dpl.kg.load(TOWNS, literals=True)
    assert 265086 in kept.entities and Str("Ghent") in kept.entities
    assert "inhabitants" in kept.relations and not kept.notices
    short = dpl.kg.load(TOWNS, prefixes={"t": "http://example.org/towns/"})
    assert "t:lies_in" in short.relations


def test_names_are_never_lost() -> None:
    names = RdfNames({"": "http://a.org/", "b": "http://a.org/b#", "http": "http://odd.org/"})
    for iri in (
        "http://a.org/x", "http://a.org/b#x", "http://a.org/b:c", "http://a.org/", "urn:x:y",
        "http://odd.org/z", "http://a.org/b#1%20", "mailto:a@b.c", "http://a.org/x/y", "a/b",
    ):  # fmt: skip
        if iri != "a/b":  # no IRI: it has no scheme
            assert names.iri(names.shorten(iri)) == iri
    assert names.shorten("http://a.org/b#x") == "b:x"


def test_constants_blank_nodes_graphs_and_statements_about_statements() -> None:
    text = b"""@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
        _:x <http://e.org/p> _:y .
        _:y <http://e.org/p> 1.5 .
        _:x <http://e.org/p> "x"^^xsd:integer .
    """
    plain = parse_rdf(text, "TURTLE", scope="train")
    assert plain.rows == [(Atom("_:train1"), "http://e.org/p", Atom("_:train2"))]
    kept = parse_rdf(text, "TURTLE", literals=True)
    assert [t for _, _, t in kept.rows] == [Atom("_:b2"), Float(1.5), Str("x")]
    quads = parse_rdf(b"<http://e/a> <http://e/p> <http://e/b> <http://e/g> .\n", "N_QUADS")
    assert "1 named graph are read as one" in str(quads.notices[0])
    about = b"<http://e/a> <http://e/p> <<( <http://e/a> <http://e/p> <http://e/b> )>> .\n"
    more = parse_rdf(about + b"<http://e/a> <http://e/p> <http://e/b> .\n", "N_TRIPLES")
    assert len(more.rows) == 1 and "1 statement about statements" in str(more.notices[0])


def test_what_cannot_be_read_is_said_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="not Turtle") as error:
        parse_rdf(b"@prefix e: <http://e/> .\ne:a e:b\n", "TURTLE", "t.ttl")
    assert error.value.file == "t.ttl" and error.value.line in (2, 3)
    with pytest.raises(DataError, match="no statement between two resources") as none:
        parse_rdf(b'<http://e/a> <http://e/p> "x" .', "TURTLE")
    assert none.value.hint is not None and "literals=True" in none.value.hint
    (tmp_path / "bad.nt").write_bytes(b"\x00\xff")
    with pytest.raises(DataError, match=r"bad\.nt"):
        read_rdf(tmp_path / "bad.nt", "bad.nt")


def test_files_of_one_graph_share_their_prefixes(tmp_path: Path) -> None:
    prefix = "@prefix e: <http://e.org/> .\n"
    (tmp_path / "train.ttl").write_text(prefix + "e:a e:p e:b . e:b e:p [] .", encoding="utf-8")
    (tmp_path / "valid.nt").write_text(
        "<http://e.org/b> <http://e.org/p> <http://e.org/a> .\n", encoding="utf-8"
    )
    (tmp_path / "test.nt").write_text("<http://e.org/a> <http://e.org/p> _:x .\n", encoding="utf-8")
    graph = read_graph(tmp_path)
    shown = [e.name for e in graph.entities if type(e) is Atom]
    assert shown == ["e:a", "e:b", "_:train1", "_:test1"] and graph.relations == ("e:p",)
    found, names = read_files({"train": tmp_path / "train.ttl"}, RdfReading({"x": "http://e.org/"}))
    assert names is not None and found["train"].rows[0][1] == "x:p"


def test_a_run_keeps_what_names_stand_for(tmp_path: Path) -> None:
    graph = dpl.kg.load(TOWNS)
    kept = snapshot_of(graph, dpl.kg.Rules(()))
    save_snapshot(tmp_path / "graph.json", kept)
    again = read_snapshot(tmp_path / "graph.json")
    assert again.graph.rdf == graph.rdf and again.changes() == []
    assert again.files["train"][0] == str(TOWNS)


def test_labels_stand_beside_names() -> None:
    names = RdfNames(labels={"e:b": "Berlin\n", "e:in": "lies in", "same": "same"})
    assert labels_in(["'e:in'('e:b', same)", "broken("], names) == {
        "'e:in'": "lies in", "'e:b'": "Berlin\n",
    }  # fmt: skip
    step = Node("'e:in'('e:b',x)", "fact", "", "towns.ttl", 0.0, -1, 0)
    proof = with_labels(Proof("'e:in'(X,x)", {"X": "'e:b'"}, 0.0, (step,)), names)
    assert "'e:b' is Berlin\\n" in str(proof).splitlines()
    assert Proof.from_json(proof.to_json()).labels == proof.labels
    assert "Labels" in proof.to_html()


def test_answers_and_proofs_of_a_graph_from_rdf() -> None:
    rules = "lies_in(X, Z) :- 'geo:part_of'(X, Y), 'geo:part_of'(Y, Z)."
    model = dpl.kg.train(
        dpl.kg.load(TOWNS, valid=[("q3", "lies_in", "belgium")]), rules, prior="none",
        exact={"steps": 2}, threads=1,
    )  # fmt: skip
    found = model.query("lies_in(X, belgium)", proofs=1)
    assert "X = q3 (Bruges)" in str(found)
    why = model.explain("lies_in(q3, belgium)")
    assert why.labels == {"q3": "Bruges", "belgium": "Belgium"}
    assert why.proof is not None and why.proof.labels["flanders"] == "Flanders"
    assert why.to_dict()["labels"]["q3"] == "Bruges"
    places = {node.place for node in why.proof.nodes if node.kind == "fact"}
    assert places == {str(TOWNS)}, "Turtle has no line for a statement"
