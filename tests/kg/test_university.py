"""The generator of large graphs: the rules conclude what is planted, and it grows evenly."""

from __future__ import annotations

import importlib.util
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import deepprooflog as dpl

FILE = Path(__file__).parents[2] / "benchmarks" / "university.py"
Pairs = set[tuple[str, str]]


@pytest.fixture(scope="module")
def university() -> ModuleType:
    spec = importlib.util.spec_from_file_location("university", FILE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where its dataclass looks
    spec.loader.exec_module(module)
    return module


def rows(path: Path) -> list[tuple[str, str, str]]:
    lines = [line.split("\t") for line in path.read_text().splitlines()]
    return [(head, relation, tail) for head, relation, tail in lines]


def joined(left: Pairs, right: Pairs) -> Pairs:
    """What is reached over both."""
    after: dict[str, list[str]] = {}
    for one, other in right:
        after.setdefault(one, []).append(other)
    return {(one, end) for one, middle in left for end in after.get(middle, [])}


def test_planted_rules_conclude_what_is_planted(university: ModuleType, tmp_path: Path) -> None:
    """By joins of sets: no conclusion lacks, none is added, and train has four of five of them."""
    graph = university.university(20_000)
    university.write(graph, tmp_path)
    splits = {name: rows(tmp_path / f"{name}.tsv") for name in ("train", "valid", "test")}
    every = [row for split in splits.values() for row in split]
    assert len(every) == len(set(every)) == len(graph.train) + len(graph.valid) + len(graph.test)
    told: dict[str, Pairs] = {name: set() for name in university.RELATIONS}
    for head, relation, tail in every:
        told[relation].add((head, tail))
    writers = {(b, a) for a, b in told["author"]}
    concluded = {
        "studies_at": joined(told["member_of"], told["part_of"]),
        "employed_at": joined(told["works_for"], told["part_of"]),
        "taught_by": joined(told["takes"], {(c, p) for p, c in told["teaches"]}),
        "coauthor": {(a, b) for a, b in joined(writers, told["author"]) if a != b},
    }
    assert concluded == {name: told[name] for name in concluded}
    for name in concluded:
        share = sum(row[1] == name for row in splits["train"]) / len(told[name])
        assert share == pytest.approx(0.8, abs=0.06)
    assert dpl.kg.load(tmp_path).rules is not None
    assert len(dpl.kg.read_rules(tmp_path / "rules.pl")) == 6


def test_the_same_for_a_seed_and_as_dense_in_any_size(university: ModuleType) -> None:
    small, again, large = (university.university(count) for count in (20_000, 20_000, 200_000))
    assert np.array_equal(small.train, again.train) and np.array_equal(small.test, again.test)
    assert not np.array_equal(small.train, university.university(20_000, seed=1).train)
    assert len(large.train) == pytest.approx(200_000, rel=0.02)
    assert large.entities / small.entities == pytest.approx(10, rel=0.05)
    fans = []
    for graph in (small, large):
        head, relation, _ = graph.columns(graph.train)
        counts = Counter(zip(head.tolist(), relation.tolist(), strict=True))
        fans.append(sum(counts.values()) / len(counts))
    assert fans[1] == pytest.approx(fans[0], rel=0.02)
