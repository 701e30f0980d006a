"""Indexed procedures: clauses chosen by what the call's arguments look like at the first level.

Every argument position at which some clause has a constant or functor gets a table. A call looks
into the tables of its bound arguments until at most one clause is left, so that a deterministic
call leaves no choice behind. The reference way is to unify each clause's head in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from deepprooflog.logic.clause import Clause, instantiate
from deepprooflog.logic.index import IndexKey, first_level
from deepprooflog.logic.solver.compile import compile_clause
from deepprooflog.logic.solver.machine import Args, ChoicePoint, Continuation, Machine, Origin, Run
from deepprooflog.logic.unify import enter, undo
from deepprooflog.syntax.terms import Struct, Term, Var

ClausesFor = Callable[[Args], Sequence[Clause]]


def interpreted(candidates: ClausesFor, origin: Callable[[Clause], Origin]) -> Run:
    """A procedure that looks its clauses up at each call."""

    def run(machine: Machine, args: Args, cont: Any) -> Continuation | None:
        clauses = candidates(args)
        return in_turn(machine, args, cont, clauses, 0) if clauses else None

    def in_turn(
        machine: Machine, args: Args, cont: Any, clauses: Sequence[Clause], i: int
    ) -> Continuation | None:
        trail, choices = machine.trail, machine.choices
        mark, height, last = len(trail), len(choices), len(clauses) - 1
        occurs_check = machine.code.occurs_check
        while True:
            clause = clauses[i]
            values = enter(clause, args, trail, occurs_check)
            if values is not None:
                if i < last:
                    choices.append((_retry, mark, cont, args, clauses, i + 1))
                if not clause.body:
                    frame: Continuation = cont
                    return frame
                where = origin(clause)
                body = [instantiate(b, values) for b in clause.body]
                return frames(machine, body, cont, height, where)
            if i == last:
                return None
            undo(trail, mark)
            i += 1

    def _retry(machine: Machine, choice: ChoicePoint) -> Continuation | None:
        _, _, cont, args, clauses, i = choice
        return in_turn(machine, args, cont, clauses, i)

    return run


def frames(
    machine: Machine, body: Sequence[Term], cont: Any, barrier: int, origin: Origin
) -> Continuation:
    """The frames that call the atoms of a body in order, then go on with `cont`."""
    goal = machine.goal
    for atom in reversed(body):
        cont = goal(atom, cont, barrier, origin)
    frame: Continuation = cont
    return frame


def enter_clause(clause: Clause, origin: Origin) -> Callable[[Machine, Args, Any, int], Any]:
    """One clause as a function of the call, for clauses not worth compiling."""
    body = clause.body

    def run(machine: Machine, args: Args, cont: Any, height: int) -> Continuation | None:
        values = enter(clause, args, machine.trail)
        if values is None:
            return None
        if not body:
            frame: Continuation = cont
            return frame
        return frames(machine, [instantiate(b, values) for b in body], cont, height, origin)

    return run


# A clause is compiled when it is entered for this time; before that it is interpreted. Compiling
# costs about what so many interpreted entries cost more than compiled ones.
WARM = 32

Enter: TypeAlias = Callable[[Machine, Args, Any, int], Any]


class Entry:
    """A clause and how to enter it: interpreted at first, compiled once it is warm."""

    __slots__ = ("_cold", "_uses", "clause", "origin", "run")

    def __init__(self, clause: Clause, origin: Origin) -> None:
        self.clause = clause
        self.origin = origin
        self._uses = 0
        self._cold = enter_clause(clause, origin)
        self.run: Enter = self._warm

    def _warm(self, machine: Machine, args: Args, cont: Any, height: int) -> Continuation | None:
        self._uses += 1
        if self._uses < WARM:
            enter = self._cold
        else:
            enter = self.run = compile_clause(self.clause, self.origin) or self._cold
        frame: Continuation | None = enter(machine, args, cont, height)
        return frame


ChosenEntries: TypeAlias = "Entry | tuple[Entry, ...]"
Table: TypeAlias = tuple[int, dict[IndexKey, ChosenEntries], ChosenEntries]


def _tables(entries: Sequence[Entry], arity: int) -> list[Table]:
    tables: list[Table] = []
    for position in range(arity):
        keys = [first_level(e.clause.args[position]) for e in entries]
        distinct = {k for k in keys if k is not None}
        if distinct:
            general = [e for e, k in zip(entries, keys, strict=True) if k is None]
            exact = {
                key: _alone(
                    [e for e, k in zip(entries, keys, strict=True) if k is None or k == key]
                )
                for key in distinct
            }
            tables.append((position, exact, _alone(general)))
    return tables


def _alone(entries: list[Entry]) -> ChosenEntries:
    return entries[0] if len(entries) == 1 else tuple(entries)


def indexed(clauses: Sequence[Clause], origins: Sequence[Origin]) -> Run:
    """A procedure over a fixed, not too long list of clauses."""
    entries = [Entry(c, o) for c, o in zip(clauses, origins, strict=True)]
    if not entries:
        return lambda machine, args, cont: None
    if len(entries) == 1:
        only = entries[0]
        return lambda machine, args, cont: only.run(machine, args, cont, len(machine.choices))
    tables = _tables(entries, clauses[0].functor.arity)
    every = tuple(entries)
    if not tables:
        return lambda machine, args, cont: _try(machine, args, cont, every)
    (first, exact, general), rest = tables[0], tables[1:]

    def run(machine: Machine, args: Args, cont: Any) -> Continuation | None:
        a: Any = args[first]
        while type(a) is Var:
            a = a.ref
        found: Any = every
        if a is not None:
            found = exact.get(a.functor if type(a) is Struct else a, general)
            if type(found) is Entry:
                frame: Continuation | None = found.run(machine, args, cont, len(machine.choices))
                return frame
        if rest and found:
            found = _narrow(found, rest, args)
        return _try(machine, args, cont, found)

    return run


def _narrow(found: Any, tables: Sequence[Table], args: Args) -> Any:
    """The shortest list of clauses that one of the tables gives."""
    for position, exact, general in tables:
        a: Any = args[position]
        while type(a) is Var:
            a = a.ref
        if a is not None:
            some = exact.get(a.functor if type(a) is Struct else a, general)
            if type(some) is Entry:
                # Another table may have excluded this clause: its head then fails to match.
                return (some,)
            if len(some) < len(found):  # type: ignore[arg-type]
                found = some
    return found


def _try(machine: Machine, args: Args, cont: Any, found: Any) -> Continuation | None:
    choices = machine.choices
    height = len(choices)
    if len(found) > 1:
        choices.append((_retry, len(machine.trail), cont, args, found, 1))
    elif not found:
        return None
    frame: Continuation | None = found[0].run(machine, args, cont, height)
    return frame


def _retry(machine: Machine, choice: ChoicePoint) -> Continuation | None:
    _, mark, cont, args, found, i = choice
    choices = machine.choices
    height = len(choices)
    if i + 1 < len(found):
        choices.append((_retry, mark, cont, args, found, i + 1))
    frame: Continuation | None = found[i].run(machine, args, cont, height)
    return frame
