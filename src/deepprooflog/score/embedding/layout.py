"""The order in which terms, atoms and goals are embedded, as index arrays.

Distinct terms are sorted into groups that are computed at once: symbols, numbers, variables and
tensors first, then compounds level by level, children before parents. List cells are strung into
runs: a run is a stretch of one list, so that a list of any length, its suffixes included, is one
sequence for the GRU, and lists that share a tail share its cells. What holds no tensor stands in
groups of its own: it is computed once for the whole batch.

    groups   0 … n−1, each reading only rows of earlier groups
    rows     (group, row) is where a term's, an atom's or a goal's vector is found
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from deepprooflog.logic.goal import Goal
from deepprooflog.score.embedding.encoders import WIDTH, number_features
from deepprooflog.score.embedding.term_levels import TermLevel, TermLevels
from deepprooflog.score.embedding.vocabulary import Vocabulary
from deepprooflog.score.segments import Address, Gather, Segments, gather, segments
from deepprooflog.syntax.terms import Float as Real
from deepprooflog.syntax.terms import Functor, Term, args_of, functor_of

CALL = Functor("call", 1)


@dataclass(frozen=True)
class SymbolRows:
    """Predicates, functors and constants by their rows in the table."""

    rows: Int[Tensor, " items"]


@dataclass(frozen=True)
class Numbers:
    """Integers and floats by their features."""

    features: Float[Tensor, "items width"]


@dataclass(frozen=True)
class Variables:
    """Variables by order of first occurrence in their goal."""

    numbers: Int[Tensor, " items"]


@dataclass(frozen=True)
class Slots:
    """Tensors by slot, all read by the same network (None: by no network in sight)."""

    network: str | None
    numbers: Int[Tensor, " items"]


@dataclass(frozen=True)
class Compounds:
    """Compound terms, or atoms, of one arity."""

    atoms: bool
    arity: int
    functors: Int[Tensor, " items"]  # rows in the table
    arguments: Gather  # items × arity
    slotted: bool


@dataclass(frozen=True)
class Lists:
    """Runs of list cells, each from its end towards the front."""

    heads: Gather
    bases: Gather  # what each run's first cell has as its tail
    runs: Segments
    slotted: bool


@dataclass(frozen=True)
class GoalRows:
    """Goals with at least one atom."""

    atoms: Gather
    goals: Segments
    slotted: bool


@dataclass(frozen=True)
class Truth:
    """The goal True."""


LayoutGroup: TypeAlias = (
    SymbolRows | Numbers | Variables | Slots | Compounds | Lists | GoalRows | Truth
)


@dataclass(frozen=True)
class Layout:
    """What to compute, in order, and where each goal's vector is then found."""

    groups: tuple[LayoutGroup, ...]
    address: Address  # of each goal asked for
    slotted: NDArray[np.bool_]  # [goals] which of them hold tensors


def lay_out(
    goals: Sequence[Goal],
    vocabulary: Vocabulary,
    networks: Mapping[int, str],
    device: torch.device,
) -> Layout:
    """The layout of some goals; `networks` says which network reads which slot."""
    return _Builder(vocabulary, networks, device).run(goals)


class _Builder:
    """The groups made so far."""

    def __init__(
        self, vocabulary: Vocabulary, networks: Mapping[int, str], device: torch.device
    ) -> None:
        self.vocabulary = vocabulary
        self.networks = networks
        self.device = device
        self.groups: list[LayoutGroup] = []

    def run(self, goals: Sequence[Goal]) -> Layout:
        numbers: dict[Term, int] = {}
        occurrences = [[numbers.setdefault(a, len(numbers)) for a in g.atoms] for g in goals]
        atoms = list(numbers)
        levels = TermLevels(self.networks)
        children = [[levels.add(a) for a in _arguments(atom)] for atom in atoms]
        terms = self._terms(levels)
        slotted_atoms = [any(levels.slotted[c] for c in own) for own in children]
        addresses = self._atoms(atoms, children, slotted_atoms, terms)
        slotted = np.array([any(slotted_atoms[a] for a in own) for own in occurrences], dtype=bool)
        address = self._goals(occurrences, slotted, addresses)
        return Layout(tuple(self.groups), address, slotted)

    def _terms(self, levels: TermLevels) -> Address:
        address = Address.empty(len(levels.number))
        symbols = [self.vocabulary.row(symbol) for symbol in levels.symbols.values()]
        self._leaves(address, levels.symbols, SymbolRows(self._ints(symbols)))
        self._leaves(address, levels.numbers, self._numbers(levels))
        self._leaves(
            address, levels.variables, Variables(self._ints(list(levels.variables.values())))
        )
        for network, slots in levels.slots.items():
            self._leaves(address, slots, Slots(network, self._ints(list(slots.values()))))
        for level in levels.levels():
            if level.runs:
                self._lists(level, levels, address)
            for arity, members in level.compounds.items():
                self._compounds(arity, members, level.slotted, levels, address)
        return address

    def _leaves(self, address: Address, members: Iterable[int], group: LayoutGroup) -> None:
        numbers = list(members)
        if numbers:
            address.place(numbers, len(self.groups))
            self.groups.append(group)

    def _lists(self, level: TermLevel, levels: TermLevels, address: Address) -> None:
        cells = [cell for run in level.runs for cell in run]
        group = Lists(
            heads=self._gather(address, [levels.children[c][0] for c in cells]),
            bases=self._gather(address, [levels.children[run[0]][1] for run in level.runs]),
            runs=segments([len(run) for run in level.runs], self.device),
            slotted=level.slotted,
        )
        address.place(cells, len(self.groups))
        self.groups.append(group)

    def _compounds(
        self, arity: int, members: list[int], slotted: bool, levels: TermLevels, address: Address
    ) -> None:
        rows = [self.vocabulary.row(levels.functors[m]) for m in members]
        group = Compounds(
            atoms=False,
            arity=arity,
            functors=self._ints(rows),
            arguments=self._gather(address, [c for m in members for c in levels.children[m]]),
            slotted=slotted,
        )
        address.place(members, len(self.groups))
        self.groups.append(group)

    def _atoms(
        self,
        atoms: list[Term],
        children: list[list[int]],
        slotted: list[bool],
        terms: Address,
    ) -> Address:
        address = Address.empty(len(atoms))
        by_kind: dict[tuple[int, bool], list[int]] = {}
        for a in range(len(atoms)):
            by_kind.setdefault((len(children[a]), slotted[a]), []).append(a)
        for (arity, has_slot), same in by_kind.items():
            rows = [self.vocabulary.row(functor_of(atoms[a]) or CALL) for a in same]
            address.place(same, len(self.groups))
            self.groups.append(
                Compounds(
                    atoms=True,
                    arity=arity,
                    functors=self._ints(rows),
                    arguments=self._gather(terms, [c for a in same for c in children[a]]),
                    slotted=has_slot,
                )
            )
        return address

    def _goals(
        self, occurrences: list[list[int]], slotted: NDArray[np.bool_], atoms: Address
    ) -> Address:
        address = Address.empty(len(occurrences))
        by_kind: dict[bool | None, list[int]] = {}
        for g, own in enumerate(occurrences):
            by_kind.setdefault(bool(slotted[g]) if own else None, []).append(g)
        for has_slot, same in by_kind.items():
            if has_slot is None:
                address.group[same], address.row[same] = len(self.groups), 0
                self.groups.append(Truth())
                continue
            address.place(same, len(self.groups))
            lengths = [len(occurrences[g]) for g in same]
            self.groups.append(
                GoalRows(
                    atoms=self._gather(atoms, [a for g in same for a in occurrences[g]]),
                    goals=segments(lengths, self.device, backwards=True),
                    slotted=has_slot,
                )
            )
        return address

    def _gather(self, address: Address, members: list[int]) -> Gather:
        return gather(address, np.asarray(members, dtype=np.int64), self.device)

    def _numbers(self, levels: TermLevels) -> SymbolRows | Numbers:
        values = levels.numbers.values()
        if self.vocabulary.has_numbers:
            terms = [Real(x) if isinstance(x, float) else x for x in values]
            return SymbolRows(self._ints([self.vocabulary.row(x) for x in terms]))
        features = torch.tensor([number_features(x) for x in values], dtype=torch.float64)
        return Numbers(features.view(-1, WIDTH).to(self.device))

    def _ints(self, values: Sequence[int]) -> Tensor:
        return torch.tensor(values, dtype=torch.int64, device=self.device)


def _arguments(atom: Term) -> tuple[Term, ...]:
    """An atom's arguments; a goal that is no callable term yet stands for a call of it."""
    return args_of(atom) if functor_of(atom) is not None else (atom,)
