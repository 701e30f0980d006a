"""The figures of a ranking: overall, by side, relation, stratum and proof depth, with intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from jaxtyping import Bool, Float64, Int64

from deepprooflog.errors import DataError
from deepprooflog.kg.data.triple_set import Side
from deepprooflog.kg.data.triples import SIDES, Graph
from deepprooflog.kg.evaluation.metrics import (
    MEANS,
    TIES,
    average_precision,
    bootstrap,
    gains,
    means,
    ranks,
)
from deepprooflog.kg.evaluation.ranking import Ranked, Ranking

RANK_EDGES = (1, 2, 3, 5, 10, 20, 50, 100)
"""The ends of the ranges in which ranks are counted."""


def mrr(ranking: Ranking) -> float:
    """The mean reciprocal rank over all lists, average ties."""
    return float(means(ranks(ranking.ranked.better, ranking.ranked.equal))["mrr"])


def figures(
    ranking: Ranking,
    depth: Int64[np.ndarray, " queries"] | None = None,
    *,
    resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> dict[str, Any]:
    """The figures of a ranking, ready for JSON.

    `depth` is the proof depth of each query, −1 where it has none; the figures are then given for
    each depth too. Intervals resample queries, a query's sides together.
    """
    ranked = ranking.ranked
    rank_of = ranks(ranked.better, ranked.equal)
    result: dict[str, Any] = {
        "protocol": ranking.protocol,
        "negatives": ranking.negatives,
        "ties": "average",
        "queries": len(ranked.triples),
        **means(rank_of),
        "auc_pr": auc_pr(ranking),
        "seconds": round(ranking.seconds, 3),
        "seed": ranking.seed,
        "sides": list(ranking.sides),
        "lists": len(ranked),
        "candidates": int(ranked.candidates.sum()),
        "short": ranking.short,
    }
    for ties in TIES[1:]:
        result[ties] = means(ranks(ranked.better, ranked.equal, ties))
    for side in ranking.sides:
        which = ranked.side == SIDES.index(side)
        result[side] = {**means(rank_of[which]), "auc_pr": auc_pr(ranking, side)}
    result["ranks"] = rank_counts(rank_of)
    names = np.array(ranking.graph.relations, dtype=object)
    relation = ranked.triples[ranked.query, 1]
    result["relations"] = {
        str(names[r]): _group(rank_of, relation == r) for r in np.unique(relation)
    }
    result["strata"] = {
        name: _group(rank_of, which[ranked.query])
        for name, which in strata(ranking.graph, ranked.triples).items()
        if which.any()
    }
    if depth is not None:
        if len(depth) != len(ranked.triples):
            raise DataError(f"{len(depth)} depths for {len(ranked.triples)} queries")
        of = depth[ranked.query]
        result["depths"] = {
            "none" if d < 0 else str(d): _group(rank_of, of == d) for d in np.unique(of).tolist()
        }
    result["intervals"] = _intervals(ranked, rank_of, resamples, level, seed)
    return result


def rank_counts(rank_of: Float64[np.ndarray, " lists"]) -> dict[str, int]:
    """How many ranks are at most each of `RANK_EDGES` and above the one before; and `more`.

    >>> found = rank_counts(np.array([1.0, 1.5, 2.0, 9.0, 101.0]))
    >>> {edge: lists for edge, lists in found.items() if lists}
    {'1': 1, '2': 2, '10': 1, 'more': 1}
    """
    place = np.searchsorted(RANK_EDGES, rank_of, side="left")
    counts = np.bincount(place, minlength=len(RANK_EDGES) + 1).tolist()
    return dict(zip((*map(str, RANK_EDGES), "more"), counts, strict=True))


def strata(
    graph: Graph, triples: Int64[np.ndarray, "triples 3"]
) -> dict[str, Bool[np.ndarray, " triples"]]:
    """Which triples r(h, t) are of each stratum: whether train has r(h, ·), and whether r(·, t).

    >>> from deepprooflog.kg.data.triples import graph_of
    >>> graph = graph_of([("a", "r", "b")], test=[("a", "r", "c"), ("c", "r", "b")])
    >>> {name: which.tolist() for name, which in strata(graph, graph.test).items()}
    {'both': [False, False], 'head': [True, False], 'tail': [False, True], 'none': [False, False]}
    """
    head, tail = (
        graph.known(side, ("train",)).count(graph.contexts(triples, side)) > 0
        for side in ("tail", "head")
    )
    return {"both": head & tail, "head": head & ~tail, "tail": ~head & tail, "none": ~(head | tail)}


def records(ranking: Ranking) -> Iterator[dict[str, Any]]:
    """Each ranked list, ready for JSON: the query, the side replaced, and where it came out."""
    ranked = ranking.ranked
    rank_of = ranks(ranked.better, ranked.equal).tolist()
    for at, (query, side) in enumerate(
        zip(ranked.query.tolist(), ranked.side.tolist(), strict=True)
    ):
        yield {
            "query": ranking.graph.text(ranked.triples[query]),
            "side": SIDES[side],
            "rank": rank_of[at],
            "better": int(ranked.better[at]),
            "equal": int(ranked.equal[at]),
            "candidates": int(ranked.candidates[at]),
            "score": float(ranked.score[at]),
        }


def auc_pr(ranking: Ranking, side: Side | None = None) -> float:
    """Average precision over all lists of one side or of all, each with its own triple in it."""
    ranked = ranking.ranked
    if side is not None:
        which = ranked.side == SIDES.index(side)
        return average_precision(ranked.score[which], ranked.negatives_at[which])
    if ranked.negatives_of_all is not None:
        return average_precision(ranked.score, ranked.negatives_of_all)
    # A threshold is reached by candidates of every side.
    at = np.zeros(len(ranked.triples), dtype=np.int64)
    np.add.at(at, ranked.query, ranked.negatives_at)
    return average_precision(ranked.score, at[ranked.query])


def _group(
    rank_of: Float64[np.ndarray, " lists"], which: Bool[np.ndarray, " lists"]
) -> dict[str, float]:
    return {"lists": int(which.sum()), **means(rank_of[which])}


def _intervals(
    ranked: Ranked,
    rank_of: Float64[np.ndarray, " lists"],
    resamples: int,
    level: float,
    seed: int,
) -> dict[str, Any]:
    of_list = gains(rank_of)
    values = np.zeros((len(ranked.triples), of_list.shape[1]))
    np.add.at(values, ranked.query, of_list)
    sides = np.bincount(ranked.query, minlength=len(values))
    found = bootstrap(values / sides[:, None], resamples, level, seed)
    return {
        "level": level,
        "resamples": resamples,
        "seed": seed,
        **dict(zip(MEANS, found.tolist(), strict=True)),
    }


WATCHED: dict[str, tuple[str, Callable[[Ranking], float]]] = {
    "mrr": ("mean reciprocal rank", mrr),
    "auc_pr": ("AUC-PR", auc_pr),
}
"""The figures by which policies may be compared, with what a curve of each is called."""
