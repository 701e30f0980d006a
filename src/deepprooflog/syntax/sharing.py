"""Walks over terms that share parts, or contain themselves: each distinct part is visited once.

    X1 = f(X0, X0), X2 = f(X1, X1), …      60 parts, 2^60 leaves
    X = f(X)                               one part, an infinite tree

The quick walks of `terms`, `unify`, `order` and `clause` come here when they have taken many steps.
Pairs of terms that are being made equal are kept in classes: two parts of one class are equal, or a
difference will be found elsewhere, so that comparing infinite trees ends.
"""

from __future__ import annotations

from collections.abc import Iterable

from deepprooflog.syntax.terms import Struct, Term, Var, deref


def variables_once(terms: Iterable[Term]) -> list[Var]:
    """The unbound variables of the terms, each once, in order of first occurrence.

    >>> x, y = Var("X"), Var("Y")
    >>> from deepprooflog.syntax.terms import Functor
    >>> x.ref = Struct(Functor("f", 2), (x, y))
    >>> variables_once([x]) == [y]
    True
    """
    seen: dict[Var, None] = {}
    met: set[int] = set()
    stack = list(reversed(list(terms)))
    while stack:
        t = deref(stack.pop())
        if type(t) is Var:
            seen[t] = None
        elif type(t) is Struct and not t.ground and id(t) not in met:
            met.add(id(t))
            stack.extend(reversed(t.args))
    return list(seen)


def leaves(term: Term, most: int) -> int:
    """How many constants, variables and structs an acyclic term has as a tree, up to `most`.

    >>> from deepprooflog.syntax.terms import Functor
    >>> t = 1
    >>> for _ in range(60): t = Struct(Functor("f", 2), (t, t))
    >>> leaves(t, 10**9)
    1000000000
    """
    sizes: dict[int, int] = {}
    stack = [deref(term)]
    while stack:
        t = stack[-1]
        if type(t) is not Struct or id(t) in sizes:
            stack.pop()
            continue
        inside = [deref(a) for a in t.args]
        waiting = [a for a in inside if type(a) is Struct and id(a) not in sizes]
        if waiting:
            stack.extend(waiting)
            continue
        stack.pop()
        sizes[id(t)] = min(most, 1 + sum(sizes.get(id(a), 1) for a in inside))
    return sizes.get(id(deref(term)), 1)


class Classes:
    """Parts of terms taken to be equal, by identity; the parts must stay alive."""

    __slots__ = ("_parent",)

    def __init__(self) -> None:
        self._parent: dict[int, int] = {}

    def join(self, x: Struct, y: Struct) -> bool:
        """Take x and y to be equal; False when they were already."""
        a, b = self._root(id(x)), self._root(id(y))
        if a == b:
            return False
        self._parent[a] = b
        return True

    def _root(self, x: int) -> int:
        parent = self._parent
        above = parent.get(x)
        if above is None:
            return x
        while (higher := parent.get(above)) is not None:
            parent[x] = higher
            x, above = above, higher
        return above
