"""Resolution compiled: what a rule does to a call, for each pattern a call can have.

A call pattern says of each argument whether it is a constant (0) or the goal's variable v (v + 1);
the leftmost atom of a canonical goal has v = 0, 1, … by first occurrence. Against a pattern head
unification can be done once and for all, with the call's constants as unknowns:

    sister(X, Y) :- brother(Y, X), female(X).   called as (constant, variable 0), bound first
      → ← female(arg 0), brother(variable 0, arg 0)        variable 0 of the goal stays variable 0

What is left for run time is to fill in the call's constants, and to test the few equalities that
unification could not decide (`same(X, X)` called with two constants).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import factorial
from typing import TypeAlias

from deepprooflog.logic.program import BodyOrder
from deepprooflog.relational.goals import variable
from deepprooflog.relational.guards import OF_VARIABLES
from deepprooflog.relational.rules import EncodedRule, Offer

CallPattern: TypeAlias = tuple[int, ...]
TermNode: TypeAlias = tuple[str, int]
"""A constant, an argument of the call, a variable of the goal or of the rule."""

_LOWEST = -(2**31)


def argument(position: int) -> int:
    """How a template writes what the call has at a position."""
    return _LOWEST + position


def residual(number: int) -> int:
    """How a template writes a goal's variable that no atom of the body mentions."""
    return _LOWEST + 2**16 + number


@dataclass(frozen=True)
class CompiledRule:
    """A rule's resolvent for one call pattern."""

    body: tuple[tuple[int, ...], ...]  # in the order of resolution, variables numbered
    bindings: tuple[int, ...]  # what the goal's variables 0, 1, … of the call become
    shift: int  # by how much the numbers of all other variables of the goal grow
    tests: tuple[tuple[int, int], ...]  # arguments of the call, and what each must equal

    @property
    def residuals(self) -> int:
        """How many variables are left for run time to number."""
        return len({b for b in self.bindings if _LOWEST + 2**16 <= b < _LOWEST + 2**17})


def code_of(pattern: CallPattern) -> int:
    """The number of a pattern: its j-th entry, at most j + 1, counts (j + 1)!.

    >>> code_of((0, 1)), pattern_of(2, 2)
    (2, (0, 1))
    """
    return sum(entry * factorial(j + 1) for j, entry in enumerate(pattern))


def pattern_of(code: int, arity: int) -> CallPattern:
    """The pattern a number stands for."""
    return tuple(code // factorial(j + 1) % (j + 2) for j in range(arity))


def is_canonical(pattern: CallPattern) -> bool:
    """Whether variables are numbered by first occurrence."""
    return all(entry <= max(pattern[:j], default=0) + 1 for j, entry in enumerate(pattern))


def compile_rule(
    rule: EncodedRule, pattern: CallPattern, order: BodyOrder, guards: frozenset[int] = frozenset()
) -> CompiledRule | None:
    """The resolvent of a rule for calls of one pattern; None where they cannot unify.

    Patterns are as long as the widest predicate's; past the rule's arity a call has no variables.
    The atoms of `guards` keep their places whatever the order.
    """
    arity = len(rule.head) - 1
    if any(pattern[arity:]):
        return None
    if rule.offer is Offer.GUARD and any(pattern) and rule.clause.functor not in OF_VARIABLES:
        return None
    pattern = pattern[:arity]
    classes = _Classes()
    for position, (head, entry) in enumerate(zip(rule.head[1:], pattern, strict=True)):
        call: TermNode = ("goal", entry - 1) if entry else ("call", position)
        if not classes.merge(_node(head), call):
            return None
    body = [(atom[0], [classes.find(_node(a)) for a in atom[1:]]) for atom in rule.body]
    if rule.offer is Offer.BELIEF and any(_is_free(n) for _, nodes in body for n in nodes):
        return None
    if order == "bound_first":
        body = [body[i] for i in _bound_first(body, guards)]
    numbers: dict[TermNode, int] = {}
    atoms = tuple((p, *(_write(n, numbers) for n in nodes)) for p, nodes in body)
    known = len(numbers)
    left: dict[TermNode, int] = {}
    bindings = []
    for v in range(max(pattern, default=0)):
        node = classes.find(("goal", v))
        if _is_free(node) and node not in numbers:
            bindings.append(residual(left.setdefault(node, len(left))))
        else:
            bindings.append(_write(node, numbers))
    return CompiledRule(atoms, tuple(bindings), known - len(bindings), tuple(classes.tests()))


def _node(term: int) -> TermNode:
    return ("constant", term) if term >= 0 else ("rule", -2 - term)


def _is_free(node: TermNode) -> bool:
    return node[0] in ("goal", "rule")


def _write(node: TermNode, numbers: dict[TermNode, int]) -> int:
    kind, number = node
    if kind == "constant":
        return number
    if kind == "call":
        return argument(number)
    return variable(numbers.setdefault(node, len(numbers)))


def _bound_first(
    body: Sequence[tuple[int, Sequence[TermNode]]], guards: frozenset[int]
) -> Iterator[int]:
    """Between guards, always the atom with the fewest free variables next, ties as written."""
    free = [{n for n in nodes if _is_free(n)} for _, nodes in body]
    bound: set[TermNode] = set()
    waiting: list[int] = []
    for place in (*range(len(body)), None):
        if place is not None and body[place][0] not in guards:
            waiting.append(place)
            continue
        while waiting:
            best = min(waiting, key=lambda i: (len(free[i] - bound), i))
            waiting.remove(best)
            bound |= free[best]
            yield best
        if place is not None:
            bound |= free[place]
            yield place


# A class is written as its most definite member.
_RANK = {"constant": 0, "call": 1, "goal": 2, "rule": 3}


class _Classes:
    """Terms that unification makes equal; what it cannot decide becomes a test."""

    def __init__(self) -> None:
        self._up: dict[TermNode, TermNode] = {}
        self._tests: list[tuple[int, int]] = []

    def find(self, node: TermNode) -> TermNode:
        while node in self._up:
            node = self._up[node]
        return node

    def merge(self, a: TermNode, b: TermNode) -> bool:
        a, b = sorted((self.find(a), self.find(b)), key=lambda n: _RANK[n[0]])
        if a == b:
            return True
        if b[0] == "constant":
            return False
        if b[0] == "call":
            self._tests.append((b[1], a[1] if a[0] == "constant" else argument(a[1])))
        self._up[b] = a
        return True

    def tests(self) -> Iterator[tuple[int, int]]:
        return iter(self._tests)
