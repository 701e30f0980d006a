"""Triples from files: both formats, packed or not, and a clear word about what is wrong."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from deepprooflog import ProofLogError
from deepprooflog.errors import DataError
from deepprooflog.kg.data.domains import parse_domains
from deepprooflog.kg.data.folder import find_graph, read_graph
from deepprooflog.kg.data.reading import parse_triples
from deepprooflog.kg.data.triples import Graph, graph_of, numbered
from deepprooflog.syntax.terms import Atom, Float, Str, Term

FACTS = {
    "train": "knows(ann,bob).\nknows(bob,cy).\nlikes(cy,ann).\n",
    "valid": "likes(bob,ann).\n",
    "test": "knows(cy,ann).\n",
}


def folder(path: Path, ending: str = ".txt", **texts: str) -> Path:
    """A folder of splits, those of FACTS where nothing else is given."""
    for name, text in {**FACTS, **texts}.items():
        raw = text.encode()
        data = gzip.compress(raw) if ending.endswith(".gz") else raw
        (path / f"{name}{ending}").write_bytes(data)
    return path


def as_table(text: str) -> str:
    rows = [line.rstrip(").").replace("(", ",").split(",") for line in text.splitlines()]
    return "".join(f"{head}\t{relation}\t{tail}\n" for relation, head, tail in rows)


@pytest.mark.parametrize("ending", [".txt", ".pl", ".txt.gz", ".pl.gz"])
def test_facts(tmp_path: Path, ending: str) -> None:
    graph = read_graph(folder(tmp_path, ending))
    assert graph.entities == (Atom("ann"), Atom("bob"), Atom("cy"))
    assert graph.relations == ("knows", "likes")
    assert graph.train.tolist() == [[0, 0, 1], [1, 0, 2], [2, 1, 0]]
    assert graph.valid.tolist() == [[1, 1, 0]]
    assert graph.test.tolist() == [[2, 0, 0]]
    assert graph.notices == ()


@pytest.mark.parametrize("ending", [".txt", ".tsv", ".txt.gz", ".tsv.gz"])
def test_a_table_gives_the_same_graph(tmp_path: Path, ending: str) -> None:
    (tmp_path / "facts").mkdir()
    (tmp_path / "table").mkdir()
    facts = read_graph(folder(tmp_path / "facts"))
    tables = {name: as_table(text) for name, text in FACTS.items()}
    table = read_graph(folder(tmp_path / "table", ending, **tables))
    assert table.entities == facts.entities and table.relations == facts.relations
    for name in ("train", "valid", "test"):
        assert np.array_equal(table.split(name), facts.split(name))


def test_names_in_a_table_stand_as_they_are() -> None:
    text = "\ufeff/m/01\t/film/genre\tThe End\r\n\r\n00260881\t_r\t2252\r\n-3\tr\tø\r\n"
    rows = parse_triples(text.removeprefix("\ufeff"), "x.tsv").rows
    assert rows == [
        (Atom("/m/01"), "/film/genre", Atom("The End")),
        (Atom("00260881"), "_r", 2252),
        (-3, "r", Atom("ø")),
    ]


def test_a_remark_does_not_decide_the_format() -> None:
    assert len(parse_triples("% head\trelation\ttail\nr(a,b).", "x.txt").rows) == 1


def test_names_in_facts_are_prologs() -> None:
    text = """% people
    :- discontiguous(r/2).
    'knows well'('Ann B', 'don''t').  r(00260881, -7).
    co-occurs_with(a, 1.5). /* a hyphen */ a-b-c(x, "text").
    """
    found = parse_triples(text, "x.pl")
    assert found.rows == [
        (Atom("Ann B"), "knows well", Atom("don't")),
        (260881, "r", -7),
        (Atom("a"), "co-occurs_with", Float(1.5)),
        (Atom("x"), "a-b-c", Str("text")),
    ]
    assert found.source is not None and found.source.lines.tolist() == [3, 3, 4, 4]


@pytest.mark.parametrize(
    ("text", "name", "line", "column", "says"),
    [
        ("a\tr\tb\nc\tr\n", "x.txt", 2, None, "3 fields, not 2"),
        ("a\tr\tb\nc\t \td\n", "x.tsv", 2, None, "empty"),
        ("a r b\n", "x.tsv", 1, None, "3 fields, not 1"),
        ("r(a,b).\n\nr(a,b,c).", "x.txt", 3, None, "2 arguments, not 3"),
        ("r(a,b).\n  r(a,Bob).", "x.txt", 2, 3, "Bob is a variable"),
        ("r(a,b).\nr(a,f(b)).", "x.pl", 2, 1, "f(b) is no constant"),
        ("r(a,b).\nr(X,Y) :- r(Y,X).", "x.pl", 2, 1, "a rule among"),
        ("r(a,b).\n0.5 :: r(b,a).", "x.pl", 2, 1, "a label"),
        ("r(a,b).\nr(a b).", "x.txt", 2, 5, ""),
        ("r(a,b).\nr(a,b)", "x.txt", 2, 7, "'.'"),
        ("hello", "x.txt", 1, None, ""),
    ],
)
def test_a_malformed_triple_is_pointed_at(
    text: str, name: str, line: int, column: int | None, says: str
) -> None:
    with pytest.raises(ProofLogError) as caught:
        parse_triples(text, name)
    error = caught.value
    assert (error.file, error.line) == (name, line)
    assert error.text == text.split("\n")[line - 1]
    assert says in error.message
    if column is not None:
        assert error.column == column


def test_what_a_folder_lacks(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no file for the split train"):
        read_graph(tmp_path)
    folder(tmp_path, valid=" \n")
    with pytest.raises(DataError, match=r"valid\.txt.*empty"):
        read_graph(tmp_path)
    (tmp_path / "valid.txt").write_text("% nothing\n")
    with pytest.raises(DataError, match=r"valid\.txt.*no triples"):
        read_graph(tmp_path)
    (tmp_path / "valid.txt").write_text("r(a,b).")
    (tmp_path / "valid.tsv").write_text("a\tr\tb")
    with pytest.raises(DataError, match=r"valid\.txt and valid\.tsv are both there"):
        read_graph(tmp_path)
    (tmp_path / "valid.tsv").unlink()
    assert read_graph(tmp_path).rules is None
    (tmp_path / "rules.pl").write_text("p(X) :- q(X).")
    assert read_graph(tmp_path).rules == tmp_path / "rules.pl"
    (tmp_path / "rules.txt.gz").write_bytes(b"")
    with pytest.raises(DataError, match="both there"):
        read_graph(tmp_path)


def test_damaged_bytes(tmp_path: Path) -> None:
    folder(tmp_path)
    (tmp_path / "test.txt").write_bytes(b"r(a,b).\nr(a,\xff).")
    with pytest.raises(DataError, match="not UTF-8") as caught:
        read_graph(tmp_path)
    assert caught.value.line == 2
    (tmp_path / "test.txt").unlink()
    packed = gzip.compress(FACTS["test"].encode())
    for damaged in (b"no gzip", packed[:-9], packed[:12] + b"\xff\xff" + packed[14:]):
        (tmp_path / "test.txt.gz").write_bytes(damaged)
        with pytest.raises(DataError, match="gzip"):
            read_graph(tmp_path)


def test_unknown_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPPROOFLOG_DATA", str(tmp_path))
    with pytest.raises(DataError, match="village") as caught:
        find_graph("vilage")
    assert caught.value.hint == "did you mean village?"
    (tmp_path / "kg" / "own").mkdir(parents=True)
    folder(tmp_path / "kg" / "own")
    assert read_graph("own").name == "own"
    one = read_graph(tmp_path / "kg" / "own" / "train.txt")
    assert len(one.train) == len(read_graph("own").train) and not len(one.valid)
    with pytest.raises(DataError, match="not a folder"):
        find_graph(tmp_path / "kg" / "own" / "train.txt")


def test_what_is_odd_is_said(tmp_path: Path) -> None:
    graph = read_graph(
        folder(
            tmp_path,
            train="r(a,b).\nr(b,a).\nr(a,b).\nr(a,b).\n",
            valid="r(a,b).\n",
            test="r(b,a).\nr(a,z).\ns(b,b).\nr(y,b).\n",
        )
    )
    assert len(graph.train) == 2
    said = [(Path(n.file or "").name, n.line, n.count) for n in graph.notices]
    assert said == [
        ("train.txt", 3, 2),  # duplicates
        ("valid.txt", 1, 1),  # in train
        ("test.txt", 1, 1),  # in train
        ("test.txt", 2, 2),  # z and y are unseen
        ("", None, 1),  # s has no triple in train
    ]
    assert "s has no triple" in str(graph.notices[-1])
    assert "the first r(a,z)" in str(graph.notices[3])


def test_a_query_is_looked_up() -> None:
    graph = graph_of([("ann", "knows", "bob"), ("ann", "co-occurs", 7)])
    assert graph.pattern("knows(X, bob)") == (None, 0, 1)
    assert graph.pattern("co-occurs(ann, 7)") == (0, 1, 2)
    for query, says, hint in [
        ("know(ann, X)", "unknown relation know", "did you mean knows?"),
        ("knows(anne, X)", "unknown entity anne", "did you mean ann?"),
        ("knows(ann)", "no triple", "relation(head, tail)"),
        ("zzz(ann, X)", "unknown relation", "relations: knows, co-occurs"),
    ]:
        with pytest.raises(DataError, match=says) as caught:
            graph.pattern(query)
        assert caught.value.hint == hint
    assert graph.text(graph.train[1]) == "'co-occurs'(ann,7)"
    assert graph.pattern(graph.text(graph.train[1])) == (0, 1, 2)


def test_domains(data_dir: Path) -> None:
    graph = graph_of([("a", "r", 7)])
    assert {k: v.tolist() for k, v in parse_domains(graph, "n 7\n\nall a 7\n").items()} == {
        "n": [1], "all": [0, 1],
    }  # fmt: skip
    for text, line, says in [
        ("n 7\nm b", 2, "unknown entity b"), ("n 7\nn a", 2, "twice"), ("n", 1, "empty"),
    ]:  # fmt: skip
        with pytest.raises(DataError, match=says) as caught:
            parse_domains(graph, text, "d.txt")
        assert (caught.value.file, caught.value.line) == ("d.txt", line)
    folder = data_dir / "kg" / "countries_s3"
    countries = read_graph(folder)
    domains = parse_domains(countries, (folder / "domain2constants.txt").read_text("utf-8"))
    assert {name: len(of) for name, of in domains.items()} == {
        "regions": 5, "subregions": 23, "countries": 243,
    }  # fmt: skip
    assert set(countries.test[:, 2].tolist()) <= set(domains["regions"].tolist())


@pytest.mark.parametrize(
    ("name", "entities", "relations", "splits", "odd"),
    [
        ("family", 2968, 12, (19845, 2799, 5626), 0),
        ("wn18rr", 40559, 11, (86835, 2824, 2924), 0),
        ("countries_s3", 271, 4, (983, 24, 24), 1),
        ("umls", 134, 41, (1959, 1300, 3245), 0),
        ("wn18rr_standard", 40943, 11, (86835, 3034, 3134), 2),
    ],
)
def test_public_graphs_have_their_sizes(
    data_dir: Path, name: str, entities: int, relations: int, splits: tuple[int, ...], odd: int
) -> None:
    graph: Graph = read_graph(data_dir / "kg" / name)
    assert (len(graph.entities), len(graph.relations)) == (entities, relations)
    assert (len(graph.train), len(graph.valid), len(graph.test)) == splits
    assert len(graph.notices) == odd
    assert graph.train[0, 0] == 0 and graph.train[0, 1] == 0


@pytest.mark.parametrize(
    "header",
    ["head\trelation\ttail", "Subject\tPredicate\tObject", "h\tr\tt", "source\trel\ttarget",
     "head_id\trelation\ttail_id"],
)  # fmt: skip
def test_a_row_that_names_the_columns_is_no_triple(tmp_path: Path, header: str) -> None:
    tables = {name: f"{header}\n{as_table(text)}" for name, text in FACTS.items()}
    graph = read_graph(folder(tmp_path, ".tsv", **tables))
    assert graph.entities == (Atom("ann"), Atom("bob"), Atom("cy"))
    assert [len(graph.split(name)) for name in ("train", "valid", "test")] == [3, 1, 1]
    assert graph.sources["train"].lines.tolist() == [2, 3, 4]
    assert [(notice.line, "names the columns" in str(notice)) for notice in graph.notices] == [
        (1, True)
    ] * 3


def test_names_that_occur_again_are_no_header() -> None:
    rows = parse_triples("head\trelation\ttail\ntail\tbelow\thead\n", "t.tsv").rows
    assert len(rows) == 2
    assert len(parse_triples("h\tr\tt\n", "t.tsv").rows) == 1, "a triple alone names nothing"


@pytest.mark.parametrize("name", ["t.txt", "t.tsv", "t.pl"])
def test_other_formats_are_called_by_their_names(name: str) -> None:
    triple = "<http://example.org/ann> <http://example.org/knows> <http://example.org/bob> .\n"
    with pytest.raises(DataError, match="N-Triples in a file whose name does not say so") as error:
        parse_triples("# people\n" + triple, name)
    assert error.value.hint == "call it t.nt"
    with pytest.raises(DataError, match="Turtle in a file whose name"):
        parse_triples("@prefix e: <http://example.org/> .\ne:ann e:knows e:bob .\n", name)
    # Names in angle brackets are names where the file is a table.
    assert len(parse_triples("<Ann>\t<knows>\t<Bob>\n", "t.tsv").rows) == 1


def test_a_split_in_another_format_is_named(tmp_path: Path) -> None:
    folder(tmp_path)
    (tmp_path / "train.txt").rename(tmp_path / "train.xlsx")
    with pytest.raises(DataError, match=r"train\.xlsx has another format"):
        read_graph(tmp_path)


def test_tables_are_read_alike_line_by_line_and_in_one_go() -> None:
    """A blank line at the end has every line looked at by itself."""
    rng = np.random.default_rng(5)
    for _ in range(30):
        names = [" a ", "b", "7", "-3", "007", "x y", "Ada\r", "\u00c5sa"]
        lines = ["\t".join(rng.choice(names, 3)) for _ in range(20)]
        text = "\n".join(lines)
        quick, slow = parse_triples(text + "\n", "t.tsv"), parse_triples(text + "\n\n", "t.tsv")
        assert quick.rows == slow.rows
        assert quick.source is not None and slow.source is not None
        assert quick.source.lines.tolist() == slow.source.lines.tolist() == list(range(1, 21))


def test_names_are_numbered_as_they_come() -> None:
    """By one loop over heads and tails, relation by relation."""
    rng = np.random.default_rng(6)
    entities: dict[Term, int] = {Atom("e3"): 0}
    relations: dict[str, int] = {}
    expected_entities, expected_relations = dict(entities), dict(relations)
    for count in (0, 50, 50):
        rows: list[tuple[Term, str, Term]] = [
            (Atom(f"e{h}"), f"r{r}", int(t)) for h, r, t in rng.integers(0, 30, (count, 3))
        ]
        expected = [
            [
                expected_entities.setdefault(h, len(expected_entities)),
                expected_relations.setdefault(r, len(expected_relations)),
                expected_entities.setdefault(t, len(expected_entities)),
            ]
            for h, r, t in rows
        ]
        assert numbered(rows, entities, relations).tolist() == expected
        assert list(entities.items()) == list(expected_entities.items())
        assert list(relations.items()) == list(expected_relations.items())
