"""Grammar bodies at run time: what phrase/2 and phrase/3 call.

The library's `phrase(Body, List, Rest)` calls the goal that `'$phrase'/4` makes of them, as a
grammar rule with that body would.
"""

from __future__ import annotations

from typing import Any

from deepprooflog.errors import PrologError
from deepprooflog.logic.builtins.registry import det
from deepprooflog.logic.builtins.terms import require_partial_list
from deepprooflog.logic.solver.iso_errors import ERROR, instantiation_error, type_error
from deepprooflog.logic.solver.machine import Machine
from deepprooflog.syntax.dcg import body_goal
from deepprooflog.syntax.terms import Atom, Str, Struct, Var, deref


@det("$phrase", 4)
def phrase_goal(m: Machine, args: Any) -> bool:
    """`'$phrase'(Body, List, Rest, Goal)`"""
    body = deref(args[0])
    if type(body) is Var:
        raise instantiation_error("the grammar body is not bound")
    if type(body) not in (Atom, Struct, Str):
        raise type_error("callable", body)
    require_partial_list(args[1])
    require_partial_list(args[2])
    try:
        goal = body_goal(body, args[1], args[2])
    except PrologError as error:
        error.term = Struct(ERROR, (error.term, Var()))  # type: ignore[arg-type]
        raise
    return m.unify(args[3], goal)
