"""The set of known triples, asked for many at once: as arrays, or as tensors on any device.

What is left of a triple without one of its entities, (·, r, t) or (h, r, ·), is its context, the
number r · entities + the other entity; a triple is the number context · entities + the entity asked
for. Sorted, the numbers answer "is this one known", "how many complete this context" and "which"
by binary search.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Generic, Literal, TypeAlias, TypeVar

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from deepprooflog.errors import DataError
from deepprooflog.graph.goalgraph import ragged_ranges
from deepprooflog.score.segments import tensor_ranges

Side: TypeAlias = Literal["head", "tail"]
NumberColumn = TypeVar("NumberColumn", np.ndarray, Tensor)


def column(side: Side) -> int:
    """Where the side's entity stands in a row (h, r, t)."""
    return 0 if side == "head" else 2


def contexts(triples: NumberColumn, side: Side, entities: int) -> NumberColumn:
    """What is left of triples [n, 3] without their entities on one side, as a number each."""
    found: NumberColumn = triples[:, 1] * entities + triples[:, 2 - column(side)]
    return found


@dataclass(frozen=True, eq=False)
class TripleSet(Generic[NumberColumn]):
    """Triples by the entity on one side, each once.

    >>> known = TripleSet.of(torch.tensor([[0, 0, 1], [2, 0, 0]]), entities=3)
    >>> known.holds(torch.tensor([0, 2]), torch.tensor(0), torch.tensor([1, 1])).tolist()
    [True, False]
    """

    keys: NumberColumn  # [triples], sorted
    entities: int
    side: Side = "tail"  # of the entity asked for

    @classmethod
    def of(
        cls, triples: NumberColumn, *, entities: int, side: Side = "tail"
    ) -> TripleSet[NumberColumn]:
        """From rows (h, r, t)."""
        keys = contexts(triples, side, entities) * entities + triples[:, column(side)]
        return cls(_distinct(keys), entities, side)

    def __len__(self) -> int:
        return len(self.keys)

    def holds(self, head: NumberColumn, relation: NumberColumn, tail: NumberColumn) -> NumberColumn:
        """Whether each triple is known; the three numbers are broadcast."""
        asked, given = (head, tail) if self.side == "head" else (tail, head)
        return self.has(relation * self.entities + given, asked)

    def has(self, context: NumberColumn, entity: NumberColumn) -> NumberColumn:
        """Whether each entity completes its context."""
        wanted = context * self.entities + entity
        if not len(self.keys):
            none: NumberColumn = wanted < 0
            return none
        # Beyond the last one is the first, which is smaller than what was looked for.
        found: NumberColumn = self.keys[_places(self.keys, wanted) % len(self.keys)] == wanted
        return found

    def count(self, context: NumberColumn) -> NumberColumn:
        """How many entities complete each context.

        >>> known = TripleSet.of(np.array([[0, 0, 3], [0, 0, 1], [2, 0, 0]]), entities=4)
        >>> known.count(np.array([0, 1, 2])).tolist()
        [2, 0, 1]
        """
        begin, end = self._range(context)
        found: NumberColumn = end - begin
        return found

    def pairs(self, context: NumberColumn) -> tuple[NumberColumn, NumberColumn]:
        """Every known completion: the position of its context, and the entity.

        >>> known = TripleSet.of(np.array([[0, 0, 3], [0, 0, 1], [2, 0, 0]]), entities=4)
        >>> [part.tolist() for part in known.pairs(np.array([2, 0]))]
        [[0, 1, 1], [0, 1, 3]]
        """
        begin, end = self._range(context)
        position, at = _ranges(begin, end - begin)
        return position, self.keys[at] % self.entities

    def columns(self) -> tuple[NumberColumn, NumberColumn, NumberColumn]:
        """Heads, relations and tails, in the order of the set."""
        asked, context = self.keys % self.entities, self.keys // self.entities
        given, relation = context % self.entities, context // self.entities
        return (asked, relation, given) if self.side == "head" else (given, relation, asked)

    def to(self: TripleSet[Tensor], device: torch.device | str) -> TripleSet[Tensor]:
        """The same set on a device."""
        return replace(self, keys=self.keys.to(device))

    def _range(self, context: NumberColumn) -> tuple[NumberColumn, NumberColumn]:
        begin = _places(self.keys, context * self.entities)
        return begin, _places(self.keys, (context + 1) * self.entities)


def check_triples(triples: Int[Tensor, "n 3"], entities: int, relations: int) -> None:
    """Raise where an index is out of range."""
    for place, count, what in ((0, entities, "head"), (1, relations, "relation"),
                               (2, entities, "tail")):  # fmt: skip
        values = triples[:, place]
        wrong = ((values < 0) | (values >= count)).nonzero()
        if len(wrong):
            row = int(wrong[0])
            raise DataError(
                f"triple {row} has {what} {int(values[row])}, but there are {count}",
                hint="number entities and relations from 0",
            )


def _distinct(keys: NumberColumn) -> NumberColumn:
    if isinstance(keys, Tensor):
        found: Tensor = keys.unique()  # type: ignore[no-untyped-call]
        return found
    # Sorting takes a tenth of the time of NumPy's set of so many.
    ordered = np.sort(keys)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered


def _places(keys: NumberColumn, wanted: NumberColumn) -> NumberColumn:
    if isinstance(keys, Tensor):
        return torch.searchsorted(keys, wanted)
    return np.asarray(np.searchsorted(keys, wanted))


def _ranges(begin: NumberColumn, count: NumberColumn) -> tuple[NumberColumn, NumberColumn]:
    if isinstance(begin, Tensor):
        return tensor_ranges(begin, count, int(count.sum()))
    return ragged_ranges(begin, count)
