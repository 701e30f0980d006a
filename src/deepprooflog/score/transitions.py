"""p_λ(G' | G) on goals as numbers: what the engines for graphs and PPO ask of a scorer.

A database numbers predicates, constants and clauses. An atom is a row [predicate, arguments…], a
goal is rows of atoms: constants from 0, variable i as −2 − i, PAD where there is nothing. Clauses
are numbered rules first, then ground facts.

A scorer's `transitions(database)` is its form for such goals. It looks at each goal once (`view`),
whether it is left or reached, and weighs steps between goals it has looked at (`log_weights`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from deepprooflog.logic.clause import Clause
from deepprooflog.score.segments import segment_logsumexp
from deepprooflog.syntax.terms import Functor, Term

PAD = -1


@runtime_checkable
class SymbolNames(Protocol):
    """The names behind the numbers of predicates and constants."""

    @property
    def predicates(self) -> Sequence[Functor]: ...

    @property
    def constants(self) -> Sequence[Term]: ...

    @property
    def constant_numbers(self) -> Mapping[Term, int]: ...


@runtime_checkable
class NumberedRule(Protocol):
    """A clause that is no ground fact."""

    @property
    def clause(self) -> Clause: ...


@runtime_checkable
class FactColumns(Protocol):
    """Ground facts: predicate and arguments, PAD past a predicate's arity."""

    @property
    def predicate(self) -> Int[Tensor, " facts"]: ...

    @property
    def arguments(self) -> Int[Tensor, "facts arity"]: ...


@runtime_checkable
class Numbering(Protocol):
    """What a database is to a scorer; clause n is rule n, or fact n − len(rules)."""

    @property
    def symbols(self) -> SymbolNames: ...

    @property
    def rules(self) -> Sequence[NumberedRule]: ...

    @property
    def facts(self) -> FactColumns: ...


GoalView = TypeVar("GoalView")
"""Something of each goal, of which a range of goals can be taken by a slice."""


@dataclass(frozen=True)
class LogPolicy:
    """log of the weight of each step, and of False at each goal; −∞ where it is no choice."""

    steps: Float[Tensor, " steps"]
    false: Float[Tensor, " goals"]


class Transitions(ABC, Generic[GoalView]):
    """A scorer on the goals of one database, with the scorer's parameters."""

    normalises: bool
    """The weights are up to a factor of each goal: they are divided by their sum, with False."""
    false_action: bool
    """False is one of the choices that are summed over."""
    alike: bool = False
    """Steps that differ in constants only weigh the same."""

    @abstractmethod
    def view(self, atoms: Int[Tensor, "goals atoms columns"]) -> GoalView:
        """What is read of each goal; further columns than the widest arity are not."""

    @abstractmethod
    def log_weights(
        self,
        here: GoalView,
        after: GoalView,
        source: Int[Tensor, " steps"],
        target: Int[Tensor, " steps"] | None,
        clause: Int[Tensor, " steps"],
        *,
        false: bool,
    ) -> LogPolicy:
        """The weights of steps, by source, in float64, and those of False where it is asked for.

        Step i leads from goal `source[i]` of `here` to goal `target[i]` of `after`, or, without
        `target`, to goal i, by a clause. What is no choice of the scorer's (a neural fact) may have
        any weight.
        """


def log_steps(
    model: Transitions[GoalView],
    here: GoalView,
    after: GoalView,
    source: Int[Tensor, " steps"],
    target: Int[Tensor, " steps"],
    clause: Int[Tensor, " steps"],
) -> Float[Tensor, " steps"]:
    """log p_λ of the steps from one layer of goals to the next."""
    found = model.log_weights(here, after, source, target, clause, false=model.false_action)
    if not model.normalises:
        return found.steps
    also = found.false if model.false_action else None
    return found.steps - segment_logsumexp(found.steps, source, len(found.false), also)[source]


def log_policy(
    model: Transitions[GoalView],
    here: GoalView,
    after: GoalView,
    source: Int[Tensor, " steps"],
    clause: Int[Tensor, " steps"],
    *,
    open: Bool[Tensor, " steps"],
    false: Bool[Tensor, " goals"],
) -> LogPolicy:
    """log π of the steps that are open and of False where it is offered, which sum to 1."""
    found = model.log_weights(here, after, source, None, clause, false=True)
    steps = found.steps.masked_fill(~open, -torch.inf)
    return normalised_policy(LogPolicy(steps, found.false.masked_fill(~false, -torch.inf)), source)


def normalised_policy(log: LogPolicy, source: Int[Tensor, " steps"]) -> LogPolicy:
    """The softmax over each goal's steps and its own False.

    >>> two = LogPolicy(torch.zeros(2, dtype=torch.float64), torch.zeros(1, dtype=torch.float64))
    >>> normalised_policy(two, torch.tensor([0, 0])).steps.exp().tolist()
    [0.333..., 0.333...]
    """
    total = segment_logsumexp(log.steps, source, len(log.false), also=log.false)
    # A goal without a choice has nothing to normalise.
    total = total.masked_fill(total == -torch.inf, 0.0)
    return LogPolicy(log.steps - total[source], log.false - total)


def left_over(
    steps: Float[Tensor, "steps *batch"], source: Int[Tensor, " steps"], goals: int
) -> Float[Tensor, "goals *batch"]:
    """log(1 − Σ p): what the steps of each goal leave to failing, −∞ where it is rounding only."""
    spent = steps.new_zeros((goals, *steps.shape[1:])).index_add(0, source, steps.exp())
    left = 1 - spent
    nothing = left < 1e-12
    return left.masked_fill(nothing, 1.0).log().masked_fill(nothing, -torch.inf)
