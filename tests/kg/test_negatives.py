"""Negatives, each one checked against sets: allowed, distinct, its own query's, and uniform."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chisquare

from deepprooflog.kg.data.domains import Candidates
from deepprooflog.kg.data.draw import ABSENT
from deepprooflog.kg.data.folder import read_graph
from deepprooflog.kg.data.triple_set import Side
from deepprooflog.kg.data.triples import SIDES, SPLITS, Graph, graph_of
from deepprooflog.kg.kge.negatives import all_candidates, corruptions, training_negatives


@pytest.fixture(scope="module")
def village() -> Graph:
    return read_graph("village")


def truths(graph: Graph, splits: tuple[str, ...] = SPLITS) -> set[tuple[int, ...]]:
    return {tuple(row) for name in splits for row in graph.split(name).tolist()}  # type: ignore[arg-type]


def free(graph: Graph, query: list[int], side: Side, known: set[tuple[int, ...]]) -> set[int]:
    """By trying every entity: those that give no known truth."""
    head, relation, tail = query
    everyone = range(len(graph.entities))
    if side == "head":
        return {e for e in everyone if (e, relation, tail) not in known and e != head}
    return {e for e in everyone if (head, relation, e) not in known and e != tail}


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("count", [5, 100, 150, 500])
def test_every_candidate_is_allowed(village: Graph, side: Side, count: int) -> None:
    """At 5 and 100 most are passed over, at 150 nearly all are taken, 500 do not exist."""
    known = truths(village)
    found = corruptions(village, village.test, side, count)
    assert found.entities.shape == (len(village.test), count)
    short = 0
    for query, row in zip(village.test.tolist(), found.entities.tolist(), strict=True):
        allowed = free(village, query, side, known)
        drawn = [e for e in row if e != ABSENT]
        assert len(drawn) == len(set(drawn)) == min(count, len(allowed))
        assert set(drawn) <= allowed
        assert ABSENT not in row[: len(drawn)]
        short += len(drawn) < count
    assert found.short == short
    assert short == (0 if count <= 100 else len(village.test) if count == 500 else short)


def test_a_draw_is_the_querys_own(village: Graph) -> None:
    """Neither the order of queries nor the batch they come in changes what each one gets."""
    order = np.random.default_rng(0).permutation(len(village.test))
    for side in SIDES:
        for count in (20, 120):
            whole = corruptions(village, village.test, side, count, seed=3).entities
            shuffled = corruptions(village, village.test[order], side, count, seed=3).entities
            assert np.array_equal(shuffled, whole[order])
            part = corruptions(village, village.test[17:19], side, count, seed=3).entities
            assert np.array_equal(part, whole[17:19])


def test_seed_query_and_side_all_matter(village: Graph) -> None:
    """Two draws of 20 out of about 180 share 20·20/180 on average when they are independent."""
    test = village.test
    one = corruptions(village, test, "tail", 20).entities
    other_seed = corruptions(village, test, "tail", 20, seed=1).entities
    other_side = corruptions(village, test, "head", 20).entities
    for other in (other_seed, other_side, np.roll(one, 1, axis=0)):
        shared = np.mean([len(set(a) & set(b)) for a, b in zip(one, other, strict=True)])
        assert abs(shared - 20 * 20 / 180) < 0.3


@pytest.mark.parametrize("count", [3, 7])
def test_draws_are_uniform(count: int) -> None:
    """12 entities, 2 of them known and 1 the query's own: the other 9 come equally often."""
    names = [f"e{i}" for i in range(12)]
    graph = graph_of(
        [("e0", "r", "e1"), ("e0", "r", "e2"), *((n, "s", n) for n in names)],
        test=[("e0", "r", "e3")],
    )
    seen: Counter[int] = Counter()
    first: Counter[int] = Counter()
    for seed in range(1000):
        row = corruptions(graph, graph.test, "tail", count, seed).entities[0].tolist()
        seen.update(row)
        first[row[0]] += 1
    assert len(seen) == len(first) == 9
    assert chisquare(list(first.values())).pvalue > 1e-3
    assert chisquare(list(seen.values())).pvalue > 1e-3


def test_all_candidates(village: Graph) -> None:
    known = truths(village)
    for side in SIDES:
        mask = all_candidates(village, village.test[:50], side)
        for query, row in zip(village.test[:50].tolist(), mask, strict=True):
            own = query[0 if side == "head" else 2]
            allowed = free(village, query, side, known) | {own}
            assert set(np.flatnonzero(row).tolist()) == allowed


def test_family_none_misaligned(data_dir: Path) -> None:
    """All 1.1 million candidates of the test set, each with its own query."""
    graph = read_graph(data_dir / "kg" / "family")

    def numbers(rows: np.ndarray) -> np.ndarray:
        return np.asarray(rows @ np.array([10**8, 10**4, 1]))

    assert len(graph.entities) < 10**4
    known = numbers(np.concatenate([graph.split(name) for name in SPLITS]))
    for side in SIDES:
        found = corruptions(graph, graph.test, side, 100)
        assert found.short == 0
        assert found.entities.min() >= 0 and found.entities.max() < len(graph.entities)
        assert (np.diff(np.sort(found.entities, axis=1), axis=1) > 0).all()
        triples = found.triples(graph.test)
        kept = [1, 2] if side == "head" else [0, 1]
        assert (triples[:, :, kept] == graph.test[:, None, kept]).all()
        assert not np.isin(numbers(triples), known).any()


@pytest.mark.parametrize("each", [1, 2, 3])
def test_training_negatives(village: Graph, each: int) -> None:
    train = truths(village, ("train",))
    found = training_negatives(village, village.train, each, seed=5, epoch=2)
    assert found.missing == 0
    assert found.positive.tolist() == np.repeat(np.arange(len(village.train)), each).tolist()
    origin = village.train[found.positive]
    changed = found.triples != origin
    assert (changed.sum(axis=1) == 1).all() and not changed[:, 1].any()
    assert train.isdisjoint(map(tuple, found.triples.tolist()))
    heads = changed[:, 0].mean()
    assert heads == 0.5 if each == 2 else abs(heads - 0.5) < 0.05


def test_training_negatives_differ_by_epoch_and_repeat_by_seed(village: Graph) -> None:
    def made(seed: int, epoch: int, rows: np.ndarray = village.train) -> np.ndarray:
        return training_negatives(village, rows, 1, seed, epoch).triples

    assert np.array_equal(made(1, 0), made(1, 0))
    assert np.array_equal(made(1, 0, village.train[100:200]), made(1, 0)[100:200])
    for other in (made(1, 1), made(2, 0)):
        assert (other == made(1, 0)).all(axis=1).mean() < 0.05


def test_training_negatives_do_not_know_the_test_set() -> None:
    """The one entity that is left is a held-out truth; where nothing is left, it is counted."""
    graph = graph_of(
        [("a", "r", "a"), ("a", "r", "b"), ("b", "r", "a"), ("c", "s", "a")],
        test=[("a", "r", "c")],
    )
    found = training_negatives(graph, graph.train[:1], 20)
    assert [0, 0, 2] in found.triples.tolist()
    full = graph_of([("a", "r", "a"), ("a", "r", "b"), ("b", "r", "a"), ("b", "r", "b")])
    nothing = training_negatives(full, full.train, 2)
    assert (len(nothing.triples), nothing.missing) == (0, 8)


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("each", [3, 40, 500])
def test_training_negatives_of_a_domain(village: Graph, side: Side, each: int) -> None:
    """One side only, of the domain only, distinct, no triple of train; all there are if few."""
    rows = village.train[::17]
    domain = np.random.default_rng(2).choice(len(village.entities), 45, replace=False)
    known, members = truths(village, ("train",)), set(domain.tolist())
    found = training_negatives(village, rows, each, seed=1, candidates=Candidates((side,), domain))
    at = 0 if side == "head" else 2
    total = 0
    for number, positive in enumerate(rows.tolist()):
        mine = found.triples[found.positive == number].tolist()
        allowed = free(village, positive, side, known) & members
        drawn = [row[at] for row in mine]
        assert len(drawn) == len(set(drawn)) == min(each, len(allowed))
        assert set(drawn) <= allowed
        assert all(row[1] == positive[1] and row[2 - at] == positive[2 - at] for row in mine)
        total += len(mine)
    assert found.missing == each * len(rows) - total
    assert each == 500 or len({row[at] for row in found.triples.tolist()}) > each
