"""Budgets: how many steps and seconds a search may take before it says so.

A `Budget` is the limit; a `Spending` is what one search has used of it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

from deepprooflog.errors import BudgetExceeded as BudgetExceeded


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of a search; None is no limit.

    `max_goals` and `max_atoms` limit a goal graph (its goals, and the atoms in all of them),
    `max_depth` the resolution steps from the query, `max_steps` the calls of one plain search
    (a guard, or `solve`), `max_seconds` and `max_memory` the whole: the time, and the bytes that
    the question adds to the memory of the process. The clock begins with `start`: the stages of one
    question share a started budget, and so one deadline.

    >>> Budget(max_steps=1000).max_seconds is None
    True
    """

    max_goals: int | None = 1_000_000
    max_seconds: float | None = None
    max_depth: int | None = None
    max_atoms: int | None = 5_000_000
    max_steps: int | None = None
    max_memory: int | None = None
    deadline: float | None = field(default=None, repr=False, compare=False)

    def start(self) -> Budget:
        """The budget with its clock running: `deadline` is set; a running clock goes on.

        >>> Budget().start().deadline is None
        True
        >>> begun = Budget(max_seconds=5).start()
        >>> begun.start() is begun
        True
        """
        if self.max_seconds is None or self.deadline is not None:
            return self
        return replace(self, deadline=time.monotonic() + self.max_seconds)

    @property
    def late(self) -> bool:
        """True when the clock was started and has run out."""
        return self.deadline is not None and time.monotonic() > self.deadline

    def part(self, share: float) -> Budget:
        """The budget for the first stage of what is left: it ends when a share of the time is gone.

        >>> whole = Budget(max_seconds=10).start()
        >>> 7 < whole.deadline - whole.part(0.2).deadline < 9
        True
        """
        if self.deadline is None:
            return self
        now = time.monotonic()
        return replace(self, deadline=now + share * max(self.deadline - now, 0.0))

    def for_guard(self) -> Budget | None:
        """What one guard of a search may use: the same deadline, its own steps; None for no limit.

        >>> Budget().for_guard() is None
        True
        """
        return self if self.deadline is not None or self.max_steps is not None else None


class Spending:
    """What one search has used of its budget, counted in batches so that a step costs nothing."""

    __slots__ = ("_deadline", "budget", "steps")

    # Between two looks at the clock: some milliseconds of work.
    BATCH = 4096

    def __init__(self, budget: Budget | None) -> None:
        self.budget = (budget or Budget()).start()
        self.steps = 0
        self._deadline = self.budget.deadline

    def batch(self) -> int:
        """How many steps may be taken before asking again; raises when there are none left."""
        limit = self.budget.max_steps
        if limit is not None and self.steps >= limit:
            raise BudgetExceeded(
                f"the search did not end within {limit:,} steps",
                hint=f"a larger max_steps, or a query that ends (it took {self.steps:,} so far)",
            )
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise BudgetExceeded(
                f"the search did not end within {self.budget.max_seconds:g} s "
                f"({self.steps:,} steps)",
                hint="a larger max_seconds, or a query that ends",
                limit="max_seconds",
            )
        return self.BATCH if limit is None else min(self.BATCH, limit - self.steps)

    def resume(self, deadline: float | None) -> None:
        """Go on after a pause that does not count: the clock runs until another deadline."""
        self._deadline = deadline

    def spend(self, steps: int) -> None:
        """Count the steps taken of the last batch."""
        self.steps += steps
