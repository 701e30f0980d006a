"""`why_not` of a program or a model: the derivations that fail nearest to success."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from deepprooflog.errors import ProofLogError
from deepprooflog.insight.failure import FailedDerivation, WhyNot
from deepprooflog.insight.near_search import (
    NearDerivation,
    NearRules,
    NearSearch,
    with_facts_or_none,
)
from deepprooflog.insight.open_tree import OpenTree, mended, open_tree
from deepprooflog.logic.limits.budget import Budget
from deepprooflog.logic.limits.watch import watched
from deepprooflog.logic.program import PredicateKind, Program
from deepprooflog.logic.query import Query
from deepprooflog.questions import ProgramQuestions, Questions
from deepprooflog.syntax.terms import Atom, Term, functor_of
from deepprooflog.syntax.writer import write_term

# The goals and seconds that a search takes up where no budget is given.
GOALS, SECONDS = 20_000, 10.0


def why_not(
    program: Program | Questions,
    query: str | Query,
    *,
    most: int = 5,
    missing: int = 3,
    budget: Budget | None = None,
) -> WhyNot:
    """What keeps a query from being proved: the facts that nearly successful derivations lack.

    A derivation may assume facts of predicates that have facts, at most `missing` of them, and pass
    over tests that do not hold. Those that lack least come first, then the more probable ones; for
    the same missing facts only the best derivation is given. Each is checked: with its missing
    facts as clauses it succeeds.

    >>> program = Program(\"\"\"
    ...     gran(X, Y) :- mother(X, Z), father(Z, Y).
    ...     mother(ann, bob). father(joe, cy).
    ... \"\"\")
    >>> for one in why_not(program, "gran(ann, cy)").derivations:
    ...     print(one.missing)
    ('father(bob,cy)',)
    ('mother(ann,joe)',)
    ('mother(ann,new_1)', 'father(new_1,cy)')
    """
    began = time.perf_counter()
    asked = ProgramQuestions(program) if isinstance(program, Program) else program
    with watched(budget or Budget(max_goals=GOALS, max_seconds=SECONDS)) as limits:
        parsed, goal, interner = asked.begin(query)
        source = asked.program
        rules = NearRules(with_facts_or_none(source), missing)
        now = _probability(asked, parsed, limits.part(0.25))
        weigh = asked.weigher(parsed)
        search = NearSearch(source, interner, weigh, rules, limits.part(0.6))
        results = NearResults(source, parsed)
        search.run(goal, results.take, most)
        derivations = tuple(
            replace(one, then=_then(asked, parsed, tree, limits))
            for one, tree in zip(results.derivations, results.trees, strict=True)
        )
    result = WhyNot(str(parsed), now, derivations, search.stopped, search.expanded)
    return replace(result, seconds=round(time.perf_counter() - began, 3))


class NearResults:
    """Gathers the derivations that a search finds: each set of missing facts once, each checked.

    Names that stand for anything are none of the `known` ones.
    """

    def __init__(
        self, program: Program, query: Query, known: Callable[[Term], bool] = lambda _: False
    ) -> None:
        self.program, self.query, self.known = program, query, known
        self.derivations: list[FailedDerivation] = []
        self.trees: list[OpenTree] = []
        self._lacks: list[frozenset[Term]] = []

    def take(
        self, found: NearDerivation, wanted: Callable[[FailedDerivation], bool] = lambda _: True
    ) -> bool:
        """Keep a derivation that is `wanted`, unless another lacks the same or less."""
        lacks = frozenset(found.assumed)
        if any(other <= lacks for other in self._lacks):
            return False
        tree = open_tree(self.program, self.query, found, self._name)
        if not tree.failed and not tree.proof.check():
            return False
        texts = tuple(write_term(f, operators=self.program.operators) for f in tree.missing)
        one = FailedDerivation(tree.proof, texts, tree.failed, tree.invented)
        if not wanted(one):
            return False
        self._lacks.append(lacks)
        self.trees.append(tree)
        self.derivations.append(one)
        return True

    def _name(self, number: int) -> Term:
        name = Atom(f"new_{number}")
        while self.known(name):
            name = Atom(f"{name.name}_")
        return name


def _probability(asked: Questions, query: Query, budget: Budget) -> float | None:
    """p_success of the query, None where it is not known within the budget."""
    try:
        success = asked.success(query, budget)
    except ProofLogError:
        return None
    return success.lower if success.exact else None


def _then(asked: Questions, query: Query, tree: OpenTree, budget: Budget) -> float | None:
    """p_success of the query with the missing facts, of programs whose added facts weigh 1."""
    if not isinstance(asked, ProgramQuestions) or tree.failed or budget.late:
        return None
    predicates = asked.program.predicates
    kinds = {predicates[f].kind for f in map(functor_of, tree.missing) if f is not None}
    if kinds != {PredicateKind.PLAIN}:
        return None
    changed, _ = mended(asked.program, tree.missing)
    return _probability(ProgramQuestions(changed), query, budget)
