"""Plain tables read in pieces of bytes: the graph, or the error, is that of the text reader."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import deepprooflog as dpl
from deepprooflog.errors import DataError, ProofLogError
from deepprooflog.kg.data.folder import graph_parts, read_text_graph
from deepprooflog.kg.data.graph_index import NAME, index_folder
from deepprooflog.kg.data.large import hash_table, tables
from deepprooflog.kg.data.large.graph_file import GraphParts
from deepprooflog.kg.data.triples import SPLITS
from deepprooflog.syntax.terms import Atom

# Names, and what within or around one asks for care.
NAMES = ["a", "b", "c", "r", "7", "-3", "0", "007", "-0", "水", "é", "a name of many letters"]
ODD = [
    " ", "\r", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u00a0", "\ufeff", "\x00", "\x7f", "\t",
    "%", "#", "<", "@", "_:", '"', "'", "\\", "head", "relation", "tail", "PREFIX", "\U0001f600",
    "",
]  # fmt: skip
names = st.sampled_from(NAMES) | st.lists(st.sampled_from(NAMES + ODD), max_size=3).map("".join)
lines = st.tuples(*[st.sampled_from(NAMES)] * 3) | st.tuples(*[names] * 3)
texts = st.tuples(
    st.lists(lines, min_size=1, max_size=6), st.sampled_from(["\n"] * 4 + ["\r\n", "\r"]),
    st.booleans(),
).map(lambda told: told[1].join("\t".join(row) for row in told[0]) + told[1] * told[2])  # fmt: skip
raw_texts = texts.map(str.encode) | st.builds(
    lambda text, at, byte: text.encode()[:at] + bytes([byte]) + text.encode()[at + 1 :],
    texts, st.integers(0, 40), st.integers(0, 255),
)  # fmt: skip


def write(folder: Path, ending: str, *raw: bytes) -> Path:
    for split, text in zip(SPLITS, raw, strict=True):
        (folder / f"{split}.{ending}").write_bytes(text)
    return folder


def text_parts(folder: Path) -> GraphParts:
    return GraphParts.of(read_text_graph(folder))


def told(folder: Path, read: object) -> object:
    """All that a reader says of a folder, or what it refuses it with."""
    try:
        parts = read(folder)  # type: ignore[operator]
    except ProofLogError as error:
        return str(error)
    rows = {split: parts.rows[split].tolist() for split in SPLITS}
    every = {split: np.arange(1, len(rows[split]) + 1) for split in SPLITS}
    return (
        [(type(e), e) for e in parts.entities], parts.relations, rows, dict(parts.files),
        {split: parts.lines.get(split, every[split]).tolist() for split in SPLITS},
    )  # fmt: skip


@pytest.mark.parametrize("ending", ["tsv", "txt"])
@example(train=b"a\xe2\x80\xa8x\tr\tb\n", valid=b"a\tr\tb", piece=9)
@example(train=b"a\rx\tr\tb\n", valid=b"a\tr\tb", piece=9)
@given(train=raw_texts, valid=raw_texts, piece=st.sampled_from([1, 2, 3, 5, 8, 13, 1 << 20]))
def test_any_bytes(ending: str, train: bytes, valid: bytes, piece: int) -> None:
    """Names, numbers, lines and duplicates, whatever stands there and wherever a piece ends."""
    with TemporaryDirectory() as place, pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "PIECE", piece)
        patch.setattr(tables, "_NAMES", 2)
        patch.setattr(hash_table, "BITS", 1)
        folder = write(Path(place), ending, train, valid, b"c\tr\tb\n")
        assert told(folder, graph_parts) == told(folder, text_parts)


@pytest.mark.parametrize("digits", [3901, 3999, 4000])
def test_long_integers(tmp_path: Path, digits: int) -> None:
    """Up to as many digits as the text reader takes for an integer."""
    number = "-" + "1" * (digits - 1)
    write(tmp_path, "tsv", *[f"{number}\tr\tb\n".encode()] * 3)
    found = tables.read_large_tables({"train": tmp_path / "train.tsv"})
    assert found is not None
    assert found.entities[0] == (int(number) if digits < 4000 else Atom(number))
    assert told(tmp_path, graph_parts) == told(tmp_path, text_parts)


def test_integers_of_facts_longer_than_python_prints(tmp_path: Path) -> None:
    write(tmp_path, "pl", *[f"r(1{'0' * 5000}, -{'7' * 5000}).\n".encode()] * 3)
    index_folder(tmp_path)
    graph = dpl.kg.load(tmp_path)
    assert list(graph.entities) == [10**5000, -7 * (10**5000 - 1) // 9]
    assert graph.entity_ids[graph.entities[1]] == 1


def test_a_table_that_grows_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(tmp_path, "tsv", *[b"a\tr\tb\n"] * 3)
    path, count = folder / "train.tsv", tables._lines

    def grown(counted: Path) -> int:
        lines = count(counted)
        if counted == path:
            path.write_bytes(path.read_bytes() + b"b\tr\tc\nc\tr\ta\n")
        return lines

    monkeypatch.setattr(tables, "_lines", grown)
    with pytest.raises(DataError, match="written to while it was read") as error:
        index_folder(folder)
    assert error.value.file == str(path)
    assert not (folder / NAME).exists() and not list(folder.glob(".*"))


def test_more_names_than_there_are_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write(tmp_path, "tsv", *[b"a\tr\tb\nb\tr\tc\nc\tr\td\n"] * 3)
    monkeypatch.setattr(hash_table, "MOST", 3)
    with pytest.raises(DataError, match="more than") as error:
        index_folder(folder)
    assert error.value.file == str(folder / "train.tsv")
    assert not (folder / NAME).exists()
    monkeypatch.setattr(hash_table, "MOST", 4)
    assert index_folder(folder).entities == 4
