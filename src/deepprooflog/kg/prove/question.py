"""A query about a graph, `relation(head, tail)`, read once: numbers, and the names of variables."""

from __future__ import annotations

from dataclasses import dataclass

from deepprooflog.kg.data.triples import Graph
from deepprooflog.syntax.reader import ReadTerm, read_term
from deepprooflog.syntax.terms import Functor, Struct, Term, Var, args_of, deref

_MINUS = Functor("-", 2)


@dataclass(frozen=True)
class TripleQuestion:
    """A query `relation(head, tail)` in numbers, None for a variable; the names of variables."""

    text: str
    head: int | None
    relation: int
    tail: int | None
    names: tuple[str | None, str | None]

    @property
    def is_open(self) -> bool:
        """Whether there is something to be found."""
        return self.head is None or self.tail is None


def read_question(graph: Graph, text: str, read: ReadTerm | None = None) -> TripleQuestion:
    """A query as text, or as it was `read` from the text.

    >>> from deepprooflog.kg.data.triples import graph_of
    >>> read_question(graph_of([("ann", "knows", "bob")]), "knows(Who, bob)").names
    ('Who', None)
    """
    read = read or read_term(text, end_optional=True)
    head, relation, tail = graph.pattern(read.term)
    called = {deref(variable): name for name, variable in read.variables.items()}
    ends = [deref(end) for end in args_of(_last(read.term))]
    names = [called.get(end, "_") if type(end) is Var else None for end in ends]
    # r(X, X) asks for one entity, which stands on both sides.
    return TripleQuestion(text, head, relation, tail, (names[0], names[1]))


def _last(term: Term) -> Term:
    """The atom itself, where a hyphen in its name makes it the end of a difference."""
    while type(term) is Struct and term.functor is _MINUS:
        term = deref(term.args[1])
    return term
