"""Trainable labels as parameters: one vector of logits, a softmax for each group of clauses."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from deepprooflog.device import capturing
from deepprooflog.errors import ModelError, Notice
from deepprooflog.logic.clause import Clause, at, clause_text
from deepprooflog.logic.program import Program
from deepprooflog.score.fixed import LabelGroup, trainable_groups
from deepprooflog.score.segments import segment_logsumexp
from deepprooflog.syntax.numerals import log_fraction

# Under this name a state dict holds the text of the trainable clauses.
CLAUSES = "clauses"


class Labels(nn.Module):
    """The trainable labels of a program.

    >>> labels = Labels(Program("t(0.25) :: p(a). t(0.75) :: p(b)."))
    >>> [round(p, 6) for p in labels.values().tolist()]
    [0.25, 0.75]
    """

    segment: Tensor

    def __init__(self, program: Program) -> None:
        super().__init__()
        self.groups: list[LabelGroup] = trainable_groups(program)
        self._number = _numbers(self.groups)
        logits: list[float] = []
        segment: list[int] = []
        for g, group in enumerate(self.groups):
            logits.extend(log_fraction(value) for value in group.initial)
            segment.extend(g for _ in group.initial)
            if group.spare:
                logits.append(math.log(group.spare))
                segment.append(g)
        # Without labels there is nothing to learn, and nothing to wait for in parallel training.
        values = torch.tensor(logits, dtype=torch.float64)
        self.logits = nn.Parameter(values, requires_grad=bool(logits))
        self.register_buffer("segment", torch.tensor(segment, dtype=torch.int64))

    @property
    def device(self) -> torch.device:
        """Where the labels are."""
        return self.logits.device

    def log_values(self) -> Float[Tensor, "labels"]:
        """Log-probabilities of all entries, failing included where a group has mass to spare.

        A parameter that is not a finite number is refused, with the clause it belongs to.
        """
        logits = self.logits.double()
        # While a CUDA graph is captured nothing can be looked at; whoever replays it checks.
        if len(logits) and not capturing() and not bool(torch.isfinite(logits).all()):
            raise self._not_finite()
        return logits - segment_logsumexp(logits, self.segment, len(self.groups))[self.segment]

    def _not_finite(self) -> ModelError:
        entry = int((~torch.isfinite(self.logits.detach())).nonzero()[0, 0])
        value = float(self.logits.detach()[entry])
        # An entry without a clause is its group's failing: the group's first clause names it.
        group = self.groups[int(self.segment[entry])]
        clause = next((c for c in group.clauses if self._number[id(c)] == entry), group.clauses[0])
        place = clause.place
        return ModelError(
            f"the trainable label of {clause.functor} is {value} (labels.logits[{entry}])",
            **at(place),
            hint="check the learning rate and the losses, or load earlier parameters",
        )

    def values(self) -> Float[Tensor, "labels"]:
        """Probabilities of all entries."""
        return self.log_values().exp()

    def probabilities(self) -> list[tuple[str, float]]:
        """Each trainable clause, without its label, and the probability that it has by now.

        What a group leaves to failing is an entry of `values`, and no clause:

        >>> labels = Labels(Program("t(0.25) :: p. t(0.5) :: q(a). t(0.5) :: q(b)."))
        >>> [(clause, round(value, 6)) for clause, value in labels.probabilities()]
        [('p.', 0.25), ('q(a).', 0.5), ('q(b).', 0.5)]
        """
        values = self.values().tolist()
        numbers = self.numbers([c for group in self.groups for c in group.clauses])
        return [(text, values[n]) for text, n in zip(self.clauses(), numbers, strict=True)]

    def numbers(self, clauses: Sequence[Clause]) -> list[int]:
        """The entries of clauses."""
        return [self._number[id(c)] for c in clauses]

    def clauses(self) -> list[str]:
        """The trainable clauses as text, group by group, without their labels."""
        return [clause_text(c, label=False) for group in self.groups for c in group.clauses]

    def _save_to_state_dict(
        self, destination: dict[str, Any], prefix: str, keep_vars: bool
    ) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        if self.groups:
            text = "\n".join(self.clauses()).encode()
            destination[prefix + CLAUSES] = torch.tensor(list(text), dtype=torch.uint8)

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *rest: Any, **more: Any
    ) -> None:
        """Refuse the labels of other clauses, or of the same ones in another order."""
        kept = state_dict.pop(prefix + CLAUSES, None)
        if kept is not None:
            _require_same(bytes(kept.tolist()).decode().split("\n"), self.clauses())
        elif self.groups and prefix + "logits" in state_dict:
            warnings.warn(
                "these weights do not say which clauses their trainable labels belong to: they "
                "are taken in order",
                Notice,
                stacklevel=2,
            )
        super()._load_from_state_dict(state_dict, prefix, *rest, **more)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)  # type: ignore[no-untyped-call]
        # A copy, or a model read from a file, has clauses of its own.
        self._number = _numbers(self.groups)


def _require_same(kept: Sequence[str], own: Sequence[str]) -> None:
    for place, (theirs, ours) in enumerate(zip_longest(kept, own)):
        if theirs != ours:
            what = "no clause" if theirs is None else f"`{theirs}`"
            raise ModelError(
                f"these weights belong to another program: trainable label {place + 1} is that of "
                f"{what} there, of {'no clause' if ours is None else f'`{ours}`'} here",
                hint="the program that was trained, with its trainable clauses in the same order",
            )


def _numbers(groups: Sequence[LabelGroup]) -> dict[int, int]:
    """The entry of each clause, by its identity; a group's spare mass has an entry after them."""
    result: dict[int, int] = {}
    count = 0
    for group in groups:
        for clause in group.clauses:
            result[id(clause)] = count
            count += 1
        count += bool(group.spare)
    return result
