"""Graphs in files: what is opened, found by name, asked and kept is what the text says."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deepprooflog as dpl
from deepprooflog.errors import DataError, Notice
from deepprooflog.kg import training
from deepprooflog.kg.data import graph_index, snapshot
from deepprooflog.kg.data.folder import read_text_graph
from deepprooflog.kg.data.graph_index import NAME, check_index, index_folder
from deepprooflog.kg.data.large import array_file
from deepprooflog.kg.data.large.array_file import ArrayWriter, check_arrays, open_arrays
from deepprooflog.kg.data.large.entity_names import EntityNames
from deepprooflog.kg.data.large.fact_orders import pair_facts, write_orders
from deepprooflog.kg.data.large.graph_file import GraphParts, keep_graph, open_graph, write_graph
from deepprooflog.kg.data.large.known_facts import KnownFacts
from deepprooflog.kg.data.large.name_index import NameIndex, sorted_hashes
from deepprooflog.kg.data.large.row_order import by_relation
from deepprooflog.kg.data.odd_triples import duplicates, first_rows, odd_triples
from deepprooflog.kg.data.rules import Rules
from deepprooflog.kg.data.triples import SIDES, SPLITS, Graph, graph_of
from deepprooflog.learn.run.processes import Processes
from deepprooflog.syntax.terms import Atom, Float, Functor, Str, Struct, Term, Var

RULES = "likes(X, Y) :- knows(X, Z), knows(Z, Y).\nknows(X, Y) :- likes(Y, X), X \\= Y.\n"
names = st.sampled_from(["a", "b", "c", "7", "-3", "007", "Åsa 水", "O'Hara", "a b", "x" * 40])
triples = st.tuples(names, st.sampled_from(["knows", "likes", "is of"]), names)
graphs = st.tuples(
    st.lists(triples, min_size=1, max_size=40), st.lists(triples, min_size=1, max_size=4),
    st.lists(triples, min_size=1, max_size=4), st.sampled_from(["\n", "\r\n"]),
    st.booleans(), st.booleans(),
)  # fmt: skip


def assert_same(one: Graph, other: Graph) -> None:
    assert one.entities == other.entities
    assert [type(e) for e in one.entities] == [type(e) for e in other.entities]
    assert (one.name, one.relations, one.notices) == (other.name, other.relations, other.notices)
    for split in SPLITS:
        assert one.split(split).tolist() == other.split(split).tolist()
        assert one.sources[split].file == other.sources[split].file
        assert one.sources[split].lines.tolist() == other.sources[split].lines.tolist()


def write_folder(folder: Path, told: Any) -> None:
    """Train, valid and test as tables: ends of lines, a header, gzipped or not."""
    train, valid, test, end, header, packed = told
    for split, rows in (("train", train), ("valid", valid), ("test", test)):
        lines = ["head\trelation\ttail"] * header + ["\t".join(row) for row in rows]
        raw = "".join(line + end for line in lines).encode()
        if packed:
            (folder / f"{split}.tsv.gz").write_bytes(gzip.compress(raw))
        else:
            (folder / f"{split}.tsv").write_bytes(raw)
    (folder / "rules.pl").write_text(RULES)


def trained(graph: Graph) -> dpl.kg.GraphModel:
    return dpl.kg.train(
        graph, RULES, "none", "exact", exact={"steps": 1, "batch": 4}, policy={"dimension": 4},
        search={"nesting": 1}, threads=1, evaluation={"validation_size": 2},
    )  # fmt: skip


def asked(model: dpl.kg.GraphModel, queries: list[str]) -> list[dict[str, Any]]:
    found = [model.query(query, 20, proofs=3).to_dict() for query in queries]
    found.append(model.evaluate("sampled", 3).to_dict())
    return [{key: value for key, value in one.items() if key != "seconds"} for one in found]


@settings(max_examples=25, deadline=None)
@given(graphs)
def test_an_index_is_the_text(told: Any) -> None:
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        write_folder(Path(folder), told)
        text = read_text_graph(Path(folder))
        made = index_folder(folder)
        graph = dpl.kg.load(folder)
        path = Path(folder) / NAME
        assert check_index(folder) == (path, made.bytes) == (path, path.stat().st_size)
        assert graph.sorted_train is not None
        assert_same(graph, text)
        assert [graph.entity_ids[e] for e in text.entities] == list(range(len(text.entities)))
        assert graph.by_relation[0].tolist() == text.by_relation[0].tolist()
        every = np.concatenate([text.split(name) for name in SPLITS])
        turned = every[:, [2, 1, 0]]
        for splits in (("train",), ("valid", "test"), SPLITS):
            assert (graph.holds(turned, splits) == text.holds(turned, splits)).all()
            for side in SIDES:
                one, other = graph.known(side, splits), text.known(side, splits)
                context = text.contexts(turned, side)
                assert isinstance(one, KnownFacts) == ("train" in splits)
                assert one.entities == other.entities
                assert (one.count(context) == other.count(context)).all()
                pairs = zip(one.pairs(context), other.pairs(context), strict=True)
                assert all(map(np.array_equal, *zip(*pairs, strict=True)))


@settings(max_examples=4, deadline=None)
@given(graphs)
def test_answers_from_an_index_are_those_from_text(told: Any) -> None:
    """Probabilities, proofs and their order, by every kind of call; so are those of a kept run."""
    with TemporaryDirectory() as place, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder = Path(place) / "graph"
        folder.mkdir()
        write_folder(folder, told)
        text = read_text_graph(folder)
        a, b = (text.entity_text(n) for n in (0, len(text.entities) - 1))
        queries = [
            f"knows({a}, X)", f"likes(X, {b})", "knows(X, Y)", "knows(X, X)", f"likes({a}, {b})",
            f"knows(X, Y), likes(Y, Z), X \\= {b}",
        ]  # fmt: skip
        queries = [q for q in queries if all(r in text.relations for r in _relations_of(q))]
        plain = asked(trained(text), queries)
        index_folder(folder)
        model = trained(dpl.kg.load(folder))
        assert model.graph.sorted_train is not None
        assert asked(model, queries) == plain
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(snapshot, "LARGE", 1)
            model.save(Path(place) / "run")
            trained(text).save(Path(place) / "other")
        for run in ("run", "other"):
            assert not (Path(place) / run / "graph.safetensors").exists()
            assert "graph.index` (rules" in (Path(place) / run / "README.md").read_text()
            again = dpl.kg.open(Path(place) / run)
            assert again.graph.sorted_train is not None
            assert asked(again, queries) == plain


def _relations_of(query: str) -> set[str]:
    return {name for name in ("knows", "likes") if name in query}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    own = tmp_path / "graph"
    own.mkdir()
    rows = [(f"e{n}", ("knows", "likes")[n % 2], f"e{n * 7 % 20}") for n in range(40)]
    write_folder(own, (rows, rows[:1], [("e0", "knows", "new")], "\n", False, False))
    index_folder(own)
    return own


def test_kept_by_another_name_or_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = dpl.kg.load(folder)
    target = folder.parent / "kept"
    digest = keep_graph(target, graph)
    assert target.samefile(folder / NAME) and open_arrays(target, "").digest == digest

    def refuse(*_: object) -> None:
        raise OSError("no links here")

    monkeypatch.setattr(os, "link", refuse)
    keep_graph(target, graph)
    assert not target.samefile(folder / NAME)
    found = open_graph(target, "")[0]
    assert found.train.tolist() == graph.train.tolist() and found.entities == graph.entities
    monkeypatch.undo()
    # A graph that is not all of its file is written, whatever file it came from.
    keep_graph(target, replace(graph, valid=graph.valid[:0], sources={}))
    assert len(open_graph(target, "")[0].valid) == 0


def test_a_run_outlives_a_new_index(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "LARGE", 1)
    model = trained(dpl.kg.load(folder))
    run = folder.parent / "run"
    model.save(run)
    before = asked(model, ["knows(X, Y)"])
    with (folder / "train.tsv").open("a") as file:
        file.write("e1\tknows\tzoe\n")
    index_folder(folder)
    with pytest.warns(Notice, match=r"since then: train changed \(so large a graph"):
        again = dpl.kg.open(run)
    assert asked(again, ["knows(X, Y)"]) == before
    (run / NAME).unlink()
    with pytest.raises(DataError, match="there is no graph"):
        dpl.kg.open(run)
    index_folder(folder)
    (folder / NAME).rename(run / NAME)
    with pytest.raises(DataError, match="not the one that was written"):
        dpl.kg.open(run)


@pytest.mark.parametrize("rank", [0, 1])
def test_of_several_processes_the_first_keeps_the_graph(
    folder: Path, monkeypatch: pytest.MonkeyPatch, rank: int
) -> None:
    """The others have no use for a copy, which of a large graph is gigabytes."""
    monkeypatch.setattr(snapshot, "LARGE", 1)
    monkeypatch.setattr(training, "processes", lambda: Processes(rank, 2))
    monkeypatch.setattr(Processes, "agree", lambda *_: None)
    run = folder.parent / "run"
    run.mkdir()
    kept = snapshot.snapshot_of(dpl.kg.load(folder), Rules(()))
    assert training.kept_sources(run / "graph.json", lambda: kept) is kept
    assert {p.name for p in run.iterdir()} == ({"graph.json", NAME} if rank == 0 else set())


def test_facts_may_be_added_to_what_lies_in_a_file(folder: Path) -> None:
    model = trained(dpl.kg.load(folder))
    more = model.with_facts(added=["knows(e1, zoe)"], removed=["likes(e1, e7)"])
    assert more.graph.sorted_train is None
    assert more.explain("knows(e1, zoe)").known and not more.explain("likes(e1, e7)").known


def test_files_are_told_by_size_and_time(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large ones; small ones are read again. A file with another time alone is the same."""
    path = folder / "train.tsv"
    raw, stat = path.read_bytes(), path.stat()
    changed = raw.replace(b"e1\t", b"e2\t", 1)
    path.write_bytes(changed)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    with pytest.warns(Notice, match="before train changed"):
        dpl.kg.load(folder)
    monkeypatch.setattr(graph_index, "READ_AGAIN", 0)
    assert dpl.kg.load(folder).sorted_train is not None
    os.utime(path, ns=(0, 0))
    with pytest.warns(Notice, match="before train changed"):
        dpl.kg.load(folder)
    path.write_bytes(raw)
    os.utime(path, ns=(0, 0))
    assert dpl.kg.load(folder).sorted_train is not None


def test_a_flipped_bit_of_a_large_index(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is found where all is read; the header, and being cut off, are seen at once."""
    path = folder / NAME
    whole = path.read_bytes()
    monkeypatch.setattr(array_file, "READ_THROUGH", 0)
    monkeypatch.setattr("deepprooflog.kg.data.large.graph_file.READ_THROUGH", 0)
    header = whole.rindex(b'{"files"') - 64
    for at in range(64, header, 97):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
        with pytest.raises(DataError, match="damaged"):
            check_index(folder)
    assert dpl.kg.load(folder).sorted_train is not None
    for at in (*range(0, 64, 5), *range(header, len(whole), 41)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
        with pytest.raises(DataError, match="index"):
            dpl.kg.load(folder)
    for size in range(0, len(whole), 199):
        path.write_bytes(whole[:size])
        with pytest.raises(DataError, match="index"):
            dpl.kg.load(folder)


@pytest.mark.skipif(sys.platform == "win32", reason="a limit that POSIX has")
def test_no_room_for_the_whole_of_it(folder: Path) -> None:
    """The limit is met while arrays are written, after some of them are."""
    before = (folder / NAME).read_bytes()
    code = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))\n"
        "from deepprooflog.cli import main; sys.exit(main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "data", "index", str(folder)], capture_output=True, text=True,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "cannot write: File too large" in done.stderr and "Traceback" not in done.stderr
    assert (folder / NAME).read_bytes() == before
    assert sorted(p.name for p in folder.iterdir()) == sorted(
        [NAME, "rules.pl", "test.tsv", "train.tsv", "valid.tsv"]
    )


def test_arrays_of_every_shape(tmp_path: Path) -> None:
    path = tmp_path / "arrays"
    with path.open("w+b") as file:
        writer = ArrayWriter(file)
        writer.add("none", [], "<i8")
        writer.add("pairs", [np.array([[1, 2]]), np.array([[3, 4], [5, 6]])], "<i4", 2)
        writer.add("orders", [np.arange(4), np.arange(4)], "<i4", 4, rows=2)
        assert writer.arrays()["pairs"].tolist() == [[1, 2], [3, 4], [5, 6]]
        writer.add("bytes", [np.frombuffer(b"abc", dtype=np.uint8)], "|u1")
        size = writer.close({"about": "x"})
    found = open_arrays(path, "")
    assert {name: array.tolist() for name, array in found.arrays.items()} == {
        "none": [], "pairs": [[1, 2], [3, 4], [5, 6]], "orders": [[0, 1, 2, 3]] * 2,
        "bytes": list(b"abc"),
    }  # fmt: skip
    assert found.about["about"] == "x" and size == path.stat().st_size == check_arrays(path, "")


def test_facts_are_sorted_as_they_are_written(tmp_path: Path) -> None:
    rows = np.array([[2, 1, 0], [0, 0, 2], [0, 0, 1], [1, 1, 0], [0, 1, 0]])
    with (tmp_path / "facts").open("w+b") as file:
        writer = ArrayWriter(file)
        seen, counts = write_orders(writer, rows, 3, 4)
        facts = pair_facts(writer.arrays() | {"other": rows}, 4)
    assert (seen.tolist(), counts.tolist()) == ([True, True, True, False], [2, 3, 0])
    assert facts.ends.tolist() == [[0, 2], [0, 1], [2, 0], [1, 0], [0, 0]]
    assert facts.orders.tolist() == [[0, 1, 4, 3, 2], [1, 0, 2, 3, 4], [1, 0, 4, 3, 2]]
    assert facts.by_head.keys.tolist() == [0, 4, 5, 6] and facts.by_tail.keys.tolist() == [1, 2, 4]
    assert facts.by_head.begin.tolist() == [0, 2, 3, 4, 5]


@given(st.sets(st.tuples(*[st.integers(0, n) for n in (6, 3, 6)])))
def test_orders_are_those_of_sorting(rows: set[tuple[int, int, int]]) -> None:
    """Facts by relation; all of these by head, by tail, by head and tail; what is distinct."""
    given_, number = list(rows), {row: place for place, row in enumerate(rows)}
    facts = sorted(given_, key=lambda row: (row[1], number[row]))
    with TemporaryDirectory() as folder, (Path(folder) / "facts").open("w+b") as file:
        writer = ArrayWriter(file)
        triples = np.array(given_, dtype=np.int32).reshape(-1, 3)
        seen, counts = write_orders(writer, triples, 4, 7)
        found = {name: array.tolist() for name, array in writer.arrays().items()}
    places = range(len(facts))
    assert found["ends"] == [[h, t] for h, _, t in facts]
    assert found["orders"] == [
        sorted(places, key=lambda at: (facts[at][1], facts[at][0], at)),
        sorted(places, key=lambda at: (facts[at][1], facts[at][2], at)),
        sorted(places, key=lambda at: (facts[at][1], facts[at][0], facts[at][2])),
    ]
    for name, side in (("head", 0), ("tail", 2)):
        keys = sorted(row[1] * 7 + row[side] for row in facts)
        assert found[f"{name}_keys"] == sorted(set(keys))
        assert found[f"{name}_begin"] == [*map(keys.index, sorted(set(keys))), len(keys)]
    assert np.flatnonzero(seen).tolist() == sorted({e for h, _, t in facts for e in (h, t)})
    assert counts.tolist() == [sum(row[1] == relation for row in facts) for relation in range(4)]


def test_names_are_found_whatever_they_are() -> None:
    terms: list[Term] = [Atom("7"), 7, Str("7"), Float(7.0), Float(-0.0), Float(0.0), Atom(""),
                         Atom("\ud800"), 10**30]  # fmt: skip
    names = EntityNames.of(terms)
    for key in (1, 2**64 - 1):
        index = NameIndex(names, key, *sorted_hashes(names, key))
        assert [index[term] for term in terms] == list(range(len(terms)))
        assert list(index) == terms and len(index) == len(terms)
    for other in (Atom("8"), 8, Str(""), Var("X"), Struct(Functor("f", 1), (7,))):
        assert other not in index
    # Two names of one hash: all are looked at.
    same = NameIndex(names, 1, np.zeros(9, np.uint64), np.arange(9, dtype=np.int32))
    assert same.get(Atom("x")) is None


def test_odd_rows() -> None:
    rows = np.array([[0, 0, 1], [1, 0, 0], [0, 0, 1], [0, 0, 1]], dtype=np.int32)
    kept = first_rows(rows)
    assert kept is not None and kept.tolist() == [True, True, False, False]
    assert first_rows(rows[:2]) is None and first_rows(rows[:0]) is None
    assert str(duplicates(kept, "f", None)).startswith("f:3: warning: 2 triples are duplicates")
    big = np.array([[2**31 - 1, 5, 2**30], [2**31 - 1, 5, 2**30 - 1]], dtype=np.int32)
    assert first_rows(big) is None
    graph = graph_of([("a", "r", "b")], [("a", "r", "b")], [("a", "s", "c")])
    seen, counts = np.array([True, True, False]), np.array([1, 0])
    told = [notice.message for notice in odd_triples(graph, seen, counts)]
    assert told == [
        "1 valid triple also in train, the first r(a,b)",
        "1 test triple with an entity that train does not have, the first s(a,c)",
        "the relation s has no triple in train",
    ]
    assert by_relation(np.array([2, 0, 2]), 3)[1].tolist() == [0, 1, 1, 3]


def test_a_graph_of_more_than_can_be_numbered(tmp_path: Path) -> None:
    rows = np.broadcast_to(np.zeros((1, 3), dtype=np.int64), (2**31, 3))
    parts = GraphParts("g", (Atom("a"),), ("r",), {"train": rows, "valid": rows[:0],
                                                  "test": rows[:0]})  # fmt: skip
    with pytest.raises(DataError, match="more than"):
        write_graph(tmp_path / "g", parts)
    assert not list(tmp_path.iterdir())
