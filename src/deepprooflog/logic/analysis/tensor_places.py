"""Where tensors stand: the places in terms that networks read, found from a program's text.

Every argument of a predicate has a type: what its compounds hold, and whether it is a tensor. The
types of all places that share a variable are one. So `add([X|Xs], …) :- digit(X, A), …`, where
`digit` gives its first argument to a network, has a list of tensors as its first argument. A list
has one type for all its elements.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from deepprooflog.logic.clause import Bernoulli, Neural
from deepprooflog.logic.program import PredicateKind, Program
from deepprooflog.syntax.terms import CONS, Atom, Functor, Struct, Term, Var, args_of, deref

# Goals in whose arguments all goals stand, and those that hand arguments on to a closure.
CONTROL = frozenset({",", ";", "->", "*->", "|", "\\+", "once", "ignore", "not", "forall"})
CLOSURES = frozenset({"call", "maplist", "foldl"})

UNIFY = Functor("=", 2)
# Which arguments of a builtin hold the same elements.
ELEMENTS = {
    Functor("append", 3): (0, 1, 2),
    Functor("reverse", 2): (0, 1),
    Functor("permutation", 2): (0, 1),
    UNIFY: (0, 1),
    Functor("copy_term", 2): (0, 1),
    Functor("exclude", 3): (1, 2),
    Functor("include", 3): (1, 2),
}
# Which argument is an element of which other.
MEMBERS = {
    Functor("member", 2): (0, 1),
    Functor("memberchk", 2): (0, 1),
    Functor("last", 2): (1, 0),
    Functor("nth0", 3): (2, 1),
    Functor("nth1", 3): (2, 1),
}


@dataclass(eq=False)
class Type:
    """What a place holds; `same` leads to the type it was found to be."""

    tensor: bool = False
    parts: dict[tuple[Functor, int], Type] = field(default_factory=dict)
    same: Type | None = None

    def found(self) -> Type:
        """The type that this one is."""
        end = self
        while end.same is not None:
            end = end.same
        return end

    def part(self, functor: Functor, number: int) -> Type:
        """The type of an argument of the compounds that stand here; a list's tail is the list."""
        own = self.found()
        if functor is CONS and number == 1:
            return own
        return own.parts.setdefault((functor, number), Type())

    def unify(self, other: Type) -> None:
        """Let two types be one."""
        todo = [(self, other)]
        while todo:
            a, b = (t.found() for t in todo.pop())
            if a is b:
                continue
            b.same = a
            a.tensor = a.tensor or b.tensor
            for key, inner in b.parts.items():
                if key in a.parts:
                    todo.append((a.parts[key], inner))
                else:
                    a.parts[key] = inner

    @property
    def holds_tensors(self) -> bool:
        """True for a tensor, and for a list of what holds tensors."""
        here: Type | None = self.found()
        met: set[int] = set()
        while here is not None and id(here) not in met:
            if here.tensor:
                return True
            met.add(id(here))
            inner = here.parts.get((CONS, 0))
            here = None if inner is None else inner.found()
        return False


class Types:
    """The types of a program's predicates' arguments."""

    def __init__(self, program: Program) -> None:
        self.places: dict[tuple[Functor, int], Type] = {}
        for functor, predicate in program.predicates.items():
            for clause in predicate.entries.explicit():
                own: dict[Var, Type] = {}
                self._goal(functor, clause.args, own)
                for atom in clause.body:
                    self.body(atom, own)
                if predicate.kind is PredicateKind.NEURAL:
                    assert isinstance(clause.label, Neural | Bernoulli)
                    for read in clause.label.inputs:
                        self._type(read, own).found().tensor = True

    def body(self, atom: Term, own: dict[Var, Type]) -> None:
        """Take in what a goal's arguments share."""
        for functor, args in _calls(atom):
            if functor in ELEMENTS:
                first, *others = (self._type(args[i], own) for i in ELEMENTS[functor])
                for other in others:
                    first.unify(other)
            elif functor in MEMBERS:
                element, of = MEMBERS[functor]
                self._type(args[of], own).part(CONS, 0).unify(self._type(args[element], own))
            else:
                self._goal(functor, args, own)

    def _goal(self, functor: Functor, args: Sequence[Term], own: dict[Var, Type]) -> None:
        for number, term in enumerate(args):
            self.places.setdefault((functor, number), Type()).unify(self._type(term, own))

    def _type(self, root: Term, own: dict[Var, Type]) -> Type:
        """A type for a term, its variables those of the clause."""
        result = Type()
        todo = [(deref(root), result)]
        while todo:
            term, here = todo.pop()
            if type(term) is Var:
                own.setdefault(term, Type()).unify(here)
            elif type(term) is Struct:
                for number, a in enumerate(term.args):
                    todo.append((deref(a), here.part(term.functor, number)))
        return result


def variables_of_tensors(program: Program, atoms: tuple[Term, ...]) -> frozenset[int]:
    """The numbers of a goal's canonical variables that stand for tensors, or lists of them.

    >>> from deepprooflog.logic.query import form_of
    >>> program = Program('''
    ... nn(net, [X], D, 0..9) :: digit(X, D).
    ... total([], 0).
    ... total([X|Xs], S) :- digit(X, D), total(Xs, T), S is T + D.
    ... ''')
    >>> sorted(variables_of_tensors(program, form_of("total(Pictures, Sum)").atoms))
    [0]
    """
    known = _KNOWN.setdefault(program, {})
    found = known.get(atoms)
    if found is None:
        types = Types(program)
        own: dict[Var, Type] = {}
        for atom in atoms:
            types.body(atom, own)
        found = frozenset({var.index for var, type_ in own.items() if type_.holds_tensors})
        if len(known) >= MOST_KNOWN:
            known.clear()
        known[atoms] = found
    return found


_KNOWN: WeakKeyDictionary[Program, dict[tuple[Term, ...], frozenset[int]]] = WeakKeyDictionary()
MOST_KNOWN = 256


def _calls(atom: Term) -> Iterator[tuple[Functor, Sequence[Term]]]:
    """The calls that a body atom may make, through control and closures."""
    todo = [atom]
    while todo:
        t = deref(todo.pop())
        if type(t) is not Struct:
            continue
        if t.functor.name in CONTROL:
            todo.extend(t.args)
        elif t.functor.name in CLOSURES:
            closure, given = deref(t.args[0]), list(t.args[1:])
            lists = {"call": 0, "maplist": len(given), "foldl": len(given) - 2}[t.functor.name]
            for i in range(lists):
                # The closure is called with elements of the list.
                element = Var()
                yield UNIFY, (given[i], Struct(CONS, (element, Var())))
                given[i] = element
            if type(closure) is Struct or type(closure) is Atom:
                name, args = closure.functor.name, (*args_of(closure), *given)
                todo.append(Struct(Functor(name, len(args)), args))
        else:
            yield t.functor, t.args
