"""Grammar rules: `H --> B` as a clause over the difference list S0, S.

    digit(Y) --> [X].            digit(Y, [X|S], S).
    s --> a, [b], {g}, c.        s(S0, S) :- a(S0, S1), S1 = [b|S2], g, S3 = S2, c(S3, S).

Terminals at the front of the body are folded into the head, so that a rule that cannot read the
next terminal does not unify and is no choice. A label stays outermost:
`(L :: H) --> B` becomes `(L :: H') :- B'`.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import NoReturn, TypeAlias

from deepprooflog.errors import PrologError
from deepprooflog.syntax.terms import (
    COMMA,
    CONS,
    CURLY,
    NIL,
    TRUE,
    Atom,
    Functor,
    Str,
    Struct,
    Term,
    Var,
    deref,
    iter_list,
    list_tail,
    make_list,
    struct,
)

ARROW = Functor("-->", 2)
_LABEL = Functor("::", 2)
_NECK = Functor(":-", 2)
_NOT = Functor("\\+", 1)
_CUT = Atom("!")
_OR = (Functor(";", 2), Functor("|", 2))
_THEN = (Functor("->", 2), Functor("*->", 2))

_Body: TypeAlias = tuple[Term, Term, Term]
_Steps: TypeAlias = Generator[_Body, Term, Term]


def translate(rule: Term) -> Term:
    """The clause that a grammar rule stands for.

    >>> from deepprooflog.syntax.reader import read_term
    >>> from deepprooflog.syntax.writer import write_term
    >>> write_term(translate(read_term("0.3 :: s(X) --> [X], s(X).").term))
    '0.3::s(X,[X|_G1],_G2):-s(X,_G1,_G2)'
    """
    assert type(rule) is Struct
    assert rule.functor is ARROW
    head, body = deref(rule.args[0]), deref(rule.args[1])
    pushback: Term | None = None
    if type(head) is Struct and head.functor is COMMA:
        pushback = head.args[1]
        head = deref(head.args[0])
    label: Term | None = None
    if type(head) is Struct and head.functor is _LABEL:
        label = head.args[0]
        head = deref(head.args[1])
    end: Term = Var()
    after: Term = end if pushback is None else Var()
    terminals, rest = _leading(body)
    if rest is None:
        begin = make_list(terminals, after)
        goal: Term = TRUE
    else:
        between = Var()
        begin = make_list(terminals, between)
        goal = _body(rest, between, after)
    result: Term = _extend(head, begin, end)
    if pushback is not None:
        goal = _and(goal, _body(pushback, end, after))
    if label is not None:
        result = struct("::", label, result)
    return result if goal is TRUE else Struct(_NECK, (result, goal))


def body_goal(body: Term, begin: Term, end: Term) -> Term:
    """The goal that reads a grammar body between two states of the list.

    >>> from deepprooflog.syntax.reader import read_term
    >>> from deepprooflog.syntax.writer import write_term
    >>> write_term(body_goal(read_term("a, [b].").term, Var("S"), NIL))
    'a(S,_G1),_G1=[b]'
    """
    return _body(body, begin, end)


def _leading(body: Term) -> tuple[list[Term], Term | None]:
    """The terminals a body begins with, and what is left of it (None: nothing)."""
    terminals: list[Term] = []
    rest: list[Term] = [body]
    while rest:
        part = deref(rest[-1])
        if type(part) is Struct and part.functor is COMMA:
            rest[-1:] = [part.args[1], part.args[0]]
            continue
        items = _terminals(part)
        if items is None:
            break
        terminals += items
        rest.pop()
    if not rest:
        return terminals, None
    remaining = rest[0]
    for part in rest[1:]:
        remaining = struct(",", part, remaining)
    return terminals, remaining


def _terminals(part: Term) -> list[Term] | None:
    if type(part) is Str:
        return [ord(char) for char in part.value]
    if part is NIL or (type(part) is Struct and part.functor is CONS):
        if list_tail(part) is not NIL:
            _fail("a terminal list must be closed", "type_error", Atom("list"), part)
        return list(iter_list(part))
    return None


def _body(root: Term, begin: Term, end: Term) -> Term:
    """B between two states of the list. Each step yields the parts it needs translated first."""
    stack: list[_Steps] = [_steps(root, begin, end)]
    value: Term | None = None
    while True:
        try:
            part = next(stack[-1]) if value is None else stack[-1].send(value)
        except StopIteration as stop:
            stack.pop()
            result: Term = stop.value
            if not stack:
                return result
            value = result
        else:
            stack.append(_steps(*part))
            value = None


def _steps(part: Term, begin: Term, end: Term) -> _Steps:
    part = deref(part)
    if type(part) is Var:
        return struct("phrase", part, begin, end)
    items = _terminals(part)
    if items is not None:
        return struct("=", begin, make_list(items, end))
    if part is _CUT:
        return _and(part, struct("=", begin, end))
    if type(part) is not Struct:
        return _extend(part, begin, end)
    functor = part.functor
    if functor is COMMA or functor in _THEN:
        between = Var()
        left = yield part.args[0], begin, between
        right = yield part.args[1], between, end
        return _and(left, right) if functor is COMMA else Struct(functor, (left, right))
    if functor in _OR:
        left = yield part.args[0], begin, end
        right = yield part.args[1], begin, end
        return Struct(_OR[0], (left, right))
    if functor is CURLY:
        return _and(part.args[0], struct("=", begin, end))
    if functor is _NOT:
        inner = yield part.args[0], begin, Var()
        return _and(Struct(_NOT, (inner,)), struct("=", begin, end))
    return _extend(part, begin, end)


def _and(left: Term, right: Term) -> Term:
    return right if left is TRUE else Struct(COMMA, (left, right))


def _extend(part: Term, begin: Term, end: Term) -> Struct:
    """A nonterminal with its two list arguments added; `call//N` becomes `call/N+2` likewise."""
    part = deref(part)
    if type(part) is Var:
        raise PrologError(
            "the head of a grammar rule must be bound", term=Atom("instantiation_error")
        )
    if type(part) is Atom:
        return Struct(Functor(part.name, 2), (begin, end))
    if type(part) is not Struct:
        _fail("a nonterminal must be callable", "type_error", Atom("callable"), part)
    return Struct(Functor(part.name, len(part.args) + 2), (*part.args, begin, end))


def _fail(message: str, kind: str, *args: Term) -> NoReturn:
    raise PrologError(message, term=struct(kind, *args))
