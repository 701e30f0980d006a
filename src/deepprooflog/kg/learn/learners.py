"""The learners of graph runs by name: how a policy is trained.

    exact     by gradients of exact success probabilities
    ppo       on rollouts in the proof environment

A new one is a file and a line in `LEARNERS`; its options are a section of `GraphOptions`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Int64

from deepprooflog.kg.learn.exact_learner import train_exact
from deepprooflog.kg.prove.prover import Prover
from deepprooflog.kg.prove.theory import Theory
from deepprooflog.learn.run.folder import RunFolder
from deepprooflog.learn.run.loop import Learned, Row
from deepprooflog.learn.run.progress import Progress

if TYPE_CHECKING:
    from deepprooflog.kg.learn.options import GraphOptions


@dataclass(frozen=True)
class PolicyLesson:
    """What a learner is given: the prover whose policy it trains, and triples that are true."""

    options: GraphOptions
    theory: Theory
    prover: Prover
    positives: Int64[np.ndarray, "positives 3"]
    validate: Callable[[Prover], float]
    run: RunFolder | None = None
    progress: bool = False
    on_row: Callable[[Row], object] | None = None

    def shared(self, steps: int) -> dict[str, Any]:
        """The arguments that all learners take."""
        bar = Progress(steps)
        bar.live = bar.live and self.progress
        return {
            "validate": self.validate, "candidates": self.theory.candidates, "progress": bar,
            "path": None if self.run is None else self.run.checkpoint,
            "on_row": self.on_row,
        }  # fmt: skip


def _exact(lesson: PolicyLesson) -> Learned:
    own, theory = lesson.options.exact, lesson.theory
    return train_exact(
        lesson.prover, theory.graph, lesson.positives, own,
        prover_for=None if theory.hiding is None else theory.hiding.prover,
        **lesson.shared(own.steps),
    )  # fmt: skip


def _ppo(lesson: PolicyLesson) -> Learned:
    from deepprooflog.kg.learn.ppo_learner import train_ppo

    own, run = lesson.options.ppo, lesson.run
    scalars = run.path / "tensorboard" if run is not None and lesson.options.tensorboard else None
    return train_ppo(
        lesson.prover, lesson.theory.graph, lesson.positives, own, scalars=scalars,
        **lesson.shared(own.iterations),
    )  # fmt: skip


LEARNERS: dict[str, Callable[[PolicyLesson], Learned]] = {"exact": _exact, "ppo": _ppo}
