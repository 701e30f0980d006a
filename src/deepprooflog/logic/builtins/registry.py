"""The tables of builtins, filled by the modules beside this one.

`DET` holds tests with at most one solution. A generator in `NONDET` yields once for each solution,
or returns True for a last one, which leaves no choice. A test in `QUICK` does without the
generator where the arguments leave at most one solution, and gives None where they do not. A
construct in `CONTROL` works on the machine itself and gives the next frame.

`META` and `GUARDS` say, by name, whose arguments hold goals and which of these are tests: to reach
a random choice inside one of the latter is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, TypeAlias

from deepprooflog.logic import body
from deepprooflog.syntax.terms import Functor

if TYPE_CHECKING:
    from deepprooflog.logic.solver.machine import Continuation, Machine, Site

Test: TypeAlias = "Callable[[Machine, tuple[Any, ...]], bool]"
QuickTest: TypeAlias = "Callable[[Machine, tuple[Any, ...]], bool | None]"
Solutions: TypeAlias = "Generator[None, None, bool | None]"
Enumerate: TypeAlias = "Callable[[Machine, tuple[Any, ...]], Solutions]"
Construct: TypeAlias = "Callable[[Machine, Site, tuple[Any, ...], Any], Continuation | None]"

DET: dict[Functor, Test] = {}
NONDET: dict[Functor, Enumerate] = {}
QUICK: dict[Functor, QuickTest] = {}
CONTROL: dict[Functor, Construct] = {}
META: set[str] = set()
GUARDS: set[str] = set()
# Control constructs and ISO builtins: a program may not redefine these.
PROTECTED: set[Functor] = set()
_SINGLE: set[Functor] = set()
# Control constructs through which a cut reaches the clause they stand in.
TRANSPARENT = body.TRANSPARENT | {Functor("!", 0)}


def det(name: str, arity: int, *, iso: bool = False) -> Callable[[Test], Test]:
    """Register a builtin with at most one solution."""

    def register(test: Test) -> Test:
        functor = Functor(name, arity)
        DET[functor] = test
        if iso:
            PROTECTED.add(functor)
        return test

    return register


def nondet(
    name: str, arity: int, *, iso: bool = False, quick: QuickTest | None = None
) -> Callable[[Enumerate], Enumerate]:
    """Register a builtin with any number of solutions."""

    def register(solutions: Enumerate) -> Enumerate:
        functor = Functor(name, arity)
        NONDET[functor] = solutions
        if quick is not None:
            QUICK[functor] = quick
        if iso:
            PROTECTED.add(functor)
        return solutions

    return register


def control(
    name: str, *arities: int, guard: bool = False, single: bool = False
) -> Callable[[Construct], Construct]:
    """Register a control construct (always protected), whose arguments hold goals.

    A `guard` is always run by the plain solver; a `single` one has at most one solution.
    """

    def register(construct: Construct) -> Construct:
        for arity in arities:
            CONTROL[Functor(name, arity)] = construct
            PROTECTED.add(Functor(name, arity))
            if single:
                _SINGLE.add(Functor(name, arity))
        if any(arities):
            holds_goals(name, guard=guard)
        return construct

    return register


def holds_goals(*names: str, guard: bool = False) -> None:
    """Say of what is no control construct that its arguments hold goals or closures."""
    META.update(names)
    if guard:
        GUARDS.update(names)


def is_single(functor: Functor) -> bool:
    """True for a builtin that has at most one solution, whatever its arguments.

    >>> [is_single(Functor(*f)) for f in [("is", 2), ("findall", 3), ("between", 3), ("p", 1)]]
    [True, True, False, False]
    """
    return functor in DET or functor in _SINGLE
