"""What was chosen in a step, and who weighs it."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from deepprooflog.logic.clause import Clause
from deepprooflog.syntax.terms import Term


class WeightSource(Enum):
    """Where the weight of a step comes from (the last column of the step's table)."""

    ONE = "one"
    LABEL = "label"
    TRAINABLE = "trainable"
    NEURAL = "neural"
    BERNOULLI = "bernoulli"
    SCORER = "scorer"


class Choice(NamedTuple):
    """One way to resolve the leftmost atom.

    `clause` is the clause used, None for builtins; `number` counts the solutions of a builtin or
    the values of a neural domain; `inputs` are what the network reads.
    """

    weigher: WeightSource
    clause: Clause | None = None
    number: int = 0
    inputs: tuple[Term, ...] = ()
