"""Random clause bodies: comparisons, type tests, findall, cut, and control around them.

They are too odd to be worth an oracle; two ways to run one program are compared on them.
"""

from __future__ import annotations

from hypothesis import strategies as st

from programs.parts import Texts, clauses, compounds, controlled

FACTS = """
q(1). q(2). q(3).
r(1, a). r(2, b). r(2, c). r(X, X).
t([]). t([X|T]) :- q(X), t(T).
u(f(X), X). u(g(X, Y), h(Y, X)).
"""

_terms = compounds(
    st.sampled_from(["X", "Y", "Z", "W", "1", "2", "a", "b", "[]", "0.5", "2 + 1"]),
    ["f({})", "g({}, {})", "[{}|{}]", "({}) + ({})"],
)
_comparisons = st.sampled_from(["<", ">=", "=:=", "=\\=", "==", "\\==", "@<", "=", "\\=", "is"])
_simple = st.one_of(
    st.builds("q({})".format, _terms),
    st.builds("r({}, {})".format, _terms, _terms),
    st.builds("u({}, {})".format, _terms, _terms),
    st.builds("({}) {} ({})".format, _terms, _comparisons, _terms),
    st.builds("{}({})".format, st.sampled_from(["var", "atom", "integer", "compound"]), _terms),
    st.sampled_from(["true", "fail", "!", "member(X, [1, 2])", "Y = X", "length(Z, 1)"]),
    st.builds("findall({}, q({}), {})".format, _terms, _terms, _terms),
)
_CONTROLS = [
    "({}, {})",
    "({} ; {})",
    "({} -> {} ; {})",
    "({} -> {})",
    "({} *-> {} ; {})",
    "\\+ ({})",
    "once(({}))",
    "call(({}))",
    "catch({}, E, W = E)",
]


def odd_programs() -> Texts:
    """One to three clauses of p/2 beside `FACTS`."""
    heads = st.builds("p({}, {})".format, _terms, _terms)
    bodies = st.lists(controlled(_simple, _CONTROLS), min_size=1, max_size=4)
    drawn = st.lists(clauses(heads, bodies), min_size=1, max_size=3)
    return drawn.map(lambda lines: FACTS + "\n".join(lines))


def odd_queries() -> Texts:
    """A call of p/2."""
    return st.one_of(st.builds("p({}, {})".format, _terms, _terms), st.just("p(X, Y)"))
