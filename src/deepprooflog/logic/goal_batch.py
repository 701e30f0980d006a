"""Many goals of one form: columns of values, and rows of a bank of tensors that they name.

    goals("add(X, Y, Z, 0)", bank=images, X=rows, Y=rows, Z=digits)

A picture is named by its row and never taken out: what networks read is gathered from the bank at
once. Goals are made when they are asked for, one by one or by a model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, overload

from deepprooflog.errors import ProgramError
from deepprooflog.logic.limits.gc_pause import gc_paused
from deepprooflog.logic.query import GoalForm, Lift, Query, form_of, ground_list
from deepprooflog.syntax.terms import Slot, Term

if TYPE_CHECKING:
    from deepprooflog.logic.program import Program

AnyBank = Any
"""A tensor or an array with a row for each picture, or a list of tensors."""

# Goals made at once while a batch is gone through.
AT_ONCE = 5000


def goals(
    text: str, /, *, bank: AnyBank | Mapping[str, AnyBank] | None = None, **values: object
) -> GoalBatch:
    """Many goals at once: each keyword gives a variable its value in every goal.

    A value is a column, a list or an array with an entry for each goal, or one number, string or
    term for all of them. Entries are what `goal` takes: numbers, strings, lists.

    With a `bank` the variables that networks read name rows of it: an integer names one picture, a
    list of integers a list of pictures. Which variables these are is seen from the program when a
    model reads the goals; `bank={"X": images, "Y": sounds}` says it outright.

    >>> print(*goals("add(X, Y, Z)", X=[[1, 2], [3, 4]], Y=[5, 6]), sep="; ")
    add([1,2],5,Z); add([3,4],6,Z)

    The result is a sequence of `Query` objects, which can be sliced, indexed and joined.
    """
    form = form_of(text)
    form.require(values)
    columns = {name: _column(name, value) for name, value in values.items()}
    many = {name: len(column) for name, column in columns.items() if column is not None}
    if not many:
        raise ProgramError(
            "no column says how many goals there are", hint="X=[1, 2, 3] makes three goals"
        )
    first, count = next(iter(many.items()))
    for name, length in many.items():
        if length != count:
            raise ProgramError(
                f"{first} has a value for each of {count} goals, {name} for {length}",
                hint="columns of one length, one entry for each goal",
            )
    full = {n: [values[n]] * count if c is None else c for n, c in columns.items()}
    if not isinstance(bank, Mapping):
        return GoalBatch(form, count, full, {}, bank)
    for name in bank:
        form.require([name])
        if name not in full:
            raise ProgramError(
                f"{name} has a bank but no rows of it", hint=f"{name}=rows, one for each goal"
            )
    return GoalBatch(form, count, full, {}, None).over(bank)


@dataclass(frozen=True, eq=False)
class BankRows(Sequence[Any]):
    """Some rows of a bank as a sequence of tensors, taken out when they are asked for."""

    bank: AnyBank
    rows: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, at: int) -> Any: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Any]: ...
    def __getitem__(self, at: int | slice) -> Any:
        if isinstance(at, slice):
            return BankRows(self.bank, self.rows[at])
        return self.bank[self.rows[at]]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BankRows) and self.bank is other.bank and self.rows == other.rows

    def __hash__(self) -> int:
        return hash((id(self.bank), self.rows))

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        # A goal that is sent elsewhere takes copies of its own tensors along, not the whole bank.
        return tuple, ([t.clone() if hasattr(t, "clone") else t.copy() for t in self],)


@dataclass(frozen=True)
class UnreadQuery(Query):
    """A goal over a bank before a program has said which of its variables name rows.

    Until then rows stand in it as plain numbers.
    """

    batch: GoalBatch | None = None
    number: int = 0

    def read(self, program: Program) -> Query:
        """The goal with the rows that the program's networks read."""
        assert self.batch is not None
        return self.batch[self.number : self.number + 1].read(program)[0]


@dataclass(frozen=True, eq=False, repr=False)
class GoalBatch(Sequence[Query]):
    """Goals of one form, as the list of them; made by `goals`."""

    form: GoalForm
    size: int
    columns: Mapping[str, list[Any]]
    banks: Mapping[str, AnyBank]  # by variable, for those that are known to name rows
    bank: AnyBank | None  # whose rows the program's networks read, until it is known where

    def __len__(self) -> int:
        return self.size

    @overload
    def __getitem__(self, at: int) -> Query: ...
    @overload
    def __getitem__(self, at: slice | Iterable[int]) -> GoalBatch: ...
    def __getitem__(self, at: int | slice | Iterable[int]) -> Query | GoalBatch:
        """One goal by its number; some by a slice, or by a list, array or tensor of numbers."""
        if isinstance(at, int):
            if not -self.size <= at < self.size:
                raise IndexError(f"there is no goal {at}: they are {self.size}")
            return self._goal(at % self.size)
        if isinstance(at, slice):
            some = range(self.size)[at]
            columns = {name: column[at] for name, column in self.columns.items()}
            return replace(self, size=len(some), columns=columns)
        numbers: Any = at.tolist() if hasattr(at, "tolist") else list(at)
        if isinstance(numbers, int):
            return self[numbers]
        if numbers and all(type(n) is bool for n in numbers):
            if len(numbers) != self.size:
                raise ProgramError(f"a mask of {len(numbers)} selects from {self.size} goals")
            numbers = [i for i, chosen in enumerate(numbers) if chosen]
        for n in numbers:
            if not -self.size <= n < self.size:
                raise IndexError(f"there is no goal {n}: they are {self.size}")
        columns = {name: [c[n] for n in numbers] for name, c in self.columns.items()}
        return replace(self, size=len(numbers), columns=columns)

    def __iter__(self) -> Iterator[Query]:
        for begin in range(0, self.size, AT_ONCE):
            with gc_paused():
                some = [self._goal(i) for i in range(begin, min(begin + AT_ONCE, self.size))]
            yield from some

    def __add__(self, other: Sequence[Query]) -> GoalBatch | list[Query]:
        """These goals and others: a batch again where the others have the same form and banks."""
        if not (isinstance(other, GoalBatch) and self._alike(other)):
            return [*self, *other]
        columns = {name: column + other.columns[name] for name, column in self.columns.items()}
        return replace(self, size=self.size + other.size, columns=columns)

    def __radd__(self, other: Sequence[Query]) -> list[Query]:
        return [*other, *self]

    def __repr__(self) -> str:
        return f"GoalBatch({self.size} goals {self.form.text})"

    def read(self, program: Program) -> GoalBatch:
        """The goals with the rows that a program's networks read, where that was left open."""
        if self.bank is None:
            return self
        from deepprooflog.logic.analysis.tensor_places import variables_of_tensors

        rows = variables_of_tensors(program, self.form.atoms)
        named = [name for name in self.columns if self.form.names[name] in rows]
        if not named:
            known = ", ".join(self.columns)
            raise ProgramError(
                f"no network of the program is seen to read one of {known} in {self.form.text}",
                hint='bank={"X": tensor} names the variables whose values are rows',
            )
        return self.over(dict.fromkeys(named, self.bank))

    def over(self, banks: Mapping[str, AnyBank]) -> GoalBatch:
        """The goals with some variables as rows of banks, after a look at the rows."""
        columns = dict(self.columns)
        for name, bank in banks.items():
            columns[name] = _checked_rows(name, columns[name], len(bank))
        return replace(self, columns=columns, banks=dict(banks), bank=None)

    def _alike(self, other: GoalBatch) -> bool:
        return (
            self.form.text == other.form.text
            and self.columns.keys() == other.columns.keys()
            and self.bank is other.bank
            and self.banks.keys() == other.banks.keys()
            and all(bank is other.banks[name] for name, bank in self.banks.items())
        )

    def _goal(self, number: int) -> Query:
        slots: dict[tuple[int, int], Slot] = {}
        named: list[tuple[AnyBank, int]] = []
        terms: dict[str, Term] = {}
        for name, bank in self.banks.items():
            terms[name] = _slot_term(self.columns[name][number], bank, slots, named)
        lift = Lift()
        lift.tensors.extend(named)
        for name, column in self.columns.items():
            if name not in terms:
                terms[name] = lift(column[number], name)
        query = self.form.filled(terms, _tensors(lift.tensors, len(named)))
        if self.bank is None:
            return query
        return UnreadQuery(query.atoms, query.variables, query.tensors, self, number)


def _slot_term(
    rows: Any, bank: AnyBank, slots: dict[tuple[int, int], Slot], named: list[tuple[AnyBank, int]]
) -> Term:
    """Rows of a bank as slots, or lists of them; a row of one bank is one slot everywhere."""
    if type(rows) is list:
        return ground_list([_slot_term(row, bank, slots, named) for row in rows])
    key = (id(bank), rows)
    slot = slots.get(key)
    if slot is None:
        slot = slots[key] = Slot(len(named))
        named.append((bank, rows))
    return slot


def _tensors(entries: Sequence[Any], named: int) -> Sequence[object]:
    """The tensors of a goal: rows of banks first, then those that stand in its values."""
    if not entries:
        return ()
    if named == len(entries) and all(bank is entries[0][0] for bank, _ in entries):
        return BankRows(entries[0][0], tuple([row for _, row in entries]))
    return (*(bank[row] for bank, row in entries[:named]), *entries[named:])


def _column(name: str, value: Any) -> list[Any] | None:
    """A column as a list with an entry for each goal; None for one value for all goals."""
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        if getattr(value, "requires_grad", False):
            raise ProgramError(
                f"{name} wants a gradient, but numbers in goals have none",
                hint=f"bank=..., {name}=rows for tensors that networks read; {name}.tolist() for "
                "numbers",
            )
        if not len(value.shape):
            return None
        if len(value.shape) > 1 and "float" in str(value.dtype):
            raise ProgramError(
                f"{name} is an array of floats of shape {list(value.shape)}, not a column",
                hint=f"bank=tensor, {name}=rows for tensors that networks read",
            )
        listed: list[Any] = value.tolist()
        return listed
    if isinstance(value, list | tuple | range):
        return list(value)
    return None


def _checked_rows(name: str, column: list[Any], size: int) -> list[Any]:
    """A column of rows, as integers and lists of them, each of which the bank has."""
    return [_checked(name, entry, size) for entry in column]


def _checked(name: str, entry: Any, size: int) -> Any:
    if type(entry) is int:
        if 0 <= entry < size:
            return entry
        raise ProgramError(
            f"{name} names row {entry} of a bank of {size}", hint=f"rows are 0 to {size - 1}"
        )
    if type(entry) is not list and hasattr(entry, "tolist"):
        return _checked(name, entry.tolist(), size)
    if isinstance(entry, list | tuple):
        return [_checked(name, row, size) for row in entry]
    raise ProgramError(
        f"{name} names no row of a bank by {entry!r}",
        hint="an integer for one tensor, a list of integers for a list of them",
    )
