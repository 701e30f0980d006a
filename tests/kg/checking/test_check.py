"""Counts of what is odd about triples, against pandas and what is known of public graphs."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from deepprooflog.cli import main
from deepprooflog.kg.checking.check import GraphCheck, check_graph
from deepprooflog.kg.checking.pairs import relation_pairs
from deepprooflog.kg.checking.report import check_text
from deepprooflog.kg.data.triples import graph_of

FACT = re.compile(r"([^(]+)\((.+),([^,]+)\)\.?")
SPLITS = ("train", "valid", "test")


def frame(folder: Path, split: str) -> pd.DataFrame:
    """A split's rows, read by other means."""
    path = folder / f"{split}.txt"
    if path.exists():
        text = path.read_text()
    else:
        text = gzip.decompress((folder / f"{split}.txt.gz").read_bytes()).decode()
    rows = []
    for line in filter(None, text.split("\n")):
        if "\t" in line:
            rows.append(line.split("\t"))
        else:
            r, h, t = FACT.fullmatch(line).groups()  # type: ignore[union-attr]
            rows.append([h, r, t])
    return pd.DataFrame(rows, columns=["h", "r", "t"])


def counted(folder: Path) -> dict[str, Any]:
    """The same counts by joins of frames."""
    all_rows = {split: frame(folder, split) for split in SPLITS}
    parts = {split: rows.drop_duplicates() for split, rows in all_rows.items()}
    train = parts["train"]
    entities = pd.concat([train.h, train.t])
    # Each training fact from both of its ends, a self loop once.
    links = pd.concat([train[["h"]], train[train.h != train.t][["t"]].rename(columns={"t": "h"})])
    degree = links.h.value_counts()
    pairs = train.groupby(["h", "t"]).r.nunique().rename("n").reset_index()
    turned = pairs.rename(columns={"h": "t", "t": "h"})
    splits = {}
    for split, part in parts.items():
        own = part.merge(train, how="left", indicator="own").own.eq("both").to_numpy()
        same = part.merge(pairs, how="left", on=["h", "t"]).n.fillna(0).to_numpy() - own
        back = part.merge(turned, how="left", on=["h", "t"]).n.fillna(0).to_numpy()
        heads = part.merge(train[["h", "r"]].drop_duplicates(), how="left", indicator="k").k
        tails = part.merge(train[["r", "t"]].drop_duplicates(), how="left", indicator="k").k
        has_head, has_tail = heads.eq("both").to_numpy(), tails.eq("both").to_numpy()
        loops = (part.h == part.t).to_numpy()
        held = split != "train"
        splits[split] = {
            "rows": len(all_rows[split]),
            "duplicates": int(all_rows[split].duplicated().sum()),
            "in_train": int(own.sum()) if held else 0,
            "in_valid": len(part.merge(parts["valid"])) if split == "test" else 0,
            "unseen_entity": int((~(part.h.isin(entities) & part.t.isin(entities))).sum()),
            "unseen_relation": int((~part.r.isin(train.r)).sum()),
            "self_loops": int(loops.sum()),
            "inverse_in_train": int(((back > 0) & ~loops).sum()),
            "pair_in_train": int((same > 0).sum()),
            "halves": {
                "both": int((has_head & has_tail).sum()),
                "head": int((has_head & ~has_tail).sum()),
                "tail": int((~has_head & has_tail).sum()),
                "none": int((~has_head & ~has_tail).sum()),
            } if held else {},
        }  # fmt: skip
    everybody = pd.concat([x for part in parts.values() for x in (part.h, part.t)])
    return {
        "splits": splits,
        "entities": everybody.nunique(),
        "unseen_entities": everybody.nunique() - entities.nunique(),
        "single_entities": int((degree == 1).sum()),
        "single_relations": int((train.r.value_counts() == 1).sum()),
    }


def compare(found: GraphCheck, expected: dict[str, Any]) -> None:
    told = found.to_dict()
    for split, counts in expected.pop("splits").items():
        got = {key: told["splits"][split][key] for key in counts}
        assert got == counts, split
    assert {key: told[key] for key in expected} == expected


@pytest.mark.parametrize("seed", range(6))
def test_random_graphs_against_joins_of_frames(seed: int, tmp_path: Path) -> None:
    """With duplicates, leaks, loops, entities and relations that train lacks."""
    draw = np.random.default_rng(seed)
    for split, size in zip(SPLITS, (60, 25, 25), strict=True):
        many, relations = 12 if split == "train" else 14, 5 if split == "test" else 4
        rows = [
            f"e{draw.integers(many)}\tq{draw.integers(relations)}\te{draw.integers(many)}"
            for _ in range(size)
        ]
        (tmp_path / f"{split}.txt").write_text("\n".join(rows) + "\n")
    found = check_graph(tmp_path)
    expected = counted(tmp_path)
    faults = sum(
        part[key]
        for part in expected["splits"].values()
        for key in ("duplicates", "in_train", "in_valid")
    )
    assert found.faults == faults > 0
    compare(found, expected)


@pytest.mark.parametrize(
    "name", ["family", "umls", "countries_s1", "grail/fb237_v1", "grail/WN18RR_v2"]
)
def test_public_graphs_against_joins_of_frames(name: str, data_dir: Path) -> None:
    compare(check_graph(data_dir / "kg" / name), counted(data_dir / "kg" / name))


def test_what_is_known_of_the_standard_splits(data_dir: Path) -> None:
    """WN18RR: 210 test triples of unseen entities, a third with the inverse at hand. FB15k-237 was
    made so that train links no two entities of a test triple (Toutanova and Chen 2015)."""
    wordnet = check_graph(data_dir / "kg/wn18rr_standard")
    assert wordnet.entities == 40_943
    assert wordnet.splits["test"].unseen_entity == 210
    assert wordnet.splits["test"].inverse_in_train / 3134 == pytest.approx(0.35, abs=0.005)
    symmetric = {pair.first for pair in wordnet.pairs if pair.kind == "symmetric"}
    assert symmetric == {"_derivationally_related_form", "_verb_group", "_similar_to"}
    freebase = check_graph(data_dir / "kg/fb15k237_standard")
    assert (freebase.entities, freebase.relations) == (14_541, 237)
    for part in (freebase.splits["valid"], freebase.splits["test"]):
        assert (part.inverse_in_train, part.pair_in_train, part.in_train) == (0, 0, 0)
    assert freebase.faults == wordnet.faults == 0


@pytest.mark.parametrize("seed", range(4))
def test_relations_that_say_the_same_by_sets(seed: int) -> None:
    draw = np.random.default_rng(seed)
    facts = {("p", int(a), int(b)) for a, b in draw.integers(9, size=(30, 2))}
    facts |= {("turned", b, a) for _, a, b in facts if draw.random() < 0.9}
    facts |= {("again", a, b) for r, a, b in facts if r == "p" and draw.random() < 0.9}
    facts |= {("both", a, b) for _, x, y in list(facts)[:9] for a, b in ((x, y), (y, x))}
    graph = graph_of([(f"e{a}", r, f"e{b}") for r, a, b in sorted(facts)])
    sets = {r: {(a, b) for q, a, b in facts if q == r and a != b} for r in {f[0] for f in facts}}
    expected = set()
    for kind in ("straight", "turned"):
        for first in sets:
            for second in sets:
                other = sets[second] if kind == "straight" else {(b, a) for a, b in sets[second]}
                shared = len(sets[first] & other)
                if shared / max(len(sets[first]), len(sets[second])) < 0.5:
                    continue
                if first == second and kind == "turned":
                    expected.add(("symmetric", frozenset([first]), shared))
                elif first != second:
                    name = "inverse" if kind == "turned" else "duplicate"
                    expected.add((name, frozenset([first, second]), shared))
    found = relation_pairs(graph, 0.5)
    assert {(p.kind, frozenset([p.first, p.second]), p.shared) for p in found} == expected
    assert len(found) == len(expected) >= 3
    assert all(p.of_first == len(sets[p.first]) for p in found)


def test_many_facts_between_two_entities_are_joined_in_pieces(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = [("a", f"r{i}", "b") for i in range(40)] + [("b", "back", "a")]
    whole = relation_pairs(graph_of(rows))
    monkeypatch.setattr("deepprooflog.kg.checking.pairs._AT_ONCE", 7)
    assert relation_pairs(graph_of(rows)) == whole
    assert sum(pair.kind == "duplicate" for pair in whole) == 40 * 39 / 2
    assert sum(pair.kind == "inverse" for pair in whole) == 40


def write(folder: Path, **splits: str) -> Path:
    for split in SPLITS:
        (folder / f"{split}.tsv").write_text(splits.get(split, "a\tr\tb\n"))
    return folder


def test_rows_that_name_columns(tmp_path: Path) -> None:
    """One that the reader leaves out, and one that it takes for a triple."""
    folder = write(
        tmp_path,
        train="head\trelation\ttail\na\tr\tb\nb\tr\tc\n",
        valid="a\tr\tc\n",
        test="c\tr\ta\nsubject\tpredicate\tobject\n",
    )
    found = check_graph(folder)
    assert [found.splits[s].header_rows for s in SPLITS] == [1, 0, 1]  # type: ignore[index]
    assert [found.splits[s].rows for s in SPLITS] == [3, 1, 2]  # type: ignore[index]
    assert found.faults == 2


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """0: nothing wrong; 1: rows that falsify figures; 2: no graph."""
    assert main(["data", "check", "village", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["faults"] == 0
    assert told["splits"]["test"]["rows"] == 644
    good = tmp_path / "good"
    good.mkdir()
    folder = write(good, train="a\tr\tb\nb\tr\ta\na\tr\tb\n", valid="a\tr\tb\n", test="a\tr\tb\n")
    assert main(["data", "check", str(folder)]) == 1
    text = capsys.readouterr().out
    assert text == check_text(check_graph(folder)) + "\n"
    assert "4 rows falsify figures" in text  # a duplicate; valid in train; test in both
    assert "train.tsv:3: warning: 1 triple is a duplicate" in text
    assert "1 test triple also in valid, the first r(a,b)" in text
    assert max(map(len, text.splitlines()[:20])) <= 80
    assert main(["data", "check", str(tmp_path / "none")]) == 2
    assert "no folder and no knowledge graph" in capsys.readouterr().err
    single = tmp_path / "one.tsv"
    single.write_text("a\tr\tb\na\tr\ta\n")
    assert main(["data", "check", str(single), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["splits"].keys() == {"train"}
