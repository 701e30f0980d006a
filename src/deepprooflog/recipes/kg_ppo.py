"""PPO as the learner of a knowledge-graph run."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int64

from deepprooflog.kg.exact_learner import Validate
from deepprooflog.kg.options import GraphOptions
from deepprooflog.kg.ppo_learner import train_ppo
from deepprooflog.kg.prover import Prover
from deepprooflog.learn.progress import Progress
from deepprooflog.learn.run.loop import Learned
from deepprooflog.recipes.folder import RunFolder
from deepprooflog.recipes.kg import Task


def learn(
    options: GraphOptions,
    task: Task,
    prover: Prover,
    positives: Int64[np.ndarray, "n 3"],
    validate: Validate,
    run: RunFolder,
    progress: bool,
) -> Learned:
    """Train the policy on rollouts, as the paper does."""
    asked = options.ppo
    bar = Progress(asked.iterations)
    bar.live = bar.live and progress
    return train_ppo(
        prover, task.graph, positives, asked, validate=validate, path=run.checkpoint, progress=bar,
        on_row=run.append, scalars=run.path / "tensorboard" if options.tensorboard else None,
        candidates=task.candidates,
    )  # fmt: skip
