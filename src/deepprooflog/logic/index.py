"""Clause indexing: which clauses of a predicate may match a call, in source order.

A predicate keeps its entries in source order. For every set of argument positions that calls
arrive with bound, an index is made on first use: from the constants or functors at those positions
to the entries that have them. A lookup then costs as many steps as it returns matches, whichever
arguments are bound. Plain ground facts are stored as bare argument tuples and become `Clause`
objects only when a lookup first returns them, so that a million facts stay cheap.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from deepprooflog.logic.clause import Clause, Place
from deepprooflog.syntax.terms import Functor, Struct, Term, Var

Row: TypeAlias = tuple[tuple[Term, ...], int]
Key: TypeAlias = "Functor | Term"

# Below this many entries a scan beats a dictionary.
SCAN = 8


def first_level(term: Term) -> Key | None:
    """What an index can see of an argument: its functor or constant; None for a variable."""
    while type(term) is Var:
        if term.ref is None:
            return None
        term = term.ref
    if type(term) is Struct:
        return term.functor
    return term


class _Table:
    """The index for one set of positions: exact keys, and entries with a variable there."""

    __slots__ = ("exact", "general")

    def __init__(self) -> None:
        self.exact: dict[tuple[Key, ...], list[int]] = {}
        self.general: list[int] = []


class Entries:
    """The clauses of one predicate, indexed on demand by the positions that are bound."""

    __slots__ = ("_items", "_tables", "file", "functor")

    def __init__(self, functor: Functor, file: str = "<text>") -> None:
        self.functor = functor
        self.file = file
        self._items: list[Clause | Row] = []
        self._tables: dict[int, _Table] = {}

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Clause]:
        return (self._clause(i) for i in range(len(self._items)))

    def add(self, clause: Clause) -> None:
        """Append a clause (indexes made so far are dropped)."""
        self._tables.clear()
        self._items.append(clause)

    def add_fact(self, args: tuple[Term, ...], line: int) -> None:
        """Append a plain ground fact."""
        self._tables.clear()
        self._items.append((args, line))

    def explicit(self) -> Iterator[Clause]:
        """The entries that are clauses already: rules and labelled facts, plain facts left out."""
        return (item for item in self._items if type(item) is Clause)

    def argument_rows(self) -> Iterator[tuple[Term, ...]]:
        """The argument tuples of all heads, in order, without making clauses of facts."""
        for item in self._items:
            yield item.args if type(item) is Clause else item[0]

    def candidates(self, args: Sequence[Term]) -> Sequence[Clause]:
        """The entries whose head agrees with `args` at the first level, in source order."""
        items = self._items
        keys = [first_level(a) for a in args]
        if len(items) <= SCAN:
            return [
                self._clause(i)
                for i, item in enumerate(items)
                if _agrees(keys, item.args if type(item) is Clause else item[0])
            ]
        mask = 0
        for i, key in enumerate(keys):
            if key is not None:
                mask |= 1 << i
        if not mask:
            return [self._clause(i) for i in range(len(items))]
        table = self._tables.get(mask)
        if table is None:
            table = self._tables[mask] = self._build(mask)
        exact = table.exact.get(tuple(k for k in keys if k is not None), ())
        if not table.general:
            return [self._clause(i) for i in exact]
        general = [
            i for i in table.general if _agrees(keys, self._args(i))
        ]
        return [self._clause(i) for i in (sorted([*exact, *general]) if exact else general)]

    def _args(self, i: int) -> tuple[Term, ...]:
        item = self._items[i]
        return item.args if type(item) is Clause else item[0]

    def _clause(self, i: int) -> Clause:
        item = self._items[i]
        if type(item) is Clause:
            return item
        args, line = item
        head = Struct(self.functor, args, True)
        clause = self._items[i] = Clause(head, (), 0, None, Place(self.file, line))
        return clause

    def _build(self, mask: int) -> _Table:
        table = _Table()
        positions = [i for i in range(self.functor.arity) if mask >> i & 1]
        exact = table.exact
        for number, args in enumerate(self.argument_rows()):
            key = tuple([first_level(args[p]) for p in positions])
            if None in key:
                table.general.append(number)
            else:
                exact.setdefault(key, []).append(number)  # type: ignore[arg-type]
        return table


def _agrees(keys: Sequence[Key | None], args: tuple[Term, ...]) -> bool:
    for key, arg in zip(keys, args, strict=True):
        if key is None:
            continue
        other = first_level(arg)
        if other is not None and (type(other) is not type(key) or other != key):
            return False
    return True
