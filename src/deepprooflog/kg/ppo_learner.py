"""Learning a policy by PPO on rollouts in the proof environment of a graph.

    reward 2y − 1 at True:     J(π) = E over queries (q, y) of (2y − 1) · p_success(q)

Positives are triples that may not use themselves as facts, negatives corruptions drawn anew in each
iteration; a believed triple succeeds as often as the prior says. The policy is the one a `Prover`
holds, so that after learning, as while validating, p_success is exact and no rollout.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int, Int64
from torch import Tensor

from deepprooflog.errors import DataError
from deepprooflog.kg.domains import ANYONE, Candidates
from deepprooflog.kg.exact_learner import Learned, Validate
from deepprooflog.kg.negatives import training_negatives
from deepprooflog.kg.ppo_options import PpoOptions
from deepprooflog.kg.proofs import program_with_facts
from deepprooflog.kg.prover import Prover
from deepprooflog.kg.triples import Graph
from deepprooflog.learn import checkpoint
from deepprooflog.learn.interrupt import Stop, stopping
from deepprooflog.learn.on_policy import Losses, Report
from deepprooflog.learn.ppo import ppo_learner
from deepprooflog.learn.progress import Progress
from deepprooflog.learn.rollout import Tally
from deepprooflog.learn.scalars import Scalars
from deepprooflog.mdp.environment import Environment, Queries
from deepprooflog.mdp.policy import Policy, process_of
from deepprooflog.relational.goals import Goals
from deepprooflog.score.embedding import Embedding

SECONDS_BETWEEN_CHECKPOINTS = 30.0
SHAPE: checkpoint.Shape = {
    "learner": dict, "best": dict, "history": list, "seconds": float, "reports": list,
    "missing": int,
}  # fmt: skip


def train_ppo(
    prover: Prover,
    graph: Graph,
    positives: Int64[np.ndarray, "n 3"],
    options: PpoOptions,
    *,
    validate: Validate | None = None,
    path: Path | None = None,
    progress: Progress | None = None,
    seen: Callable[[dict[str, float]], object] | None = None,
    scalars: Path | None = None,
    candidates: Candidates = ANYONE,
) -> Learned:
    """Train the prover's policy on positives and sampled negatives; the prior stays as it is.

    `path` is the checkpoint, gone on from where there is one; `seen` gets each line of history, and
    the folder `scalars` the curves of every iteration, for TensorBoard. Steps are iterations;
    `candidates` are what negatives are made of.
    """
    if not len(positives):
        raise DataError("there are no triples to learn from")
    learning = PpoLearning(prover, graph, positives, options, validate, path, candidates)
    learning.resume()
    done = learning.learner.iteration
    curves = None if scalars is None else Scalars(scalars, done)
    try:
        return learning.train(progress or Progress(options.iterations, done=done), seen, curves)
    finally:
        if curves is not None:
            curves.close()


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


class PpoLearning:
    """The state of a run, from its first iteration or from a checkpoint."""

    def __init__(
        self,
        prover: Prover,
        graph: Graph,
        positives: Int64[np.ndarray, "n 3"],
        options: PpoOptions,
        validate: Validate | None = None,
        path: Path | None = None,
        candidates: Candidates = ANYONE,
    ) -> None:
        self.prover, self.graph, self.positives = prover, graph, positives
        self.options, self.validate, self.path = options, validate, path
        self.candidates = candidates
        self.device = prover.device
        environment = environment_of(prover, memory=options.memory)
        self.learner = ppo_learner(environment, policy_of(prover), options)
        self.best: dict[str, Any] = {
            "value": float("nan"), "step": 0, "improved": 0, "weights": {},
        }  # fmt: skip
        self.history: list[dict[str, float]] = []
        self.seconds = 0.0
        self.reports: list[Report] = []  # the iterations since the last look
        self.missing = 0  # negatives that were asked for and do not exist, in these

    @property
    def since(self) -> int:
        """The iteration of the last look."""
        return self.learner.iteration - len(self.reports)

    @property
    def stopped(self) -> bool:
        """True when all iterations are done, or when patience has run out."""
        done = self.since
        waited = (done - self.best["improved"]) // self.options.validate_every
        patience = self.options.patience if self.validate is not None else 0
        return done >= self.options.iterations or 0 < patience <= waited

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
        triples = torch.from_numpy(np.concatenate([rows, drawn.triples])).to(self.device)
        goals: Goals = self.prover.goals(triples, leave_out=True)
        label = torch.zeros(len(triples), dtype=torch.int64, device=self.device)
        label[: len(rows)] = 1
        return Queries(goals, label)

    def train(
        self,
        progress: Progress,
        seen: Callable[[dict[str, float]], object] | None = None,
        scalars: Scalars | None = None,
    ) -> Learned:
        """Run the iterations that are left."""
        saved = time.perf_counter()
        progress.begin(self.learner.iteration)
        path = self.path
        save = None if path is None else lambda: self.save(path)
        with stopping(save, progress.close) as stop:
            if not self.best["weights"] and self.validate is not None:
                # The untrained policy is a candidate too.
                with stop.looking():
                    self._look(self.validate)
            while not self.stopped:
                began = time.perf_counter()
                row = self._until_next_look(progress, scalars, stop)
                self.seconds += time.perf_counter() - began
                self.history.append({**row, "seconds": round(self.seconds, 3)})
                if seen is not None:
                    seen(self.history[-1])
                late = time.perf_counter() - saved >= SECONDS_BETWEEN_CHECKPOINTS
                if path is not None and (late or self.stopped):
                    self.save(path)
                    saved = time.perf_counter()
                stop()
        self.prover.policy.load_state_dict(self.best["weights"])
        at, value = self.best["step"], self.best["value"]
        return Learned(self.learner.iteration, at, value, self.seconds, self.history)

    def _until_next_look(
        self, progress: Progress, scalars: Scalars | None, stop: Stop
    ) -> dict[str, float]:
        options, learner = self.options, self.learner
        every = options.validate_every
        last = min(options.iterations, (self.since // every + 1) * every)
        self.prover.train()
        while learner.iteration < last:
            self.reports.append(learner.learn(self.queries(learner.iteration)))
            latest = told(self.reports[-1:])
            if scalars is not None:
                scalars.write(learner.iteration, latest)
            progress.update(learner.iteration, self._line(latest))
            stop()
        missing = float(self.missing)
        row = {"step": float(last), **told(self.reports), "missing_negatives": missing}
        if self.validate is not None:
            with stop.looking():
                row["validation"] = self._look(self.validate)
            if scalars is not None:
                scalars.write(last, {"validation": row["validation"]})
        elif last == options.iterations:
            self.best |= {"step": last, "weights": self._weights()}
        self.reports, self.missing = [], 0
        return row

    def _line(self, latest: dict[str, float]) -> str:
        looked = f"  validation {self.best['value']:.4f}" if self.best["weights"] else ""
        return (
            f"iteration {self.learner.iteration}/{self.options.iterations}  "
            f"{latest['steps_per_second']:,.0f} steps/s  proved {latest['proved_positives']:.1%} "
            f"of positives, {latest['proved_negatives']:.1%} of negatives{looked}"
        )

    def _look(self, validate: Validate) -> float:
        self.prover.eval()
        with torch.no_grad():
            value = float(validate(self.prover))
        step = self.learner.iteration
        if value > self.best["value"] or not self.best["weights"]:
            self.best |= {"value": value, "improved": step}
        if value == self.best["value"]:
            # Of equals the later is kept: a ranking may not tell them apart, p_success does.
            self.best |= {"step": step, "weights": self._weights()}
        return value

    def _weights(self) -> dict[str, Tensor]:
        return {k: v.detach().clone() for k, v in self.prover.policy.state_dict().items()}

    def save(self, path: Path) -> None:
        """Write a checkpoint."""
        checkpoint.save(
            path,
            {
                "learner": self.learner.state_dict(),
                "best": self.best,
                "history": self.history,
                "options": asdict(self.options),
                "seconds": self.seconds,
                "reports": [asdict(report) for report in self.reports],
                "missing": self.missing,
            },
        )

    def resume(self) -> None:
        """Go on from the checkpoint; from the beginning where there is none."""
        state = checkpoint.resumed(self.path, SHAPE, asdict(self.options), self.device)
        if state is None:
            return
        with checkpoint.fitting(self.path):
            self.learner.load_state_dict(state["learner"])
            self.best = checkpoint.restore_best(state["best"], self.best, self.prover.policy)
            self.history = state["history"]
            self.seconds, self.missing = state["seconds"], state["missing"]
            self.reports = [_report(**row) for row in state["reports"]]
            done, steps = self.learner.iteration, self.options.iterations
            checkpoint.check_steps(self.best["step"], self.since, done, steps)


def _report(tally: dict[str, Any], losses: dict[str, Any], **rest: Any) -> Report:
    """A report as a checkpoint keeps it."""
    if not all(isinstance(v, int | float) for part in (tally, losses, rest) for v in part.values()):
        raise TypeError("a report is of numbers")
    return Report(tally=Tally(**tally), losses=Losses(**losses), **rest)


def told(reports: list[Report]) -> dict[str, float]:
    """What some iterations did, as numbers for a table and for curves."""
    tallies = [report.tally for report in reports]
    losses = [report.losses for report in reports]
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
        "policy_loss": sum(loss.policy for loss in losses) / len(losses),
        "value_loss": sum(loss.value for loss in losses) / len(losses),
        "entropy": sum(loss.entropy for loss in losses) / len(losses),
        "kl": max(loss.kl for loss in losses),
        "clipped": sum(loss.clipped for loss in losses) / len(losses),
        "steps_per_second": steps / max(seconds, 1e-9),
        "rollout_steps_per_second": steps / max(rollout, 1e-9),
    }
