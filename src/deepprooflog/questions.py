"""What can be asked about one query: the same of labels alone and of a model.

A query is parsed, becomes the first goal of its derivations, and is solved by `infer`; who weighs
the steps is all that differs between a program and a model.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from fractions import Fraction

from deepprooflog.errors import BudgetExceeded, ProgramError
from deepprooflog.graph.explore import explore
from deepprooflog.graph.schedule import schedule
from deepprooflog.infer.answers.predict import STEPS, By, likely_answers
from deepprooflog.infer.best import best_derivation
from deepprooflog.infer.graphs.semiring import FractionSemiring, evaluate
from deepprooflog.infer.method import Method, SolveRequest
from deepprooflog.infer.success import Success, answer_weights, has_proof, require_exact, success
from deepprooflog.logic import answers
from deepprooflog.logic.answers import probability
from deepprooflog.logic.goal import Goal, Interner
from deepprooflog.logic.limits.budget import Budget
from deepprooflog.logic.limits.gc_pause import gc_paused
from deepprooflog.logic.limits.watch import watched
from deepprooflog.logic.program import Program
from deepprooflog.logic.query import Query
from deepprooflog.logic.resolve import start
from deepprooflog.proof.build import Derivation, Prediction, build_proof, prediction
from deepprooflog.proof.tree import Proof
from deepprooflog.score.edges import fractions
from deepprooflog.score.fixed import Weigh, fixed_weights


class Questions(ABC):
    """Questions to a program whose steps someone weighs."""

    program: Program

    @abstractmethod
    def weigher(self, query: Query) -> Weigh:
        """Who weighs the steps of a query's derivations, with the query's own tensors."""

    @property
    @abstractmethod
    def local(self) -> bool:
        """The weigher reads only the leftmost atom, so that its calls can be tabled."""

    @property
    @abstractmethod
    def weighs_one(self) -> bool:
        """The weigher leaves unlabelled clauses their weight of 1."""

    def begin(self, query: str | Query) -> tuple[Query, Goal, Interner]:
        """The query as read, its first goal, and the table that goals are kept in."""
        parsed = self.program.query(query)
        interner = Interner()
        return parsed, start(parsed.atoms, interner), interner

    def _request(
        self, query: str | Query, budget: Budget, method: Method
    ) -> tuple[Query, SolveRequest]:
        parsed, goal, interner = self.begin(query)
        weigh, program = self.weigher(parsed), self.program
        return parsed, SolveRequest(
            program, goal, interner, weigh, self.local, self.weighs_one, budget, method
        )

    @gc_paused()
    def success(
        self, query: str | Query, budget: Budget | None = None, *, method: Method = "auto"
    ) -> Success:
        """p_success of a query with its bounds and the method used, without gradients."""
        read = False
        try:
            with watched(budget) as limits:
                _, request = self._request(query, limits, method)
                read = True
                return success(request)
        except BudgetExceeded as error:
            if not read:
                raise
            # The watchdog ended what cannot be ended half-way: nothing is known.
            return Success(-math.inf, None, False, "graph", 0, error.limit)

    def query_log_prob(
        self, query: str | Query, budget: Budget | None = None, *, method: Method = "auto"
    ) -> float:
        """log p_success of a query; raises `Inexact` when the budget ends first."""
        result = self.success(query, budget, method=method)
        return result.log_lower if result.exact else require_exact(result, self.begin(query)[1])

    def prob(
        self, query: str | Query, budget: Budget | None = None, *, method: Method = "auto"
    ) -> float:
        """p_success of a query; raises `Inexact`, with bounds, when the budget ends first."""
        return probability(self.query_log_prob(query, budget, method=method))

    def bounds(
        self, query: str | Query, budget: Budget | None = None, *, method: Method = "auto"
    ) -> tuple[float, float | None]:
        """Lower and upper bound on p_success within the budget.

        The upper bound is None where unlabelled alternatives may add up to more than 1.
        """
        result = self.success(query, budget, method=method)
        return result.lower, result.upper

    def answers(
        self, query: str | Query, budget: Budget | None = None, *, method: Method = "auto"
    ) -> dict[str, float]:
        """The probability of each answer to an open query, most probable first.

        It is the weight of the derivations of the open query that end in the answer. Under a scorer
        that renormalises, it differs from the probability of the ground query.
        """
        found = self.log_answers(query, budget, method=method)
        return {text: probability(log) for text, log in found.items()}

    @gc_paused()
    def log_answers(
        self, query: str | Query, budget: Budget | None = None, *, method: Method = "auto"
    ) -> dict[str, float]:
        """The logarithm of the probability of each answer, as Prolog text, most probable first."""
        with watched(budget) as limits:
            parsed, request = self._request(query, limits, method)
            return answers.log_answers(parsed, self.program, answer_weights(request))

    @gc_paused()
    def provable(
        self, query: str | Query, budget: Budget | None = None, *, method: Method = "auto"
    ) -> bool:
        """True when some derivation of a query with nonzero weight succeeds."""
        with watched(budget) as limits:
            return has_proof(self._request(query, limits, method)[1])

    @gc_paused()
    def exact_fraction(self, query: str | Query, budget: Budget | None = None) -> Fraction:
        """p_success as an exact fraction, where constant labels alone decide it."""
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
    def best_proof(
        self, query: str | Query, budget: Budget | None = None, *, method: Method = "auto"
    ) -> Proof:
        """The most probable derivation of a query, as a proof tree."""
        with watched(budget) as limits:
            parsed, request = self._request(query, limits, method)
            best = best_derivation(request)
            if best is None:
                raise ProgramError(
                    f"{parsed} has no proof",
                    hint="dprl why-not FILE QUERY, or dpl.why_not, says what it lacks",
                )
            return build_proof(self.program, parsed, Derivation(best.choices, best.log_weights))

    @gc_paused()
    def predict(
        self,
        query: str | Query,
        top: int = 1,
        *,
        by: By = "answer",
        steps: int = STEPS,
        budget: Budget | None = None,
        method: Method = "auto",
    ) -> list[Prediction]:
        """The most probable answers of an open query, best first, each with its best proof.

        An answer's probability sums over its derivations. The search is exact, also where answers
        are far too many to list; when `steps` or the budget's seconds end it early, the last
        prediction is not `certain`. `by="derivation"` takes the answer of the best derivation.

        >>> asked = ProgramQuestions(
        ...     Program("0.4 :: p(a). 0.3 :: p(b). 0.3 :: p(X) :- q(X). 1 :: q(b).")
        ... )
        >>> [(p.answer, p.probability, p.proof.probability) for p in asked.predict("p(X)")]
        [('p(b)', 0.6, 0.3)]
        """
        with watched(budget) as limits:
            parsed, request = self._request(query, limits, method)
            found = likely_answers(request, top=top, by=by, steps=steps)
            return [prediction(self.program, parsed, one) for one in found]


class ProgramQuestions(Questions):
    """Questions to a program by its labels alone.

    >>> asked = ProgramQuestions(Program("0.3 :: p(a). 0.7 :: p(b)."))
    >>> asked.provable("p(c)"), asked.exact_fraction("p(a)")
    (False, Fraction(3, 10))
    """

    local = True
    weighs_one = True

    def __init__(self, program: Program) -> None:
        self.program = program
        self._weights = fixed_weights(program)

    def weigher(self, query: Query) -> Weigh:
        return self._weights
