"""The options of systems that reason over ground rules."""

from __future__ import annotations

from dataclasses import dataclass

from deepprooflog.errors import DataError
from deepprooflog.kg.ground.table import BY_NAME
from deepprooflog.kg.ground.tnorms import TNORMS
from deepprooflog.kg.learn.options import NO_PRIOR, SharedOptions
from deepprooflog.learn.run.options import MOST, check, option, section


@dataclass(frozen=True)
class GroundOptions:
    """The grounder BC(w, d)."""

    width: int = option(0, "atoms of a body that are no facts, at most", at_least=0, at_most=16)
    depth: int = option(1, "rounds: how deep rules nest", at_least=1, at_most=16)

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class SystemOptions:
    """What is computed over groundings, and how it is trained."""

    kind: str = option("sbr", "the system", choices=tuple(BY_NAME))
    tnorm: str = option("product", "SBR, DCR: how a body's atoms are joined", choices=tuple(TNORMS))
    dimension: int = option(64, "DCR, R2N: of the vectors of atoms", at_least=1, at_most=65_536)
    steps: int = option(200, "of the optimizer", at_least=0, at_most=MOST)
    batch: int = option(128, "positives in a step", at_least=1, at_most=1_000_000)
    negatives: int = option(32, "for each positive", at_least=1, at_most=1_000_000)
    lr: float = option(1e-3, "learning rate of the system's own weights", above=0, at_most=100)
    kge_lr: float = option(
        1e-4, "learning rate of the embedding; 0: it stays as it is", at_least=0, at_most=100
    )
    validate_every: int = option(50, "steps between two validations", at_least=1, at_most=MOST)
    patience: int = option(
        0, "stop after so many validations without a better one; 0: never", at_least=0,
        at_most=MOST,
    )  # fmt: skip
    seed: int = option(
        0, "of the weights, the order and the negatives", at_least=0, at_most=2**31 - 1,
        inherited=True,
    )  # fmt: skip

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class GroundedOptions(SharedOptions):
    """Every choice of a run over ground rules."""

    system: SystemOptions = section(SystemOptions, "what is computed over groundings", main="kind")
    ground: GroundOptions = section(GroundOptions, "the grounder BC(w, d)")

    def __post_init__(self) -> None:
        check(self)
        if self.prior.kind == NO_PRIOR:
            raise DataError(
                f"{self.system.kind} reasons over the scores of an embedding", hint="prior=complex"
            )
        own = BY_NAME[self.system.kind].reads_vectors
        if self.system.steps and not self.system.kge_lr and not own:
            raise DataError(
                f"{self.system.kind} has no weights of its own, and kge_lr=0 leaves the embedding",
                hint="system.kge_lr=1e-4, or system.steps=0",
            )
