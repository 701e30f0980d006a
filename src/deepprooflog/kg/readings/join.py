"""The pairs that any body over a graph's relations connects: its atoms joined one by one.

A table has a column of entities for each variable that is bound. An atom with one bound argument
widens it, one with both bound narrows it; what makes two terms of the rule one entity is dropped.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Int64

from deepprooflog.kg.data.triple_set import Side
from deepprooflog.kg.data.triples import Graph
from deepprooflog.kg.mining.adjacency import DirectedGraph
from deepprooflog.kg.mining.clauses import UNEQUAL
from deepprooflog.kg.mining.identity import Pairs, are_edges, by_source, walk_on
from deepprooflog.logic.clause import Clause
from deepprooflog.syntax.terms import Struct, Term, Var, args_of, functor_of, variables

EntityColumns = dict[Term, Int64[np.ndarray, " _rows"]]


def readable(graph: Graph, clause: Clause) -> bool:
    """Whether a body has atoms of the graph's relations alone, connected, that bind the head.

    >>> from deepprooflog.kg.data.rules import parse_rules
    >>> from deepprooflog.kg.data.triples import graph_of
    >>> graph = graph_of([("ann", "knows", "bob")])
    >>> rules = parse_rules("knows(X,Y) :- knows(Y,X).  knows(X,Y) :- knows(X,Z), knows(W,Y).")
    >>> [readable(graph, rule.clause) for rule in rules]
    [True, False]
    """
    if clause.functor.name not in graph.relation_ids or len(clause.args) != 2:
        return False
    atoms = _atoms(clause)
    known = all(
        len(args_of(atom)) == 2 and atom.functor.name in graph.relation_ids for atom in atoms
    )
    constants = [t for atom in (clause.head, *atoms) for t in args_of(atom) if type(t) is not Var]
    bound = set(variables(*atoms)) >= set(variables(*clause.args))
    named = all(constant in graph.entity_ids for constant in constants)
    builtin = sum(functor_of(atom) != UNEQUAL for atom in clause.body) > len(atoms)
    return bool(atoms) and known and bound and named and not builtin and _connected(clause)


def _connected(clause: Clause) -> bool:
    """Whether each atom can be reached from each head variable, or from a constant of the body."""
    for begin in variables(*clause.args) or clause.args:
        bound, rest = {begin}, _atoms(clause)
        bound |= {t for atom in rest for t in args_of(atom) if type(t) is not Var}
        while ready := [atom for atom in rest if bound & set(args_of(atom))]:
            bound |= {t for atom in ready for t in args_of(atom)}
            rest = [atom for atom in rest if atom not in ready]
        if rest:
            return False
    return True


def joined(
    edges: DirectedGraph, clause: Clause, graph: Graph, side: Side, ends: Int64[np.ndarray, " ends"]
) -> Pairs:
    """The pairs (x, y) of a clause with x (`head`) or y among some ends, each once."""
    first, last = clause.args
    begin, other = (first, last) if side == "head" else (last, first)
    terms = list(dict.fromkeys(t for atom in _atoms(clause) for t in args_of(atom)))
    named = [t for t in (*terms, first, last) if type(t) is not Var]
    constants: dict[Term, int] = {t: graph.entity_ids[t] for t in named}
    if begin in constants:
        asked = constants[begin] in ends
        ends = np.arange(edges.entities) if asked else ends[:0]
        begin = other
        if begin in constants:
            ends = ends[ends == constants[begin]]
    table: EntityColumns = {begin: ends}
    rest = list(_atoms(clause))
    while rest and len(table[begin]):
        table |= {t: np.full(len(table[begin]), e) for t, e in constants.items() if t not in table}
        atom = max(rest, key=lambda a: sum(t in table for t in args_of(a)))
        rest.remove(atom)
        source, target = atom.args
        table = _next(edges, graph.relation_ids[atom.functor.name], source, target, table)
        table = _apart(table, constants)
    if rest or first not in table or last not in table:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    keys = np.unique(table[first] * edges.entities + table[last])
    return keys // edges.entities, keys % edges.entities


def _atoms(clause: Clause) -> list[Struct]:
    return [atom for atom in clause.body if type(atom) is Struct and functor_of(atom) != UNEQUAL]


def _next(
    edges: DirectedGraph, label: int, source: Term, target: Term, table: EntityColumns
) -> EntityColumns:
    """The table after one atom."""
    if source in table and target in table:
        kept = are_edges(edges, label, table[source], table[target])
        return {t: column[kept] for t, column in table.items()}
    if source not in table:
        source, target = target, source
        label = (label + edges.relations) % edges.directed
    row, end = walk_on(
        by_source(edges.by_relation[label]), table[source], np.arange(len(table[source]))
    )
    return {**{t: column[row] for t, column in table.items()}, target: end}


def _apart(table: EntityColumns, constants: dict[Term, int]) -> EntityColumns:
    """Only the rows where a variable is no other variable's entity and no constant."""
    terms = list(table)
    kept = np.ones(len(table[terms[0]]), bool)
    for number, one in enumerate(terms):
        for other in terms[number + 1 :]:
            if one not in constants or other not in constants:
                kept &= table[one] != table[other]
    return {t: column[kept] for t, column in table.items()}
