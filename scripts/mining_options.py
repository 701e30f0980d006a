"""What the miner keeps by default: validation MRR by each of its thresholds, and by kind of rule.

    python scripts/mining_options.py village umls family --triples 500
    python scripts/mining_options.py fb15k237_standard --triples 300 --min-support 5

For each graph the rules are mined once, as many as the loosest row asks for, and validation triples
are ranked among all entities by the maximum and the noisy-or over those that a row keeps. A row
differs from the miner's defaults in what it says. Test triples are not looked at.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from dataclasses import replace

import numpy as np
from mined_rules import subset

import deepprooflog as dpl
from deepprooflog.kg.mining.found import CLOSED, FoundRule
from deepprooflog.kg.mining.options import MineOptions
from deepprooflog.kg.readings.backing import WeighedRules, backing_of
from deepprooflog.kg.readings.formulas import maximum, noisy_or
from deepprooflog.kg.readings.lists import backed_lists
from deepprooflog.kg.readings.scores import RuleReader
from deepprooflog.kg.walk.queries import some_rows

BASE = MineOptions()
LOOSEST = {"min_support": 2, "min_confidence": 0.001, "most": 10_000, "most_of_constant": 500}
CHANGES: tuple[dict[str, float], ...] = (
    {}, {"min_support": 2}, {"min_support": 3}, {"min_support": 10}, {"min_confidence": 0.001},
    {"min_confidence": 0.003}, {"min_confidence": 0.01}, {"min_confidence": 0.03}, {"most": 100},
    {"most": 500}, {"most": 2000}, {"most": 10_000}, {"most_of_constant": 10},
    {"most_of_constant": 30}, {"most_of_constant": 100}, {"most_of_constant": 500},
    {"most_with_constants": 500}, {"most_with_constants": 500, "most": 500},
)  # fmt: skip
KINDS = ("no constants", "no acyclic", "no closed with constants", "no length 3")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="+")
    parser.add_argument("--triples", type=int, default=500, help="of valid, drawn at random")
    for name, value in LOOSEST.items():
        option = "--" + name.replace("_", "-")
        parser.add_argument(option, type=type(value), default=value, help="the loosest")
    arguments = parser.parse_args()
    for name in arguments.data:
        table(name, arguments.triples, {key: getattr(arguments, key) for key in LOOSEST})


def table(name: str, size: int, loosest: dict[str, float]) -> None:
    """Print the table of one graph."""
    began = time.process_time()
    graph = dpl.kg.load(name)
    reader = RuleReader(graph, dpl.kg.mine(graph, seconds=None, **loosest).rules)
    asked = some_rows(graph.valid, size, 0)
    rows = [row for row in CHANGES if all(row.get(k, v) >= loosest[k] for k, v in least(loosest))]
    ranks: dict[str, list[np.ndarray]] = defaultdict(list)
    kept: dict[str, int] = defaultdict(int)
    unruled = 2 * sum(int(r) not in reader.by_relation for r in asked[:, 1])
    for relation, rules in reader.by_relation.items():
        own = asked[asked[:, 1] == relation]
        chosen = {shown(row): keeps(rules, replace(BASE, **row)) for row in rows}
        chosen |= {kind: keeps(rules, BASE) & of_kind(rules, kind) for kind in KINDS}
        for row, mask in chosen.items():
            kept[row] += int(mask.sum())
        if not len(own):
            continue
        backing = backing_of(reader.bodies, rules, own)
        lists = backed_lists(graph, backing, own)
        for row, mask in chosen.items():
            some = subset(backing, np.flatnonzero(mask))
            ranks[row + " max"].append(lists.ranks(maximum(some)))
            ranks[row + " noisy-or"].append(lists.ranks(noisy_or(some)))
    print(
        f"{name}: {2 * len(asked):,} lists", f"{'rules':>60} {'max':>8} {'noisy-or':>8}", sep="\n"
    )
    for row in kept:
        each = [np.concatenate(ranks[f"{row} {way}"]) for way in ("max", "noisy-or")]
        both = " ".join(f"{(1 / r).sum() / (len(r) + unruled):8.4f}" for r in each)
        print(f"{row:<50}{kept[row]:>10,} {both}")
    print(f"{time.process_time() - began:.0f} s of one core\n", flush=True)


def least(loosest: dict[str, float]) -> list[tuple[str, float]]:
    """The options below which nothing was mined, with their defaults."""
    return [(key, getattr(BASE, key)) for key in loosest if key.startswith("min_")]


def shown(row: dict[str, float]) -> str:
    """A row as it is printed."""
    return ", ".join(f"{key}={value:g}" for key, value in row.items()) or "defaults"


def keeps(rules: WeighedRules, options: MineOptions) -> np.ndarray:
    """Which of a relation's rules, the surest first, these options keep."""
    enough = rules.support >= options.min_support
    enough &= rules.support >= options.min_confidence * rules.predictions
    count: dict[tuple[int, int], int] = defaultdict(int)
    named = 0
    for number in np.flatnonzero(enough).tolist():
        body = rules.bodies[number]
        assert isinstance(body, FoundRule)
        most = options.most_of_constant if body.with_constants else options.most
        count[body.x, body.y] += 1
        enough[number] = most is None or count[body.x, body.y] <= most
        named += bool(enough[number]) and body.with_constants
        if body.with_constants and options.most_with_constants is not None:
            enough[number] &= named <= options.most_with_constants
    return np.asarray(enough)


def of_kind(rules: WeighedRules, kind: str) -> np.ndarray:
    """Which rules are left without those of a kind."""
    found = []
    for body in rules.bodies:
        assert isinstance(body, FoundRule)
        closed, named = body.end == CLOSED, body.with_constants
        gone = {
            "no constants": named, "no acyclic": not closed,
            "no closed with constants": closed and named, "no length 3": len(body.path) > 2,
        }  # fmt: skip
        found.append(not gone[kind])
    return np.array(found, bool)


if __name__ == "__main__":
    main()
