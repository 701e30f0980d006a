"""Test figures of mined rules by each reading, full and sampled, with the CPU seconds they take.

    python benchmarks/readings.py family
    python benchmarks/readings.py fb15k237_standard --part full --seconds 300 --triples 1000

`--triples N` ranks N test triples that `--seed` draws, of all where there are fewer; `--rules FILE`
reads rules, of AnyBURL or another miner, instead of mining them.
"""

from __future__ import annotations

import argparse
import resource
import time

import deepprooflog as dpl
from deepprooflog.kg.data.rules import Rules, read_rules
from deepprooflog.kg.data.triples import Graph
from deepprooflog.kg.evaluation.evaluate import Ranker
from deepprooflog.kg.readings.evaluate import evaluate_readings
from deepprooflog.kg.readings.scores import READINGS, RuleReader
from deepprooflog.kg.walk.queries import some_rows

SHOWN = ("mrr", "hits@1", "hits@3", "hits@10")
PARTS = ("full", "sampled")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", nargs="+")
    parser.add_argument("--part", choices=PARTS, help="which protocol; default: both")
    parser.add_argument("--negatives", type=int, default=200)
    parser.add_argument("--rules", help="a file of rules; default: they are mined")
    parser.add_argument("--seconds", type=float, help="of mining, at most; default: any")
    parser.add_argument("--most", type=int, help="rules of a relation; default: as dprl mine")
    parser.add_argument("--min-support", type=int, help="of a rule; default: as dprl mine")
    parser.add_argument("--triples", type=int, help="test triples; default: all")
    parser.add_argument("--seed", type=int, default=0, help="of the test triples' sample")
    parser.add_argument("--readings", nargs="+", choices=tuple(READINGS), default=list(READINGS))
    arguments = parser.parse_args()
    for name in arguments.data:
        graph = dpl.kg.load(name)
        reader = RuleReader(graph, rules_for(graph, arguments).rules)
        if "clusters" in arguments.readings:
            began = time.process_time()
            chosen = reader.clusters
            taken = time.process_time() - began
            print(f"{taken:.0f} s to choose thresholds: {chosen.common}, {dict(chosen.thresholds)}")
        asked = some_rows(graph.test, arguments.triples or len(graph.test), arguments.seed)
        print(f"{len(asked):,} of {len(graph.test):,} test triples", flush=True)
        for part in PARTS if arguments.part is None else (arguments.part,):
            ranker = Ranker(graph, protocol=part, negatives=arguments.negatives)
            for reading in arguments.readings:
                began = time.process_time()
                found = evaluate_readings(reader, ranker, asked, [reading])[reading]
                shown = " ".join(f"{found[key]:.4f}" for key in SHOWN)
                seconds = time.process_time() - began
                print(f"{part:<9}{reading:<10}{shown}  {seconds:.0f} s", flush=True)
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{most:,.0f} MB at most", flush=True)


def rules_for(graph: Graph, arguments: argparse.Namespace) -> Rules:
    """The rules of a file, or those that are mined."""
    began = time.process_time()
    if arguments.rules:
        rules, done = read_rules(arguments.rules), "read"
    else:
        given = {name: getattr(arguments, name) for name in ("most", "min_support")}
        kept = {key: value for key, value in given.items() if value is not None}
        rules, done = dpl.kg.mine(graph, seconds=arguments.seconds, **kept), "mine"
    seconds = time.process_time() - began
    print(f"{graph.name}: {len(rules):,} rules, {seconds:.0f} s to {done}", flush=True)
    for notice in rules.notices:
        print(notice, flush=True)
    return rules


if __name__ == "__main__":
    main()
