"""Directives: which are carried out, which are ignored with a notice, which are refused.

`op`, `dynamic`, `table` and the flag `double_quotes` are carried out where the text is read. What
remains says something that this system does anyway (a library that is built in), or does without
(modes, modules), or cannot do (constraints, other files): the last is an error with a remedy.
"""

from __future__ import annotations

import warnings
from typing import NoReturn

from deepprooflog.errors import Notice, ProgramError
from deepprooflog.logic.clause import Place
from deepprooflog.logic.neighbours import directive_hint
from deepprooflog.syntax.terms import Atom, Functor, Struct, Term, deref, functor_of
from deepprooflog.syntax.writer import write_term

# Nothing is lost: `op` and the flag are carried out by the reader, and clauses of a predicate may
# stand apart.
SILENT = frozenset({"op", "discontiguous"})
_LOADING = frozenset(
    {"use_module", "ensure_loaded", "autoload", "reexport", "include", "consult", "load_files", "."}
)
_REASONS = {
    "encoding": "a program is UTF-8 text",
    "garbage_collect": "memory looks after itself",
    "initialization": "loading a program runs no goals; ask for the goal as a query",
    "license": "it says nothing about the clauses",
    "meta_predicate": "there are no modules, so that closures need no declaration",
    "mode": "modes are not declared",
    "module": "there are no modules; every predicate can be asked for",
    "module_transparent": "there are no modules",
    "multifile": "a program is one text",
    "public": "there are no modules; every predicate can be asked for",
    "set_stream": "there are no streams",
    "style_check": "there are no warnings of style",
    "volatile": "nothing is saved",
}
IGNORED = SILENT | _LOADING | {"set_prolog_flag"} | frozenset(_REASONS)

# Libraries whose predicates, or those of them that programs use most, are built in.
LIBRARIES = frozenset(
    {"aggregate", "apply", "apply_macros", "backcomp", "error", "lists", "occurs", "ordsets",
     "pairs", "prolog_stack", "strings", "tabling", "terms", "yall"}
)  # fmt: skip
_CONSTRAINTS = frozenset(
    {"clpfd", "clpb", "clpq", "clpr", "chr", "dif", "when", "simplex", "bounds", "nb_set"}
)
_FLAG = Functor("set_prolog_flag", 2)
_LIBRARY = Functor("library", 1)
_REMEDIES = {
    "occurs_check": "Program(..., occurs_check=True)",
    "unknown": "declare what has no clauses:  :- dynamic p/1.",
    "prefer_rationals": "write rationals as pairs, or compute with floats",
}


def announce(directive: Term, place: Place) -> None:
    """Warn of a directive that is ignored, naming its place; refused ones are errors."""
    ignored = notice(directive)
    if ignored is not None:
        warnings.warn(f"{place.file}:{place.line}: {ignored}", Notice, stacklevel=2)


def notice(directive: Term) -> str | None:
    """What to tell about a directive that is ignored; None where nothing is lost.

    Refused directives raise a `ProgramError`.

    >>> from deepprooflog.syntax.reader import read_term
    >>> notice(read_term("use_module(library(lists)).").term)
    >>> notice(read_term("mode(p(+, -)).").term)
    'the directive mode(p(+,-)) is ignored: modes are not declared'
    """
    directive = deref(directive)
    functor = functor_of(directive)
    if functor is None or functor.name not in IGNORED:
        names = ", ".join(sorted(n for n in IGNORED | {"dynamic", "table"} if n.isidentifier()))
        why = "is not known, and loading a program runs no goals"
        hint = directive_hint(directive) or f"ask for a goal as a query; directives are {names}"
        _refuse(directive, why, hint)
    if functor.name in SILENT:
        return None
    if functor is _FLAG:
        assert type(directive) is Struct
        return _flag(directive)
    if functor.name in _LOADING and type(directive) is Struct:
        return _loading(directive)
    return _ignored(directive, _REASONS.get(functor.name, "it has no arguments"))


def _refuse(directive: Term, why: str, hint: str) -> NoReturn:
    raise ProgramError(f"the directive {write_term(directive)} {why}", hint=hint)


def _ignored(directive: Term, why: str) -> str:
    return f"the directive {write_term(directive)} is ignored: {why}"


def _flag(directive: Struct) -> str | None:
    name, value = (deref(a) for a in directive.args)
    flag = name.name if type(name) is Atom else ""
    if flag == "double_quotes" or value in (Atom("false"), Atom("error")):
        return None
    if flag in _REMEDIES:
        _refuse(directive, "would change what the program means", _REMEDIES[flag])
    return _ignored(directive, "there is no such flag")


def _loading(directive: Struct) -> str | None:
    source = deref(directive.args[0])
    if type(source) is not Struct or source.functor is not _LIBRARY:
        _refuse(directive, "loads another file", "a program is one text: join the files")
    library = deref(source.args[0])
    name = library.name if type(library) is Atom else write_term(library)
    if name in LIBRARIES:
        return None
    if name in _CONSTRAINTS:
        _refuse(
            directive,
            "asks for constraints that wait on variables: goals here run from left to right",
            "generate with between/3 and test with is/2, <, =:=",
        )
    return _ignored(directive, "of that library nothing is built in; a call of it is an error")
