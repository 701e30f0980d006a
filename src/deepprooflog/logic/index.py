"""Clause indexing: which clauses of a predicate may match a call, in source order.

A predicate keeps its entries in source order. For every pattern of arguments that calls arrive
with, an index is made on first use, by what the pattern shows: the whole of a constant or a ground
term, the functor of any other compound. A lookup then costs as many steps as it returns matches,
whichever arguments are bound. Plain ground facts are stored as bare argument tuples and become
`Clause` objects only when a lookup first returns them, so that a million facts stay cheap. Facts
that some table has already need not be copied at all: a `FactStore` stands for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Protocol, TypeAlias

from deepprooflog.logic.clause import Clause, Place
from deepprooflog.logic.limits.gc_pause import gc_paused
from deepprooflog.syntax.terms import Functor, Struct, Term, Var, deref

FactRow: TypeAlias = tuple[tuple[Term, ...], int]
IndexKey: TypeAlias = "Functor | Term"

# Below this many entries a scan beats a dictionary.
SCAN = 8

# What an argument shows: nothing (a variable), its functor, or all of it.
FREE, TOP, WHOLE = 0, 1, 2


class FactStore(Protocol):
    """Plain ground facts of one predicate, numbered in source order, that are kept elsewhere."""

    def __len__(self) -> int: ...

    def row(self, number: int) -> FactRow:
        """The arguments and the line of a fact."""
        ...

    def numbers(self, shown: Sequence[Term | None]) -> Sequence[int]:
        """The facts with these arguments, in order; None stands for any."""
        ...


def first_level(term: Term) -> IndexKey | None:
    """A term's functor, or the constant it is; None for a variable."""
    while type(term) is Var:
        if term.ref is None:
            return None
        term = term.ref
    return term.functor if type(term) is Struct else term


class _Table:
    """The index for one pattern of calls.

    `exact` holds the entries that show as much as the call does, `always` those that show nothing
    at its bound arguments; entries in between are grouped by what they show of each argument.
    """

    __slots__ = ("always", "exact", "found", "groups")

    def __init__(self) -> None:
        self.exact: dict[tuple[IndexKey, ...], list[int]] = {}
        self.always: list[int] = []
        self.groups: dict[tuple[int, ...], dict[tuple[IndexKey, ...], list[int]]] = {}
        self.found: dict[tuple[IndexKey, ...], list[Clause]] = {}

    def add(self, number: int, args: tuple[Term, ...], bound: list[tuple[int, int]]) -> None:
        """Enter a clause head's arguments; `bound` lists positions and what calls show there."""
        shown: list[int] = []
        keys: list[IndexKey] = []
        for position, show in bound:
            a = args[position]
            if type(a) is Var:
                shown.append(FREE)
                continue
            # Against a functor a constant shows its top, which is all of it, and does not match.
            whole = show == WHOLE and (type(a) is not Struct or a.ground)
            shown.append(WHOLE if whole else TOP)
            keys.append(a if whole else _top(a))
        key = tuple(keys)
        if all(s == show for s, (_, show) in zip(shown, bound, strict=True)):
            self.exact.setdefault(key, []).append(number)
        elif not keys:
            self.always.append(number)
        else:
            self.groups.setdefault(tuple(shown), {}).setdefault(key, []).append(number)

    def numbers(self, keys: tuple[IndexKey, ...]) -> list[int]:
        """The entries that may match, in order."""
        exact = self.exact.get(keys, [])
        if not self.groups:
            return sorted([*exact, *self.always]) if exact else self.always
        found = [*exact, *self.always]
        for shown, group in self.groups.items():
            part = tuple(
                [_top(k) if s == TOP else k for s, k in zip(shown, keys, strict=True) if s]
            )
            found += group.get(part, ())
        found.sort()
        return found


class Entries:
    """The clauses of one predicate, indexed on demand by what calls show of their arguments.

    The facts of a `store` come before those that are added.
    """

    __slots__ = ("_every", "_items", "_made", "_store", "_tables", "_tops", "file", "functor")

    def __init__(
        self, functor: Functor, file: str = "<text>", store: FactStore | None = None
    ) -> None:
        self.functor = functor
        self.file = file
        self._store = store
        self._made: dict[int, Clause] = {}  # facts of the store that lookups have returned
        self._items: list[Clause | FactRow] = []
        self._tables: dict[int, _Table] = {}
        self._every: list[Clause] | None = None
        self._tops: list[tuple[tuple[IndexKey | None, ...], Clause]] | None = None

    def __len__(self) -> int:
        return self._stored + len(self._items)

    @property
    def _stored(self) -> int:
        return 0 if self._store is None else len(self._store)

    def __iter__(self) -> Iterator[Clause]:
        stored = (self._stored_clause(i) for i in range(self._stored))
        return chain(stored, (self._clause(i) for i in range(len(self._items))))

    def add(self, clause: Clause) -> None:
        """Append a clause (indexes made so far are dropped)."""
        self._append(clause)

    def add_fact(self, args: tuple[Term, ...], line: int) -> None:
        """Append a plain ground fact."""
        self._append((args, line))

    def _append(self, item: Clause | FactRow) -> None:
        self._items.append(item)
        if self._tables or self._every is not None or self._tops is not None:
            self._tables = {}
            self._every = self._tops = None

    def items(self) -> Iterator[Clause | FactRow]:
        """The entries in order; plain facts that no lookup has returned yet are bare rows."""
        return chain(self._stored_rows(), self._items)

    def explicit(self) -> Iterator[Clause]:
        """The entries that are clauses already: rules and labelled facts, plain facts left out."""
        return (item for item in self._items if type(item) is Clause)

    def argument_rows(self) -> Iterator[tuple[Term, ...]]:
        """The argument tuples of all heads, in order, without making clauses of facts."""
        for args, _ in self._stored_rows():
            yield args
        for item in self._items:
            yield item.args if type(item) is Clause else item[0]

    def candidates(self, args: Sequence[Term]) -> Sequence[Clause]:
        """The entries whose heads agree with what `args` show, in source order."""
        if self._store is None:
            return self._candidates(args)
        bound = [deref(a) for a in args]
        shown = [None if type(a) is Var else a for a in bound]
        found = [self._stored_clause(i) for i in self._store.numbers(shown)]
        return [*found, *self._candidates(args)]

    def _candidates(self, args: Sequence[Term]) -> Sequence[Clause]:
        if len(self._items) <= SCAN:
            return self._scan(args)
        pattern = 0
        shown: list[IndexKey] = []
        for a in args:
            while type(a) is Var and a.ref is not None:
                a = a.ref
            pattern *= 3
            if type(a) is Struct and not a.ground:
                pattern += TOP
                shown.append(a.functor)
            elif type(a) is not Var:
                pattern += WHOLE
                shown.append(a)
        if not shown:
            return self._all()
        keys = tuple(shown)
        table = self._tables.get(pattern)
        if table is None:
            table = self._tables[pattern] = self._build(pattern)
        found = table.found.get(keys)
        if found is None:
            found = [self._clause(i) for i in table.numbers(keys)]
            # Kept for keys of the program only: what is kept is no more than its clauses.
            if keys in table.exact:
                table.found[keys] = found
        return found

    def _scan(self, args: Sequence[Term]) -> list[Clause]:
        rows = self._tops
        if rows is None:
            rows = self._tops = [(tuple([first_level(a) for a in c.args]), c) for c in self._all()]
        keys = [first_level(a) for a in args]
        found: list[Clause] = []
        for tops, clause in rows:
            for key, top in zip(keys, tops, strict=True):
                if key is not top and key is not None and top is not None and key != top:
                    break
            else:
                found.append(clause)
        return found

    def _all(self) -> list[Clause]:
        if self._every is None:
            self._every = [self._clause(i) for i in range(len(self._items))]
        return self._every

    def _stored_rows(self) -> Iterator[FactRow]:
        return iter(()) if self._store is None else map(self._store.row, range(self._stored))

    def _stored_clause(self, number: int) -> Clause:
        made = self._made.get(number)
        if made is None:
            assert self._store is not None
            made = self._made[number] = self._fact(*self._store.row(number))
        return made

    def _fact(self, args: tuple[Term, ...], line: int) -> Clause:
        return Clause(Struct(self.functor, args, True), (), 0, None, Place(self.file, line))

    def _clause(self, i: int) -> Clause:
        item = self._items[i]
        if type(item) is Clause:
            return item
        clause = self._items[i] = self._fact(*item)
        return clause

    @gc_paused()
    def _build(self, pattern: int) -> _Table:
        table = _Table()
        bound: list[tuple[int, int]] = []
        for position in reversed(range(self.functor.arity)):
            pattern, show = divmod(pattern, 3)
            if show:
                bound.append((position, show))
        bound.reverse()
        exact = table.exact
        for number, item in enumerate(self._items):
            if type(item) is Clause:
                table.add(number, item.args, bound)
            else:
                args = item[0]
                key = tuple([args[p] if show == WHOLE else _top(args[p]) for p, show in bound])
                exact.setdefault(key, []).append(number)
        return table


def _top(key: IndexKey) -> IndexKey:
    return key.functor if type(key) is Struct else key
