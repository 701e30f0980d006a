"""The options of walks: how far they go, what the policy is made of, how it is trained."""

from __future__ import annotations

from dataclasses import dataclass

from deepprooflog.errors import DataError
from deepprooflog.learn.run.options import MOST, check, option

WALKS = "walks"
"""The learner's name, and that of its score."""
SHAPE = ("hops", "states", "heads", "alike", "width", "hidden", "counting", "gates", "suits")
"""What says how a model is built: the others say how it is trained."""


@dataclass(frozen=True)
class WalkOptions:
    """The shape of a walk model, and how it is trained: cross-entropy over all tails.

    >>> WalkOptions(hops=7)
    Traceback (most recent call last):
    ...
    deepprooflog.errors.DataError: hops is at least 1 and at most 6, not 7
    try: hops=6
    """

    hops: int = option(4, "steps of a walk; staying is one too", at_least=1, at_most=6)
    states: int = option(4, "states of the automaton that walks run through", at_least=1,
                         at_most=256)  # fmt: skip
    heads: int = option(1, "walks that a proof is a conjunction of; they share out the states",
                        at_least=1, at_most=16)  # fmt: skip
    alike: bool = option(False, "let every hop choose alike, whichever it is")
    width: int = option(64, "dimension of a relation's vector in the policy", at_least=1,
                        at_most=4096)  # fmt: skip
    hidden: int = option(128, "hidden units of the policy's network", at_least=1, at_most=65536)
    counting: str = option("learned", "what a step by one of d facts weighs: 1, 1/d, or a power "
                           "of d between that is learned for each relation",
                           choices=("each", "one", "learned"))  # fmt: skip
    gates: bool = option(True, "let a step's weight depend on which relations the entity has")
    suits: bool = option(True, "let an answer's weight depend on how many facts there are about it")
    epochs: float = option(10.0, "passes over the training triples", above=0, at_most=10**6)
    seconds: float = option(600.0, "training takes about so many at most; 0: any", at_least=0,
                            at_most=MOST)  # fmt: skip
    batch: int = option(128, "queries in a step", at_least=1, at_most=10**6)
    lr: float = option(0.005, "learning rate of Adam, falling along a cosine", above=0, at_most=10)
    decay: float = option(0.0, "weight decay of AdamW", at_least=0, at_most=10)
    smoothing: float = option(0.0, "label smoothing", at_least=0, below=1)
    hide: float = option(0.1, "share of the facts that a step does without", at_least=0, below=1)
    validations: int = option(8, "looks at the validation triples, evenly spread", at_least=1,
                              at_most=10**6)  # fmt: skip
    patience: int = option(0, "looks without a better one after which training ends; 0: never",
                           at_least=0, at_most=MOST)  # fmt: skip
    seed: int = option(0, "of the initial weights and the order", at_least=0, at_most=2**31 - 1,
                       inherited=True)  # fmt: skip
    from_run: str = option("", "a run whose walks are used; empty: train some")

    def __post_init__(self) -> None:
        check(self)
        if self.states % self.heads:
            raise DataError(
                f"{self.states} states cannot be shared out evenly among {self.heads} heads",
                hint=f"states={self.heads * max(1, self.states // self.heads)}",
            )
