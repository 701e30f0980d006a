"""The templates of all rules as tensors, for the call patterns met so far.

Template t = pattern · rules + rule. For each pattern and predicate a list says which rules can
resolve such a call. Where rule nesting is limited there is a set of lists for each standing that
an atom can have: of the query, in between, or with no nesting left.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from math import factorial

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from deepprooflog.relational.call_patterns import (
    CallPattern,
    CompiledRule,
    argument,
    code_of,
)
from deepprooflog.relational.goals import PAD, variable
from deepprooflog.relational.rules import EncodedRule, Offer

# A test that always holds: the argument at position 0 of the call equals itself.
_NO_TEST = (0, argument(0))


@dataclass(frozen=True)
class Standing:
    """What an atom's nesting says of the rules it may be resolved with."""

    nests: bool  # rules that count as nested
    believes: bool  # rules that believe

    def offers(self, rule: EncodedRule) -> bool:
        """Whether a rule may be used."""
        if rule.offer is Offer.BELIEF:
            return self.believes
        return self.nests or not rule.nests


@dataclass(frozen=True)
class AtomLayout:
    """What the layout of goals depends on: names, the widest atom, whether nesting is limited."""

    predicates: int
    arity: int
    nested: bool
    neural: frozenset[int]  # predicates of neural facts
    guards: frozenset[int]  # and those that are guards
    standings: tuple[Standing, ...]  # those that have lists of rules

    @property
    def width(self) -> int:
        """Columns of an atom."""
        return 1 + self.arity + self.nested

    @cached_property
    def ends(self) -> frozenset[int]:
        """Predicates below which no rule stands: their atoms have no nesting left."""
        return self.neural | self.guards


@dataclass(frozen=True)
class Tables:
    """Templates and lists of rules; what depends on a pattern is indexed by its place in codes."""

    patterns: tuple[CallPattern, ...]  # by code
    codes: Int[Tensor, " patterns"]
    weights: Int[Tensor, " arity"]  # what each argument counts in a code
    most: Int[Tensor, " arity"]  # and at most can be there
    variables: Int[Tensor, " patterns"]  # how many variables a call has
    first: Int[Tensor, "patterns arity"]  # where variable v is first met
    repeats: Bool[Tensor, " patterns"]  # whether one is met twice

    body: Int[Tensor, "templates columns"]  # atoms in the order of resolution
    length: Int[Tensor, " templates"]
    bindings: Int[Tensor, "templates arity"]
    shift: Int[Tensor, " templates"]
    test_argument: Int[Tensor, "templates tests"]
    test_value: Int[Tensor, "templates tests"]
    residuals: int  # the most variables of a template that are left to number

    rules: Int[Tensor, " offered"]  # the lists, one after another
    list_start: Int[Tensor, " lists"]
    list_size: Int[Tensor, " lists"]
    list_longest: Int[Tensor, " lists"]  # the longest body in each list
    list_unbound: Bool[Tensor, " lists"]  # a neural fact called with a variable

    lengths: tuple[int, ...]  # the lengths of bodies


def build_tables(
    rules: Sequence[EncodedRule],
    compiled: Mapping[CallPattern, Sequence[CompiledRule | None]],
    shape: AtomLayout,
    device: torch.device,
) -> Tables:
    """The tables of every rule compiled for every pattern."""
    known = tuple(sorted(compiled, key=code_of))
    templates = [compiled[pattern] for pattern in known]
    flat = list(chain.from_iterable(templates))
    offered = [t for t in flat if t is not None]
    longest = max((len(t.body) for t in offered), default=0)
    tests = max((len(t.tests) for t in offered), default=0)
    rows = [_row(t, shape, longest, tests) for t in flat]

    def column(number: int, *tail: int) -> Tensor:
        values = [row[number] for row in rows]
        return torch.tensor(values, dtype=torch.int32, device=device).reshape(len(rows), *tail)

    def patternwise(values: list[object], kind: torch.dtype, *tail: int) -> Tensor:
        return torch.tensor(values, dtype=kind, device=device).reshape(len(known), *tail)

    lists = _lists(rules, templates, shape)
    sizes = torch.tensor([len(numbers) for numbers, _, _ in lists], dtype=torch.long)
    return Tables(
        patterns=known,
        codes=patternwise([code_of(p) for p in known], torch.long),
        weights=torch.tensor([factorial(j + 1) for j in range(shape.arity)], device=device).long(),
        most=torch.arange(1, shape.arity + 1, device=device),
        variables=patternwise([max(p, default=0) for p in known], torch.int32),
        first=patternwise([_first(p) for p in known], torch.long, shape.arity),
        repeats=patternwise([_repeats(p) for p in known], torch.bool),
        body=column(0, longest * shape.width),
        length=column(1),
        bindings=column(2, shape.arity),
        shift=column(3),
        test_argument=column(4, tests).long(),
        test_value=column(5, tests),
        residuals=_residuals(rules, templates),
        rules=torch.tensor(
            [r for numbers, _, _ in lists for r in numbers], dtype=torch.long, device=device
        ),
        list_start=(sizes.cumsum(0) - sizes).to(device),
        list_size=sizes.to(device),
        list_longest=torch.tensor([n for _, n, _ in lists], dtype=torch.long, device=device),
        list_unbound=torch.tensor([b for _, _, b in lists], dtype=torch.bool, device=device),
        lengths=tuple(sorted({len(t.body) for t in offered})),
    )


def _row(
    template: CompiledRule | None, shape: AtomLayout, longest: int, tests: int
) -> tuple[list[list[int]], int, list[int], int, list[int], list[int]]:
    """A template's entries in the columns of the tables."""
    t = template if template is not None else CompiledRule((), (), 0, ())
    absent = [PAD] * shape.width
    body = [_atom(atom, shape) for atom in t.body]
    body += [absent] * (longest - len(body))
    known = len(t.bindings)
    # Variables of the goal that the call does not have keep their order behind the body's.
    others = [variable(v + t.shift) for v in range(known, shape.arity)]
    held = [*t.tests, *[_NO_TEST] * (tests - len(t.tests))]
    return (
        body,
        len(t.body),
        [*t.bindings, *others],
        t.shift,
        [position for position, _ in held],
        [value for _, value in held],
    )


def _atom(atom: tuple[int, ...], shape: AtomLayout) -> list[int]:
    row = [*atom, *[PAD] * (1 + shape.arity - len(atom))]
    if shape.nested:
        # Behind the call's arguments stands the nesting that its body has left.
        row.append(0 if atom[0] in shape.ends else argument(shape.arity))
    return row


def _lists(
    rules: Sequence[EncodedRule],
    templates: Sequence[Sequence[CompiledRule | None]],
    shape: AtomLayout,
) -> list[tuple[list[int], int, bool]]:
    """For each set of lists, pattern and predicate: the rules, the longest body, unbound input."""
    lists = []
    by_predicate: list[list[int]] = [[] for _ in range(shape.predicates)]
    for number, rule in enumerate(rules):
        by_predicate[rule.head[0]].append(number)
    for standing in shape.standings:
        for row in templates:
            for numbers in by_predicate:
                offered = []
                unbound = False
                for n in numbers:
                    template = row[n]
                    if template is None or not standing.offers(rules[n]):
                        continue
                    unbound |= rules[n].offer is Offer.NEURAL and bool(template.bindings)
                    offered.append((n, len(template.body)))
                longest = max((length for _, length in offered), default=0)
                lists.append(([n for n, _ in offered], longest, unbound))
    return lists


def _residuals(
    rules: Sequence[EncodedRule], templates: Sequence[Sequence[CompiledRule | None]]
) -> int:
    """The most variables left to number; a neural fact called with variables is an error."""
    pairs = (pair for row in templates for pair in zip(rules, row, strict=True))
    return max(
        (t.residuals for r, t in pairs if t is not None and r.offer is not Offer.NEURAL), default=0
    )


def _first(pattern: CallPattern) -> list[int]:
    return [pattern.index(v + 1) if v + 1 in pattern else 0 for v in range(len(pattern))]


def _repeats(pattern: CallPattern) -> bool:
    variables = [entry for entry in pattern if entry]
    return len(set(variables)) < len(variables)
