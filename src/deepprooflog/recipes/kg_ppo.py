"""PPO as the learner of a knowledge-graph run."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int64

from deepprooflog.kg.exact_learner import Learned, Validate
from deepprooflog.kg.ppo_learner import train_ppo
from deepprooflog.kg.ppo_options import PpoOptions
from deepprooflog.kg.prover import Prover
from deepprooflog.learn.progress import Progress
from deepprooflog.recipes.folder import RunFolder
from deepprooflog.recipes.kg import Task
from deepprooflog.recipes.kg_options import GraphOptions


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
    asked = PpoOptions(
        iterations=options.ppo_iterations, episodes=options.ppo_episodes, lr=options.ppo_lr,
        entropy=options.ppo_entropy, entropy_end=options.ppo_entropy_end, look=options.look,
        memory=options.ppo_memory, patience=options.patience, seed=options.seed,
    )  # fmt: skip
    bar = Progress(asked.iterations)
    bar.live = bar.live and progress
    return train_ppo(
        prover, task.graph, positives, asked, validate=validate, path=run.checkpoint, progress=bar,
        seen=run.append, scalars=run.path / "tensorboard" if options.tensorboard else None,
        candidates=task.candidates,
    )  # fmt: skip
