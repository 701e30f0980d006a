"""Random clause bodies, interpreted and compiled: the same answers and the same errors.

Programs against SWI-Prolog are elsewhere; here bodies are too odd to be worth an oracle, and the
interpreter, which is checked there, is the oracle for the compiler.
"""

from __future__ import annotations

import pytest
from hypothesis import assume, given

import deepprooflog.logic.unify as head_module
import deepprooflog.logic.unify as unify_module
from deepprooflog.logic.program import Program
from deepprooflog.logic.solver import dispatch
from deepprooflog.logic.unify import occurs
from deepprooflog.syntax.terms import Term, Var
from logic.swi_goals import our_outcome
from programs.bodies import odd_programs, odd_queries


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


@given(odd_programs(), odd_queries())
def test_compiled_as_interpreted(text: str, goal: str) -> None:
    assume(not _makes_cyclic_terms(text, goal))
    warm, dispatch.WARM = dispatch.WARM, 1
    try:
        compiled = our_outcome(Program(text), goal, compiled=True)
    finally:
        dispatch.WARM = warm
    assert compiled == our_outcome(Program(text), goal, compiled=False)
