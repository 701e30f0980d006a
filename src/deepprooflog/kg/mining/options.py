"""The options of mining, each with its default and its bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass

from deepprooflog.errors import DataError

LONGEST = 3
FACTS, FEWEST = 25_000, 100


@dataclass(frozen=True)
class MineOptions:
    """What is looked for, what is kept, and how long it may take."""

    seconds: float | None = 300.0
    """Stop after so many seconds with what there is; None for no limit."""
    max_length: int = LONGEST
    """The most atoms in the body of a rule without constants at its end."""
    min_support: int = 5
    """The fewest facts that a rule predicts."""
    min_confidence: float = 0.001
    """The least share of a rule's predictions that are facts."""
    constants: bool = True
    """Whether to look for rules with constants."""
    constant_length: int = 2
    """The most atoms in the body of a path with a constant at its end."""
    identity: bool = True
    """Count under object identity: different variables are different entities."""
    guards: bool = False
    """Write object identity into the rules, as X \\= Y."""
    most: int | None = 2000
    """The most rules without constants kept for a relation."""
    most_of_constant: int | None = 100
    """The most rules kept for one constant in a head, r(X, c) or r(c, Y)."""
    most_with_constants: int | None = None
    """The most rules with constants kept for a relation, whatever the constants."""
    facts: int | None = None
    """The facts of each relation beside which paths of length 3 are looked for; None for as many as
    make 25,000 over all relations, 100 at least."""
    seed: int = 0
    """Decides which facts."""

    def __post_init__(self) -> None:
        if self.seconds is not None and not 0 < self.seconds < math.inf:
            raise _wrong("seconds", self.seconds, "a number above 0, or None")
        if self.max_length not in range(1, LONGEST + 1):
            raise _wrong("max_length", self.max_length, f"1 to {LONGEST}")
        if self.constant_length not in range(1, LONGEST + 1):
            raise _wrong("constant_length", self.constant_length, f"1 to {LONGEST}")
        if self.min_support < 1:
            raise _wrong("min_support", self.min_support, "1 or more")
        for name in ("most", "most_of_constant", "most_with_constants", "facts"):
            if (value := getattr(self, name)) is not None and value < 1:
                raise _wrong(name, value, "1 or more, or None")
        if not 0 <= self.min_confidence <= 1:
            raise _wrong("min_confidence", self.min_confidence, "a number from 0 to 1")
        if self.guards and not self.identity:
            raise DataError("guards without identity", hint="identity=True, which they stand for")
        if self.seed < 0:
            raise _wrong("seed", self.seed, "0 or more")

    def facts_of(self, relations: int) -> int:
        """The facts that are looked at of each of so many relations."""
        return max(FEWEST, FACTS // relations) if self.facts is None else self.facts


def _wrong(name: str, value: object, hint: str) -> DataError:
    return DataError(f"{name}={value} is out of range", hint=hint)
