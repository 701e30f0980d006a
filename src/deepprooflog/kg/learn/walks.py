"""Walks for a run, trained or another run's; then the weights of lists, kept in its folder."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import torch

from deepprooflog.device import find_device
from deepprooflog.errors import DataError, Notice
from deepprooflog.kg.belief.believe import Belief
from deepprooflog.kg.data.rules import Rules
from deepprooflog.kg.data.snapshot import read_snapshot, snapshot_path
from deepprooflog.kg.data.triples import Graph
from deepprooflog.kg.learn.options import GraphOptions
from deepprooflog.kg.readings.rule_lists import RuleLists
from deepprooflog.kg.readings.scores import RuleReader
from deepprooflog.kg.walk.model import WalkModel
from deepprooflog.kg.walk.options import SHAPE, WALKS
from deepprooflog.kg.walk.prover import WalkProver
from deepprooflog.kg.walk.saved import load_walks, save_walks, walks_path
from deepprooflog.kg.walk.training import train_walks
from deepprooflog.learn.run.folder import RunFolder, open_run
from deepprooflog.learn.run.loop import Learned, Row
from deepprooflog.learn.run.settings import build, settings


def learn_walks(
    options: GraphOptions, graph: Graph, rules: Rules, belief: Belief | None,
    run: RunFolder | None, progress: bool, on_row: Callable[[Row], object] | None = None,
) -> tuple[WalkProver, Learned | None]:  # fmt: skip
    """Train walks, and weigh them with rules, the prior and facts as validation lists rank best.

    Where `walk.from_run` names another run, its walks are taken as they are. A run that is gone on
    with is not weighed again where its folder has these walks weighed.
    """
    if not len(graph.valid):
        raise DataError("there are no validation triples to fit on", hint="a graph with valid")
    walks = None if run is None else kept_walks(options, graph, rules, belief, run)
    model: WalkModel
    learned: Learned | None
    if options.walk.from_run:
        model, learned = other_walks(options, graph) if walks is None else walks.model, None
        told = f"those of {options.walk.from_run}"
    else:
        trained = train_walks(
            graph, options.walk, device=find_device(options.device), progress=progress,
            validation_size=options.evaluation.validation_size,
            path=None if run is None else run.checkpoint, on_row=on_row,
        )  # fmt: skip
        model, learned = trained.model, trained.learned
        passes = learned.steps / -(-2 * len(graph.train) // options.walk.batch)
        told = f"{learned.steps:,} steps, {passes:.1f} of {options.walk.epochs:g} epochs"
    before = walks is not None and _same(walks.model, model)
    if progress:
        what = "scores were weighed before" if before else "weighing scores on validation lists"
        print(f"walks: {told}; {what}", file=sys.stderr)
    if walks is None or not before:
        read = None if not len(rules) else rule_lists(graph, rules)
        walks = WalkProver(model.eval(), graph, belief, rules=read).weigh(
            base_rate=options.belief.base_rate, seed=options.seed
        )
    if progress and walks.weighed is not None:
        chosen = walks.weighed.chosen
        tried = ", ".join(f"{name} {value:.4f}" for name, value in chosen.tried.items())
        print(f"score: {chosen.weights.text} (validation MRR: {tried})", file=sys.stderr)
    if run is not None and not before:
        save_walks(walks_path(run.path), walks)
    return walks, learned


def kept_walks(
    options: GraphOptions, graph: Graph, rules: Rules, belief: Belief | None, run: RunFolder
) -> WalkProver | None:
    """The walks that a run's folder has, weighed; None where it has none yet."""
    path = walks_path(run.path)
    if not path.exists():
        return None
    try:
        return load_walks(
            path, graph, options.walk, belief, find_device(options.device), rules.rules
        )
    except DataError as error:
        error.hint = "delete it and --resume: scores are weighed again"
        raise


def _same(model: WalkModel, other: WalkModel) -> bool:
    """Whether two models have the same weights."""
    theirs = other.state_dict()
    return all(torch.equal(value, theirs[name]) for name, value in model.state_dict().items())


def rule_lists(graph: Graph, rules: Rules) -> RuleLists | None:
    """Rules as scores of lists, with word of those that are left out; None where none is read."""
    reader = RuleReader(graph, rules.rules)
    for notice in reader.notices:
        warnings.warn(notice.message, Notice, stacklevel=3)
    return RuleLists.of(reader) if reader.by_relation else None


def other_walks(options: GraphOptions, graph: Graph) -> WalkModel:
    """The walks of the run that `walk.from_run` names, where they have the shape asked for."""
    run = open_run(Path(options.walk.from_run))
    file = str(run.path / "config.json")
    theirs = build(
        GraphOptions, settings(GraphOptions, run.config()["options"], file, notice=False)
    )
    if theirs.learner != WALKS:
        raise DataError(
            f"a run of learner={theirs.learner} has no walks", file=str(run.path),
            hint="a run of learner=walks, or no walk.from_run",
        )  # fmt: skip
    other = [
        f"walk.{name}={getattr(theirs.walk, name)}"
        for name in SHAPE
        if getattr(theirs.walk, name) != getattr(options.walk, name)
    ]
    if other:
        raise DataError(
            "its walks have another shape",
            file=str(run.path),
            hint=f"--set {' --set '.join(other)}",
        )
    kept = read_snapshot(snapshot_path(run.path))
    like = kept.graph
    if like.relations != graph.relations:
        raise DataError(
            f"trained on other relations than {graph.name} has, or in another order",
            file=str(run.path), hint="train walks on this graph",
        )  # fmt: skip
    device: torch.device = find_device(options.device)
    path, rules = walks_path(run.path), kept.rules.rules
    return load_walks(path, like, theirs.walk, None, device, rules).model
