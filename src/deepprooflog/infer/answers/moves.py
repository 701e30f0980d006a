"""What the next steps of a goal make of the answer: moves, and how probable an answer can get.

Along a derivation of an open query the answer grows: a step binds some of the query's variables
that are still open in the goal, or leaves them as they are. A *move* is a run of steps of the
latter kind and one of the former; all runs that bind alike and end alike are one move, weighed by
their sum. From the moves comes a bound on the best answer below a goal,

    u(G) = max over bindings b of  Σ over moves G → G' that agree with b of  w(move) · u(G')

which is at most p_success(G) and at least the probability of every single answer of G: answers
that part at this move are not added up.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from deepprooflog.graph.goalgraph import GoalGraph
from deepprooflog.graph.schedule import Schedule, schedule, strong_components
from deepprooflog.infer.graphs.semiring import LogSemiring
from deepprooflog.infer.graphs.values import log_evaluate
from deepprooflog.score.fixed import label_slack
from deepprooflog.syntax.terms import Struct, Term, Var, is_ground

Move = tuple[float, tuple[Term, ...], int]
"""Log weight, the source's open variables over those of the target, and the target."""

# Pairs of bindings compared for agreement; where there are more, all count as agreeing.
MOST_PAIRS = 20_000
# Sweeps over a cyclic graph: each one lowers the bound u, and every one of them is a bound.
SWEEPS = 32

_log = LogSemiring()


class BindsNothing(Exception):
    """Derivations go round a cycle that binds nothing: a move has no last step."""


class Moves:
    """The moves of a complete goal graph that kept what its steps bind."""

    def __init__(
        self, graph: GoalGraph, weights: NDArray[np.float64], plan: Schedule | None = None
    ) -> None:
        assert graph.bound is not None and graph.complete
        self.graph = graph
        self.root = int(graph.roots[0])
        self.open = [goal.answer for goal in graph.goals]
        self._weights: list[float] = weights.tolist()
        self._bound = graph.bound
        plan = plan or schedule(graph)
        self.live: list[bool] = plan.live.tolist()
        slack = label_slack(graph.first, graph.choices, graph.program)
        self.value = log_evaluate(plan, self._weights, slack=slack).log
        self.rank: list[int] = plan.component_of.tolist()
        self._first: list[int] = graph.first.tolist()
        self._target: list[int] = graph.target.tolist()
        self._silent = [b == self.open[t] for b, t in zip(self._bound, self._target, strict=True)]
        self._order = self._without_cycles()
        self._moves: dict[int, list[Move]] = {}
        self.best = list(self.value)
        self._bound_answers(plan)

    def moves(self, node: int) -> list[Move]:
        """The moves of a goal that has open variables."""
        known = self._moves.get(node)
        if known is None:
            known = self._moves[node] = self._find(node)
        return known

    def _steps(self, node: int) -> Iterable[int]:
        for e in range(self._first[node], self._first[node + 1]):
            if self.live[self._target[e]] and self._weights[e] > -math.inf:
                yield e

    def _idle(self, edge: int) -> bool:
        """True for a step that binds nothing, though it may put variables in another order."""
        return self._silent[edge] or all([type(b) is Var for b in self._bound[edge]])

    def _without_cycles(self) -> list[int]:
        """For each goal its place in an order in which steps that bind nothing lead downwards."""
        below = [
            [self._target[e] for e in self._steps(n) if self._idle(e)] if self.open[n] else []
            for n in range(self.graph.nodes)
        ]
        order = [0] * self.graph.nodes
        for place, members in enumerate(strong_components(below)):
            if len(members) > 1 or members[0] in below[members[0]]:
                raise BindsNothing
            order[members[0]] = place
        return order

    def _find(self, node: int) -> list[Move]:
        arrived = {node: 0.0}
        heap = [(-self._order[node], node)]
        found: dict[tuple[tuple[Term, ...], int], float] = {}
        while heap:
            _, n = heappop(heap)
            here = arrived.pop(n)
            for e in self._steps(n):
                t = self._target[e]
                weight = here + self._weights[e]
                if not self._silent[e]:
                    key = (self._bound[e], t)
                    found[key] = log_add(found[key], weight) if key in found else weight
                elif t in arrived:
                    arrived[t] = log_add(arrived[t], weight)
                else:
                    arrived[t] = weight
                    heappush(heap, (-self._order[t], t))
        return [(weight, bound, t) for (bound, t), weight in found.items()]

    def _bound_answers(self, plan: Schedule) -> None:
        """Lower `best` from p_success to u, for every goal that a move leads to."""
        starts = {self._target[e] for e, silent in enumerate(self._silent) if not silent}
        starts.add(self.root)
        nodes = [n for c in plan.components for n in c if n in starts and self.open[n]]
        for _ in range(SWEEPS if any(plan.cyclic) else 1):
            lowered = 0.0
            for n in nodes:
                bound = self._agreeing(n)
                lowered = max(lowered, self.best[n] - bound if bound < self.best[n] else 0.0)
                self.best[n] = min(self.best[n], bound)
            if lowered < 1e-12:
                break

    def _agreeing(self, node: int) -> float:
        """max over bindings of the sum over the moves that agree with it."""
        weights: dict[tuple[Term, ...], float] = {}
        for weight, bound, t in self.moves(node):
            total = weight + self.best[t]
            weights[bound] = log_add(weights[bound], total) if bound in weights else total
        some = [b for b in weights if not all(map(is_ground, b))]
        if len(some) * len(weights) > MOST_PAIRS:
            return _log.total(list(weights.values()))
        top = -math.inf
        for b in weights:
            others = weights if len(some) == len(weights) or b in some else [b, *some]
            top = max(top, _log.total([weights[o] for o in others if o is b or agree(o, b)]))
        return top


def log_add(a: float, b: float) -> float:
    """log(exp a + exp b).

    >>> log_add(math.log(0.25), math.log(0.5)) == math.log(0.75)
    True
    """
    if a < b:
        a, b = b, a
    return a if b == -math.inf else a + math.log1p(math.exp(b - a))


def agree(a: Iterable[Term], b: Iterable[Term]) -> bool:
    """False when two bindings differ in a functor or a constant, so that no answer has both."""
    stack = list(zip(a, b, strict=True))
    while stack:
        x, y = stack.pop()
        if x is y or type(x) is Var or type(y) is Var:
            continue
        if type(x) is Struct:
            if type(y) is not Struct or x.functor is not y.functor:
                return False
            stack.extend(zip(x.args, y.args, strict=True))
        elif type(x) is not type(y) or x != y:
            return False
    return True
