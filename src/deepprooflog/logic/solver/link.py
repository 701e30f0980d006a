"""Linking: what a call runs, found once for each call site.

In this order: control constructs and ISO builtins (which a program may not redefine), the
program's own clauses, other builtins, library clauses. Code is kept for each program and dies
with it.
"""

from __future__ import annotations

import difflib
import warnings
import weakref
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from deepprooflog.errors import Notice, ProgramError
from deepprooflog.logic.builtins import CONTROL, DET, NONDET, PROTECTED, TRANSPARENT, known_functors
from deepprooflog.logic.builtins.registry import QUICK
from deepprooflog.logic.clause import Clause, Neural, at
from deepprooflog.logic.index import Entries
from deepprooflog.logic.solver.dispatch import indexed, interpreted
from deepprooflog.logic.solver.iso_errors import ERROR, UnknownPredicate, indicator
from deepprooflog.logic.solver.library import library_clauses
from deepprooflog.logic.solver.machine import Args, Continuation, Machine, Origin, Run, Site
from deepprooflog.syntax.operators import Operators
from deepprooflog.syntax.reader import Flags
from deepprooflog.syntax.terms import Atom, Functor, Struct, Term, Var

# A predicate with more clauses is a table: looked up, not compiled.
MAX_COMPILED = 200
_EQUALS = Functor("=", 2)


class ClauseStore(Protocol):
    """What the solver asks of a program."""

    operators: Operators
    flags: Flags

    def candidates(self, functor: Functor, args: Sequence[Term]) -> Sequence[Clause]: ...
    def defines(self, functor: Functor) -> bool: ...
    def size(self, functor: Functor) -> int: ...
    def is_stochastic(self, functor: Functor) -> bool: ...


class Code:
    """A program's call sites and procedures under one setting of the solver."""

    def __init__(
        self, program: ClauseStore, *, guarded: bool, compiled: bool, occurs_check: bool
    ) -> None:
        self._program = weakref.ref(program)
        self.guarded = guarded
        self.compiled = compiled and not occurs_check
        self.occurs_check = occurs_check
        self.procedures: dict[Functor, Run] = {}
        self.origins: dict[Clause, Origin] = {}
        self.query = Origin(self, None)

    @property
    def program(self) -> ClauseStore:
        """The program, which outlives every search that runs its code."""
        program = self._program()
        assert program is not None
        return program

    def origin(self, clause: Clause) -> Origin:
        """The origin of the calls in a clause of the program."""
        found = self.origins.get(clause)
        if found is None:
            found = self.origins[clause] = Origin(self, clause)
        return found

    def site(self, functor: Functor, origin: Origin) -> Site:
        """A call site, linked when it is first run."""
        return Site(functor, origin, transparent=functor in TRANSPARENT)

    def resolve(self, site: Site) -> Run:
        """How to run the calls of a site."""
        functor, origin = site.functor, site.origin
        assert functor is not None and origin is not None
        control = CONTROL.get(functor)
        if control is not None:
            construct = control
            return lambda m, args, cont: construct(m, site, args, cont)
        in_library = origin.library is origin
        if functor not in PROTECTED and not in_library and self.program.defines(functor):
            return self._procedure(functor, site)
        builtin = _builtin(functor)
        if builtin is not None:
            return builtin
        clauses = library_clauses(functor)
        if clauses is not None:
            return self._library(functor, clauses, origin.library)
        if self.program.defines(functor):
            return self._procedure(functor, site)
        return _unknown(functor)

    def _procedure(self, functor: Functor, site: Site) -> Run:
        if self.guarded and self.program.is_stochastic(functor):
            return _refuse(functor, site)
        found = self.procedures.get(functor)
        if found is None:
            found = self.procedures[functor] = self._make(functor)
        return found

    def _make(self, functor: Functor) -> Run:
        expand = self.program.is_stochastic(functor)
        if self.compiled and self.program.size(functor) <= MAX_COMPILED:
            every = self.program.candidates(functor, tuple([Var() for _ in range(functor.arity)]))
            clauses = _with_domains(every) if expand else every
            return indexed(clauses, [self.origin(c) for c in clauses])

        def candidates(args: Args) -> Sequence[Clause]:
            found = self.program.candidates(functor, args)
            return _with_domains(found) if expand else found

        return interpreted(candidates, self.origin)

    def _library(self, functor: Functor, clauses: Sequence[Clause], origin: Origin) -> Run:
        found = origin.procedures.get(functor)
        if found is None:
            if self.compiled:
                found = indexed(clauses, [origin] * len(clauses))
            else:
                entries = Entries(functor)
                for clause in clauses:
                    entries.add(clause)
                found = interpreted(entries.candidates, lambda clause: origin)
            origin.procedures[functor] = found
        return found


# Weak on both sides: code refers to its program weakly, so that both die together. What drops an
# entry is a method of the dictionary itself, which no watchdog can interrupt.
_codes: dict[weakref.ref[Any], dict[tuple[bool, bool, bool], Code]] = {}


def code_for(program: ClauseStore, *, guarded: bool, compiled: bool, occurs_check: bool) -> Code:
    """The program's code under these settings, made on first use."""
    codes = _codes.get(weakref.ref(program))
    if codes is None:
        codes = _codes.setdefault(weakref.ref(program, _codes.pop), {})
    key = (guarded, compiled, occurs_check)
    code = codes.get(key)
    if code is None:
        code = codes[key] = Code(
            program, guarded=guarded, compiled=compiled, occurs_check=occurs_check
        )
    return code


def _builtin(functor: Functor) -> Run | None:
    det = DET.get(functor)
    if det is not None:
        test = det

        def run_det(machine: Machine, args: Args, cont: Any) -> Continuation | None:
            return cont if test(machine, args) else None

        return run_det
    nondet = NONDET.get(functor)
    if nondet is not None:
        solutions = nondet
        quick = QUICK.get(functor)
        if quick is None:
            return lambda machine, args, cont: machine.iterate(solutions(machine, args), cont)

        def run_nondet(machine: Machine, args: Args, cont: Any) -> Continuation | None:
            held = quick(machine, args)
            if held is None:
                return machine.iterate(solutions(machine, args), cont)
            return cont if held else None

        return run_nondet
    return None


def _with_domains(clauses: Iterable[Clause]) -> list[Clause]:
    """Neural clauses opened into one clause for each value of their domain, in order."""
    result: list[Clause] = []
    for clause in clauses:
        label = clause.label
        if isinstance(label, Neural):
            for value in label.domain:
                body = (Struct(_EQUALS, (label.output, value)), *clause.body)
                result.append(
                    Clause(clause.head, body, clause.size, None, clause.place, clause.names)
                )
        else:
            result.append(clause)
    return result


def _refuse(functor: Functor, site: Site) -> Run:
    def run(machine: Machine, args: Args, cont: Any) -> Continuation | None:
        clause = site.origin.clause if site.origin is not None else None
        raise ProgramError(
            f"{functor} is labelled or neural and is reached inside {machine.guard}: "
            "its clauses are a random choice, and a guard must be deterministic",
            **at(clause and clause.place),
            hint=f"call {functor} in the body itself, before the guard, and test its result there",
        )

    return run


def _unknown(functor: Functor) -> Run:
    def run(machine: Machine, args: Args, cont: Any) -> Continuation | None:
        unknown = machine.flags.get("unknown", "error")
        if unknown == "error":
            raise unknown_predicate(machine.code.program, functor)
        if unknown == "warning":
            warnings.warn(f"no clause defines {functor}: the call fails", Notice, stacklevel=2)
        return None

    return run


def unknown_predicate(
    program: ClauseStore, functor: Functor, clause: Clause | None = None
) -> UnknownPredicate:
    """The error of calling a predicate that nothing defines, with what may have been meant."""
    formal = Struct(Functor("existence_error", 2), (Atom("procedure"), indicator(functor)))
    near = similar(program, functor)
    return UnknownPredicate(
        f"existence_error(procedure,{functor}): no clause defines {functor}",
        term=Struct(ERROR, (formal, Var())),
        hint=f"did you mean {near}?" if near else _defined(program),
        **at(clause and clause.place),
    )


def _defined(program: ClauseStore) -> str | None:
    """The program's own predicates, where they are few enough to read."""
    own = sorted(map(str, getattr(program, "predicates", ())))
    return f"the program defines {', '.join(own)}" if 0 < len(own) <= 8 else None


def similar(program: ClauseStore, functor: Functor) -> str | None:
    """Predicates with a similar name: other arities of the same name first."""
    own = list(getattr(program, "predicates", ()))
    known = {f: None for f in [*own, *known_functors()] if f is not functor and f.name[0] != "$"}
    same = sorted((f for f in known if f.name == functor.name), key=lambda f: f.arity)
    if same:
        return " or ".join(map(str, same[:3]))
    names = difflib.get_close_matches(functor.name, {f.name for f in known}, 1, 0.7)
    close = [f for f in known if names and f.name == names[0]]
    close.sort(key=lambda f: (f.arity != functor.arity, f.arity))
    return str(close[0]) if close else None
