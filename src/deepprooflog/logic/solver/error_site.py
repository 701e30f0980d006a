"""Whose fault an error is: the goal that raised it, as text, and the clause it stands in.

The machine knows the call site. For goals that were compiled into their clause, the Python
traceback knows the line of generated code, and its local variables are the clause's: looking there
costs nothing until something goes wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from deepprooflog.errors import PrologError
from deepprooflog.logic.clause import Clause, Frame, instantiate
from deepprooflog.logic.solver.iso_errors import ERROR, indicator
from deepprooflog.syntax.terms import Atom, Functor, Struct, Term, Var, deref, variables
from deepprooflog.syntax.writer import write_term

if TYPE_CHECKING:
    from deepprooflog.logic.solver.machine import Site

CONTEXT = Functor("context", 2)
THROW = Functor("throw", 1)
LONGEST = 300
# The name under which generated code keeps its table from line numbers to goals.
LINES = "_dpl_lines"


def locate(error: PrologError, site: Site | None, args: tuple[Any, ...]) -> None:
    """Fill in goal, context and place, unless the error has them already."""
    if error.line is not None or getattr(error, "blamed", False):
        return
    error.blamed = True  # type: ignore[attr-defined]
    clause: Clause | None = None
    goal: Term | None = None
    if site is not None and site.functor is not None:
        functor = site.functor
        goal = Struct(functor, args[: functor.arity]) if functor.arity else Atom(functor.name)
        clause = site.origin.clause if site.origin is not None else None
    inlined = _inlined(error)
    if inlined is not None:
        clause, goal = inlined
    if clause is not None and clause.place is not None:
        error.file, error.line = clause.place.file, clause.place.line
    term = error.term
    thrown = type(goal) is Struct and goal.functor is THROW
    if goal is not None and not thrown and type(term) is Struct and term.functor is ERROR:
        _fill_context(term, goal)
        error.message = f"{error.message} in  {goal_text(goal, clause)}"
        error.args = (error.message,)


def _fill_context(term: Struct, goal: Term) -> None:
    where = deref(term.args[1])
    if type(where) is Var and (type(goal) is Struct or type(goal) is Atom):
        where.ref = Struct(CONTEXT, (indicator(goal.functor), Var()))


def _inlined(error: PrologError) -> tuple[Clause, Term] | None:
    trace = error.__traceback__
    found: tuple[Clause, Term] | None = None
    while trace is not None:
        lines = trace.tb_frame.f_globals.get(LINES)
        if lines is not None:
            clause, goals = lines
            goal = goals.get(trace.tb_lineno)
            if goal is not None:
                found = clause, _instance(clause, goal, trace.tb_frame.f_locals)
        trace = trace.tb_next
    return found


def _instance(clause: Clause, goal: Term, values: dict[str, Any]) -> Term:
    frame: Frame = [values.get(f"v{i}") for i in range(clause.size)]
    return instantiate(goal, frame)


def goal_text(goal: Term, clause: Clause | None) -> str:
    """The goal as text; its unbound variables under the names they have in the clause."""
    names = dict.fromkeys(variables(goal), "_")
    if clause is not None:
        names.update(_names(goal, clause))
    try:
        text = write_term(goal, variable_names=names)
    except PrologError:
        return str(goal.functor) if type(goal) is Struct else "a goal"
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def _names(goal: Term, clause: Clause) -> dict[Var, str]:
    for source in _goals(clause.body):
        if isinstance(source, Struct) and isinstance(goal, Struct):
            pairs = _variable_pairs(source, goal)
            if pairs is not None:
                return {v: clause.names[i] for v, i in pairs if i < len(clause.names)}
    return {}


def _goals(body: tuple[Term, ...]) -> Iterator[Term]:
    # The tables of builtins are filled by modules that import the machine, and so this one.
    from deepprooflog.logic.builtins.registry import META

    stack = list(reversed(body))
    while stack:
        t = stack.pop()
        yield t
        if type(t) is Struct and t.functor.name in META:
            stack.extend(reversed(t.args))


def _variable_pairs(source: Struct, goal: Struct) -> list[tuple[Var, int]] | None:
    """Which unbound variable of the goal stands at which variable of its source; None: no match."""
    pairs: list[tuple[Var, int]] = []
    stack: list[tuple[Term, Term]] = [(source, goal)]
    while stack:
        s, g = stack.pop()
        g = deref(g)
        if type(s) is Var:
            if type(g) is Var:
                pairs.append((g, s.index))
        elif type(s) is Struct:
            if type(g) is not Struct or s.functor is not g.functor:
                return None
            stack.extend(zip(s.args, g.args, strict=True))
        elif s != g:
            return None
    return pairs
