"""The options of learning on a knowledge graph, in sections.

    search      how far proofs are looked for      prior         the embedding that is believed
    policy      how steps are weighed              belief        what its probability weighs
    exact, ppo  two learners of a policy           evaluation    what is ranked
    walk        walks, the learner without rules   mine          rules that are mined

>>> from deepprooflog.learn.run.settings import options_from
>>> options = options_from(GraphOptions, {"prior": "rotate", "ppo.clip": "0.1", "seed": 3})
>>> options.prior.kind, options.ppo.clip, options.exact.seed
('rotate', 0.1, 3)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, cast, get_args

from deepprooflog.device import DEVICES
from deepprooflog.errors import DataError
from deepprooflog.kg.data.triples import SIDES
from deepprooflog.kg.evaluation.figures import WATCHED
from deepprooflog.kg.evaluation.ranking import Protocol
from deepprooflog.kg.kge import table as kge_models
from deepprooflog.kg.kge.given import MODULE
from deepprooflog.kg.kge.options import KgeOptions
from deepprooflog.kg.learn.exact_options import ExactOptions
from deepprooflog.kg.learn.learners import LEARNERS
from deepprooflog.kg.learn.mined import MiningOptions
from deepprooflog.kg.learn.policies import POLICIES
from deepprooflog.kg.learn.ppo_options import PpoOptions
from deepprooflog.kg.walk.options import WALKS, WalkOptions
from deepprooflog.learn.run.options import (
    MOST,
    MOST_THREADS,
    CheckedOptions,
    check,
    option,
    section,
)
from deepprooflog.learn.run.track import NO_TRACKER, TRACKERS
from deepprooflog.relational.database import Believe
from deepprooflog.score.embedding import aggregate, atom_table
from deepprooflog.score.embedding.vocabulary import ConstantRows

NO_PRIOR = NO_RULES = "none"
AUTO = "auto"
# Between the seeds of two members of a prior: runs of neighbouring seeds share none.
SEEDS_APART = 1000


@dataclass(frozen=True)
class SearchOptions(CheckedOptions):
    """How far proofs are looked for."""

    nesting: int = option(2, "how deep rules stand inside one another", at_least=0, at_most=100)
    believe: str = option(
        "query", "atoms that the prior may answer: the query only, or any on the way",
        choices=get_args(Believe),
    )  # fmt: skip
    depth: int = option(
        40, "resolution steps at most; what is beyond is open", at_least=1, at_most=10_000
    )
    goals: int = option(0, "goals of a batch at most; 0: no limit", at_least=0, at_most=MOST)


@dataclass(frozen=True)
class PolicyOptions(CheckedOptions):
    """What the weight of a step depends on, and how the policy embeds it."""

    kind: str = option(
        "goal", "what it sees: the whole goal, the leftmost term, or the clause alone",
        choices=tuple(POLICIES),
    )  # fmt: skip
    dimension: int = option(64, "of the embeddings", at_least=1, at_most=65_536)
    f_atom: str = option("mlp", "embeds an atom", choices=tuple(atom_table.BY_NAME))
    f_agg: str = option("mean", "embeds a goal", choices=tuple(aggregate.BY_NAME))
    constants: str = option(
        "shared", "embed entities alike or each", choices=get_args(ConstantRows)
    )
    false_action: bool = option(False, "giving up is a choice")


@dataclass(frozen=True)
class PriorOptions(KgeOptions):
    """The embedding that is believed, and how it is trained."""

    kind: str = option(
        "complex", "the embedding's score; none: no prior; module: one given in Python",
        choices=(*kge_models.BY_NAME, NO_PRIOR, MODULE),
    )  # fmt: skip
    steps: int = option(
        0, "of the optimizer; 0: as many as raise validation, with the dimension and regularizer "
        "that are best there", at_least=0, at_most=MOST,
    )  # fmt: skip
    seconds: float = option(
        60.0, "that may pass before no further embedding is tried, where steps=0", above=0,
        at_most=1e7,
    )  # fmt: skip
    from_run: str = option("", "a run whose prior is used; empty: train one")
    members: int = option(1, "embeddings from as many seeds, side by side", at_least=1, at_most=64)

    def member(self, number: int) -> PriorOptions:
        """How a member is trained: from a seed of its own."""
        return replace(self, seed=self.seed + SEEDS_APART * number)


@dataclass(frozen=True)
class BeliefOptions(CheckedOptions):
    """The probability of a believed triple."""

    evidence: str = option(
        "facts", "what it weighs: the score alone, or also facts of the entities",
        choices=("score", "facts"),
    )  # fmt: skip
    base_rate: float = option(0.01, "share of truths it is calibrated for", above=0, below=1)
    shift: bool = option(
        True, "after training, how far it and the policy are trusted is chosen on validation "
        "triples that are held out for it",
    )  # fmt: skip


@dataclass(frozen=True)
class EvaluationOptions(CheckedOptions):
    """What is ranked while learning and at the end."""

    validation_share: float = option(
        0.2, "share of the validation split that only validates", above=0, below=1
    )
    validation_size: int = option(300, "triples ranked to validate", at_least=1, at_most=MOST)
    validation_negatives: int = option(
        50, "negatives a side of each of them", at_least=1, at_most=1_000_000
    )
    test_size: int = option(0, "test triples ranked at the end; 0: all", at_least=0, at_most=MOST)
    protocol: str = option(
        AUTO, "how test triples are ranked; auto: sampled, full where the candidates are a domain",
        choices=(AUTO, *get_args(Protocol)),
    )  # fmt: skip

    def asked(self, protocol: Protocol | None, negatives: int | None) -> Protocol | None:
        """A protocol, or the run's own where neither it nor a number of negatives is asked for."""
        if protocol is not None or negatives is not None or self.protocol == AUTO:
            return protocol
        return cast("Protocol", self.protocol)


@dataclass(frozen=True)
class SharedOptions:
    """What every system on a graph is given: graph and rules, a prior, what is ranked."""

    data: str = option("village", "a folder with train, valid and test, or a data set's name")
    rules: str = option(
        "",
        "a file of rules; empty: the folder's own, or mined (walks: none); mined: mined anew; "
        "none: no rules",
    )
    domains: str = option("", "a file of domains; empty: the folder's domain2constants.txt")
    candidates: str = option("", "the domain answers are looked for in; empty: all entities")
    sides: str = option("both", "which entity of a triple is asked for", choices=("both", *SIDES))
    seed: int = option(
        0, "of the weights, the order and the negatives", at_least=0, at_most=2**31 - 1
    )
    device: str = option("auto", "where to train", choices=DEVICES)
    threads: int = option(0, "of the CPU; 0: as torch chooses", at_least=0, at_most=MOST_THREADS)
    learn_from: str = option(
        AUTO, "triples to learn from; auto: valid where there is a prior",
        choices=(AUTO, "train", "valid"),
    )  # fmt: skip
    track: str = option(
        NO_TRACKER, "where rows of history and figures are sent", choices=(NO_TRACKER, *TRACKERS)
    )
    watch: str = option("mrr", "the validation figure that is to be high", choices=tuple(WATCHED))

    mine: MiningOptions = section(MiningOptions, "rules that are mined")
    prior: PriorOptions = section(PriorOptions, "the embedding that is believed", main="kind")
    belief: BeliefOptions = section(BeliefOptions, "the probability of a believed triple")
    evaluation: EvaluationOptions = section(EvaluationOptions, "what is ranked")

    def __post_init__(self) -> None:
        check(self)

    @property
    def uses_rules(self) -> bool:
        """Whether rules are read or mined at all."""
        return True


@dataclass(frozen=True)
class GraphOptions(SharedOptions):
    """Every choice of a knowledge-graph run."""

    learner: str = option(AUTO, "of the policy", choices=(AUTO, *LEARNERS, WALKS, "none"))
    exact_up_to: int = option(
        2000, "goals a query up to which auto learns exactly", at_least=1, at_most=MOST
    )
    hide: str = option("", "relations whose facts about the entities asked about are not known")
    hide_in_test: bool = option(False, "they are not known while test triples are ranked, either")
    tensorboard: bool = option(False, "PPO: write scalars for TensorBoard")

    search: SearchOptions = section(SearchOptions, "how far proofs are looked for")
    policy: PolicyOptions = section(PolicyOptions, "how steps are weighed", main="kind")
    exact: ExactOptions = section(ExactOptions, "learning from exact probabilities")
    ppo: PpoOptions = section(PpoOptions, "learning from rollouts")
    walk: WalkOptions = section(WalkOptions, "walks as proofs, where they are learned")

    def __post_init__(self) -> None:
        check(self)
        if self.prior.kind == NO_PRIOR and self.learner == "none":
            raise DataError("neither a prior nor a learner: there is nothing to train")
        if self.hide and self.learner != "exact":
            raise DataError(
                f"hide={self.hide}: only exact learning hides facts", hint="learner=exact"
            )
        if self.hide_in_test and not self.hide:
            raise DataError("hide_in_test: there is nothing to hide", hint="hide=RELATION")
        if self.domains and not self.candidates:
            raise DataError("domains without candidates: no domain is used", hint="candidates=NAME")

    @property
    def uses_rules(self) -> bool:
        """Walks are proofs without rules, and read rules beside them where some are named."""
        return self.learner != WALKS or bool(self.rules)

    OLD_NAMES: ClassVar[dict[str, tuple[str, ...]]] = {
        **{name: (f"search.{name}",) for name in ("nesting", "believe", "depth", "goals")},
        **{
            name: (f"policy.{name}",)
            for name in ("dimension", "f_atom", "f_agg", "constants", "false_action")
        },
        **{
            name: (f"exact.{name}",)
            for name in ("steps", "batch", "negatives", "lr", "ranking", "calibration", "entropy")
        },
        "look": ("exact.validate_every", "ppo.validate_every"),
        "patience": ("exact.patience", "ppo.patience"),
        **{
            f"ppo_{name}": (f"ppo.{name}",)
            for name in ("iterations", "episodes", "lr", "entropy", "entropy_end", "memory")
        },
        "prior_from": ("prior.from_run",),
        **{
            f"prior_{name}": (f"prior.{name}",)
            for name in (
                "members", "dimension", "steps", "batch", "lr", "n3", "dura", "margin",
                "negatives", "temperature", "sharing", "sides", "filtered", "compiled",
            )
        },
        "evidence": ("belief.evidence",),
        "base_rate": ("belief.base_rate",),
        "held_out": ("evaluation.validation_share",),
        "looked_at": ("evaluation.validation_size",),
        "test": ("evaluation.test_size",),
    }  # fmt: skip
    """Options by the names they had before there were sections."""
