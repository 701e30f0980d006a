"""Test figures of mined rules by each reading, full and sampled, with the seconds they take.

python benchmarks/readings.py family
"""

from __future__ import annotations

import argparse
import time

import deepprooflog as dpl
from deepprooflog.kg.evaluation.evaluate import Ranker
from deepprooflog.kg.readings.evaluate import evaluate_readings
from deepprooflog.kg.readings.scores import READINGS, RuleReader

SHOWN = ("mrr", "hits@1", "hits@3", "hits@10")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="+")
    parser.add_argument("--negatives", type=int, default=200)
    arguments = parser.parse_args()
    for name in arguments.data:
        graph = dpl.kg.load(name)
        began = time.process_time()
        rules = dpl.kg.mine(graph)
        print(f"{name}: {len(rules):,} rules, {time.process_time() - began:.0f} s to mine")
        reader = RuleReader(graph, rules.rules)
        began = time.process_time()
        thresholds = reader.clusters.thresholds
        print(f"{time.process_time() - began:.0f} s to choose thresholds: {dict(thresholds)}")
        for protocol in ("full", "sampled"):
            ranker = Ranker(graph, protocol=protocol, negatives=arguments.negatives)
            for reading in READINGS:
                began = time.process_time()
                found = evaluate_readings(reader, ranker, graph.test, [reading])[reading]
                shown = " ".join(f"{found[key]:.4f}" for key in SHOWN)
                seconds = time.process_time() - began
                print(f"{protocol:<9}{reading:<10}{shown}  {seconds:.0f} s", flush=True)


if __name__ == "__main__":
    main()
