"""Bodies and goals: conjunctions flattened, cuts found, variables in the place of goals called.

A variable where a goal should stand is `call(Variable)`, decided when the body is made: a cut that
it is bound to later does not reach out of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from deepprooflog.logic.solver.iso_errors import instantiation_error, type_error
from deepprooflog.syntax.terms import COMMA, TRUE, Atom, Functor, Struct, Term, Var, deref

CUT = Atom("!")
CALL = Functor("call", 1)
ONCE = Functor("once", 1)
DISJUNCTION = Functor(";", 2)
IF_THEN = Functor("->", 2)
SOFT_IF = Functor("*->", 2)
# Where a cut still belongs to the clause around it.
TRANSPARENT = frozenset({COMMA, DISJUNCTION, IF_THEN, SOFT_IF})


def conjuncts(body: Term) -> tuple[Term, ...]:
    """The atoms of a conjunction, left to right; `true` is the empty one, a variable is called.

    >>> from deepprooflog.syntax.reader import read_term
    >>> [a.name for a in conjuncts(read_term("(a, (b, c)), true, d.").term)]
    ['a', 'b', 'c', 'd']
    """
    atoms: list[Term] = []
    todo = [body]
    while todo:
        t = deref(todo.pop())
        if type(t) is Struct and t.functor is COMMA:
            todo.append(t.args[1])
            todo.append(t.args[0])
        elif type(t) is Var:
            atoms.append(Struct(CALL, (t,)))
        elif t is not TRUE:
            atoms.append(t)
    return tuple(atoms)


def converted(atom: Term) -> Term:
    """The atom with variables in goal position called: `(A ; B)` is `(call(A) ; call(B))`.

    So ISO converts a clause's body; a cut inside what A is bound to is then A's own.
    """
    root = deref(atom)
    if type(root) is not Struct or root.functor not in TRANSPARENT:
        return root
    open_: list[tuple[Struct, list[Term]]] = [(root, [])]
    while True:
        source, done = open_[-1]
        if len(done) == len(source.args):
            open_.pop()
            result = Struct(source.functor, tuple(done))
            if not open_:
                return result
            open_[-1][1].append(result)
            continue
        part = deref(source.args[len(done)])
        if type(part) is Var:
            done.append(Struct(CALL, (part,)))
        elif type(part) is Struct and part.functor in TRANSPARENT:
            open_.append((part, []))
        else:
            done.append(part)


def as_goal(term: Term) -> Term:
    """The goal a run-time term stands for; ISO's errors when it cannot be called."""
    while type(term) is Var and term.ref is not None:
        term = term.ref
    if type(term) is Struct:
        return term if term.functor not in TRANSPARENT else _called(term)
    if type(term) is Var:
        raise instantiation_error("the goal to call is an unbound variable")
    if type(term) is not Atom:
        raise type_error("callable", term)
    return term


def _called(root: Struct) -> Term:
    """The construct with its variables called; itself when there are none."""
    has_variables = False
    stack: list[Term] = [root]
    while stack:
        t = deref(stack.pop())
        if type(t) is Struct:
            if t.functor in TRANSPARENT:
                stack.extend(t.args)
        elif type(t) is Var:
            has_variables = True
        elif type(t) is not Atom:
            raise type_error("callable", root)
    return converted(root) if has_variables else root


def has_nested_cut(atom: Term) -> bool:
    """True when a cut stands inside a control construct of the body, and so cuts the clause."""
    return type(atom) is Struct and atom.functor in TRANSPARENT and _cut_within(atom.args)


def has_cut(atom: Struct) -> bool:
    """True when the goal that `call/N` or a conjunction holds has a cut of its own."""
    return _cut_within(atom.args)


def _cut_within(parts: tuple[Term, ...]) -> bool:
    todo = [*parts]
    while todo:
        t = deref(todo.pop())
        if t is CUT:
            return True
        if type(t) is Struct and t.functor in TRANSPARENT:
            # The condition of an if-then-else is opaque to the cut.
            todo.extend(t.args[1:] if t.functor in (IF_THEN, SOFT_IF) else t.args)
    return False


def conjunction(atoms: Sequence[Term]) -> Term:
    """The inverse of `conjuncts`: one term that calls the atoms in order."""
    if not atoms:
        return TRUE
    result = atoms[-1]
    for atom in reversed(atoms[:-1]):
        result = Struct(COMMA, (atom, result))
    return result


def after_cut(body: Sequence[Term]) -> list[Term]:
    """What is left of a clause once a cut has committed it: a further `b, !` is `once(b)`."""
    done: list[Term] = []
    segment: list[Term] = []
    for atom in body:
        if atom is not CUT:
            segment.append(atom)
        elif segment:
            done.append(Struct(ONCE, (conjunction(segment),)))
            segment = []
    return done + segment
