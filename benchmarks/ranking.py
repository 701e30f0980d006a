"""Full ranking by open queries against one proof for each candidate: seconds of both in one run.

    python benchmarks/ranking.py --data wn18rr --triples 300
    python benchmarks/ranking.py --data wn18rr --each 0            # all test triples, lists only

`--triples` test triples, drawn at random, are ranked on both sides among all entities, by p_success
of an untrained policy with the folder's rules (or `--rules`) and belief of an untrained ComplEx
that weighs facts: what is measured does not depend on the weights. `--each` of them are also ranked
one by one, from which the seconds of all are reckoned, and the scores of both ways are compared.
CPU time of this process, `--threads` threads.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np
import torch

from deepprooflog.errors import DataError
from deepprooflog.kg.belief.believe import Belief
from deepprooflog.kg.belief.calibration import Calibration
from deepprooflog.kg.belief.evidence import Evidence
from deepprooflog.kg.data.folder import read_graph
from deepprooflog.kg.data.rules import read_rules
from deepprooflog.kg.data.triple_set import column
from deepprooflog.kg.data.triples import SIDES, Graph
from deepprooflog.kg.evaluation.ranking import rank
from deepprooflog.kg.evaluation.scores import CountedLists, CountedScore, counted_score
from deepprooflog.kg.kge.complex import ComplEx
from deepprooflog.kg.prove.build import prover
from deepprooflog.kg.prove.prover import ExploreLimits, Prover

BATCH = 4096
DEPTH = 40
Result = TypeVar("Result")


def belief_of(graph: Graph, dimension: int) -> Belief:
    """Belief as a run has it, untrained."""
    torch.manual_seed(0)
    relations = len(graph.relations)
    kge = ComplEx(len(graph.entities), relations, dimension, scale=0.3)
    ones = torch.ones(relations, dtype=torch.float64)
    line = Calibration(ones, -4.0 * ones, 0.01, 0.1 * ones[:, None].expand(-1, 6))
    train = torch.from_numpy(graph.train)
    facts = Evidence(train, entities=len(graph.entities), relations=relations)
    return Belief(kge, line, graph.relations, graph.entities, facts)


def timed(run: Callable[[], Result]) -> tuple[Result, float]:
    begin = time.process_time()
    return run(), time.process_time() - begin


def difference(proves: Prover, graph: Graph, queries: np.ndarray, lists: CountedLists) -> float:
    """The largest difference of a score between the two ways."""
    largest, entities = 0.0, len(graph.entities)
    for side in SIDES:
        for query in queries:
            found = lists.of_lists(torch.from_numpy(query[None]), side)[0]
            triples = torch.from_numpy(np.repeat(query[None], entities, axis=0))
            triples[:, column(side)] = torch.arange(entities)
            for begin in range(0, entities, BATCH):
                with torch.no_grad():
                    each = proves(triples[begin : begin + BATCH]).success
                gap = (found[begin : begin + BATCH] - each).abs().max()
                largest = max(largest, float(gap))
    return largest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="village", help="village, family, wn18rr, or a folder")
    parser.add_argument("--rules", help="a file of rules; the folder's own otherwise")
    parser.add_argument("--triples", type=int, default=0, help="ranked; 0: the whole test set")
    parser.add_argument("--each", type=int, default=10, help="of them, ranked one by one, too")
    parser.add_argument("--nesting", type=int, default=2)
    parser.add_argument("--dimension", type=int, default=128, help="of the embedding")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", metavar="FILE", help="write all figures to a file")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    try:
        graph = read_graph(options.data)
        path = options.rules or graph.rules
        if path is None:
            parser.error(f"{options.data} has no rules: --rules FILE")
        rules = read_rules(path)
    except DataError as error:
        parser.error(str(error))
    order = np.random.default_rng(0).permutation(len(graph.test))
    queries = graph.test[order[: options.triples or len(order)]]
    proves = prover(
        graph, rules, belief_of(graph, options.dimension), nesting=options.nesting,
        limits=ExploreLimits(depth=DEPTH),
    )  # fmt: skip
    lists = counted_score(proves, keep=False, entities=len(graph.entities), batch=BATCH)
    assert isinstance(lists, CountedLists)
    began = time.perf_counter()
    ranking, seconds = timed(lambda: rank(graph, lists, queries, protocol="full", batch=BATCH))
    wall = time.perf_counter() - began
    row: dict[str, object] = {
        "data": graph.name, "rules": len(rules), "lists": len(ranking.ranked),
        "candidates": int(ranking.ranked.candidates.sum()), "goals": lists.goals,
        "seconds": seconds, "wall_s": wall,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }  # fmt: skip
    print(f"{graph.name}, {len(rules)} rules, nesting {options.nesting}; {platform.machine()}, "
          f"torch {torch.__version__}, {options.threads} threads")  # fmt: skip
    print(f"by open queries: {row['lists']:,} lists, {row['candidates']:,} candidates, "
          f"{lists.goals:,} goals: {seconds:.1f} s of CPU, {wall:.1f} s by the clock")  # fmt: skip
    some = queries[: options.each]
    if len(some):
        one_by_one = CountedScore(proves, keep=False)
        each, alone = timed(lambda: rank(graph, one_by_one, some, protocol="full", batch=BATCH))
        reckoned = alone * len(queries) / len(some)
        gap = difference(proves, graph, some[:3], lists)
        row |= {"one_by_one_s": reckoned, "ratio": reckoned / seconds, "difference": gap}
        same = np.isin(ranking.ranked.query, np.arange(len(some)))
        row["same_ranks"] = bool((ranking.ranked.better[same] == each.ranked.better).all())
        print(f"one by one: {len(each.ranked):,} lists in {alone:.1f} s, so all in "
              f"{reckoned:,.0f} s: {reckoned / seconds:,.0f} times as long")  # fmt: skip
        print(f"largest difference of a score {gap:.1e}; same ranks: {row['same_ranks']}")
    if options.json:
        with open(options.json, "w") as file:
            json.dump(row, file, indent=1)


if __name__ == "__main__":
    main()
