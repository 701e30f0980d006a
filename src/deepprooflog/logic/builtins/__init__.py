"""Builtin predicates by theme; importing this package fills the tables."""

from __future__ import annotations

from collections.abc import Iterator

from deepprooflog.logic.builtins import (  # noqa: F401 (imported for their registrations)
    atoms,
    control,
    flags,
    format,
    lists,
    numbers,
    output,
    refused,
    solutions,
    sorting,
    terms,
    text,
    type_checks,
)
from deepprooflog.logic.builtins.registry import CONTROL, DET, NONDET, PROTECTED, TRANSPARENT
from deepprooflog.logic.solver.library import library_clauses, library_functors
from deepprooflog.syntax.terms import Functor

__all__ = [
    "CONTROL",
    "DET",
    "NONDET",
    "PROTECTED",
    "TRANSPARENT",
    "is_builtin",
    "known_functors",
    "library_clauses",
]


def is_builtin(functor: Functor) -> bool:
    """True when the system defines the predicate: control, builtin or library.

    >>> is_builtin(Functor("is", 2)), is_builtin(Functor("append", 3)), is_builtin(Functor("p", 1))
    (True, True, False)
    """
    return (
        functor in DET
        or functor in CONTROL
        or functor in NONDET
        or library_clauses(functor) is not None
    )


def known_functors() -> Iterator[Functor]:
    """Every predicate the system defines."""
    yield from DET
    yield from CONTROL
    yield from NONDET
    yield from library_functors()
