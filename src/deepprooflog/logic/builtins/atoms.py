"""Atoms as text: atom_length/2, atom_concat/3, sub_atom/5, atomic_list_concat/3, term_to_atom/2."""

from __future__ import annotations

from typing import Any

from deepprooflog.errors import SyntaxProblem
from deepprooflog.logic.builtins.integers import require_integer
from deepprooflog.logic.builtins.output import shown
from deepprooflog.logic.builtins.registry import Solutions, det, nondet
from deepprooflog.logic.builtins.substrings import Make, concatenations, substrings
from deepprooflog.logic.builtins.terms import require_list
from deepprooflog.logic.builtins.text import any_text, atomic_text, require_text
from deepprooflog.logic.limits.room import require_text as require_length
from deepprooflog.logic.solver.iso_errors import (
    domain_error,
    instantiation_error,
    syntax_error,
)
from deepprooflog.logic.solver.machine import Machine
from deepprooflog.syntax.reader import Flags, read_term
from deepprooflog.syntax.terms import (
    NIL,
    Atom,
    Str,
    Term,
    Var,
    deref,
    iter_list,
    list_tail,
    make_list,
)


@det("atom_length", 2, iso=True)
@det("string_length", 2)
def atom_length(m: Machine, args: Any) -> bool:
    length = deref(args[1])
    text = require_text(args[0], "atom")
    if type(length) is not Var and require_integer(length) < 0:
        raise domain_error("not_less_than_zero", length)
    return m.unify(length, len(text))


@nondet("atom_concat", 3, iso=True)
def atom_concat(m: Machine, args: Any) -> Solutions:
    return (yield from concatenations(m, args, Atom, "atom"))


@nondet("sub_atom", 5, iso=True)
def sub_atom(m: Machine, args: Any) -> Solutions:
    return (yield from substrings(m, args, Atom, "atom"))


@det("upcase_atom", 2)
def upcase_atom(m: Machine, args: Any) -> bool:
    return m.unify(args[1], Atom(any_text(args[0]).upper()))


@det("downcase_atom", 2)
def downcase_atom(m: Machine, args: Any) -> bool:
    return m.unify(args[1], Atom(any_text(args[0]).lower()))


@det("atomic_list_concat", 2)
def atomic_list_concat(m: Machine, args: Any) -> bool:
    texts = [require_text(t) for t in require_list(args[0])]
    require_length(sum(map(len, texts)))
    return m.unify(args[1], Atom("".join(texts)))


@det("atomic_list_concat", 3)
def atomic_list_concat_separated(m: Machine, args: Any) -> bool:
    separator = require_text(args[1])
    texts = [None if type(t) is Var else require_text(t) for t in iter_list(args[0])]
    known = [t for t in texts if t is not None]
    if list_tail(args[0]) is NIL and len(known) == len(texts):
        require_length(sum(map(len, known)) + len(separator) * len(known))
        return m.unify(args[2], Atom(separator.join(known)))
    whole = atomic_text(args[2])
    if whole is None:
        raise instantiation_error("neither the parts nor the whole text is bound")
    if not separator:
        raise domain_error("non_empty_atom", Atom(""))
    return m.unify(args[0], make_list([Atom(part) for part in whole.split(separator)]))


@det("term_to_atom", 2)
def term_to_atom(m: Machine, args: Any) -> bool:
    return _between_term_and_text(m, args, Atom)


@det("term_string", 2)
def term_string(m: Machine, args: Any) -> bool:
    return _between_term_and_text(m, args, Str)


def _between_term_and_text(m: Machine, args: Any, make: Make) -> bool:
    if type(deref(args[0])) is Var:
        if type(deref(args[1])) is Var:
            raise instantiation_error("a term or its text must be bound")
        return m.unify(args[0], parse(m, any_text(args[1])))
    return m.unify(args[1], make(shown(m, args[0], quoted=True, numbervars=True)))


def parse(m: Machine, text: str) -> Term:
    """The term a text is, under the search's operators; a syntax error otherwise."""
    flags = Flags(double_quotes=m.flags["double_quotes"])
    try:
        return read_term(text, m.operators, flags=flags, end_optional=True).term
    except SyntaxProblem as problem:
        raise syntax_error("cannot_read", problem.message) from None
