"""The facts that an entity stands in, with the lines they were read from."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from deepprooflog.errors import DataError, ProofLogError
from deepprooflog.kg.data.triples import Graph, constant, did_you_mean
from deepprooflog.syntax.reader import read_term
from deepprooflog.syntax.terms import Term, Var
from deepprooflog.syntax.writer import write_term


@dataclass(frozen=True)
class EntityFact:
    """A training triple, and the place it was read; None for one that was added since."""

    triple: str
    relation: str
    head: str
    tail: str
    place: str | None

    def to_dict(self) -> dict[str, Any]:
        """Plain Python."""
        return asdict(self)


def facts_about(graph: Graph, entity: str | int) -> list[EntityFact]:
    """The training triples with an entity at either end, in the order of their file.

    >>> from deepprooflog.kg.data.triples import graph_of
    >>> graph = graph_of([("ann", "knows", "bob"), ("cy", "knows", "cy"), ("bob", "likes", "cy")])
    >>> [fact.triple for fact in facts_about(graph, "bob")]
    ['knows(ann,bob)', 'likes(bob,cy)']
    """
    number = entity_number(graph, entity)
    rows = np.flatnonzero((graph.train[:, 0] == number) | (graph.train[:, 2] == number))
    return list(_facts(graph, rows.tolist()))


def entity_number(graph: Graph, entity: str | int) -> int:
    """The number of an entity by its name, plain or as a program writes it."""
    names: list[Term] = [constant(entity)]
    if isinstance(entity, str):
        with suppress(ProofLogError):  # a plain name need not be a term
            names.append(read_term(entity, end_optional=True).term)
    ids = (graph.entity_ids.get(name) for name in names if type(name) is not Var)
    found = next((number for number in ids if number is not None), None)
    if found is None:
        known = (write_term(e) for e in graph.entities)
        raise DataError(f"unknown entity {entity}", hint=did_you_mean(str(entity), known))
    return found


def _facts(graph: Graph, rows: Iterable[int]) -> Iterable[EntityFact]:
    source = graph.sources.get("train")
    for row in rows:
        head, relation, tail = graph.train[row].tolist()
        line = 0 if source is None else int(source.lines[row])
        yield EntityFact(
            graph.text((head, relation, tail)), graph.relations[relation], graph.entity_text(head),
            graph.entity_text(tail), f"{source.file}:{line}" if source and line else None,
        )  # fmt: skip
