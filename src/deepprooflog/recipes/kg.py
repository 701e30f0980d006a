"""Knowledge-graph completion: graph, rules, prior and policy put together from a run's options."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
import torch
from jaxtyping import Int, Int64
from torch import Tensor

from deepprooflog.data.places import is_file
from deepprooflog.device import find_device
from deepprooflog.errors import DataError
from deepprooflog.kg.believe import Belief
from deepprooflog.kg.domains import ANYONE, FILE, Candidates, domain_of, read_domains
from deepprooflog.kg.folder import find_graph, read_graph
from deepprooflog.kg.hiding import Hiding, hiding_of
from deepprooflog.kg.notice import Notice
from deepprooflog.kg.options import NO_PRIOR, GraphOptions
from deepprooflog.kg.program import database_of, program_of
from deepprooflog.kg.prover import Limits, Prover
from deepprooflog.kg.rules import Rules, read_rules, unknown_relations
from deepprooflog.kg.triples import SIDES, Graph, Side
from deepprooflog.logic.program import Program
from deepprooflog.relational.database import Believe
from deepprooflog.score.embedding import Embedding
from deepprooflog.score.vocabulary import ConstantRows

TASK = "kg"
NO_RULES = "none"
OWN_RULES = ("countries",)  # what ships with the package, in programs/
SHIPPED_RULES = Path(__file__).parent / "programs"

Score = Callable[[Int[Tensor, "triples 3"]], Tensor]


@dataclass(frozen=True)
class Task:
    """A graph with its rules, as a program."""

    graph: Graph
    rules: Rules
    program: Program
    notices: tuple[Notice, ...]
    candidates: Candidates = ANYONE
    hiding: Hiding | None = None


def device_of(options: GraphOptions) -> torch.device:
    """The device asked for."""
    return find_device(options.device)


def read_task(options: GraphOptions) -> Task:
    """Read the graph and the rules; what is odd about them is kept as notices."""
    graph = read_graph(options.data)
    path = graph.rules if not options.rules else _rules_path(options.rules)
    if options.rules == NO_RULES:
        rules = Rules(())
    elif path is None:
        raise DataError(
            f"the folder of {graph.name} has no rules",
            hint="--set rules=FILE, or rules=none to do without",
        )
    else:
        rules = read_rules(path)
    notices = (*graph.notices, *rules.notices, *unknown_relations(rules, graph))
    program = program_of(graph, rules, believe=options.prior.kind != NO_PRIOR)
    hidden = options.hide.replace(",", " ").split()
    hiding = hiding_of(graph, rules, hidden) if hidden else None
    return Task(graph, rules, program, notices, read_candidates(options, graph), hiding)


def _rules_path(name: str) -> Path:
    """A file of rules, or one that ships with the package."""
    if name in OWN_RULES and not is_file(Path(name)):
        return SHIPPED_RULES / f"{name}.pl"
    return Path(name)


def read_candidates(options: GraphOptions, graph: Graph) -> Candidates:
    """Where the run looks for answers; every triple it is to rank must have its answer there."""
    sides: tuple[Side, ...] = SIDES if options.sides == "both" else (cast("Side", options.sides),)
    if not options.candidates:
        return Candidates(sides)
    path = Path(options.domains) if options.domains else find_graph(options.data) / FILE
    if not options.domains and not is_file(path):
        raise DataError(
            f"candidates={options.candidates}: the folder of {graph.name} has no {FILE}",
            hint="--set domains=FILE",
        )
    domain = domain_of(read_domains(graph, path), options.candidates, str(path))
    found = Candidates(sides, domain)
    for split in (graph.valid, graph.test):
        outside = np.flatnonzero(~found.hold(split))
        if len(outside):
            raise DataError(
                f"the answer of {graph.text(split[outside[0]])} is not one of "
                f"{options.candidates} ({len(outside)} of {len(split)} triples)",
                file=str(path), hint="another domain, or sides=head or sides=tail",
            )  # fmt: skip
    return found


def make_prover(
    options: GraphOptions, task: Task, belief: Belief | None, device: torch.device
) -> Prover:
    """A prover with an untrained policy."""
    database = database_of(
        task.graph, task.rules,
        believe=False if belief is None else cast("Believe", options.search.believe),
        nesting=options.search.nesting, device=device,
    )  # fmt: skip
    policy = options.policy
    scorer = Embedding(
        task.program, policy.dimension, policy.f_atom, policy.f_agg, seed=options.seed,
        constants=cast("ConstantRows", policy.constants), numbers="symbols",
        false_action=policy.false_action,
    )  # fmt: skip
    limits = Limits(depth=options.search.depth, goals=options.search.goals or None)
    return Prover(database, scorer.to(device), belief, limits, program=task.program).to(device)


def splits(
    options: GraphOptions, graph: Graph, candidates: Candidates = ANYONE
) -> tuple[Int64[np.ndarray, "learn 3"], Int64[np.ndarray, "look 3"]]:
    """The triples to learn the policy from, and those to look at.

    A prior is too sure of what it was trained on: beside one, the policy learns from validation
    triples, and the `validation_share` of these only validates. Only triples whose answers are
    candidates are learned from.
    """
    order = np.random.default_rng(options.seed).permutation(len(graph.valid))
    cut = max(1, round(options.evaluation.validation_share * len(order)))
    look = graph.valid[order[:cut]]
    from_valid = options.learn_from == "valid" or (
        options.learn_from == "auto" and options.prior.kind != NO_PRIOR
    )
    learn = graph.valid[order[cut:]] if from_valid else graph.train
    return learn[candidates.hold(learn)], look[: options.evaluation.validation_size]


def success_score(prover: Prover) -> Score:
    """p_success as a ranking score."""

    def score(triples: Int[Tensor, "triples 3"]) -> Tensor:
        with torch.no_grad():
            found: Tensor = prover(triples.to(prover.device)).success
            return found

    return score


def belief_score(belief: Belief) -> Score:
    """The prior alone as a ranking score."""

    def score(triples: Int[Tensor, "triples 3"]) -> Tensor:
        head, relation, tail = triples.to(belief.kge.entity.device).unbind(1)
        with torch.no_grad():
            found: Tensor = belief(relation, head, tail)
            return found

    return score
