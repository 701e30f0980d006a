"""A rule as the miner finds it: numbers in place of names, and what was counted."""

from __future__ import annotations

from typing import Any, NamedTuple

FREE = -1  # in place of an entity: a variable
CLOSED = -2  # the end of a path: the head's other argument
NONE = (-1, -1)

QUANTILE = 2.576  # of the normal distribution, for an interval of 99 %


class FoundRule(NamedTuple):
    """A rule with the head r(X, Y) and a path of directed relations as its body.

    A closed path leads from X to Y. Any other begins at the head's one variable, and ends at an
    entity or at a variable of its own.
    """

    relation: int
    path: tuple[int, ...]
    x: int  # an entity, or FREE
    y: int
    end: int  # CLOSED, FREE or an entity
    support: int
    predictions: int
    pca_predictions: int
    example: tuple[int, int] = NONE  # a fact that the rule predicts

    @property
    def confidence(self) -> float:
        """The share of what the rule predicts that is a fact."""
        return self.support / self.predictions

    @property
    def order(self) -> tuple[float, int, tuple[int, ...], int, int, int]:
        """The surest first: by confidence, had five more predictions failed."""
        sure = self.support / (self.predictions + 5)
        return -sure, -self.support, self.path, self.x, self.y, self.end

    @property
    def with_constants(self) -> bool:
        return self.x >= 0 or self.y >= 0


def at_least(support: Any, predictions: Any) -> Any:
    """The lower end of Wilson's interval for a confidence, of a number or an array.

    A rule with a constant is kept where this is above the confidence of the rule without it.

    >>> round(at_least(3, 3), 3), round(at_least(300, 300), 3)
    (0.311, 0.978)
    """
    share, z2 = support / predictions, QUANTILE**2
    spread = (z2 * (share * (1 - share) / predictions + z2 / (4 * predictions**2))) ** 0.5
    return (share + z2 / (2 * predictions) - spread) / (1 + z2 / predictions)
