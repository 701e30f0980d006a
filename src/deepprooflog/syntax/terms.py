"""Terms: what programs, goals and answers are made of.

A term is one of

    Var      a logic variable; `ref` is its binding while a prover runs, else None
    Atom     an interned symbol, equal by identity
    int      a Prolog integer is a Python int (unbounded)
    Float    a Prolog float, boxed: in Python 1 == 1.0, in Prolog 1 and 1.0 are two terms
    Str      a string object
    Slot     an opaque tensor, equal by slot number and never by value
    Struct   functor and arguments; a list cell is '.'(Head, Tail)

Structs cache two facts: `ground` (True means surely no variable inside; False, not known) and
`home` (the interner that owns the term: within one interner equal terms are one object, so that
comparing and hashing goals costs nothing however long their lists are).

Nothing here recurses: a list of a million elements is as good as one of three. A walk that takes
more than `MANY` steps goes on as one that visits each part once (`sharing`): a term may hold a part
in many places, or, bound without an occurs check, contain itself.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import ClassVar, TypeAlias, final

from deepprooflog.errors import ProgramError


@final
class Functor:
    """Name and arity, interned: `Functor("p", 2) is Functor("p", 2)`. The key of a predicate."""

    __slots__ = ("arity", "name")
    name: str
    arity: int
    _table: ClassVar[dict[tuple[str, int], Functor]] = {}

    def __new__(cls, name: str, arity: int) -> Functor:
        key = (name, arity)
        self = cls._table.get(key)
        if self is None:
            self = object.__new__(cls)
            self.name = name
            self.arity = arity
            self = cls._table.setdefault(key, self)
        return self

    def __repr__(self) -> str:
        return f"{self.name}/{self.arity}"

    def __reduce__(self) -> tuple[type[Functor], tuple[str, int]]:
        return Functor, (self.name, self.arity)


@final
class Atom:
    """An interned symbol: `Atom("a") is Atom("a")`. `functor` is its name with arity 0."""

    __slots__ = ("functor", "name")
    name: str
    functor: Functor
    _table: ClassVar[dict[str, Atom]] = {}

    def __new__(cls, name: str) -> Atom:
        self = cls._table.get(name)
        if self is None:
            self = object.__new__(cls)
            self.name = name
            self.functor = Functor(name, 0)
            self = cls._table.setdefault(name, self)
        return self

    def __repr__(self) -> str:
        return f"Atom({self.name!r})"

    def __reduce__(self) -> tuple[type[Atom], tuple[str]]:
        return Atom, (self.name,)


@final
class Var:
    """A logic variable, equal by identity.

    `index` is −1, except for the canonical variables of `canonical_var`, which number the
    variables of a clause or a goal by first occurrence and are never bound.
    """

    __slots__ = ("index", "name", "ref")
    ref: Term | None
    name: str | None
    index: int

    def __init__(self, name: str | None = None, index: int = -1) -> None:
        self.ref = None
        self.name = name
        self.index = index

    def __repr__(self) -> str:
        return self.name or (f"_{self.index}" if self.index >= 0 else f"_G{id(self):x}")


@final
class Float:
    """A Prolog float. Equal when both value and sign of zero agree (NaN equals itself).

    `written` keeps the digits of a literal that the float rounds: labels are exact.
    """

    __slots__ = ("value", "written")
    value: float
    written: str | None

    def __init__(self, value: float, written: str | None = None) -> None:
        self.value = value
        self.written = written

    def __eq__(self, other: object) -> bool:
        return type(other) is Float and repr(self.value) == repr(other.value)

    def __hash__(self) -> int:
        return hash((Float, repr(self.value)))

    def __repr__(self) -> str:
        return f"Float({self.value!r})"


@final
class Str:
    """A Prolog string object."""

    __slots__ = ("value",)
    value: str

    def __init__(self, value: str) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return type(other) is Str and self.value == other.value

    def __hash__(self) -> int:
        return hash((Str, self.value))

    def __repr__(self) -> str:
        return f"Str({self.value!r})"


@final
class Slot:
    """A tensor as a goal sees it: a number into a tensor bank, opaque to unification."""

    __slots__ = ("number",)
    number: int

    def __init__(self, number: int) -> None:
        self.number = number

    def __eq__(self, other: object) -> bool:
        return type(other) is Slot and self.number == other.number

    def __hash__(self) -> int:
        return hash((Slot, self.number))

    def __repr__(self) -> str:
        return f"Slot({self.number})"


@final
class Struct:
    """A compound term `functor(args…)`."""

    __slots__ = ("_hash", "args", "functor", "ground", "home")
    functor: Functor
    args: tuple[Term, ...]
    ground: bool
    home: object | None
    _hash: int | None

    def __init__(self, functor: Functor, args: tuple[Term, ...], ground: bool = False) -> None:
        self.functor = functor
        self.args = args
        self.ground = ground
        self.home = None
        self._hash = None

    @property
    def name(self) -> str:
        return self.functor.name

    def __hash__(self) -> int:
        if self._hash is None:
            _fill_hashes(self)
        return self._hash  # type: ignore[return-value]

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is Struct and _same(self, other))

    def __repr__(self) -> str:
        from deepprooflog.syntax.writer import write_term

        return f"Struct({write_term(self)})"


Term: TypeAlias = Var | Atom | int | Float | Str | Slot | Struct

CONS = Functor(".", 2)
NIL = Atom("[]")
CURLY = Functor("{}", 1)
COMMA = Functor(",", 2)
TRUE = Atom("true")
FALSE = Atom("false")

# Structs that a walk visits before it begins to remember them.
MANY = 10_000

_pool: list[Var] = []
_pool_lock = threading.Lock()


def canonical_var(index: int) -> Var:
    """The variable that stands for number `index` in every clause and every canonical goal."""
    if len(_pool) <= index:
        with _pool_lock:
            while len(_pool) <= index:
                _pool.append(Var(index=len(_pool)))
    return _pool[index]


def struct(name: str, *args: Term) -> Struct | Atom:
    """Build `name(args…)`, or the atom `name` when there are none; the ground flag is exact.

    >>> struct("p", Atom("a"), 1).ground
    True
    """
    if not args:
        return Atom(name)
    return Struct(Functor(name, len(args)), args, all(is_ground(a) for a in args))


def deref(term: Term) -> Term:
    """Follow a variable's bindings to the term it stands for."""
    while type(term) is Var:
        ref = term.ref
        if ref is None:
            return term
        term = ref
    return term


def is_ground(term: Term) -> bool:
    """True when no unbound variable is left in the term, and it does not contain itself."""
    stack = [term]
    visits = 0
    while stack:
        t = deref(stack.pop())
        if type(t) is Var:
            return False
        if type(t) is Struct and not t.ground:
            visits += 1
            if visits > MANY:
                return not variables(term) and is_acyclic(term)
            stack.extend(t.args)
    return True


def is_acyclic(term: Term) -> bool:
    """True when no binding leads back into the term (X = f(X) without an occurs check)."""
    done: set[int] = set()
    path: set[int] = set()
    stack: list[tuple[Term, bool]] = [(term, False)]
    while stack:
        t, leaving = stack.pop()
        t = deref(t)
        if type(t) is not Struct or t.ground or id(t) in done:
            continue
        if leaving:
            path.discard(id(t))
            done.add(id(t))
        elif id(t) in path:
            return False
        else:
            path.add(id(t))
            stack.append((t, True))
            stack.extend((a, False) for a in t.args)
    return True


def variables(*terms: Term) -> list[Var]:
    """The unbound variables of the terms, each once, in order of first occurrence (depth first)."""
    seen: dict[Var, None] = {}
    stack = list(reversed(terms))
    visits = 0
    while stack:
        t = deref(stack.pop())
        if type(t) is Var:
            seen[t] = None
        elif type(t) is Struct and not t.ground:
            visits += 1
            if visits > MANY:
                from deepprooflog.syntax.sharing import variables_once

                return variables_once(terms)
            stack.extend(reversed(t.args))
    return list(seen)


def make_list(items: Iterable[Term], tail: Term = NIL) -> Term:
    """The Prolog list of `items`, ending in `tail`."""
    result = tail
    ground = is_ground(tail)
    for item in reversed(list(items)):
        ground = ground and is_ground(item)
        result = Struct(CONS, (item, result), ground)
    return result


def iter_list(term: Term) -> Iterator[Term]:
    """The elements of a list, dereferenced; stops at the first tail that is no list cell.

    A list that contains itself ends after it has come round.
    """
    t = deref(term)
    steps, mark = 0, None
    while type(t) is Struct and t.functor is CONS and t is not mark:
        yield deref(t.args[0])
        steps += 1
        # Brent's rule: the cell at a power of two is met again where the list is a circle.
        if steps & (steps - 1) == 0:
            mark = t
        t = deref(t.args[1])


def list_tail(term: Term) -> Term:
    """What a list ends in: NIL for a proper list, a variable for a partial one.

    A list that contains itself ends in one of its cells.
    """
    return list_spine(term)[1]


def list_spine(term: Term) -> tuple[int, Term]:
    """The number of cells of a list and what it ends in."""
    t = deref(term)
    steps, mark = 0, None
    while type(t) is Struct and t.functor is CONS and t is not mark:
        steps += 1
        if steps & (steps - 1) == 0:
            mark = t
        t = t.args[1]
        while type(t) is Var and t.ref is not None:
            t = t.ref
    return steps, t


def functor_of(term: Term) -> Functor | None:
    """The predicate a callable term names, or None for variables, numbers, strings and tensors."""
    if type(term) is Struct or type(term) is Atom:
        return term.functor
    return None


def args_of(term: Term) -> tuple[Term, ...]:
    """The arguments of a struct; none for anything else."""
    return term.args if type(term) is Struct else ()


def _fill_hashes(root: Struct) -> None:
    stack: list[Struct] = [root]
    visits = 0
    while stack:
        visits += 1
        if visits == MANY and not is_acyclic(root):
            raise ProgramError(
                "a term that contains itself cannot be looked up",
                hint="Program(..., occurs_check=True) makes such unifications fail",
            )
        t = stack[-1]
        if t._hash is not None:
            stack.pop()
            continue
        todo = [a for a in t.args if type(a) is Struct and a._hash is None]
        if todo:
            stack.extend(todo)
        else:
            t._hash = hash((t.functor, t.args))
            stack.pop()


def _same(a: Struct, b: Struct) -> bool:
    stack: list[tuple[Term, Term]] = [(a, b)]
    visits = 0
    seen: set[tuple[int, int]] | None = None
    while stack:
        x, y = stack.pop()
        if x is y:
            continue
        if type(x) is not type(y):
            return False
        if type(x) is Struct:
            assert type(y) is Struct
            if x.functor is not y.functor:
                return False
            if x._hash is not None and y._hash is not None and x._hash != y._hash:
                return False
            visits += 1
            if visits > MANY:
                seen = seen if seen is not None else set()
                if (id(x), id(y)) in seen:
                    continue
                seen.add((id(x), id(y)))
            stack.extend(zip(x.args, y.args, strict=True))
        elif x != y:
            return False
    return True
