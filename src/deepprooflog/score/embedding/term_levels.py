"""Distinct terms by level: leaves, then compounds and list cells above what they are made of.

List cells are strung into runs. A cell joins the run that ends in its tail when nothing stands in
the way: the tail has no other cell on it yet, and the head belongs to a lower level than the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from deepprooflog.syntax.terms import CONS, Atom, Float, Functor, Slot, Str, Struct, Term, Var


@dataclass(frozen=True)
class TermLevel:
    """The inner terms of one level that hold tensors, or that hold none."""

    slotted: bool
    compounds: dict[int, list[int]] = field(default_factory=dict)  # by arity
    runs: list[list[int]] = field(default_factory=list)  # list cells, from the end to the front


class TermLevels:
    """Terms numbered as they are added, children before parents; leaves by kind."""

    def __init__(self, networks: Mapping[int, str]) -> None:
        self.number: dict[Term, int] = {}
        self.symbols: dict[int, Atom | Str] = {}
        self.numbers: dict[int, int | float] = {}
        self.variables: dict[int, int] = {}  # their numbers in the goal
        self.slots: dict[str | None, dict[int, int]] = {}  # slot numbers, by network
        self.functors: dict[int, Functor] = {}
        self.children: dict[int, tuple[int, ...]] = {}
        self.slotted: list[bool] = []
        self._level: list[int] = []
        self._networks = networks
        self._levels: dict[tuple[int, bool], TermLevel] = {}
        self._run_ending_in: dict[int, list[int]] = {}

    def levels(self) -> list[TermLevel]:
        """The terms with arguments, from the lowest level up."""
        return [self._levels[key] for key in sorted(self._levels)]

    def add(self, term: Term) -> int:
        """Number a term and its subterms, where they have no number yet."""
        number = self.number
        stack = [term]
        while stack:
            t = stack[-1]
            if t in number:
                stack.pop()
            elif type(t) is Struct:
                missing = [a for a in t.args if a not in number]
                if missing:
                    stack.extend(reversed(missing))
                else:
                    stack.pop()
                    self._add_struct(t)
            else:
                stack.pop()
                self._add_leaf(t)
        return number[term]

    def _add_leaf(self, term: Term) -> None:
        n = self.number[term] = len(self.number)
        self._level.append(0)
        self.slotted.append(type(term) is Slot)
        if type(term) is Slot:
            network = self._networks.get(term.number)
            self.slots.setdefault(network, {})[n] = term.number
        elif type(term) is Var:
            self.variables[n] = term.index
        elif isinstance(term, Atom | Str):
            self.symbols[n] = term
        elif isinstance(term, int | Float):
            self.numbers[n] = term if isinstance(term, int) else term.value

    def _add_struct(self, term: Struct) -> None:
        n = self.number[term] = len(self.number)
        children = self.children[n] = tuple([self.number[a] for a in term.args])
        slotted = any(self.slotted[c] for c in children)
        self.functors[n] = term.functor
        self.slotted.append(slotted)
        if term.functor is CONS:
            self._level.append(self._string(n, children[0], children[1], slotted))
        else:
            level = 1 + max(self._level[c] for c in children)
            self._level.append(level)
            self._at(level, slotted).compounds.setdefault(len(children), []).append(n)

    def _string(self, cell: int, head: int, tail: int, slotted: bool) -> int:
        """Put a list cell into a run; the level of that run."""
        run = self._run_ending_in.pop(tail, None)
        level = self._level[tail]
        if run is None or self.slotted[tail] != slotted or self._level[head] >= level:
            if run is not None:
                self._run_ending_in[tail] = run
            level = 1 + max(self._level[head], level)
            run = []
            self._at(level, slotted).runs.append(run)
        run.append(cell)
        self._run_ending_in[cell] = run
        return level

    def _at(self, level: int, slotted: bool) -> TermLevel:
        return self._levels.setdefault((level, slotted), TermLevel(slotted))
