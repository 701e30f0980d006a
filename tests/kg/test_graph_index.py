"""The index of a graph: what is opened is what the text says, or it is refused."""

from __future__ import annotations

import errno
import os
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import deepprooflog as dpl
from deepprooflog.errors import DataError, Notice
from deepprooflog.kg.data import snapshot
from deepprooflog.kg.data.folder import read_text_graph
from deepprooflog.kg.data.graph_index import NAME, check_index, index_folder, open_index
from deepprooflog.kg.data.large import tables
from deepprooflog.kg.data.large.array_file import MAGIC, VERSION
from deepprooflog.kg.data.large.graph_file import GraphParts, write_graph
from deepprooflog.kg.data.rules import Rules
from deepprooflog.kg.data.snapshot import Snapshot, read_snapshot, save_snapshot, snapshot_of
from deepprooflog.kg.data.triples import SPLITS, Graph
from deepprooflog.syntax.terms import Atom

TRAIN = "ann\tknows\tbob\nbob\tknows\tÅsa 水\nann\tknows\tbob\n7\tage\t-3\n00260881\tknows\tAda\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    own = tmp_path / "people"
    own.mkdir()
    (own / "train.tsv").write_text(TRAIN, encoding="utf-8")
    (own / "valid.tsv").write_text("bob\tknows\tann\n")
    (own / "test.pl").write_text("knows(\"a string\", 2.5).\nlikes('O''Hara', zed).\n")
    (own / "rules.pl").write_text("knows(X, Y) :- knows(Y, X).\n")
    return own


def assert_same(one: Graph, other: Graph) -> None:
    assert one.entities == other.entities
    assert [type(e) for e in one.entities] == [type(e) for e in other.entities]
    assert (one.name, one.relations, one.notices) == (other.name, other.relations, other.notices)
    assert (one.rules, one.folder) == (other.rules, other.folder)
    assert one.sources.keys() == other.sources.keys()
    for split in SPLITS:
        assert np.array_equal(one.split(split), other.split(split))
        assert one.sources[split].file == other.sources[split].file
        assert np.array_equal(one.sources[split].lines, other.sources[split].lines)


def test_what_is_opened_is_what_the_text_says(folder: Path) -> None:
    text = read_text_graph(folder)
    made = index_folder(folder)
    assert (made.entities, made.relations, made.triples) == (len(text.entities), 3, 7)
    assert made.bytes == (folder / NAME).stat().st_size
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        graph = dpl.kg.load(folder)
        torch.from_numpy(graph.train)
    assert_same(graph, text)
    assert not graph.train.flags.owndata  # a view of the file


def test_a_larger_graph(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for split, count in (("train", 3000), ("valid", 50), ("test", 50)):
        rows = rng.integers(0, 300, (count, 2)), rng.integers(0, 9, count)
        lines = [f"e{h}\tr{r}\t{t}\n" for (h, t), r in zip(*rows, strict=True)]
        (tmp_path / f"{split}.txt").write_text("".join(lines))
    index_folder(tmp_path)
    assert_same(dpl.kg.load(tmp_path), read_text_graph(tmp_path))


def test_processes_agree_on_a_graph_with_and_without_its_index(folder: Path) -> None:
    """Each machine may have an index of its own, or none; a name of another kind is another."""

    def digest(graph: Graph) -> bytes:
        return Snapshot(graph, Rules(())).digest()

    text = digest(read_text_graph(folder))
    found = []
    for _ in range(2):
        index_folder(folder)
        found.append(((folder / NAME).read_bytes(), digest(dpl.kg.load(folder))))
    assert found[0][0] != found[1][0]  # hashes of names have a key of their own
    assert [one for _, one in found] == [text, text]
    (folder / "test.pl").write_text("knows(a_string, 2.5).\nlikes('O''Hara', zed).\n")
    with pytest.warns(Notice, match="before test changed"):
        assert digest(dpl.kg.load(folder)) != text
    graph = read_text_graph(folder)
    other = tuple(Atom("7") if name == 7 else name for name in graph.entities)
    assert other != tuple(graph.entities) and digest(replace(graph, entities=other)) != digest(
        graph
    )


def test_an_index_of_other_files_is_not_used(folder: Path) -> None:
    index_folder(folder)
    with (folder / "train.tsv").open("a") as file:
        file.write("bob\tknows\tcy\n")
    with pytest.warns(Notice, match=r"was made before train changed and is not used"):
        graph = dpl.kg.load(folder)
    assert len(graph.train) == 5
    index_folder(folder)
    assert_same(dpl.kg.load(folder), graph)
    (folder / "valid.tsv").rename(folder / "valid.txt")
    with pytest.warns(Notice, match=r"before valid changed"):
        dpl.kg.load(folder)


def test_a_folder_that_was_moved(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Proofs and notices name the files where they are, and so does a run's copy."""
    index_folder(folder)
    moved = folder.rename(folder.parent / "others")
    text, graph = read_text_graph(moved), dpl.kg.load(moved)
    assert graph.name == "others" and graph.sorted_train is not None
    assert_same(graph, text)
    monkeypatch.setattr(snapshot, "LARGE", 1)
    save_snapshot(folder.parent / "graph.json", snapshot_of(graph, Rules(())))
    assert (folder.parent / NAME).samefile(moved / NAME)
    kept = read_snapshot(folder.parent / "graph.json").graph
    assert kept.name == "others" and kept.sorted_train is not None
    assert {s: kept.sources[s].file for s in SPLITS} == {s: text.sources[s].file for s in SPLITS}


def test_a_folder_that_is_given_as_a_dot(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert dpl.kg.load(".").name == "people"
    index_folder(".")
    assert dpl.kg.load(".").name == "people"


def test_the_index_of_a_run_is_not_that_of_a_folder(folder: Path) -> None:
    write_graph(folder / NAME, GraphParts.of(read_text_graph(folder)))
    with pytest.raises(DataError, match="the index of a run") as error:
        dpl.kg.load(folder)
    assert error.value.file == str(folder / NAME)
    index_folder(folder)
    assert dpl.kg.load(folder).sorted_train is not None


def test_who_makes_and_opens_an_index_at_once(folder: Path) -> None:
    """Each opens a whole one, and no part of a file is left or taken away from who writes it."""
    text = read_text_graph(folder)
    index_folder(folder)

    def work(number: int) -> None:
        for _ in range(8):
            if number % 2:
                index_folder(folder)
            assert_same(dpl.kg.load(folder), text)
            check_index(folder)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert not list(folder.glob(".*"))


def test_what_is_no_whole_index_is_refused(folder: Path) -> None:
    index_folder(folder)
    path = folder / NAME
    whole = path.read_bytes()
    for size in (1, len(MAGIC), len(MAGIC) + 4, 40, 200, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(DataError, match=r"cut off or damaged|not the index|another version"):
            dpl.kg.load(folder)
    path.write_bytes(whole + b"\0")
    with pytest.raises(DataError, match="cut off or damaged"):
        dpl.kg.load(folder)
    path.write_bytes(b"PK\x03\x04 something else altogether, and longer than a header " * 9)
    with pytest.raises(DataError, match="not the index of a graph") as error:
        dpl.kg.load(folder)
    assert "dprl data index" in (error.value.hint or "")
    path.write_bytes(whole.replace(MAGIC + VERSION, MAGIC + b"1\n", 1))
    with pytest.raises(DataError, match="another version"):
        dpl.kg.load(folder)
    path.write_bytes(whole.replace(b'"knows"', b'"knowz"', 1))
    with pytest.raises(DataError, match="cut off or damaged"):
        dpl.kg.load(folder)
    path.write_bytes(b"")
    with pytest.raises(DataError):
        dpl.kg.load(folder)


def test_numbers_without_names_are_refused(folder: Path) -> None:
    index_folder(folder)
    path = folder / NAME
    whole = bytearray(path.read_bytes())
    at = whole.index(np.array([0, 0, 1], dtype=np.int64).tobytes())
    whole[at : at + 8] = (99).to_bytes(8, "little")
    path.write_bytes(bytes(whole))
    with pytest.raises(DataError, match="damaged"):
        dpl.kg.load(folder)


def test_graphs_from_rdf_have_none(tmp_path: Path) -> None:
    for split in SPLITS:
        (tmp_path / f"{split}.nt").write_text("<http://a/x> <http://a/p> <http://a/y> .\n")
    with pytest.raises(DataError, match="from RDF has no index"):
        index_folder(tmp_path)
    assert not (tmp_path / NAME).exists()
    assert open_index(tmp_path, {}) is None


def test_a_flipped_bit_is_refused(folder: Path) -> None:
    """One bit at a time, in the header, the triples and the names."""
    index_folder(folder)
    path = folder / NAME
    whole = path.read_bytes()
    for at in range(0, len(whole), 7):
        changed = bytearray(whole)
        changed[at] ^= 1 << at % 8
        path.write_bytes(changed)
        with pytest.raises(DataError, match="index"):
            dpl.kg.load(folder)


def plain(folder: Path, train: str, valid: str = "b\tr\ta\n") -> Path:
    for split, text in (("train", train), ("valid", valid), ("test", "c\tr\tb\n")):
        (folder / f"{split}.tsv").write_bytes(text.encode())
    return folder


@pytest.mark.parametrize("size", [16, 40, 1 << 20])
def test_tables_are_read_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """Names by first occurrence, heads before tails, whatever the pieces; a duplicate is told."""
    monkeypatch.setattr(tables, "PIECE", size)
    long = "a name of more than eight letters, in which a piece may end"
    plain(tmp_path, f"b\tr\ta\n-7\ts\t{long}\nb\tr\ta\n007\tr\t水\n{long}x\ts\tb", "水\tr\tb\n")
    found = tables.read_large_tables({"train": tmp_path / "train.tsv"})
    assert found is not None
    assert (len(found.entities), found.entities[2]) == (7, -7)
    assert found.relations == ("r", "s")
    assert found.rows["train"].tolist() == [[0, 0, 1], [2, 1, 3], [0, 0, 1], [4, 0, 5], [6, 1, 0]]
    index_folder(tmp_path)
    graph = dpl.kg.load(tmp_path)
    assert_same(graph, read_text_graph(tmp_path))
    assert graph.sources["train"].lines.tolist() == [1, 2, 4, 5]


@pytest.mark.parametrize(
    "train",
    [
        "a\tr\tb\r\nb\tr\tc\r\n", "a \tr\tb\n", "a\tr\tb\n\nb\tr\tc\n", "\ufeffa\tr\tb\n",
        "head\trelation\ttail\na\tr\tb\n", "a\tr\t\u00a0b\n", "\u3000a\tr\tb\n", "a\tr\u2003\tb\n",
    ],
)  # fmt: skip
def test_other_tables_are_read_as_ever(tmp_path: Path, train: str) -> None:
    plain(tmp_path, train)
    assert tables.read_large_tables({"train": tmp_path / "train.tsv"}) is None
    index_folder(tmp_path)
    assert_same(dpl.kg.load(tmp_path), read_text_graph(tmp_path))


def test_a_full_disk_leaves_nothing_behind(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index_folder(folder)
    before = (folder / NAME).read_bytes()

    def full(number: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    (folder / "train.tsv").write_text("x\ty\tz\n")
    with pytest.raises(DataError, match="No space left on device"):
        index_folder(folder)
    assert (folder / NAME).read_bytes() == before
    assert not list(folder.glob(".*.part"))
