"""Random programs over every kind of term: atoms, numbers, strings, lists, compounds."""

from __future__ import annotations

from functools import partial

from hypothesis import strategies as st

from programs.parts import Texts, atom, clauses, compounds

LEAVES = ["a", "b", "X", "Y", "Z", "0", "-7", "123456789012345678901234567890"]
ODD = ["2.5", "-1.0e300", '"text"', "[]", "zebra"]
SHAPES = ["f({})", "f({}, {})", "[{}]", "[{}, {}]", "[{}, {}, {}]", "[{} | {}]"]
PREDICATES = {"n": 0, "u": 1, "v": 2, "w": 3}
ALWAYS = ["n.", "u(_).", "v(a, X) :- u(X).", "w(_, _, _)."]
"""Clauses that define every predicate."""

_TERMS = compounds(st.sampled_from([*LEAVES, *ODD]), SHAPES)


def _atoms() -> Texts:
    return st.one_of(
        [
            st.builds(partial(atom, name), st.lists(_TERMS, min_size=arity, max_size=arity))
            for name, arity in PREDICATES.items()
        ]
    )


def compound_programs() -> Texts:
    """Up to six clauses with bodies of up to two goals, beside those that are always there."""
    drawn = st.lists(clauses(_atoms(), st.lists(_atoms(), max_size=2)), min_size=1, max_size=6)
    return drawn.map(lambda lines: "\n".join([*ALWAYS, *lines]))


def compound_queries() -> Texts:
    """One goal or two."""
    return st.lists(_atoms(), min_size=1, max_size=2).map(", ".join)
