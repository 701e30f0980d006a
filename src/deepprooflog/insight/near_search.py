"""The derivations that fail nearest to success, best first.

A derivation goes on over an atom that no clause resolves by *assuming* it: a fact that is not there
but could be. A test that does not hold, `17 >= 18`, is passed over in the same way. What was
assumed rides in the answer of a goal, so that later steps bind its variables:

    G = ← A₁, …, Aₙ ; missing        G' = ← A₂, …, Aₙ ; missing, A₁        a step of weight 1

Goals are taken up in the order of (what is missing, −log p, steps): fewest missing first, then by
the policy's probability of the steps that are there. The goals with the same number missing get
half of what is left of the budget; what that cuts is said.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from deepprooflog.errors import BudgetExceeded, ProofLogError
from deepprooflog.graph.goalgraph import GoalGraph
from deepprooflog.logic.choice import Choice
from deepprooflog.logic.clause import Clause
from deepprooflog.logic.goal import Goal, Interner, rename
from deepprooflog.logic.limits.budget import Budget
from deepprooflog.logic.limits.counts import note
from deepprooflog.logic.program import Predicate, PredicateKind, Program
from deepprooflog.logic.resolve import Step, successors
from deepprooflog.score.fixed import Weigh
from deepprooflog.syntax.terms import Functor, Term, Var, args_of, functor_of, is_ground

# Goals that are expanded and weighed together at most.
WIDTH = 64
# Successors of one goal that are looked at: `between(1, inf, X)` has no end.
WIDEST = 10_000
# Clauses that a call with no argument bound may have, once something was assumed: before that, an
# order that takes bound atoms first hardly meets such calls.
WIDEST_OPEN = 2000


@dataclass(frozen=True)
class NearDerivation:
    """A derivation as steps, first step first; None where an atom was assumed or passed over."""

    steps: tuple[Choice | None, ...]
    log_weights: tuple[float, ...]
    assumed: tuple[Term, ...]  # atoms over canonical variables: missing facts, and tests that fail

    @property
    def log_prob(self) -> float:
        """log p of the steps that are there."""
        return float(sum(self.log_weights))


@dataclass(frozen=True)
class NearRules:
    """What a search may do beside resolving: which atoms may be assumed, which steps are taken.

    `sensible` may refuse a ground atom as a fact that could be missing. `nesting` limits how deep
    rules stand inside one another; `weighs` says whether a choice is offered at an atom with so
    much nesting left, `follows` whether a choice that is offered and weighed is taken.
    """

    assumable: Callable[[Functor], bool]
    most_missing: int = 3
    sensible: Callable[[Term], bool] = lambda _: True
    nesting: int | None = None
    follows: Callable[[Choice], bool] | None = None
    weighs: Callable[[Choice, int], bool] | None = None


class NearSearch:
    """Goals met, the best way to each, and those still to be taken up."""

    def __init__(
        self, program: Program, interner: Interner, weigh: Weigh, rules: NearRules, budget: Budget
    ) -> None:
        self.program, self.interner, self.weigh = program, interner, weigh
        self.rules, self.budget = rules, budget.start()
        self.goals: list[Goal] = []
        self.left: list[tuple[int, ...]] = []  # nesting left of each atom
        self.number: dict[tuple[Goal, tuple[int, ...]], int] = {}
        self.way: list[tuple[int, float, int]] = []
        self.last: list[tuple[int, Choice | None, float] | None] = []
        self.heap: list[tuple[int, bool, float, int, int]] = []
        self.expanded = 0
        self.stopped: str | None = None  # which limit left goals out
        self.asked: tuple[Term, ...] = ()

    def run(self, query: Goal, wanted: Callable[[NearDerivation], bool], most: int) -> None:
        """Hand over derivations, nearest first, until `most` of them were `wanted`."""
        try:
            self._run(query, wanted, most)
        except BudgetExceeded as error:
            self.stopped = error.limit

    def _run(self, query: Goal, wanted: Callable[[NearDerivation], bool], most: int) -> None:
        self.asked = query.atoms
        nesting = () if self.rules.nesting is None else (self.rules.nesting,) * len(query.atoms)
        self._offer(self._node(Goal(query.atoms, (), query.size), nesting), 0, 0.0, 0, None)
        found, missing, room = 0, 0, self._room()
        while self.heap and found < most:
            if self.heap[0][0] > missing:
                missing, room = self.heap[0][0], self._room()
            taken: list[int] = []
            while self.heap and len(taken) < min(WIDTH, room) and self.heap[0][0] == missing:
                _, _, cost, length, node = self.heap[0]
                if (missing, cost, length) == self.way[node] and self.goals[node].is_true:
                    if taken:
                        break
                    heappop(self.heap)
                    found += bool(missing) and wanted(self._derivation(node))
                    break
                heappop(self.heap)
                if (missing, cost, length) == self.way[node]:
                    taken.append(node)
            room -= len(taken)
            if taken:
                self._expand(taken)
            note(goals=self.expanded, missing=missing, derivations=found)
            if self.budget.late:
                self.stopped = "max_seconds"
                return
            if room <= 0:
                self._skip(missing)

    def _room(self) -> int:
        limit = self.budget.max_goals
        return 1 << 60 if limit is None else max(1, (limit - self.expanded + 1) // 2)

    def _skip(self, missing: int) -> None:
        """Leave out what is still to be taken up of goals with so much missing, but for ends."""
        kept = [e for e in self.heap if e[0] > missing or self.goals[e[4]].is_true]
        if len(kept) < len(self.heap):
            self.stopped = "max_goals"
            self.heap = kept
            heapify(self.heap)

    def _expand(self, nodes: list[int]) -> None:
        self.expanded += len(nodes)
        source: list[int] = []
        target: list[int] = []
        choices: list[Choice] = []
        followed: list[bool] = []
        for node in nodes:
            steps = self._steps(node)
            if steps is None:
                continue
            for step in steps:
                nest = self._nesting(node, step)
                source.append(node)
                target.append(self._node(step.goal, nest))
                choices.append(step.choice)
                followed.append(self.rules.follows is None or self.rules.follows(step.choice))
            self._pass_over(node, steps)
        if not choices:
            return
        place = {n: at for at, n in enumerate(dict.fromkeys([*source, *target]))}
        graph = GoalGraph.of_steps(
            self.program, [self.goals[n] for n in place],
            [place[n] for n in source], [place[n] for n in target], choices,
        )  # fmt: skip
        weights = self.weigh(graph, choices).tolist()
        for at, weight in enumerate(weights):
            node, goal = source[at], self.goals[target[at]]
            if not followed[at] or weight == -float("inf"):
                continue
            if goal.answer and not self._still_missing(self.goals[node], goal):
                continue
            missing, cost, length = self.way[node]
            last = (node, choices[at], weight)
            self._offer(target[at], missing, cost - weight, length + 1, last)

    def _steps(self, node: int) -> list[Step] | None:
        """N(G), None where it is an error to ask."""
        goal, weighs = self.goals[node], self.rules.weighs
        left = self.left[node][0] if self.left[node] else 0
        found: list[Step] = []
        if goal.answer and self._wide_open(goal.leftmost):
            self.stopped = "open calls"
            return found
        try:
            for step in successors(self.program, goal, self.interner, self.budget.for_guard()):
                if weighs is None or weighs(step.choice, left):
                    found.append(step)
                if len(found) >= WIDEST:
                    self.stopped = "successors"
                    break
        except BudgetExceeded as error:
            self.stopped = error.limit
        except ProofLogError:
            # What was assumed may leave a variable open that a builtin needs.
            if not goal.answer:
                raise
            return None
        return found

    def _wide_open(self, atom: Term) -> bool:
        """Whether a call binds no argument of a predicate with very many clauses."""
        functor = functor_of(atom)
        return (
            functor is not None
            and self.program.defines(functor)
            and self.program.size(functor) > WIDEST_OPEN
            and all(type(argument) is Var for argument in args_of(atom))
        )

    def _nesting(self, node: int, step: Step) -> tuple[int, ...]:
        left = self.left[node]
        if not left:
            return ()
        body = len(step.goal.atoms) - (len(left) - 1)
        return (*(left[0] - 1,) * body, *left[1:])

    def _pass_over(self, node: int, steps: list[Step]) -> None:
        """Offer the goal with its leftmost atom assumed, or passed over where it is a test."""
        goal = self.goals[node]
        atom = goal.leftmost
        functor = functor_of(atom)
        if functor is None:
            return
        missing, cost, length = self.way[node]
        again = atom in goal.answer and is_ground(atom)
        if not again and missing >= self.rules.most_missing:
            return
        if self.program.defines(functor):
            if not self.rules.assumable(functor):
                return
            if is_ground(atom) and (self.knows(atom) or not self.rules.sensible(atom)):
                return
            if self.asked == (atom,):
                return
        elif steps or not is_ground(atom):
            return
        atoms, answer = rename(goal)
        after = self.interner.goal(atoms[1:], answer if again else [*answer, atoms[0]])
        known = missing if again else missing + 1
        self._offer(self._node(after, self.left[node][1:]), known, cost, length + 1,
                    (node, None, 0.0))  # fmt: skip

    def _still_missing(self, before: Goal, after: Goal) -> bool:
        """False when a step bound something assumed to what is known, asked or assumed already."""
        for old, new in zip(before.answer, after.answer, strict=True):
            if new is old or not is_ground(new):
                continue
            if (new,) == self.asked or self.knows(new) or after.answer.count(new) > 1:
                return False
            if not self.rules.sensible(new):
                return False
        return True

    def knows(self, atom: Term) -> bool:
        """Whether a ground atom is a fact of the program."""
        functor = functor_of(atom)
        if functor is None or not self.program.defines(functor):
            return False
        return any(
            not c.body and c.head == atom for c in self.program.candidates(functor, args_of(atom))
        )

    def _node(self, goal: Goal, left: tuple[int, ...]) -> int:
        fresh = len(self.goals)
        number = self.number.setdefault((goal, left), fresh)
        if number == fresh:
            self.goals.append(goal)
            self.left.append(left)
            self.way.append((1 << 30, 0.0, 0))
            self.last.append(None)
        return number

    def _offer(
        self, node: int, missing: int, cost: float, length: int,
        last: tuple[int, Choice | None, float] | None,
    ) -> None:  # fmt: skip
        if (missing, cost, length) < self.way[node]:
            self.way[node] = (missing, cost, length)
            self.last[node] = last
            goal = self.goals[node]
            # What needs something that nobody has named comes after all that does not.
            invents = goal.is_true and not all(map(is_ground, goal.answer))
            heappush(self.heap, (missing, invents, cost, length, node))

    def _derivation(self, node: int) -> NearDerivation:
        assumed = self.goals[node].answer
        steps: list[Choice | None] = []
        weights: list[float] = []
        while (last := self.last[node]) is not None:
            node, choice, weight = last
            steps.append(choice)
            weights.append(weight)
        return NearDerivation(tuple(steps[::-1]), tuple(weights[::-1]), assumed)


def with_facts_or_none(program: Program) -> Callable[[Functor], bool]:
    """The predicates of which a fact may be missing: those with facts, and those with no clause.

    >>> assumable = with_facts_or_none(Program("p(X) :- q(X). q(a)."))
    >>> assumable(Functor("p", 1)), assumable(Functor("q", 1))
    (False, True)
    """
    known: dict[Functor, bool] = {}

    def assumable(functor: Functor) -> bool:
        if functor not in known:
            predicate = program.predicates.get(functor)
            known[functor] = (
                predicate is not None
                and predicate.kind is not PredicateKind.NEURAL
                and _may_have_facts(predicate)
            )
        return known[functor]

    return assumable


def _may_have_facts(predicate: Predicate) -> bool:
    entries = predicate.entries
    return not len(entries) or any(
        not (isinstance(item, Clause) and item.body) for item in entries.items()
    )
