r"""Conjunctive questions to a graph, `uncle(X, Y), works_at(Y, acme), X \= max`, as they are read.

Atoms are triples of known relations, and guards: `\=`, `==`, `\==`, or comparisons of integers. A
guard stands behind the atoms that bind its variables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from deepprooflog.errors import DataError
from deepprooflog.kg.data.triples import Graph, binary_atom
from deepprooflog.kg.prove.question import TripleQuestion, read_question
from deepprooflog.logic.body import conjuncts
from deepprooflog.relational.guards import GUARDS
from deepprooflog.syntax.reader import ReadTerm, read_term
from deepprooflog.syntax.terms import Functor, Struct, Term, Var, deref, variables
from deepprooflog.syntax.writer import write_term

_HINT = "triples relation(head, tail) and guards such as X \\= Y, with commas between them"


@dataclass(frozen=True)
class ConjunctiveQuestion:
    """A conjunction of triples and guards over named variables."""

    text: str
    atoms: tuple[Struct, ...]  # as written
    variables: Mapping[str, Var]  # by name, in order of first occurrence

    @property
    def is_open(self) -> bool:
        """Whether there is something to be found."""
        return bool(self.variables)

    @property
    def guards(self) -> tuple[Functor, ...]:
        """The guards it uses."""
        return tuple(dict.fromkeys(a.functor for a in self.atoms if a.functor in GUARDS))


def read_query(graph: Graph, text: str) -> TripleQuestion | ConjunctiveQuestion:
    """A query as text: of one triple, or of several atoms.

    >>> from deepprooflog.kg.data.triples import graph_of
    >>> graph = graph_of([("ann", "knows", "bob")])
    >>> for text in ("knows(X, bob)", "knows(X, Y), X \\\\= Y"):
    ...     print(type(read_query(graph, text)).__name__)
    TripleQuestion
    ConjunctiveQuestion
    """
    read = read_term(text, end_optional=True)
    if len(conjuncts(read.term)) > 1:
        return read_conjunction(graph, text, read)
    return read_question(graph, text, read)


def read_conjunction(graph: Graph, text: str, read: ReadTerm | None = None) -> ConjunctiveQuestion:
    """A conjunction as text, or as `read` from it, its relations and entities looked up.

    >>> from deepprooflog.kg.data.triples import graph_of
    >>> graph = graph_of([("ann", "knows", "bob"), ("bob", "knows", "cy")])
    >>> read_conjunction(graph, "knows(X, Y), knows(Y, _)").variables.keys()
    dict_keys(['X', 'Y', '_'])
    """
    read = read or read_term(text, end_optional=True)
    atoms = tuple(_atom(graph, deref(term)) for term in conjuncts(read.term))
    names = {deref(variable): name for name, variable in read.variables.items()}
    bound: set[Var] = set()
    for atom in atoms:
        if atom.functor not in GUARDS:
            bound |= set(variables(atom))
            continue
        free = [v for v in variables(atom) if v not in bound]
        if free:
            later = free[0] in variables(*atoms_of_triples(atoms))
            what = (
                "stands before the triple that binds" if later else "compares what no triple binds:"
            )
            raise DataError(
                f"the guard {write_term(atom)} {what} {names.get(free[0], '_')}",
                hint="write guards behind the triples whose variables they compare",
            )
    named: dict[str, Var] = {}
    for variable in variables(*atoms):
        named[_free_name(names.get(variable, "_"), named)] = variable
    return ConjunctiveQuestion(text, atoms, named)


def atoms_of_triples(atoms: Sequence[Struct]) -> list[Struct]:
    """The atoms that are no guards."""
    return [atom for atom in atoms if atom.functor not in GUARDS]


def cheapest_order(graph: Graph, atoms: Sequence[Struct]) -> list[Struct]:
    """The atoms in an order that explores little; their answers are the same in any.

    Always the triple with the fewest free variables is next, of several that of the relation with
    the fewest facts; a guard follows as soon as its variables are bound.

    >>> from deepprooflog.kg.data.triples import graph_of
    >>> graph = graph_of([("ann", "knows", "bob"), ("bob", "knows", "cy")])
    >>> atoms = read_conjunction(graph, "knows(X, Y), X \\\\= bob, knows(Y, cy)").atoms
    >>> [atom.functor.name for atom in cheapest_order(graph, atoms)]
    ['knows', 'knows', '\\\\=']
    """
    facts = np.diff(graph.by_relation[1]).tolist()
    return list(_ordered(atoms, {name: facts[n] for name, n in graph.relation_ids.items()}))


def _ordered(atoms: Sequence[Struct], facts: dict[str, int]) -> Iterator[Struct]:
    waiting = atoms_of_triples(atoms)
    guards = [atom for atom in atoms if atom.functor in GUARDS]
    bound: set[Var] = set()
    while waiting:
        best = min(waiting, key=lambda a: (len(set(variables(a)) - bound), facts[a.functor.name]))
        waiting.remove(best)
        bound |= set(variables(best))
        yield best
        ready = [guard for guard in guards if bound.issuperset(variables(guard))]
        guards = [guard for guard in guards if guard not in ready]
        yield from ready


def _atom(graph: Graph, term: Term) -> Struct:
    """A conjunct with its names looked up: a triple or a guard."""
    if type(term) is Struct and term.functor in GUARDS:
        for end in map(deref, term.args):
            if type(end) is Struct:
                raise DataError(f"{write_term(term)} compares what is no entity", hint=_HINT)
            if type(end) is not int:
                graph.entity_number(end)
        return term
    atom = binary_atom(term)
    if atom is None or atom[0] in (";", "->", ":-", "="):
        raise DataError(f"{write_term(term)} is no triple and no guard", hint=_HINT)
    graph.pattern(term)
    name, ends = atom
    return Struct(Functor(name, 2), ends)


def _free_name(name: str, taken: dict[str, Var]) -> str:
    """The name, or one like it: anonymous variables are told apart."""
    if name not in taken:
        return name
    number = 2
    while f"{name}{number}" in taken:
        number += 1
    return f"{name}{number}"
