"""`dpl.kg.load`: the village from a list, a frame, a table, files, PyKEEN; one message if not."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from pykeen.datasets import Nations
from pykeen.triples import CoreTriplesFactory, TriplesFactory

import deepprooflog as dpl
from deepprooflog.cli import main
from deepprooflog.errors import DataError
from deepprooflog.kg.data.folder import read_graph
from deepprooflog.kg.data.frame_rows import frame_rows, read_frame_file
from deepprooflog.kg.data.held_out import with_splits
from deepprooflog.kg.data.load import load_graph
from deepprooflog.kg.data.pykeen_triples import dataset_rows, factory_rows
from deepprooflog.kg.data.snapshot import snapshot_of
from deepprooflog.kg.data.triples import SPLITS, Graph, SplitName


def triples(graph: Graph, split: SplitName = "train") -> list[tuple[str, str, str]]:
    """Triples as text, sorted."""
    names = [graph.entity_text(e) for e in range(len(graph.entities))]
    rows = graph.split(split).tolist()
    return sorted((names[h], graph.relations[r], names[t]) for h, r, t in rows)


@pytest.fixture(scope="module")
def village() -> Graph:
    return read_graph("village")


@pytest.fixture(scope="module")
def frames(village: Graph) -> dict[str, pd.DataFrame]:
    """Each split as a frame; the names of the columns are subject, predicate, object."""
    columns = ["subject", "predicate", "object"]
    return {name: pd.DataFrame(triples(village, name), columns=columns) for name in SPLITS}


def test_frames_and_tables(village: Graph, frames: dict[str, pd.DataFrame]) -> None:
    mixed = {k: f[["object", "subject", "predicate"]].assign(weight=1.0) for k, f in frames.items()}
    for parts in (
        frames,
        mixed,
        {k: f.set_axis([0, 1, 2], axis=1) for k, f in frames.items()},
        {k: f.astype("category") for k, f in frames.items()},
        {k: pa.Table.from_pandas(f) for k, f in frames.items()},
        {k: f.to_numpy() for k, f in frames.items()},
        {k: list(f.itertuples(index=False)) for k, f in frames.items()},
    ):
        graph = dpl.kg.load(parts["train"], parts["valid"], parts["test"])
        assert [triples(graph, s) for s in SPLITS] == [triples(village, s) for s in SPLITS]


def test_whatever_streams_arrow_is_a_table(frames: dict[str, pd.DataFrame]) -> None:
    class Streams:
        """What Polars and DuckDB have."""

        def __arrow_c_stream__(self, schema: object = None) -> object:
            return pa.Table.from_pandas(frames["test"]).__arrow_c_stream__(schema)

    assert triples(dpl.kg.load(Streams())) == triples(dpl.kg.load(frames["test"]))


def test_parquet_and_arrow_files(
    village: Graph, frames: dict[str, pd.DataFrame], tmp_path: Path
) -> None:
    for name, frame in frames.items():
        frame.to_parquet(tmp_path / f"{name}.parquet")
    graph = dpl.kg.load(tmp_path)
    assert [triples(graph, s) for s in SPLITS] == [triples(village, s) for s in SPLITS]
    table = pa.Table.from_pandas(frames["train"])
    pyarrow.feather.write_feather(table, str(tmp_path / "one.feather"))
    one = dpl.kg.load(tmp_path / "one.feather")
    assert triples(one) == triples(village) and not len(one.valid)
    rows, source = read_frame_file(tmp_path / "test.parquet", "test.parquet")
    assert len(rows) == 644 and source.lines[:2].tolist() == [1, 2]
    (tmp_path / "no.parquet").write_bytes(b"PAR0")
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        dpl.kg.load(tmp_path / "no.parquet")


def test_numbers_stay_numbers_and_gaps_are_refused() -> None:
    graph = dpl.kg.load(pd.DataFrame({"h": [7, 8], "r": ["p", "q"], "t": np.array([8, 9])}))
    assert graph.entities == (7, 8, 9) and graph.pattern("p(7, X)") == (0, 0, None)
    graph = dpl.kg.load(pd.DataFrame({"h": [1], "r": [2], "t": [3]}))
    assert graph.relations == ("2",)
    for bad, told in ((None, "row 2: t is empty"), (1.5, "row 2: t is 1.5"), ("", "is empty")):
        frame = pd.DataFrame({"h": ["a", "b"], "r": ["p", "p"], "t": pd.Series(["c", bad])})
        with pytest.raises(DataError, match=told):
            frame_rows(frame)
    with pytest.raises(DataError, match="which columns are head") as error:
        frame_rows(pd.DataFrame({"a": [1], "b": [1], "c": [1], "d": [1]}))
    assert "head, relation, tail" in str(error.value.hint)


def test_duplicates_in_frames_are_counted() -> None:
    frame = pd.DataFrame([("a", "p", "b"), ("a", "p", "b")])
    graph = dpl.kg.load(frame)
    assert len(graph.train) == 1
    assert "1 triple is a duplicate and left out, the first number 2" in str(graph.notices[0])


def test_a_dataset_of_pykeen_and_its_factories() -> None:
    nations = Nations()
    graph = dpl.kg.load(nations)
    parts: dict[SplitName, Any] = {
        "train": nations.training, "valid": nations.validation, "test": nations.testing,
    }  # fmt: skip
    assert graph.name == "nations"
    for name, factory in parts.items():
        wanted = factory.label_triples(factory.mapped_triples).tolist()
        assert triples(graph, name) == sorted(map(tuple, wanted))
    by_factory = dpl.kg.load(nations.training, test=nations.testing)
    assert triples(by_factory, "test") == triples(graph, "test") and not len(by_factory.valid)
    core = CoreTriplesFactory(nations.training.mapped_triples, 14, 55)
    assert factory_rows(core)[0] == (0, "3", 2)
    named = TriplesFactory.from_labeled_triples(np.array([["007", "r", "7"]]))
    assert str(factory_rows(named)) == "[(Atom('007'), 'r', 7)]"
    assert dataset_rows(SimpleNamespace(training=core, testing=core))["valid"] == []


def test_one_message_for_what_is_no_graph(tmp_path: Path) -> None:
    for source, told in (
        (7, "no graph can be made of int"),
        ([("a", "b")], "number 1 of the list is no triple"),
        ([("a", "p", "b"), "p(a,b)"], "number 2 of the list is no triple"),
        ([("a", 3, "b")], "the relation is 3"),
        ([("a", "p", 1.5)], "the tail is 1.5"),
    ):
        with pytest.raises(DataError, match=told) as error:
            load_graph(source)
        assert error.value.hint
    with pytest.raises(DataError, match="a folder has its own valid"):
        load_graph("village", valid=[("a", "p", "b")])


def test_splits_are_held_out_of_what_has_none(village: Graph) -> None:
    graph, told = with_splits(load_graph(triples(village)), 3, test=True)
    assert told == "of the training triples of graph are held out: 154 as test, 139 as validation"
    both = sorted(triples(graph, "train") + triples(graph, "valid") + triples(graph, "test"))
    assert both == triples(village)
    assert with_splits(village, test=True) == (village, "")


def test_commands_read_files_too(
    village: Graph, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = pd.DataFrame(triples(village)).set_axis(["head", "relation", "tail"], axis=1)
    frame.to_parquet(tmp_path / "v.parquet")
    rules = tmp_path / "rules.pl"
    given = [str(tmp_path / "v.parquet"), "-o", str(rules), "--no-constants", "--max-length", "1"]
    assert main(["mine", *given, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rules"] > 5
    options = {"data": tmp_path / "v.parquet", "rules": rules, "prior": "none", "exact.steps": 2,
               "threads": 1, "evaluation.test_size": 20}  # fmt: skip
    sets = [word for key, value in options.items() for word in ("--set", f"{key}={value}")]
    assert main(["train", "kg", *sets, "--out", str(tmp_path / "run"), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["test"]["queries"] == 20
    model = dpl.kg.open(tmp_path / "run")
    assert len(model.graph.test) == 154 and len(model.graph.valid) == 139
    # Rows that were held out are no change of the file; a row less is one.
    assert snapshot_of(village, dpl.kg.Rules(())).changes() == []
    frame[1:].to_parquet(tmp_path / "v.parquet")
    (told,) = model.kept.changes()
    assert told.startswith("1 train triple fewer")
    assert main(["mine", str(tmp_path / "run" / "result.json")]) == 2
    assert "error" in capsys.readouterr().err
