"""What can be asked about one query: the same of labels alone and of a model.

A query is parsed, becomes the first goal of its derivations, and is solved by `infer`; who weighs
the steps is all that differs between a program and a model.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from deepprooflog.errors import BudgetExceeded, ProgramError
from deepprooflog.graph.explore import explore
from deepprooflog.graph.schedule import schedule
from deepprooflog.infer.answers.predict import By, likely_answers
from deepprooflog.infer.best import best_derivation
from deepprooflog.infer.graphs.semiring import FractionSemiring, evaluate
from deepprooflog.infer.method import Method
from deepprooflog.infer.success import (
    Success,
    answer_weights,
    has_proof,
    require_exact,
    success,
)
from deepprooflog.logic.answers import log_answers
from deepprooflog.logic.goal import Goal, Interner
from deepprooflog.logic.limits.budget import Budget
from deepprooflog.logic.limits.gc_pause import gc_paused
from deepprooflog.logic.limits.watch import watched
from deepprooflog.logic.program import Program
from deepprooflog.logic.query import Query
from deepprooflog.logic.resolve import start
from deepprooflog.proof.build import Derivation, build_proof
from deepprooflog.proof.prediction import Prediction, prediction
from deepprooflog.proof.tree import Proof
from deepprooflog.score.edges import fractions
from deepprooflog.score.fixed import Weigh


@dataclass(frozen=True)
class Questions:
    """A program and who weighs its steps.

    A `local` weigher reads only the leftmost atom, so that its calls can be tabled; one that
    `weighs_one` leaves unlabelled clauses their weight of 1.

    >>> from deepprooflog.score.fixed import fixed_weights
    >>> program = Program("0.3 :: p(a). 0.7 :: p(b).")
    >>> asked = Questions(program, lambda query: fixed_weights(program))
    >>> asked.provable("p(c)", None, "auto"), asked.exact_fraction("p(a)", None)
    (False, Fraction(3, 10))
    """

    program: Program
    weigh: Callable[[Query], Weigh]
    local: bool = True
    weighs_one: bool = True

    def begin(self, query: str | Query) -> tuple[Query, Goal, Interner]:
        """The query as read, its first goal, and the table that goals are kept in."""
        parsed = self.program.query(query)
        interner = Interner()
        return parsed, start(parsed.atoms, interner), interner

    @gc_paused()
    def success(
        self, query: str | Query, budget: Budget | None, method: Method
    ) -> tuple[Success, Goal]:
        """p_success of a query, or bounds on it; and its first goal."""
        goal: Goal | None = None
        try:
            with watched(budget) as limits:
                parsed, goal, interner = self.begin(query)
                return success(
                    self.program, goal, interner, self.weigh(parsed), local=self.local,
                    budget=limits, method=method,
                ), goal  # fmt: skip
        except BudgetExceeded as error:
            if goal is None:
                raise
            # The watchdog ended what cannot be ended half-way: nothing is known.
            return Success(-math.inf, None, False, "graph", 0, error.limit), goal

    def log_prob(self, query: str | Query, budget: Budget | None, method: Method) -> float:
        """log p_success of a query; raises `Inexact` when the budget ends first."""
        return require_exact(*self.success(query, budget, method))

    @gc_paused()
    def log_answers(
        self, query: str | Query, budget: Budget | None, method: Method
    ) -> dict[str, float]:
        """The log probability of each answer, as Prolog text, most probable first."""
        with watched(budget) as limits:
            parsed, goal, interner = self.begin(query)
            weights = answer_weights(
                self.program, goal, interner, self.weigh(parsed), local=self.local, budget=limits,
                method=method,
            )  # fmt: skip
            return log_answers(parsed, self.program, weights)

    @gc_paused()
    def provable(self, query: str | Query, budget: Budget | None, method: Method) -> bool:
        """True when some derivation with nonzero weight succeeds."""
        with watched(budget) as limits:
            parsed, goal, interner = self.begin(query)
            return has_proof(
                self.program, goal, interner, self.weigh(parsed), local=self.local, budget=limits,
                method=method,
            )  # fmt: skip

    @gc_paused()
    def exact_fraction(self, query: str | Query, budget: Budget | None) -> Fraction:
        """p_success of a query as an exact fraction."""
        if not self.weighs_one:
            raise ProgramError(
                "a scorer's weights are no fractions", hint="prob() computes with floats"
            )
        with watched(budget) as limits:
            parsed, goal, interner = self.begin(query)
            graph = explore(self.program, [goal], interner, limits)
            if not graph.complete:
                raise ProgramError(
                    f"the goal graph of {parsed} is not finite within the budget ({graph.stopped})",
                    hint="exact fractions need a finite goal graph; prob() can table",
                )
            weights = fractions(graph.choices)
            return evaluate(schedule(graph), weights, FractionSemiring())[int(graph.roots[0])]

    @gc_paused()
    def best_proof(self, query: str | Query, budget: Budget | None, method: Method) -> Proof:
        """The most probable derivation of a query, as a proof tree."""
        with watched(budget) as limits:
            parsed, goal, interner = self.begin(query)
            best = best_derivation(
                self.program, goal, interner, self.weigh(parsed), local=self.local,
                weighs_one=self.weighs_one, budget=limits, method=method,
            )  # fmt: skip
            if best is None:
                raise ProgramError(f"{parsed} has no proof")
            return build_proof(self.program, parsed, Derivation(best.choices, best.log_weights))

    @gc_paused()
    def predict(
        self,
        query: str | Query,
        top: int,
        by: By,
        steps: int,
        budget: Budget | None,
        method: Method,
    ) -> list[Prediction]:
        """The most probable answers of a query, each with its best proof."""
        with watched(budget) as limits:
            parsed, goal, interner = self.begin(query)
            found = likely_answers(
                self.program, goal, interner, self.weigh(parsed), top=top, by=by,
                local=self.local, budget=limits, steps=steps, method=method,
            )  # fmt: skip
            return [prediction(self.program, parsed, one) for one in found]
