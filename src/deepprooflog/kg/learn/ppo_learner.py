"""Learning a policy by PPO on rollouts in the proof environment of a graph.

    reward 2y − 1 at True:     J(π) = E over queries (q, y) of (2y − 1) · p_success(q)

Positives are triples that may not use themselves as facts, negatives corruptions drawn anew in each
iteration; a believed triple succeeds as often as the prior says. The policy is the one a `Prover`
holds, so that after learning, as while validating, p_success is exact and no rollout.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int, Int64
from torch import Tensor

from deepprooflog.device import seeded
from deepprooflog.errors import DataError
from deepprooflog.kg.data.domains import ANYONE, Candidates
from deepprooflog.kg.data.triples import Graph
from deepprooflog.kg.kge.negatives import training_negatives
from deepprooflog.kg.learn.exact_learner import ValidateProver
from deepprooflog.kg.learn.ppo_options import PpoOptions
from deepprooflog.kg.prove.proofs import program_with_facts
from deepprooflog.kg.prove.prover import Prover
from deepprooflog.learn.on_policy import IterationReport, Losses
from deepprooflog.learn.ppo import ppo_learner
from deepprooflog.learn.rollout import Tally
from deepprooflog.learn.run import checkpoint
from deepprooflog.learn.run.curves import Scalars
from deepprooflog.learn.run.loop import Learned, Loop, Row, Trainer
from deepprooflog.learn.run.processes import processes
from deepprooflog.learn.run.progress import Progress
from deepprooflog.mdp.environment import Environment, Queries
from deepprooflog.mdp.policy import Policy, process_of
from deepprooflog.relational.goals import Goals
from deepprooflog.score.embedding.embedding import Embedding


def train_ppo(
    prover: Prover,
    graph: Graph,
    positives: Int64[np.ndarray, "n 3"],
    options: PpoOptions,
    *,
    validate: ValidateProver | None = None,
    path: Path | None = None,
    progress: Progress | None = None,
    on_row: Callable[[Row], object] | None = None,
    scalars: Path | None = None,
    candidates: Candidates = ANYONE,
) -> Learned:
    """Train the prover's policy on positives and sampled negatives; the prior stays as it is.

    `path` is the checkpoint, gone on from where there is one; `on_row` gets each row of history,
    and the folder `scalars` the curves of every iteration, for TensorBoard. Steps are iterations;
    `candidates` are what negatives are made of.
    """
    if not len(positives):
        raise DataError("there are no triples to learn from")
    with seeded(options.seed, prover.device), ExitStack() as stack:
        trainer = PpoTrainer(prover, graph, positives, options, candidates)
        processes().align(trainer.learner.policy)
        loop = ppo_loop(trainer, validate, path)
        loop.resume()
        if scalars is not None:
            trainer.scalars = stack.enter_context(closing(Scalars(scalars, loop.step)))
        told_row = partial(_tell_row, trainer.scalars, on_row)
        return loop.run(progress or Progress(options.iterations), told_row)


def _tell_row(scalars: Scalars | None, on_row: Callable[[Row], object] | None, row: Row) -> None:
    if scalars is not None and "validation" in row:
        scalars.write(int(row["step"]), {"validation": row["validation"]})
    if on_row is not None:
        on_row(row)


def ppo_loop(
    trainer: PpoTrainer, validate: ValidateProver | None = None, path: Path | None = None
) -> Loop:
    """The training of a prover's policy, before its first iteration."""
    prover, options = trainer.prover, trainer.options
    return Loop(
        trainer, steps=options.iterations, row_every=options.validate_every,
        patience=options.patience,
        validate=None if validate is None else lambda: float(validate(prover)),
        path=path, options=asdict(options), unit="iteration", fits="graph",
    )  # fmt: skip


# -- the process -----------------------------------------------------------------------------------


def environment_of(prover: Prover, *, memory: bool = True) -> Environment:
    """The process whose success a prover computes: its depth, its False action, its prior.

    With `memory` no goal is visited twice, which rollouts may do and p_success does not.
    """
    process = process_of(prover.policy, prover.limits.depth, memory=memory)
    belief = None if prover.belief is None else believed(prover)
    return Environment(prover.database, process, belief)


def believed(prover: Prover) -> Callable[[Tensor], Tensor]:
    """log p of atoms believe(r, a, b), by the numbers of their constants."""
    relation_of = prover.get_buffer("relation_of")

    def log_p(atoms: Int[Tensor, "atoms width"]) -> Float[Tensor, " atoms"]:
        assert prover.belief is not None
        _, named, head, tail = atoms[:, :4].long().unbind(1)
        return prover.belief.log_probability(relation_of[named], head, tail)

    return log_p


def policy_of(prover: Prover) -> Policy:
    """The prover's own policy as the actor; V begins with the same vectors, and at 0 everywhere.

    A policy without vectors of goals has a critic that begins with vectors of its own.
    """
    actor, database = prover.policy, prover.database
    # What the head is initialised with is not used: the global generator is left as it is.
    with torch.random.fork_rng(devices=[]):
        if isinstance(actor, Embedding):
            critic = copy.deepcopy(actor)
        else:
            program = prover.program or program_with_facts(database)
            critic = Embedding(program, constants="shared", numbers="symbols", seed=0)
        return Policy(actor, database, critic).to(prover.device)


# -- a run -----------------------------------------------------------------------------------------


class PpoTrainer(Trainer):
    """Iterations of PPO on the labelled queries of a graph."""

    gathers = True

    def __init__(
        self,
        prover: Prover,
        graph: Graph,
        positives: Int64[np.ndarray, "n 3"],
        options: PpoOptions,
        candidates: Candidates = ANYONE,
    ) -> None:
        self.prover, self.graph, self.positives = prover, graph, positives
        self.options, self.candidates = options, candidates
        self.module = prover.policy
        environment = environment_of(prover, memory=options.memory)
        self.learner = ppo_learner(environment, policy_of(prover), options)
        self.reports: list[IterationReport] = []  # the iterations since the last row
        self.missing = 0  # negatives that were asked for and do not exist, in these
        self.scalars: Scalars | None = None

    def queries(self, iteration: int) -> Queries:
        """The labelled queries of an iteration, decided by the seed and its number alone."""
        options = self.options
        count = min(options.positives or len(self.positives), len(self.positives))
        order = np.random.default_rng((options.seed, iteration)).permutation(len(self.positives))
        rows = self.positives[order[:count]]
        drawn = training_negatives(
            self.graph, rows, options.negatives, options.seed, iteration, self.candidates
        )
        self.missing += drawn.missing
        device = self.prover.device
        triples = torch.from_numpy(np.concatenate([rows, drawn.triples])).to(device)
        goals: Goals = self.prover.goals(triples, leave_out=True)
        label = torch.zeros(len(triples), dtype=torch.int64, device=device)
        label[: len(rows)] = 1
        return Queries(goals, label)

    def step(self, done: int) -> str:
        """One iteration: a rollout and an update."""
        self.learner.iteration = done
        self.reports.append(self.learner.learn(self.queries(done)))
        latest = told(self.reports[-1:])
        if self.scalars is not None:
            self.scalars.write(done + 1, latest)
        return (
            f"{latest['steps_per_second']:,.0f} steps/s  proved {latest['proved_positives']:.1%} "
            f"of positives, {latest['proved_negatives']:.1%} of negatives"
        )

    def row(self) -> Row:
        """What the iterations since the last row did."""
        row = {**told(self.reports), "missing_negatives": float(self.missing)}
        self.reports, self.missing = [], 0
        return row

    def state(self) -> dict[str, Any]:
        """The learner, and what the next row is made of."""
        return {
            "learner": self.learner.state_dict(),
            "reports": [asdict(report) for report in self.reports],
            "missing": self.missing,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a checkpoint's state."""
        checkpoint.check(state, {"learner": dict, "reports": list, "missing": int})
        self.learner.load_state_dict(state["learner"])
        self.reports = [_report(**row) for row in state["reports"]]
        self.missing = state["missing"]


def _report(tally: dict[str, Any], losses: dict[str, Any], **rest: Any) -> IterationReport:
    """A report as a checkpoint keeps it."""
    if not all(isinstance(v, int | float) for part in (tally, losses, rest) for v in part.values()):
        raise TypeError("a report is of numbers")
    return IterationReport(tally=Tally(**tally), losses=Losses(**losses), **rest)


def told(reports: list[IterationReport]) -> dict[str, float]:
    """What some iterations did, as numbers for a table and for curves."""
    tallies = [report.tally for report in reports]
    losses = [report.losses for report in reports]
    count = max(len(losses), 1)
    steps = sum(tally.steps for tally in tallies)
    ended = sum(tally.episodes for tally in tallies)
    positives = sum(tally.positives for tally in tallies)
    negatives = sum(tally.negatives for tally in tallies)
    seconds = sum(report.rollout_seconds + report.update_seconds for report in reports)
    rollout = sum(report.rollout_seconds for report in reports)
    return {
        "reward": sum(tally.reward * tally.episodes for tally in tallies) / max(ended, 1),
        "proved_positives": sum(t.proved_positives for t in tallies) / max(positives, 1),
        "proved_negatives": sum(t.proved_negatives for t in tallies) / max(negatives, 1),
        "episodes": float(ended),
        "cut": float(sum(tally.cut for tally in tallies)),
        "policy_loss": sum(loss.policy for loss in losses) / count,
        "value_loss": sum(loss.value for loss in losses) / count,
        "entropy": sum(loss.entropy for loss in losses) / count,
        "kl": max((loss.kl for loss in losses), default=0.0),
        "clipped": sum(loss.clipped for loss in losses) / count,
        "steps_per_second": steps / max(seconds, 1e-9),
        "rollout_steps_per_second": steps / max(rollout, 1e-9),
    }
