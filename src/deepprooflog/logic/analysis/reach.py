"""Which predicates may come upon a random choice, or upon nested calls: reachability of calls.

Guards (negation, `findall`, …) may not reach a labelled or neural predicate, and control
constructs that do must be opened up into steps of their own. Reachability is by predicate, through
bodies, control constructs and the closures handed to `call/N`, `maplist`, `foldl` and the like;
what a variable will be bound to is not known here and is caught when it is called.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from deepprooflog.logic.builtins.registry import META
from deepprooflog.logic.program import Predicate
from deepprooflog.syntax.terms import CURLY, Atom, Functor, Struct, Term, deref

# As many arguments as `call/8` can add to a closure.
MAX_EXTRA = 7


def reaching(predicates: Mapping[Functor, Predicate]) -> frozenset[Functor]:
    """The predicates from which a labelled, trainable or neural predicate can be reached."""
    return callers_of({f for f, p in predicates.items() if p.stochastic}, predicates)


def nesting(predicates: Mapping[Functor, Predicate]) -> frozenset[Functor]:
    """The predicates from which a clause can be reached that nests calls.

    Such a clause has atoms that wait while a predicate with rules of its own is called, so that
    goals may grow: grammars, recursion that is not last, a call of one long computation after
    another.
    """
    ruled = {f for f, p in predicates.items() if any(c.body for c in p.entries.explicit())}
    nested = {
        functor
        for functor, predicate in predicates.items()
        for clause in predicate.entries.explicit()
        if any(callee in ruled for atom in clause.body[:-1] for callee in mentioned(atom))
    }
    return callers_of(nested, predicates)


def callers_of(
    wanted: Iterable[Functor], predicates: Mapping[Functor, Predicate]
) -> frozenset[Functor]:
    """The predicates from which one of some predicates can be reached, these among them."""
    callers: dict[Functor, set[Functor]] = {}
    for functor, predicate in predicates.items():
        for clause in predicate.entries.explicit():
            for atom in clause.body:
                for callee in mentioned(atom):
                    if callee in predicates:
                        callers.setdefault(callee, set()).add(functor)
    found = set(wanted)
    todo = list(found)
    while todo:
        for caller in callers.get(todo.pop(), ()):
            if caller not in found:
                found.add(caller)
                todo.append(caller)
    return frozenset(found)


def mentioned(atom: Term) -> Iterator[Functor]:
    """Every predicate a body atom may call: itself, and what it names as goals or closures."""
    atom = deref(atom)
    if type(atom) is Atom or type(atom) is Struct:
        yield atom.functor
    todo = [atom]
    while todo:
        t = todo.pop()
        if type(t) is not Struct or not (t.functor.name in META or _is_lambda(t)):
            continue
        for a in t.args:
            closure = deref(a)
            if type(closure) is Atom or type(closure) is Struct:
                name, arity = closure.functor.name, closure.functor.arity
                for extra in range(MAX_EXTRA + 1):
                    yield Functor(name, arity + extra)
                todo.append(closure)


def _is_lambda(term: Struct) -> bool:
    """True for `{Shared}/Body`; what else a slash joins are no goals."""
    if term.functor.name != "/" or len(term.args) < 2:
        return False
    shared = deref(term.args[0])
    return shared is Atom("{}") or (type(shared) is Struct and shared.functor is CURLY)
