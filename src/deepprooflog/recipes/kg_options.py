"""The options of knowledge-graph recipes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from deepprooflog.errors import DataError
from deepprooflog.kg.exact_options import ExactOptions
from deepprooflog.kg.kge_options import KgeOptions
from deepprooflog.learn.options import MOST
from deepprooflog.recipes.options import MOST_THREADS, option, settings
from deepprooflog.recipes.recipe import Recipe
from deepprooflog.score import aggregate, atoms

PRIORS = ("rotate", "complex", "none")
LEARNERS = ("auto", "exact", "ppo", "none")
FROM = ("auto", "train", "valid")
DEVICES = ("auto", "cpu", "cuda")
# Between the seeds of two members of a prior: runs of neighbouring seeds share none.
SEEDS_APART = 1000
EVIDENCE = ("score", "facts")
SIDED = ("both", "head", "tail")
WATCHED = ("mrr", "auc_pr")


@dataclass(frozen=True)
class GraphOptions:
    """Every choice of a knowledge-graph run."""

    data: str = option("village", "a folder with train, valid and test, or a data set's name")
    rules: str = option("", "a file of rules; empty: the folder's own, none: no rules")
    domains: str = option("", "a file of domains; empty: the folder's domain2constants.txt")
    candidates: str = option("", "the domain answers are looked for in; empty: all entities")
    sides: str = option("both", "which entity of a triple is asked for", choices=SIDED)
    seed: int = option(
        0, "of the weights, the order and the negatives", at_least=0, at_most=2**31 - 1
    )
    device: str = option("auto", "where to train", choices=DEVICES)
    threads: int = option(0, "of the CPU; 0: as torch chooses", at_least=0, at_most=MOST_THREADS)

    nesting: int = option(2, "how deep rules stand inside one another", at_least=0, at_most=100)
    believe: str = option("query", "where the prior is a clause", choices=("query", "everywhere"))
    depth: int = option(
        40, "resolution steps at most; what is beyond is open", at_least=1, at_most=10_000
    )
    goals: int = option(0, "goals of a batch at most; 0: no limit", at_least=0, at_most=MOST)

    learner: str = option("auto", "of the policy", choices=LEARNERS)
    learn_from: str = option(
        "auto", "triples to learn from; auto: valid where there is a prior", choices=FROM
    )
    hide: str = option("", "relations whose facts about the entities asked about are not known")
    exact_up_to: int = option(
        2000, "goals a query up to which auto learns exactly", at_least=1, at_most=MOST
    )
    dimension: int = option(64, "of the policy's embeddings", at_least=1, at_most=65_536)
    f_atom: str = option("mlp", "embeds an atom", choices=tuple(atoms.BY_NAME))
    f_agg: str = option("mean", "embeds a goal", choices=tuple(aggregate.BY_NAME))
    constants: str = option("shared", "embed entities alike or each", choices=("shared", "own"))
    false_action: int = option(0, "1: giving up is a choice", at_least=0, below=2)
    steps: int = option(100, "of the learner", at_least=0, at_most=MOST)
    batch: int = option(128, "positives in a step", at_least=1, at_most=1_000_000)
    negatives: int = option(32, "for each positive", at_least=1, at_most=1_000_000)
    lr: float = option(0.001, "learning rate of the policy", above=0, at_most=100)
    ranking: float = option(1.0, "weight of the ranking loss", at_least=0, at_most=1e6)
    calibration: float = option(0.02, "weight of the cross-entropy", at_least=0, at_most=1e6)
    entropy: float = option(0.02, "weight of the first step's entropy", at_least=0, at_most=1e6)
    look: int = option(
        25, "steps between two looks at the validation split", at_least=1, at_most=MOST
    )
    watch: str = option("mrr", "the validation figure that is to be high", choices=WATCHED)
    patience: int = option(
        0, "stop after so many looks without a better one", at_least=0, at_most=MOST
    )

    ppo_iterations: int = option(
        200, "PPO: rollouts, each followed by an update", at_least=1, at_most=MOST
    )
    ppo_episodes: int = option(256, "PPO: episodes side by side", at_least=1, at_most=1_000_000)
    ppo_lr: float = option(3e-4, "PPO: learning rate", above=0, at_most=100)
    ppo_entropy: float = option(0.2, "PPO: weight of the entropy", at_least=0, at_most=1e6)
    ppo_entropy_end: float = option(
        -1.0, "PPO: its weight at the end; -1: it stays", at_least=-1, at_most=1e6
    )
    ppo_memory: int = option(1, "PPO: 1: rollouts visit no goal twice", at_least=0, below=2)
    tensorboard: int = option(0, "1: write scalars for TensorBoard", at_least=0, below=2)

    prior: str = option("complex", "the embedding that is believed", choices=PRIORS)
    prior_from: str = option("", "a run whose prior is used; empty: train one")
    prior_members: int = option(
        1, "embeddings from as many seeds, side by side", at_least=1, at_most=64
    )
    prior_dimension: int = option(
        128, "complex numbers in an entity's vector", at_least=1, at_most=65_536
    )
    prior_steps: int = option(500, "of the prior's training", at_least=1, at_most=MOST)
    prior_batch: int = option(512, "triples in a step", at_least=1, at_most=1_000_000)
    prior_lr: float = option(0.01, "learning rate of the prior", above=0, at_most=100)
    prior_n3: float = option(0.05, "ComplEx: weight of the nuclear 3-norm", at_least=0, at_most=1e6)
    prior_dura: float = option(
        0.0, "ComplEx: weight of the dual regularizer", at_least=0, at_most=1e6
    )
    prior_margin: float = option(12.0, "RotatE", above=0, at_most=1e6)
    prior_negatives: int = option(
        128, "RotatE: corruptions of a triple", at_least=1, at_most=1_000_000
    )
    prior_temperature: float = option(
        1.0, "RotatE: of the negatives' weights", at_least=0, at_most=1e6
    )
    prior_sharing: str = option("each", "RotatE: negatives", choices=("each", "shared"))
    prior_sides: str = option("split", "RotatE: sides corrupted", choices=("split", "both"))
    prior_filtered: int = option(
        0, "RotatE: 1: no corruption that is a training triple", at_least=0, below=2
    )
    prior_compiled: int = option(0, "1: torch.compile", at_least=0, below=2)
    evidence: str = option(
        "facts", "what belief weighs: the score alone, or also facts of the entities",
        choices=EVIDENCE,
    )  # fmt: skip
    base_rate: float = option(
        0.01, "share of truths that belief is calibrated for", above=0, below=1
    )

    held_out: float = option(
        0.2, "share of the validation split that only validates", above=0, below=1
    )
    looked_at: int = option(300, "triples in a look", at_least=1, at_most=MOST)
    test: int = option(0, "test triples ranked at the end; 0: all", at_least=0, at_most=MOST)

    def prior_options(self, member: int = 0) -> KgeOptions:
        """How a member of the prior is trained."""
        return KgeOptions(
            model=self.prior, dimension=self.prior_dimension, steps=self.prior_steps,
            batch=self.prior_batch, lr=self.prior_lr, seed=self.seed + SEEDS_APART * member,
            margin=self.prior_margin,
            negatives=self.prior_negatives, temperature=self.prior_temperature,
            sharing=self.prior_sharing, sides=self.prior_sides, n3=self.prior_n3,
            dura=self.prior_dura, filtered=bool(self.prior_filtered),
            compiled=bool(self.prior_compiled), validate_every=max(1, self.prior_steps // 5),
        )  # fmt: skip

    def exact_options(self) -> ExactOptions:
        """How the policy is trained exactly."""
        return ExactOptions(
            steps=self.steps, batch=self.batch, negatives=self.negatives, lr=self.lr,
            ranking=self.ranking, calibration=self.calibration, entropy=self.entropy,
            validate_every=self.look, patience=self.patience, seed=self.seed,
        )  # fmt: skip


def resolve(recipe: Recipe, given: Mapping[str, object]) -> GraphOptions:
    """A recipe's options, then those given."""
    values: dict[str, Any] = settings(GraphOptions, recipe.options, recipe.file)
    values |= settings(GraphOptions, given, "--set")
    options = GraphOptions(**values)
    if options.prior == "none" and options.learner == "none":
        raise DataError("neither a prior nor a learner: there is nothing to train")
    if options.hide and options.learner != "exact":
        raise DataError(
            f"hide={options.hide}: only exact learning hides facts", hint="learner=exact"
        )
    if not options.ranking and not options.calibration:
        raise DataError("ranking=0 and calibration=0 leave no loss", hint="calibration=1")
    if options.domains and not options.candidates:
        raise DataError("domains without candidates: no domain is used", hint="candidates=NAME")
    return options
