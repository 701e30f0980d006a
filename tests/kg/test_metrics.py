"""Ranking metrics against closed forms, scikit-learn, SciPy and PyKEEN."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import average_precision_score

from deepprooflog.errors import DataError, ModelError
from deepprooflog.kg.data.folder import read_graph
from deepprooflog.kg.data.rules import read_rules
from deepprooflog.kg.data.triples import SIDES, SPLITS, Graph
from deepprooflog.kg.evaluation.figures import figures, records
from deepprooflog.kg.evaluation.metrics import average_precision, bootstrap, means, ranks
from deepprooflog.kg.evaluation.ranking import Ranking, TripleScore, rank
from deepprooflog.kg.kge.negatives import corruptions
from kg.bottom_up import levels, read_facts


@pytest.fixture(scope="module")
def village() -> Graph:
    return read_graph("village")


def table(graph: Graph, levels: int, seed: int = 0) -> np.ndarray:
    """Scores of all triples, few enough different ones that there are ties; some −inf."""
    size = (len(graph.entities), len(graph.relations), len(graph.entities))
    scores = np.random.default_rng(seed).integers(levels, size=size).astype(np.float64)
    scores[scores == 0] = -np.inf
    return scores


def scorer(scores: np.ndarray) -> TripleScore:
    return lambda triples: torch.from_numpy(scores[tuple(triples.T.numpy())])


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=12), st.integers(-3, 3))
def test_the_average_rank_is_that_of_ties_broken_at_random(others: list[int], own: int) -> None:
    """scipy's rank of the own score, from the top, among all."""
    everyone = np.array([own, *others])
    better, equal = int((everyone > own).sum()), int((everyone == own).sum()) - 1
    for ties, method in (("average", "average"), ("optimistic", "min"), ("pessimistic", "max")):
        found = ranks(np.array([better]), np.array([equal]), ties)  # type: ignore[arg-type]
        assert found[0] == stats.rankdata(-everyone, method=method)[0]


def test_means_by_hand() -> None:
    assert means(np.array([1.0, 2.0, 4.0, 10.5, 20.0])) == pytest.approx(
        {"mrr": (1 + 1 / 2 + 1 / 4 + 1 / 10.5 + 1 / 20) / 5, "hits@1": 0.2, "hits@3": 0.4,
         "hits@10": 0.6}
    )  # fmt: skip
    with pytest.raises(DataError):
        means(np.array([]))


@given(st.data())
def test_average_precision_is_scikit_learns(data: st.DataObject) -> None:
    score = st.integers(-4, 4).map(float)
    positive = np.array(data.draw(st.lists(score, min_size=1, max_size=20)))
    negative = np.array(data.draw(st.lists(score, max_size=30)))
    at = (negative >= positive[:, None]).sum(axis=1)
    labels = np.repeat([1, 0], [len(positive), len(negative)])
    expected = average_precision_score(labels, np.concatenate([positive, negative]))
    assert average_precision(positive, at) == pytest.approx(expected, abs=1e-12)


def test_bootstrap_is_scipys() -> None:
    """Two of 9,999 resamples differ by chance alone; both are near the normal interval."""
    values = np.random.default_rng(1).beta(0.5, 0.5, size=(400, 2))
    ours = bootstrap(values, 9999, 0.9)
    for column in range(2):
        theirs = stats.bootstrap(
            (values[:, column],), np.mean, confidence_level=0.9, method="percentile", rng=2
        ).confidence_interval
        assert ours[column].tolist() == pytest.approx([theirs.low, theirs.high], abs=2e-3)
        error = values[:, column].std() / 20
        normal = values[:, column].mean() + np.array([-1, 1]) * 1.645 * error
        assert ours[column].tolist() == pytest.approx(normal.tolist(), abs=3e-3)
    assert np.array_equal(bootstrap(values, 50, seed=4), bootstrap(values, 50, seed=4))
    assert not np.array_equal(bootstrap(values, 50, seed=4), bootstrap(values, 50, seed=5))


def by_pykeen(graph: Graph, scores: np.ndarray, ranking: Ranking) -> object:
    """PyKEEN's results: its own filter for all entities, NaN for what was not drawn otherwise."""
    pytest.importorskip("pykeen", reason="pykeen is not installed: the oracle of the metrics")
    from pykeen.evaluation import RankBasedEvaluator
    from pykeen.evaluation.evaluator import create_sparse_positive_filter_, filter_scores_

    test = torch.from_numpy(graph.test)
    known = torch.from_numpy(np.concatenate([graph.train, graph.valid, graph.test]))
    evaluator = RankBasedEvaluator()
    for side in ranking.sides:
        column = 0 if side == "head" else 2
        h, r, t = graph.test.T
        of_side = scores[:, r, t].T if side == "head" else scores[h, r, :]
        all_scores = torch.from_numpy(of_side.copy())
        true = torch.from_numpy(scores[h, r, t])[:, None]
        if ranking.protocol == "full":
            truths, _ = create_sparse_positive_filter_(test, known, filter_col=column)
            all_scores = filter_scores_(all_scores, truths)
            all_scores[torch.arange(len(test)), test[:, column]] = true[:, 0]
        else:
            assert ranking.negatives is not None
            drawn = corruptions(graph, graph.test, side, ranking.negatives, ranking.seed)
            used = torch.zeros_like(all_scores, dtype=torch.bool)
            where = np.nonzero(drawn.present)
            used[where[0], drawn.entities[where]] = True
            used[torch.arange(len(test)), test[:, column]] = True
            all_scores[~used] = torch.nan
        evaluator.process_scores_(test, side, all_scores, true_scores=true)
    return evaluator.finalize()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("levels", [3, 1000])
@pytest.mark.parametrize(
    ("protocol", "negatives"), [("sampled", 50), ("sampled", 160), ("full", 1)]
)
def test_pykeen_agrees(village: Graph, levels: int, protocol: str, negatives: int) -> None:
    scores = table(village, levels)
    ranking = rank(village, scorer(scores), protocol=protocol, negatives=negatives, batch=999)  # type: ignore[arg-type]
    results = by_pykeen(village, scores, ranking)
    found = figures(ranking, resamples=10)
    names = {"mrr": "inverse_harmonic_mean_rank"} | {
        f"hits@{k}": f"hits_at_{k}" for k in (1, 3, 10)
    }
    for part, where, ties in [
        (found, "both", "realistic"), (found["head"], "head", "realistic"),
        (found["tail"], "tail", "realistic"), (found["optimistic"], "both", "optimistic"),
        (found["pessimistic"], "both", "pessimistic"),
    ]:  # fmt: skip
        for ours, theirs in names.items():
            expected = results.get_metric(f"{where}.{ties}.{theirs}")  # type: ignore[attr-defined]
            assert part[ours] == pytest.approx(expected, abs=1e-6), (where, ties, ours)


def test_auc_pr_over_all_lists_is_scikit_learns(village: Graph) -> None:
    scores = table(village, 40)
    scores[np.isinf(scores)] = -1
    found = figures(rank(village, scorer(scores), negatives=30), resamples=10)
    pooled: dict[str, list[tuple[float, int]]] = {side: [] for side in SIDES}
    for side in SIDES:
        drawn = corruptions(village, village.test, side, 30).triples(village.test)
        pooled[side] += [(scores[h, r, t], 1) for h, r, t in village.test]
        pooled[side] += [(scores[h, r, t], 0) for h, r, t in drawn.reshape(-1, 3)]

    def expected(pairs: list[tuple[float, int]]) -> float:
        values, labels = np.array(pairs).T
        return float(average_precision_score(labels, values))

    assert found["auc_pr"] == pytest.approx(expected(pooled["head"] + pooled["tail"]), abs=1e-12)
    for side in SIDES:
        assert found[side]["auc_pr"] == pytest.approx(expected(pooled[side]), abs=1e-12)


def test_closed_forms(village: Graph) -> None:
    """An oracle is perfect; a constant has the average rank of a draw at random."""
    known = {tuple(row) for name in SPLITS for row in village.split(name).tolist()}

    def truth(triples: torch.Tensor) -> np.ndarray:
        return np.array([tuple(row) in known for row in triples.tolist()], dtype=float)

    perfect = figures(rank(village, truth))
    assert [perfect[key] for key in ("mrr", "hits@1", "auc_pr")] == [1.0, 1.0, 1.0]
    assert perfect["intervals"]["mrr"] == [1.0, 1.0]
    same = figures(rank(village, lambda t: torch.zeros(len(t)), negatives=99))
    assert same["mrr"] == pytest.approx(1 / 50.5)
    assert (same["optimistic"]["mrr"], same["pessimistic"]["mrr"]) == (1.0, pytest.approx(1 / 100))
    assert same["auc_pr"] == pytest.approx(1 / 100)
    assert same["candidates"] == 99 * 2 * len(village.test)


def test_what_proofs_alone_reach_on_family(data_dir: Path) -> None:
    """The least model of 48 rules as the score: its MRR was measured to be .7855 elsewhere."""
    folder = data_dir / "kg" / "family"
    graph = read_graph(folder)
    rules = [
        (atoms[0], atoms[1:])
        for rule in read_rules(folder / "rules.txt")
        if (atoms := re.findall(r"(\w+)\((\w+),(\w+)\)", str(rule)))
    ]
    model = levels(read_facts(folder / "train.txt"), rules, 9)
    score = np.zeros((len(graph.entities), len(graph.relations), len(graph.entities)), dtype=bool)
    for relation, head, tail in model:
        h, t = graph.entity_ids[int(head)], graph.entity_ids[int(tail)]
        score[h, graph.relation_ids[relation], t] = True
    found = figures(rank(graph, lambda t: score[tuple(t.T.numpy())].astype(float)), resamples=10)
    assert found["mrr"] == pytest.approx(0.7855, abs=5e-4)
    assert found["hits@10"] == pytest.approx(4395 / 5626, abs=1e-4)


def test_parts_add_up(village: Graph) -> None:
    """The mean over relations and over depths, weighted by their lists, is the whole."""
    depth = np.arange(len(village.test)) % 3 - 1
    ranking = rank(village, scorer(table(village, 1000)))
    found = figures(ranking, depth, resamples=200)
    assert set(found["depths"]) == {"none", "0", "1"}
    for parts in (found["relations"], found["depths"]):
        lists = sum(part["lists"] for part in parts.values())
        assert lists == found["lists"] == 2 * found["queries"]
        for key in ("mrr", "hits@1", "hits@3", "hits@10"):
            total = sum(part[key] * part["lists"] for part in parts.values())
            assert total / lists == pytest.approx(found[key])
            low, high = found["intervals"][key]
            assert low < found[key] < high
    with pytest.raises(DataError, match="depths"):
        figures(ranking, depth[:5])


def test_batches_do_not_matter(village: Graph) -> None:
    scores = table(village, 5)
    one = figures(rank(village, scorer(scores), village.test[:40], protocol="full"), resamples=10)
    for batch in (1, 100, 183, 5000):
        other = rank(village, scorer(scores), village.test[:40], protocol="full", batch=batch)
        assert {**figures(other, resamples=10), "seconds": 0} == {**one, "seconds": 0}


def test_candidates_of_a_domain(village: Graph) -> None:
    """Where three entities are left, a constant ranks each query among those that are no truth."""
    domain = np.array([1, 4, 9])
    ranking = rank(
        village, lambda t: torch.zeros(len(t)), protocol="full", sides=["tail"], among=domain
    )
    known = {tuple(row) for name in SPLITS for row in village.split(name).tolist()}
    for (head, relation, _), found in zip(village.test.tolist(), records(ranking), strict=True):
        left = sum((head, relation, e) not in known for e in domain.tolist())
        assert (found["candidates"], found["equal"], found["rank"]) == (left, left, 1 + left / 2)
        assert found["side"] == "tail"
    with pytest.raises(DataError, match="among all"):
        rank(village, lambda t: torch.zeros(len(t)), among=domain)


def test_what_is_refused(village: Graph) -> None:
    with pytest.raises(ModelError, match=r"NaN") as caught:
        rank(village, lambda t: torch.where(t[:, 0] == 5, torch.nan, 0.0))
    assert village.entity_text(5) in caught.value.message
    with pytest.raises(ModelError, match="shape"):
        rank(village, lambda t: torch.zeros(len(t), 1))
    with pytest.raises(DataError, match="no queries"):
        rank(village, lambda t: torch.zeros(len(t)), village.test[:0])
    for wrong in ({"protocol": "half"}, {"negatives": 0}, {"sides": ()}, {"sides": ("left",)}):
        with pytest.raises(Exception, match=r"half|negatives|sides|left"):
            rank(village, lambda t: torch.zeros(len(t)), **wrong)


def test_progress_reaches_the_end(village: Graph) -> None:
    seen: list[tuple[int, int]] = []
    told = lambda done, total: seen.append((done, total))  # noqa: E731
    rank(village, lambda t: torch.zeros(len(t)), batch=5000, on_progress=told)
    total = 2 * len(village.test)
    assert seen == sorted(seen) and seen[-1] == (total, total) and len(seen) > 10
