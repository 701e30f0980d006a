"""Control: `,`, `;`, `->`, cut, negation, call/N, catch, throw, phrase/2,3, lambdas `X>>Body`."""

from __future__ import annotations

from typing import Any

from deepprooflog.errors import PrologError
from deepprooflog.logic.body import as_goal
from deepprooflog.logic.builtins.registry import Solutions, control, det, holds_goals, nondet
from deepprooflog.logic.builtins.terms import require_list, require_partial_list
from deepprooflog.logic.solver.iso_errors import (
    ERROR,
    domain_error,
    instantiation_error,
    short_text,
    type_error,
)
from deepprooflog.logic.solver.machine import (
    CUT_SITE,
    LEAVE_CATCH,
    ChoicePoint,
    Continuation,
    Machine,
    Site,
    copy_term,
)
from deepprooflog.syntax.dcg import body_goal
from deepprooflog.syntax.terms import (
    COMMA,
    CURLY,
    Atom,
    Functor,
    Str,
    Struct,
    Term,
    Var,
    deref,
    iter_list,
)

IF = Functor("->", 2)
SOFT_IF = Functor("*->", 2)
NOT = Functor("\\+", 1)


def retry_goal(machine: Machine, choice: ChoicePoint) -> Continuation | None:
    """Take the other branch: (…, next, goal, cut barrier, origin)."""
    _, _, cont, goal, barrier, origin = choice
    return machine.goal(goal, cont, barrier, origin)


def retry_next(machine: Machine, choice: ChoicePoint) -> Continuation | None:
    """Go on with what follows: the goal inside a negation has failed."""
    frame: Continuation = choice[2]
    return frame


def retry_fail(machine: Machine, choice: ChoicePoint) -> Continuation | None:
    """A choice that only marks a place."""
    return None


def _refute(machine: Machine, args: Any, cont: Any) -> Continuation | None:
    del machine.choices[args[0] :]
    return None


def _commit_softly(machine: Machine, args: Any, cont: Any) -> Continuation | None:
    # The condition keeps its own choices; only the else branch goes.
    choices, height = machine.choices, args[0]
    if len(choices) == height + 1:
        choices.pop()
    else:
        _, mark, after, *_ = choices[height]
        choices[height] = (retry_fail, mark, after)
    frame: Continuation = cont
    return frame


# Bodies as terms, and library predicates that call closures.
holds_goals("|", "^", "{}", ">>", "maplist", "foldl", "phrase")
holds_goals("include", "exclude", "partition", guard=True)

REFUTE = Site(None, run=_refute)
COMMIT_SOFTLY = Site(None, run=_commit_softly)


@control(",", 2)
def conjunction(m: Machine, site: Site, args: Any, cont: Any) -> Continuation | None:
    left, right, barrier = args
    rest = m.goal(right, cont, barrier, site.origin)  # type: ignore[arg-type]
    return m.goal(left, rest, barrier, site.origin)  # type: ignore[arg-type]


@control("!", 0, single=True)
def cut(m: Machine, site: Site, args: Any, cont: Any) -> Continuation | None:
    del m.choices[args[0] :]
    frame: Continuation = cont
    return frame


@control(";", 2)
def disjunction(m: Machine, site: Site, args: Any, cont: Any) -> Continuation | None:
    left, right, barrier = args
    origin: Any = site.origin
    left = deref(left)
    height = len(m.choices)
    m.choices.append((retry_goal, len(m.trail), cont, right, barrier, origin))
    if type(left) is Struct and (left.functor is IF or left.functor is SOFT_IF):
        commit = CUT_SITE if left.functor is IF else COMMIT_SOFTLY
        then = m.goal(left.args[1], cont, barrier, origin)
        return m.goal(left.args[0], (commit, (height,), then), height + 1, origin)
    return m.goal(left, cont, barrier, origin)


@control("->", 2)
def if_then(m: Machine, site: Site, args: Any, cont: Any) -> Continuation | None:
    condition, then, barrier = args
    origin: Any = site.origin
    height = len(m.choices)
    after = (CUT_SITE, (height,), m.goal(then, cont, barrier, origin))
    return m.goal(condition, after, height, origin)


@control("*->", 2)
def soft_if_then(m: Machine, site: Site, args: Any, cont: Any) -> Continuation | None:
    condition, then, barrier = args
    origin: Any = site.origin
    return m.goal(condition, m.goal(then, cont, barrier, origin), len(m.choices), origin)


@control("\\+", 1, guard=True, single=True)
@control("not", 1, guard=True, single=True)
def negation(m: Machine, site: Site, args: Any, cont: Any) -> Continuation | None:
    goal = as_goal(args[0])
    height = len(m.choices)
    m.choices.append((retry_next, len(m.trail), cont))
    origin: Any = site.origin
    return m.goal(goal, (REFUTE, (height,), cont), height + 1, origin.user)


@control("call", 1, 2, 3, 4, 5, 6, 7, 8)
def call(m: Machine, site: Site, args: Any, cont: Any) -> Continuation | None:
    goal = as_goal(add_arguments(args[0], args[1:]))
    origin: Any = site.origin
    return m.goal(goal, cont, len(m.choices), origin.user)


def add_arguments(closure: Term, extra: tuple[Term, ...]) -> Term:
    """The goal of `call(closure, extra…)`."""
    closure = deref(closure)
    if not extra:
        return closure
    if type(closure) is Struct:
        functor = Functor(closure.functor.name, closure.functor.arity + len(extra))
        return Struct(functor, closure.args + extra)
    if type(closure) is Atom:
        return Struct(Functor(closure.name, len(extra)), extra)
    if type(closure) is Var:
        raise instantiation_error("the goal to call is an unbound variable")
    raise type_error("callable", closure)


@control("once", 1, guard=True, single=True)
def once(m: Machine, site: Site, args: Any, cont: Any) -> Continuation | None:
    goal = as_goal(args[0])
    height = len(m.choices)
    origin: Any = site.origin
    return m.goal(goal, (CUT_SITE, (height,), cont), height, origin.user)


@control("ignore", 1, guard=True, single=True)
def ignore(m: Machine, site: Site, args: Any, cont: Any) -> Continuation | None:
    goal = as_goal(args[0])
    height = len(m.choices)
    m.choices.append((retry_next, len(m.trail), cont))
    origin: Any = site.origin
    return m.goal(goal, (CUT_SITE, (height,), cont), height + 1, origin.user)


@control("forall", 2, guard=True, single=True)
def forall(m: Machine, site: Site, args: Any, cont: Any) -> Continuation | None:
    condition, action = args
    counterexample = Struct(COMMA, (condition, Struct(NOT, (action,))))
    return negation(m, site, (counterexample,), cont)


@control("catch", 3, guard=True)
def catch(m: Machine, site: Site, args: Any, cont: Any) -> Continuation | None:
    goal, catcher, recovery = args
    origin: Any = site.origin
    height = len(m.choices)
    m.choices.append((retry_fail, len(m.trail), cont, catcher, recovery, origin.user))
    leave = (LEAVE_CATCH, (height,), cont)
    return (origin.user.site(Functor("call", 1)), (goal,), leave)


@det("throw", 1, iso=True)
def throw(m: Machine, args: Any) -> bool:
    ball = copy_term(args[0])
    if type(ball) is Var:
        raise instantiation_error("throw/1 needs a bound term")
    error = PrologError(f"uncaught exception: {short_text(ball)}", term=ball)
    if type(ball) is Struct and ball.functor is ERROR:
        error.message = f"uncaught error: {short_text(ball.args[0])}"
    raise error


@det("true", 0, iso=True)
@det("otherwise", 0)
def true(m: Machine, args: Any) -> bool:
    return True


@det("fail", 0, iso=True)
@det("false", 0, iso=True)
def fail(m: Machine, args: Any) -> bool:
    return False


@nondet("repeat", 0, iso=True)
def repeat(m: Machine, args: Any) -> Solutions:
    while True:
        yield


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


_LAMBDA = Functor(">>", 2)
_SHARED = Functor("/", 2)
_COPIED = Functor("$copied", 3)


@det("$lambda", 4)
def apply_lambda(m: Machine, args: Any) -> bool:
    """`'$lambda'(Parameters, Body, Arguments, Goal)`"""
    parameters, body = deref(args[0]), args[1]
    given = list(iter_list(args[2]))
    shared: Term = Atom("{}")
    if type(parameters) is Var:
        raise instantiation_error("the parameters of a lambda are not bound")
    if type(parameters) is Struct and parameters.functor is _SHARED:
        shared, parameters = _require_shared(parameters.args[0]), deref(parameters.args[1])
    require_list(parameters)
    own, copied = _copy(m, shared, parameters, body)
    formal = require_list(own)
    if len(formal) > len(given):
        raise domain_error("lambda_parameters", Struct(_LAMBDA, (args[0], body)))
    for parameter, argument in zip(formal, given, strict=False):
        if not m.unify(parameter, argument):
            return False
    return m.unify(args[3], add_arguments(copied, tuple(given[len(formal) :])))


@det("$shared", 4)
def apply_shared(m: Machine, args: Any) -> bool:
    """`'$shared'({Variables}, Body, Arguments, Goal)`"""
    shared = _require_shared(args[0])
    _, copied = _copy(m, shared, Atom("[]"), args[1])
    return m.unify(args[3], add_arguments(copied, tuple(iter_list(args[2]))))


def _require_shared(term: Term) -> Term:
    term = deref(term)
    if type(term) is Var:
        raise instantiation_error("the shared variables of a lambda are not bound")
    if term is Atom("{}") or (type(term) is Struct and term.functor is CURLY):
        return term
    raise type_error("lambda_free", term)


def _copy(m: Machine, shared: Term, parameters: Term, body: Term) -> tuple[Term, Term]:
    """Parameters and body with variables of their own, except those shared."""
    copied = copy_term(Struct(_COPIED, (shared, parameters, body)))
    assert type(copied) is Struct
    m.unify(copied.args[0], shared)
    return copied.args[1], copied.args[2]
