"""Which rules a training mines by default: validation MRR by cap and minimum confidence.

    python scripts/mined_rules.py village family umls

For each graph the rules are mined once, and the validation triples are ranked among all entities by
the maximum and the noisy-or over all rules that reach a confidence, then over at most N of each
relation, as a training chooses them (`kg/readings/cover.py`). Test triples are not looked at.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict

import numpy as np

import deepprooflog as dpl
from deepprooflog.kg.readings.backing import Backing, WeighedRules, backing_of
from deepprooflog.kg.readings.cover import cover, predicted
from deepprooflog.kg.readings.formulas import maximum, noisy_or
from deepprooflog.kg.readings.lists import backed_lists
from deepprooflog.kg.readings.scores import RuleReader

CONFIDENCES = (0.005, 0.01, 0.03, 0.1, 0.2, 0.4)
CAPS = (5, 10, 20, 40, 80)


def subset(backing: Backing, rules: np.ndarray) -> Backing:
    """The same for some of the rules, in order."""
    whole = backing.rules
    own = WeighedRules(
        whole.relation, tuple(whole.rules[r] for r in rules),
        tuple(whole.bodies[r] for r in rules), whole.support[rules], whole.predictions[rules],
    )  # fmt: skip
    parts = [backing.of(r) for r in rules.tolist()]
    begin = np.cumsum([0, *map(len, parts)])
    pair = np.concatenate([np.zeros(0, np.int64), *parts])
    return Backing(own, backing.x, backing.y, begin, pair)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="+")
    parser.add_argument("--triples", type=int, default=600, help="of valid, drawn at random")
    parser.add_argument("--min-support", type=int, default=5)
    arguments = parser.parse_args()
    for name in arguments.data:
        table(name, arguments.triples, arguments.min_support)


def table(name: str, size: int, least: int) -> None:
    """Print the table of one graph."""
    began = time.process_time()
    graph = dpl.kg.load(name)
    mined = dpl.kg.mine(graph, min_confidence=min(CONFIDENCES), min_support=least)
    reader = RuleReader(graph, tuple(mined))
    asked = graph.valid[np.random.default_rng(0).permutation(len(graph.valid))[:size]]
    ranks: dict[tuple[str, float, int], list[np.ndarray]] = defaultdict(list)
    kept: dict[tuple[float, int], int] = defaultdict(int)
    unruled = 2 * sum(int(r) not in reader.by_relation for r in asked[:, 1])
    for relation, rules in reader.by_relation.items():
        rows = asked[asked[:, 1] == relation]
        backing = backing_of(reader.bodies, rules, rows)
        lists = backed_lists(graph, backing, rows)
        confidence = rules.support / rules.predictions
        predicts = predicted(reader.bodies, rules)
        for sure in CONFIDENCES:
            enough = np.flatnonzero(confidence >= sure)
            for cap in (0, *CAPS):
                chosen = enough
                if cap:
                    chosen = enough[cover(rules.weight[enough], predicts[enough], cap)]
                    chosen = np.sort(chosen)
                kept[sure, cap] += len(chosen)
                if len(rows):
                    some = subset(backing, chosen)
                    ranks["max", sure, cap].append(lists.ranks(maximum(some)))
                    ranks["noisy-or", sure, cap].append(lists.ranks(noisy_or(some)))
    print(f"{name}: {len(mined):,} rules, {2 * len(asked):,} lists, support {least} or more")
    print("confidence  " + "".join(f"{cap or 'all':>24}" for cap in (0, *CAPS)))
    for sure in CONFIDENCES:
        cells = []
        for cap in (0, *CAPS):
            found = [np.concatenate(ranks[way, sure, cap]) for way in ("max", "noisy-or")]
            both = " ".join(f"{(1 / r).sum() / (len(r) + unruled):.4f}" for r in found)
            cells.append(f"{kept[sure, cap]:>9,} {both}")
        print(f"{sure:<12}" + "".join(f"{cell:>24}" for cell in cells))
    print(f"{time.process_time() - began:.0f} s of one core\n", flush=True)


if __name__ == "__main__":
    main()
