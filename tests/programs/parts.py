"""The parts random programs are made of: terms, atoms, clauses, bodies, labels.

Each is a strategy and each shrinks: to fewer clauses, to shorter bodies, to the first constant. A
generator of programs says which parts it needs; those of this package are

    function_free   facts and rules over constants and variables, for the batched engines
    compound        clauses over numbers, strings, lists and compounds
    bodies          control constructs, comparisons and builtins, too odd for an oracle
    labelled        propositional labelled clauses, whose meaning a linear system gives
    stochastic      labelled kernels, walks and growing lists, for ProbLog
    moded           arithmetic, lists, cut, negation and findall, for SWI-Prolog
    relations       relations asked in every mode, for SWI-Prolog
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from hypothesis import strategies as st

T = TypeVar("T")
Texts = st.SearchStrategy[str]


def atom(name: str, arguments: Sequence[str]) -> str:
    """The text of an atom.

    >>> atom("p", ["a", "X"]), atom("z", [])
    ('p(a, X)', 'z')
    """
    return f"{name}({', '.join(arguments)})" if arguments else name


def clause(head: str, body: Sequence[str] = (), label: float | Fraction | None = None) -> str:
    """The text of a clause.

    >>> clause("p", ["q", "r"], Fraction(1, 4)), clause("p(a)")
    ('0.25 :: p :- q, r.', 'p(a).')
    """
    weight = "" if label is None else f"{float(label)} :: "
    return f"{weight}{head}{' :- ' if body else ''}{', '.join(body)}."


def clauses(heads: Texts, bodies: st.SearchStrategy[list[str]]) -> Texts:
    """Clauses without labels; an empty body makes a fact."""
    return st.builds(clause, heads, bodies)


def several(one: st.SearchStrategy[T], about: int) -> st.SearchStrategy[list[T]]:
    """Lists of about so many items, at most a third more, which shrink by leaving items out.

    `st.lists` draws short lists, about five items whatever the bound; an engine is hardly tried by
    five facts.
    """
    most = about * 4 // 3
    places = st.lists(st.one_of(st.none(), one, one, one), min_size=most, max_size=most)
    return places.map(lambda drawn: [item for item in drawn if item is not None])


@dataclass(frozen=True)
class Vocabulary:
    """The names atoms are made of, predicates with their arities."""

    predicates: Mapping[str, int]
    constants: tuple[str, ...]
    variables: tuple[str, ...]

    def terms(self, constants: int, variables: int) -> Texts:
        """Each constant and each variable so many times in the urn, the simplest constant first."""
        return st.sampled_from([*self.constants * constants, *self.variables * variables])

    def atoms(self, terms: Texts, names: Sequence[str] = ()) -> Texts:
        """Atoms of these predicates, or of any."""
        return st.sampled_from(list(names) or list(self.predicates)).flatmap(
            lambda name: st.lists(
                terms, min_size=self.predicates[name], max_size=self.predicates[name]
            ).map(lambda arguments: atom(name, arguments))
        )

    def ground(self, names: Sequence[str] = ()) -> Texts:
        """Ground atoms."""
        return self.atoms(st.sampled_from(self.constants), names)

    @property
    def declarations(self) -> list[str]:
        """Clauses that make every predicate defined and every constant occur."""
        named = ", ".join(f"{name}/{arity}" for name, arity in self.predicates.items())
        return [f":- dynamic([{named}]).", clause(atom("all", self.constants))]


def compounds(leaves: Texts, shapes: Sequence[str], max_leaves: int = 4) -> Texts:
    """Terms over the leaves; a shape such as `f({}, {})` has holes for terms."""

    def larger(inner: Texts) -> Texts:
        return st.one_of([_filled(shape, inner) for shape in shapes])

    return st.recursive(leaves, larger, max_leaves=max_leaves)


def _filled(shape: str, inner: Texts) -> Texts:
    return st.builds(shape.format, *[inner] * shape.count("{}"))


def controlled(simple: Texts, shapes: Sequence[str], max_leaves: int = 6) -> Texts:
    """Goals under control constructs, which are shapes as those of `compounds` are."""
    return compounds(simple, shapes, max_leaves)


@st.composite
def labels(draw: st.DrawFn, most: int = 3, least: int = 1, *, grain: int = 1000) -> list[Fraction]:
    """Labels in parts of `grain`, so many at least and at most; their sum is often exactly 1."""
    weights = draw(st.lists(st.integers(1, 9), min_size=least, max_size=most))
    slack = draw(st.sampled_from([0, 0, 1, 5]))
    total = sum(weights) + slack
    parts = [max(1, grain * weight // total) for weight in weights]
    if not slack:
        parts[-1] = grain - sum(parts[:-1])
    return [Fraction(part, grain) for part in parts]
