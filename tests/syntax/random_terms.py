"""Random terms and operator tables, and when two terms are the same but for variables' names."""

from __future__ import annotations

import contextlib

from hypothesis import strategies as st

from deepprooflog.errors import PrologError
from deepprooflog.logic.clause import abstract
from deepprooflog.syntax.operators import TYPES, Operators
from deepprooflog.syntax.terms import (
    CURLY,
    NIL,
    Atom,
    Float,
    Functor,
    Str,
    Struct,
    Term,
    Var,
    make_list,
)

# Names that have been trouble: operators, prefixes of numbers, names that need quotes or escapes.
WORDS = "a e f b1 x e1 yf fy is mod dynamic Op $VAR"
GLYPHS = r"+ - * \ = :- --> , | ; -> ! [] {} . .. ~ $ // :: \+ ^ ** < ` \n /* 'it'"
AWKWARD = ["", " ", "a b", "don't", "tab\there", "new\nline", 'say "x"', "0'a", "\0"]
NAMES = [*WORDS.split(), *GLYPHS.split(), *AWKWARD]

LETTERS = ["é", "Élan", "日本", "ß1"]
SIGNS = ["²", "→", "\u200b", "\xa0"]


def operator_tables(names: list[str] = NAMES) -> st.SearchStrategy[Operators]:
    """The standard table with some operators added, changed and removed, where ISO lets them be."""
    changes = st.lists(
        st.tuples(
            st.sampled_from([0, 1, 9, 200, 200, 400, 700, 999, 1000, 1100, 1200]),
            st.sampled_from(TYPES),
            st.sampled_from(names),
        ),
        max_size=8,
    )
    return changes.map(_table)


def _table(changes: list[tuple[int, str, str]]) -> Operators:
    operators = Operators()
    for change in changes:
        with contextlib.suppress(PrologError):
            operators.add(*change)
    return operators


def terms(
    names: list[str] = NAMES + LETTERS + SIGNS, integers: int = 10**30, strings: bool = True
) -> st.SearchStrategy[Term]:
    """Terms over these names, with integers up to a bound on both sides."""
    atoms = st.sampled_from(names).map(Atom)
    shared = [Var("X"), Var("_Y"), Var(), Var("X"), Var("_G1")]
    leaves: st.SearchStrategy[Term] = st.one_of(
        atoms,
        st.integers(-3, 3),
        st.integers(-integers, integers),
        st.floats(allow_nan=False, allow_infinity=False).map(Float),
        st.sampled_from(shared),
    )
    if strings:
        leaves = st.one_of(leaves, st.sampled_from(names).map(Str))

    def bigger(inner: st.SearchStrategy[Term]) -> st.SearchStrategy[Term]:
        name = st.sampled_from(names)
        args = st.lists(inner, min_size=1, max_size=2) | st.lists(inner, min_size=3, max_size=3)
        bracketed = inner.map(lambda t: Struct(CURLY, (t,))) if "{}" in names else inner
        return st.one_of(
            st.builds(lambda n, a: Struct(Functor(n, len(a)), tuple(a)), name, args),
            st.builds(lambda n, a: Struct(Functor(n, 1), (a,)), name, inner),
            st.builds(lambda n, a, b: Struct(Functor(n, 2), (a, b)), name, inner, inner),
            st.builds(make_list, st.lists(inner, max_size=3), st.just(NIL) | inner),
            bracketed,
        )

    return st.recursive(leaves, bigger, max_leaves=12)


def variant(a: Term, b: Term) -> bool:
    """True when the terms are equal up to a renaming of variables."""
    return abstract(a, {}) == abstract(b, {})
