"""How much mass a budget of goals leaves open, and how much of the graph it touches.

    python benchmarks/neighbourhood.py wn18rr_standard fb15k237_standard --svg curve.svg
    python benchmarks/neighbourhood.py wn18rr_standard --nesting 3 --train 600

Rules of at most two atoms are mined from the training triples and the most confident kept; nothing
is believed. The policy is untrained; with `--train STEPS` the same queries are asked once more
under one that the exact learner has trained for so many steps, each on 8 training triples of
relations that a rule concludes, with 4 negatives of each. Of the goals of such a batch the nearest
100,000 are explored and the rest left open: what is learned from is a lower bound. Test triples of
relations that a rule concludes are asked one by one, without the fact that they are, each within
growing budgets of goals. For each budget, the mean over the queries of

    found    the mass of the proofs met: a lower bound of p_success
    open     the mass of the goals left open: found + open is the upper bound
    touched  the share of the training triples that were met
    goals    how many goals were made

and how many queries were left with nothing open. CPU seconds are of one thread.
"""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch

import deepprooflog as dpl
from deepprooflog.kg.data.rules import Rules
from deepprooflog.kg.data.triples import Graph
from deepprooflog.kg.learn.exact_learner import train_exact
from deepprooflog.kg.learn.exact_options import ExactOptions
from deepprooflog.kg.prove.build import prover
from deepprooflog.kg.prove.prover import ExploreLimits, Prover
from deepprooflog.relational.sweep import masses

BUDGETS = (10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000)
BATCH, NEGATIVES, RATE, GOALS = 8, 4, 0.003, 100_000
UNTRAINED, TRAINED = "untrained", "trained"


@dataclass(frozen=True)
class Row:
    """The means of one budget."""

    budget: int
    found: float
    open: float
    touched: float
    goals: float
    whole: int


def measured(proves: Prover, triples: np.ndarray, budget: int) -> Row:
    """Each triple asked alone, without the fact that it is itself."""
    rows = []
    facts = len(proves.database.facts.predicate)
    for triple in torch.from_numpy(triples):
        goals = proves.goals(triple[None], leave_out=True)
        near = proves.neighbourhood(goals, budget)
        mass = masses(near.layers, near.log_weights, near.neural)
        clauses = [steps.clause for steps in near.layers.steps]
        used = torch.cat(clauses) if clauses else torch.zeros(0)
        touched = len(used[used >= len(proves.database.rules)].unique()) / facts
        open_ = float(mass.open)
        rows.append((float(mass.success), open_, touched, near.layers.size, not near.layers.cut))
    found, left, touched, size, whole = np.array(rows, dtype=float).T
    return Row(budget, found.mean(), left.mean(), touched.mean(), size.mean(), int(whole.sum()))


def train(proves: Prover, graph: Graph, heads: set[str], steps: int) -> None:
    """Train the policy on training triples of the relations that rules conclude, and say so."""
    concluded = np.isin(graph.train[:, 1], [graph.relation_ids[name] for name in heads])
    options = ExactOptions(
        steps=steps, batch=BATCH, negatives=NEGATIVES, lr=RATE, validate_every=max(1, steps // 8)
    )
    began, limits = time.process_time(), ExploreLimits(goals=GOALS)
    within = Prover(proves.database, proves.policy, limits=limits)
    learned = train_exact(within, graph, graph.train[concluded], options)
    losses = " ".join(f"{row['loss']:.3f}" for row in learned.history)
    print(f"trained {steps} steps, {BATCH} of {concluded.sum():,} triples with {NEGATIVES} "
          f"negatives each, {time.process_time() - began:.0f} CPU s; losses {losses}")  # fmt: skip


def curves_of(name: str, options: argparse.Namespace) -> dict[str, list[Row]]:
    """Print and return the rows of a data set, by policy."""
    graph = dpl.kg.load(name)
    began = time.process_time()
    mined = dpl.kg.mine(graph, seconds=None, max_length=2, constants=False, identity=False)
    rules = Rules(mined.rules[: options.rules])
    mining = time.process_time() - began
    proves = prover(graph, rules, nesting=options.nesting, seed=0)
    heads = {rule.clause.functor.name for rule in rules}
    asked = np.array([graph.relations[r] in heads for r in graph.test[:, 1]])
    chosen = np.random.default_rng(0).permutation(np.flatnonzero(asked))[: options.queries]
    print(
        f"{Path(name).name}: {len(graph.train):,} facts, {len(rules):,} mined rules "
        f"({mining:.1f} CPU s), nesting {options.nesting}, {len(chosen)} test triples"
    )
    found = {UNTRAINED: curve(proves.eval(), graph.test[chosen], options)}
    if options.train:
        train(proves, graph, heads, options.train)
        found[TRAINED] = curve(proves.eval(), graph.test[chosen], options)
    return found


def curve(proves: Prover, triples: np.ndarray, options: argparse.Namespace) -> list[Row]:
    """Print and return the rows of a policy."""
    print(f"{'budget':>8} {'found':>8} {'open':>8} {'touched':>9} {'goals':>10} {'whole':>6} CPU s")
    rows = []
    for budget in options.budgets:
        began = time.process_time()
        row = measured(proves, triples, budget)
        spent = time.process_time() - began
        print(f"{budget:>8,} {row.found:8.4f} {row.open:8.4f} {row.touched:9.5%} "
              f"{row.goals:10,.0f} {row.whole:6} {spent:.1f}", flush=True)  # fmt: skip
        rows.append(row)
    return rows


def draw(curves: dict[str, dict[str, list[Row]]], path: Path) -> None:
    """The share of mass left open against the share of facts touched; trained ones are full."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "neighbourhood"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 4))
    for number, (name, policies) in enumerate(curves.items()):
        for policy, rows in policies.items():
            x, y = [100 * row.touched for row in rows], [row.open for row in rows]
            axes.plot(
                x, y, marker="o", markersize=4, color=f"C{number}", label=f"{name}, {policy}",
                linestyle="-" if policy == TRAINED else "--",
            )  # fmt: skip
    axes.set_xscale("log")
    axes.set(xlabel="training triples touched (%)", ylabel="mass left open", ylim=(0, 1))
    axes.legend(frameon=False, ncol=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("data", nargs="+", help="graphs as dpl.kg.load takes them")
    parser.add_argument("--queries", type=int, default=20)
    parser.add_argument("--rules", type=int, default=200, help="of the mined rules the first")
    parser.add_argument("--nesting", type=int, default=2)
    parser.add_argument("--train", type=int, default=0, help="steps of the exact learner; 0: none")
    parser.add_argument("--budgets", type=int, nargs="+", default=BUDGETS)
    parser.add_argument("--svg", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    curves = {Path(name).name: curves_of(name, options) for name in options.data}
    if options.svg is not None:
        draw(curves, options.svg)


if __name__ == "__main__":
    main()
