"""Domains: which entities are of a kind, one line for each, the domain's name and its members."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int64

from deepprooflog.errors import DataError
from deepprooflog.kg.data.reading import name_term
from deepprooflog.kg.data.triple_set import Side, column
from deepprooflog.kg.data.triples import SIDES, Graph, did_you_mean
from deepprooflog.syntax.writer import write_term

FILE = "domain2constants.txt"
"""What a graph's folder calls its domains."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """Where answers are looked for: on which sides of a triple, and among which entities."""

    sides: tuple[Side, ...] = SIDES
    entities: Int64[np.ndarray, " domain"] | None = None  # None: all of them

    def hold(self, triples: Int64[np.ndarray, "triples 3"]) -> Bool[np.ndarray, " triples"]:
        """Whose own entities, on every side that is asked for, are candidates.

        >>> Candidates(("tail",), np.array([3, 4])).hold(np.array([[0, 0, 3], [3, 0, 1]])).tolist()
        [True, False]
        """
        own = triples[:, [column(side) for side in self.sides]]
        if self.entities is None:
            return np.ones(len(triples), dtype=bool)
        return np.asarray(np.isin(own, self.entities).all(axis=1))


ANYONE = Candidates()


def domain_of(
    domains: Mapping[str, Int64[np.ndarray, " _members"]], name: str, file: str
) -> Int64[np.ndarray, " domain"]:
    """The members of a domain by its name."""
    if name not in domains:
        raise DataError(
            f"there is no domain {name}", file=file,
            hint=did_you_mean(name, domains) or f"domains: {', '.join(domains)}",
        )  # fmt: skip
    return domains[name]


def parse_domains(
    graph: Graph, text: str, file: str = "<text>"
) -> dict[str, Int64[np.ndarray, " domain"]]:
    """The domains of a text.

    >>> from deepprooflog.kg.data.triples import graph_of
    >>> graph = graph_of([("rome", "in", "italy"), ("bari", "in", "italy")])
    >>> {name: list(map(int, of)) for name, of in parse_domains(graph, "city bari rome").items()}
    {'city': [2, 0]}
    """
    domains: dict[str, Int64[np.ndarray, " domain"]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        name, *members = line.split()
        numbers = []
        for member in members:
            found = graph.entity_ids.get(name_term(member))
            if found is None:
                raise DataError(
                    f"unknown entity {member} in the domain {name}",
                    file=file,
                    line=number,
                    hint=did_you_mean(member, map(write_term, graph.entities)),
                )
            numbers.append(found)
        if not numbers or name in domains:
            what = "is named twice" if name in domains else "is empty"
            raise DataError(f"the domain {name} {what}", file=file, line=number)
        domains[name] = np.array(numbers, dtype=np.int64)
    if not domains:
        raise DataError("no domains in the file", file=file)
    return domains
