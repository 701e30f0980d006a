"""Random clause bodies, interpreted and compiled: the same answers and the same errors.

Programs against SWI-Prolog are elsewhere; here bodies are too odd to be worth an oracle, and the
interpreter, which is checked there, is the oracle for the compiler.
"""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import deepprooflog.logic.head as head_module
import deepprooflog.logic.unify as unify_module
from deepprooflog.logic import dispatch
from deepprooflog.logic.program import Program
from deepprooflog.logic.unify import occurs
from deepprooflog.syntax.terms import Term, Var
from logic.swi_goals import our_outcome

FACTS = """
q(1). q(2). q(3).
r(1, a). r(2, b). r(2, c). r(X, X).
t([]). t([X|T]) :- q(X), t(T).
u(f(X), X). u(g(X, Y), h(Y, X)).
"""

terms = st.recursive(
    st.sampled_from(["X", "Y", "Z", "W", "1", "2", "a", "b", "[]", "0.5", "2 + 1"]),
    lambda inner: st.one_of(
        st.builds("f({})".format, inner),
        st.builds("g({}, {})".format, inner, inner),
        st.builds("[{}|{}]".format, inner, inner),
        st.builds("({}) + ({})".format, inner, inner),
    ),
    max_leaves=4,
)
comparisons = st.sampled_from(["<", ">=", "=:=", "=\\=", "==", "\\==", "@<", "=", "\\=", "is"])
simple = st.one_of(
    st.builds("q({})".format, terms),
    st.builds("r({}, {})".format, terms, terms),
    st.builds("u({}, {})".format, terms, terms),
    st.builds("({}) {} ({})".format, terms, comparisons, terms),
    st.builds("{}({})".format, st.sampled_from(["var", "atom", "integer", "compound"]), terms),
    st.sampled_from(["true", "fail", "!", "member(X, [1, 2])", "Y = X", "length(Z, 1)"]),
    st.builds("findall({}, q({}), {})".format, terms, terms, terms),
)


def _controls(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("({}, {})".format, inner, inner),
        st.builds("({} ; {})".format, inner, inner),
        st.builds("({} -> {} ; {})".format, inner, inner, inner),
        st.builds("({} -> {})".format, inner, inner),
        st.builds("({} *-> {} ; {})".format, inner, inner, inner),
        st.builds("\\+ ({})".format, inner),
        st.builds("once(({}))".format, inner),
        st.builds("call(({}))".format, inner),
        st.builds("catch({}, E, W = E)".format, inner),
    )


bodies = st.lists(st.recursive(simple, _controls, max_leaves=6), min_size=1, max_size=4)
heads = st.builds("p({}, {})".format, terms, terms)
clauses = st.builds(lambda head, body: f"{head} :- {', '.join(body)}.", heads, bodies)
programs = st.lists(clauses, min_size=1, max_size=3)
goals = st.one_of(st.builds("p({}, {})".format, terms, terms), st.just("p(X, Y)"))


class CyclicTermError(Exception):
    """A variable would be bound to a term it occurs in: what follows is undefined in ISO."""


def _occurs(var: Var, term: Term) -> bool:
    if occurs(var, term):
        raise CyclicTermError
    return False


def _makes_cyclic_terms(text: str, goal: str) -> bool:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unify_module, "occurs", _occurs)
        patch.setattr(head_module, "occurs", _occurs)
        try:
            our_outcome(Program(text), goal, compiled=False, occurs_check=True)
        except CyclicTermError:
            return True
    return False


@given(programs, goals)
def test_compiled_as_interpreted(program: list[str], goal: str) -> None:
    text = FACTS + "\n".join(program)
    assume(not _makes_cyclic_terms(text, goal))
    warm, dispatch.WARM = dispatch.WARM, 1
    try:
        compiled = our_outcome(Program(text), goal, compiled=True)
    finally:
        dispatch.WARM = warm
    assert compiled == our_outcome(Program(text), goal, compiled=False)
