"""The training triples of one relation as facts of a program, read from the graph's arrays.

A graph of a million triples would take seconds to become a million terms, of which a proof needs a
handful. Here a fact becomes a term when a call asks for it; which facts a call asks for is a binary
search in the heads or tails of its relation, sorted in a graph's index or when the first call asks
by that side.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Int, Int64

from deepprooflog.kg.data.triples import Graph
from deepprooflog.logic.index import FactRow
from deepprooflog.relational.pair_facts import PairFacts
from deepprooflog.syntax.terms import Struct, Term


@dataclass(frozen=True, eq=False)
class StoredFacts:
    """The facts of a relation in file order: their rows among the graph's training triples."""

    graph: Graph
    relation: int
    rows: Int[np.ndarray, " facts"]

    def __len__(self) -> int:
        return len(self.rows)

    def row(self, number: int) -> FactRow:
        """The entities of a fact and its line; 1 where there is no file."""
        graph, at = self.graph, int(self.rows[number])
        source = graph.sources.get("train")
        head, _, tail = graph.train[at].tolist()
        line = 1 if source is None else int(source.lines[at])
        return (graph.entities[head], graph.entities[tail]), line

    def numbers(self, shown: Sequence[Term | None]) -> Sequence[int]:
        """The facts with these entities, in file order; None stands for any."""
        if any(type(term) is Struct for term in shown):
            return ()
        wanted = [None if term is None else self.graph.entity_ids.get(term, -1) for term in shown]
        head, tail = wanted
        if head is None and tail is None:
            return range(len(self.rows))
        ordered = self.graph.sorted_train
        if ordered is not None:
            return self._in_file(ordered.facts, head, tail)
        if head is not None:
            found = self._with(0, head)
            if tail is not None:
                found = found[self.graph.train[self.rows[found], 2] == tail]
        else:
            assert tail is not None
            found = self._with(2, tail)
        numbers: list[int] = found.tolist()
        return numbers

    def _in_file(self, facts: PairFacts, head: int | None, tail: int | None) -> list[int]:
        """The facts with these entities where they lie sorted; an unknown one has the number −1.

        One call at a time, for which NumPy takes a tenth of the time of `PairFacts.lookup`.
        """
        side, entity = (facts.by_tail, tail) if head is None else (facts.by_head, head)
        if entity is None or -1 in (head, tail):
            return []
        keys, key = side.keys.numpy(), self.relation * facts.constants + entity
        at = int(np.searchsorted(keys, key))
        if at == len(keys) or keys[at] != key:
            return []
        begin, end = side.begin[at : at + 2].tolist()
        if head is not None and tail is not None:
            paired, tails = facts.orders[2].numpy(), facts.ends[:, 1].numpy()
            begin = bisect_left(range(end), tail, begin, key=lambda at: tails[paired[at]])
            is_there = begin < end and tails[paired[begin]] == tail
            found = paired[begin : begin + is_there]
        else:
            found = facts.orders[0 if tail is None else 1, begin:end].numpy()
        numbers: list[int] = (found - int(facts.start[self.relation])).tolist()
        return numbers

    def _with(self, column: int, entity: int) -> Int64[np.ndarray, " found"]:
        """The facts that have an entity on one side."""
        keys, order = self._by_head if column == 0 else self._by_tail
        begin, end = np.searchsorted(keys, [entity, entity + 1])
        return order[begin:end]

    @cached_property
    def _by_head(self) -> tuple[Int64[np.ndarray, " facts"], Int64[np.ndarray, " facts"]]:
        return self._sorted(0)

    @cached_property
    def _by_tail(self) -> tuple[Int64[np.ndarray, " facts"], Int64[np.ndarray, " facts"]]:
        return self._sorted(2)

    def _sorted(
        self, column: int
    ) -> tuple[Int64[np.ndarray, " facts"], Int64[np.ndarray, " facts"]]:
        """The entities on one side in order, and the facts; stable, so that these ascend."""
        entities = self.graph.train[self.rows, column]
        order = np.argsort(entities, kind="stable")
        return entities[order], order


def stored_facts(graph: Graph) -> list[StoredFacts]:
    """The facts of each relation.

    >>> from deepprooflog.kg.data.triples import graph_of
    >>> (knows,) = stored_facts(graph_of([("ann", "knows", "bob"), ("cy", "knows", "bob")]))
    >>> knows.numbers([None, knows.graph.entities[1]]), knows.row(1)
    ([0, 1], ((Atom('cy'), Atom('bob')), 1))
    """
    order, begin = graph.by_relation
    return [
        StoredFacts(graph, number, order[begin[number] : begin[number + 1]])
        for number in range(len(graph.relations))
    ]
