"""ISO error terms as exceptions: `raise type_error("integer", culprit)`.

The error term is `error(Formal, context(Name/Arity, _))`; the context is filled in by the machine,
which knows the goal that ran and the clause it stands in. Messages are plain words.
"""

from __future__ import annotations

from deepprooflog.errors import ProgramError, PrologError
from deepprooflog.syntax import numerals
from deepprooflog.syntax.terms import Atom, Functor, Struct, Term, Var, deref

ERROR = Functor("error", 2)
_SLASH = Functor("/", 2)
_TYPE_ERROR = Functor("type_error", 2)


class UnknownPredicate(PrologError, ProgramError):
    """A call of a predicate that no clause defines: a flaw of the program, and an ISO error."""


def short_text(term: Term) -> str:
    """A term as text for a message, cut where it is long."""
    from deepprooflog.syntax.writer import write_term

    root = deref(term)
    try:
        text = write_term(root, quoted=True)
    except PrologError:
        # It contains itself, or is longer than any memory: what it is a compound of is said.
        assert type(root) is Struct
        args = ["…" if type(deref(a)) is Struct else short_text(a) for a in root.args[:3]]
        text = f"{root.functor.name}({','.join(args)}{',…' * (len(root.args) > 3)})"
    return text if len(text) <= 200 else text[:197] + "..."


def iso_error(formal: Term, message: str) -> PrologError:
    """`error(formal, _)` with a message in plain words."""
    term = Struct(ERROR, (formal, Var()))
    return PrologError(f"{short_text(formal)}: {message}", term=term)


def instantiation_error(message: str = "an argument is not bound enough") -> PrologError:
    return iso_error(Atom("instantiation_error"), message)


_EXPECTED = {
    "evaluable": "a function",
    "callable": "a goal",
    "list": "a list",
    "integer": "an integer",
    "atom": "an atom",
    "atomic": "an atom, number or string",
    "compound": "a compound term",
    "character": "a character",
    "not_less_than_zero": "zero or more",
    "not_less_than_one": "one or more",
}


def type_error(expected: str, culprit: Term) -> PrologError:
    shown = deref(culprit)
    if expected == "evaluable" and type(shown) is Struct and shown.functor is _SLASH:
        name = deref(shown.args[0])
        shown = name if deref(shown.args[1]) == 0 else shown
    words = _EXPECTED.get(expected, f"of type {expected}")
    formal = Struct(_TYPE_ERROR, (Atom(expected), culprit))
    return iso_error(formal, f"'{short_text(shown)}' is not {words}")


def type_error_term(expected: Term, culprit: Term) -> PrologError:
    """A type error whose type is a term, such as `list(integer)`."""
    if type(expected) is Atom:
        return type_error(expected.name, culprit)
    formal = Struct(_TYPE_ERROR, (expected, culprit))
    return iso_error(formal, f"'{short_text(culprit)}' is not of type {short_text(expected)}")


def existence_error(kind: str, culprit: Term) -> PrologError:
    formal = Struct(Functor("existence_error", 2), (Atom(kind), culprit))
    return iso_error(formal, f"there is no such {kind.replace('_', ' ')}")


def domain_error(domain: str, culprit: Term) -> PrologError:
    formal = Struct(Functor("domain_error", 2), (Atom(domain), culprit))
    words = _EXPECTED.get(domain, f"in the domain {domain}")
    return iso_error(formal, f"'{short_text(culprit)}' is not {words}")


def evaluation_error(what: str) -> PrologError:
    words = {
        "zero_divisor": "division by zero",
        "undefined": "the function has no value there",
        "float_overflow": "the result is too large for a float",
    }
    formal = Struct(Functor("evaluation_error", 1), (Atom(what),))
    return iso_error(formal, words.get(what, what))


def representation_error(what: str) -> PrologError:
    formal = Struct(Functor("representation_error", 1), (Atom(what),))
    return iso_error(formal, "it cannot be represented")


def permission_error(action: str, kind: str, culprit: Term, why: str) -> PrologError:
    formal = Struct(Functor("permission_error", 3), (Atom(action), Atom(kind), culprit))
    return iso_error(formal, why)


def syntax_error(what: str, why: str = "the text is not a number") -> PrologError:
    return iso_error(Struct(Functor("syntax_error", 1), (Atom(what),)), why)


def resource_error(what: str, why: str | None = None) -> PrologError:
    return numerals.resource_error(what, why or f"not enough {what}")


def indicator(functor: Functor) -> Struct:
    """`name/arity` as a term."""
    return Struct(_SLASH, (Atom(functor.name), functor.arity), True)
