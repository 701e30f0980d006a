"""The most probable answers of an open query, by A* over what answers begin with.

A *prefix* is an answer of which some places are decided: `[3, 1|_]`. Its state holds every goal the
derivations with this prefix can be at, each with their total weight. From the bounds u of the goals

    bound(prefix) = Σ over its goals of  weight · u(goal)   ≥   p of every answer it begins

and for a whole answer the bound is its probability: a sum over all its derivations. Prefixes are
taken up best first, so the first whole answer to come up is the most probable one, the next the
second, and so on. Nothing is approximated; what a budget may do is end the search early.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import NamedTuple

from deepprooflog.infer.answers.moves import Moves, log_add
from deepprooflog.infer.graphs.semiring import LogSemiring
from deepprooflog.logic.limits.budget import Budget
from deepprooflog.syntax.terms import Functor, Struct, Term, Var, is_ground, variables

Item = tuple[int, tuple[Term, ...]]
"""A goal, and what its derivations have made of the undecided places so far."""

# Bounds that differ by less than this are equal, and the longer prefix goes first: rounding would
# send the search back and forth among equals.
DIGITS = 9

_log = LogSemiring()


class Decision(NamedTuple):
    """The undecided place number `place` became `what`; earlier decisions stand before it."""

    before: Decision | None
    place: int
    what: Functor | Term


@dataclass(frozen=True)
class Prefix:
    """A partly decided answer and the goals of its derivations."""

    bound: float  # log of a bound on its answers; of the probability where nothing is undecided
    items: dict[Item, float]  # log weights
    last: Decision | None
    depth: int
    free: int  # variables of the answer that stay variables, so far

    @property
    def whole(self) -> bool:
        return not next(iter(self.items))[1]


class Spent(Exception):
    """The search may take no further steps."""


class PrefixSearch:
    """A* over the prefixes of a query's answers; iterate for (answer, log p), best first."""

    def __init__(self, moves: Moves, states: int, budget: Budget | None = None) -> None:
        self.moves = moves
        self.left = states
        self._budget = (budget or Budget()).start()
        self._leaving: Prefix | None = None
        self._heap: list[tuple[float, int, int, Prefix]] = []
        self._pushed = 0
        # More moves than this without deciding a place: a cycle that binds other places for ever.
        self._most_moves = moves.graph.nodes + 64
        self._decided: list[Var] = []
        self._pending: list[Var] = []
        root = moves.root
        if moves.value[root] > -math.inf:
            items = {(root, moves.open[root]): 0.0}
            self._add(Prefix(self._bound(items), items, None, 0, 0))

    @property
    def others(self) -> float:
        """No answer that has not come up is more probable than this (a logarithm)."""
        first = self._heap[0][3].bound if self._heap else -math.inf
        # A watchdog may come when a prefix has left the heap, but not yet for what replaces it.
        return first if self._leaving is None else max(first, self._leaving.bound)

    def __iter__(self) -> Iterator[tuple[tuple[Term, ...], float]]:
        while self._heap:
            prefix = self._heap[0][3]
            if prefix.whole:
                self._leaving = prefix
                heappop(self._heap)
                yield answer_of(prefix.last), prefix.bound
                self._leaving = None
                continue
            # The prefix leaves the heap only when its continuations are there.
            below = self._continued(prefix)
            self._leaving = prefix
            heappop(self._heap)
            for child in below:
                self._add(child)
            self._leaving = None

    def listed(self) -> None:
        """Called when the answer that came up last is kept: it is no longer one of the others."""
        self._leaving = None

    def dive(self, limit: int) -> tuple[tuple[Term, ...], float] | None:
        """A whole answer in haste: the best prefix, continued by the best place after place."""
        if not self._heap:
            return None
        prefix = self._heap[0][3]
        self.left, self._budget = limit, Budget()
        try:
            while not prefix.whole:
                prefix = max(self._continued(prefix), key=lambda p: p.bound)
        except Spent:
            return None
        return answer_of(prefix.last), prefix.bound

    def _add(self, prefix: Prefix) -> None:
        self._pushed += 1
        key = (-round(prefix.bound, DIGITS), -prefix.depth, self._pushed)
        heappush(self._heap, (*key, prefix))

    def _bound(self, items: dict[Item, float]) -> float:
        best, value = self.moves.best, self.moves.value
        return _log.total([w + (best[n] if s else value[n]) for (n, s), w in items.items()])

    def _spend(self) -> None:
        self.left -= 1
        if self.left < 0 or self._budget.late:
            raise Spent

    def _continued(self, prefix: Prefix) -> list[Prefix]:
        """The prefix with one more place decided, in every possible way."""
        place = self._place(prefix)
        classes: dict[object, tuple[Functor | Term, dict[Item, float]]] = {}
        waiting = dict(prefix.items)
        heap = [(-self.moves.rank[item[0]], i, 0, item) for i, item in enumerate(waiting)]
        heap.sort()
        count = len(heap)
        while heap:
            _, _, moved, item = heappop(heap)
            weight = waiting.pop(item, None)
            if weight is None:
                continue
            node, slots = item
            self._spend()
            term = slots[place]
            if not is_open(term):
                self._sort(prefix, place, item, weight, classes)
                continue
            if moved > self._most_moves:
                raise Spent
            for w, bound, target in self.moves.moves(node):
                after = (target, self._after(node, slots, bound, target))
                if after in waiting:
                    waiting[after] = log_add(waiting[after], weight + w)
                else:
                    waiting[after] = weight + w
                    count += 1
                    heappush(heap, (-self.moves.rank[target], count, moved + 1, after))
        return [
            Prefix(
                self._bound(items), items, Decision(prefix.last, place, what), prefix.depth + 1,
                prefix.free + (type(what) is Var and what is self._decided_var(prefix.free)),
            )
            for what, items in classes.values()
        ]  # fmt: skip

    def _place(self, prefix: Prefix) -> int:
        """The place to decide: one that all goals have decided, else one that is bound next."""
        items = list(prefix.items)
        for place in range(len(items[0][1])):
            if not any(is_open(slots[place]) for _, slots in items):
                return place
        node, slots = max(
            (item for item in items if any(map(is_open, item[1]))),
            key=lambda item: self.moves.rank[item[0]],
        )
        while True:
            for _, bound, _ in self.moves.moves(node):
                number = dict(zip(self.moves.open[node], bound, strict=True))
                for place, term in enumerate(slots):
                    if is_open(term) and type(number[term]) is not Var:
                        return place
            # No move binds anything: some put the variables in another order, or let them go.
            _, bound, target = self.moves.moves(node)[0]
            after = self._after(node, slots, bound, target)
            if not any(map(is_open, after)):
                return next(place for place, term in enumerate(slots) if is_open(term))
            node, slots = target, after

    def _sort(
        self, prefix: Prefix, place: int, item: Item, weight: float,
        classes: dict[object, tuple[Functor | Term, dict[Item, float]]],
    ) -> None:  # fmt: skip
        """Put a goal that has decided the place among those that decided alike."""
        node, slots = item
        term = slots[place]
        what: Functor | Term = term
        inside: tuple[Term, ...] = ()
        rest = slots
        if type(term) is Struct:
            what, inside = term.functor, term.args
        elif type(term) is Var and term not in self._decided[: prefix.free]:
            what = self._decided_var(prefix.free)
            rest = tuple([substitute(t, {term: what}) for t in slots])
        after = self._renamed((*rest[:place], *inside, *rest[place + 1 :]))
        _, items = classes.setdefault((type(what), what), (what, {}))
        key = (node, after)
        items[key] = log_add(items[key], weight) if key in items else weight

    def _after(
        self, node: int, slots: tuple[Term, ...], bound: tuple[Term, ...], target: int
    ) -> tuple[Term, ...]:
        """What a move makes of the undecided places."""
        values: dict[Var, Term] = dict(zip(self.moves.open[node], bound, strict=True))  # type: ignore[arg-type]
        result = tuple(
            [values[t] if is_open(t) else substitute(t, values) for t in slots]  # type: ignore[index]
        )
        going_on = set(self.moves.open[target])
        if all(v in going_on for v in variables(*bound)):
            return result
        return self._renamed(result, going_on)

    def _renamed(
        self, slots: tuple[Term, ...], going_on: set[Term] | None = None
    ) -> tuple[Term, ...]:
        """Variables that no goal will bind any more, by names that depend on their order only."""
        new: dict[Var, Term] = {}
        for v in variables(*slots):
            lasting = v.index < 0 if going_on is None else v not in going_on
            if lasting and v not in self._decided:
                new[v] = self._pending_var(len(new))
        if all(v is n for v, n in new.items()):
            return slots
        return tuple([substitute(t, new) for t in slots])

    def _decided_var(self, number: int) -> Var:
        while len(self._decided) <= number:
            self._decided.append(Var())
        return self._decided[number]

    def _pending_var(self, number: int) -> Var:
        while len(self._pending) <= number:
            self._pending.append(Var())
        return self._pending[number]


def is_open(term: Term) -> bool:
    """True for a variable that is still in the goal; those that have left it have no index."""
    return type(term) is Var and term.index >= 0


def answer_of(last: Decision | None) -> tuple[Term, ...]:
    """The answer of which every place is decided."""
    done: list[Term] = []
    while last is not None:
        what, place = last.what, last.place
        if isinstance(what, Functor):
            inside = tuple(done[place : place + what.arity])
            done[place : place + what.arity] = [
                Struct(what, inside, all(type(t) is not Struct or t.ground for t in inside)
                       and not any(type(t) is Var for t in inside))
            ]  # fmt: skip
        else:
            done.insert(place, what)
        last = last.before
    return tuple(done)


def substitute(root: Term, values: dict[Var, Term]) -> Term:
    """A term with some of its variables replaced.

    >>> x = Var("X")
    >>> substitute(Struct(Functor("f", 2), (x, 1)), {x: 2}).args
    (2, 1)
    """
    if type(root) is Var:
        return values.get(root, root)
    if type(root) is not Struct or root.ground:
        return root
    open_: list[tuple[Struct, list[Term]]] = [(root, [])]
    while True:
        source, done = open_[-1]
        if len(done) == len(source.args):
            open_.pop()
            made = tuple(done)
            result = Struct(source.functor, made, all(map(_plainly_ground, made)))
            if not open_:
                return result
            open_[-1][1].append(result)
            continue
        term = source.args[len(done)]
        if type(term) is Var:
            done.append(values.get(term, term))
        elif type(term) is Struct and not term.ground:
            open_.append((term, []))
        else:
            done.append(term)


def _plainly_ground(term: Term) -> bool:
    return term.ground if type(term) is Struct else is_ground(term)
