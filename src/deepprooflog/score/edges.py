"""Who weighs which edge of a goal graph, sorted into arrays.

Constant labels become numbers at once; edges weighed by trainable labels, by networks or by the
model's scorer are listed with what they read, so that each of these is asked once for all of its
edges.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from deepprooflog.errors import ProgramError
from deepprooflog.logic.choice import Choice, WeightSource
from deepprooflog.logic.clause import Bernoulli, Clause, Constant, Neural
from deepprooflog.syntax.terms import Term

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class NetworkEdges:
    """The edges one network weighs."""

    network: str
    domain: int  # size of its domain; 1 for a Bernoulli label
    bernoulli: bool
    clause: Clause  # one clause that names the network, for error messages
    edges: Ints  # [K]
    row: Ints  # [K] into `inputs`
    column: Ints  # [K] number of the value in the domain
    inputs: tuple[tuple[Term, ...], ...]  # distinct inputs


@dataclass(frozen=True)
class EdgeTable:
    """All edges of a graph by weigher. Edges in none of the lists weigh exp(constant)."""

    constant: Floats  # [E] log weights; 0 where another weigher decides
    trainable: Ints  # edges weighed by trainable labels
    clauses: tuple[Clause, ...]  # [trainable] the clause of each
    networks: tuple[NetworkEdges, ...]
    scored: Ints  # edges weighed by the model's scorer


def edge_table(choices: Sequence[Choice]) -> EdgeTable:
    """Sort edges by who weighs them."""
    constant = np.zeros(len(choices))
    trainable: list[int] = []
    scored: list[int] = []
    neural: dict[tuple[str, int, bool], list[int]] = {}
    for e, choice in enumerate(choices):
        weigher = choice.weigher
        if weigher is WeightSource.LABEL:
            label = choice.clause.label  # type: ignore[union-attr]
            assert isinstance(label, Constant)
            constant[e] = label.log
        elif weigher is WeightSource.TRAINABLE:
            trainable.append(e)
        elif weigher is WeightSource.SCORER:
            scored.append(e)
        elif weigher is not WeightSource.ONE:
            assert choice.clause is not None
            label = choice.clause.label
            assert isinstance(label, Neural | Bernoulli)
            size = len(label.domain) if isinstance(label, Neural) else 1
            key = (label.network, size, isinstance(label, Bernoulli))
            neural.setdefault(key, []).append(e)
    return EdgeTable(
        constant=constant,
        trainable=_ints(trainable),
        clauses=tuple(choices[e].clause for e in trainable),  # type: ignore[misc]
        networks=tuple(_network_edges(k, v, choices) for k, v in neural.items()),
        scored=_ints(scored),
    )


def _network_edges(
    key: tuple[str, int, bool], edges: list[int], choices: Sequence[Choice]
) -> NetworkEdges:
    network, domain, bernoulli = key
    rows: dict[tuple[Term, ...], int] = {}
    row = [rows.setdefault(choices[e].inputs, len(rows)) for e in edges]
    clause = choices[edges[0]].clause
    assert clause is not None
    return NetworkEdges(
        network=network,
        domain=domain,
        bernoulli=bernoulli,
        clause=clause,
        edges=_ints(edges),
        row=_ints(row),
        column=_ints([choices[e].number for e in edges]),
        inputs=tuple(rows),
    )


def fractions(choices: Iterable[Choice]) -> list[Fraction]:
    """Exact weights of edges that labels alone decide."""
    result = []
    for choice in choices:
        if choice.weigher in (WeightSource.ONE, WeightSource.SCORER):
            result.append(Fraction(1))
        elif choice.weigher is WeightSource.LABEL:
            label = choice.clause.label  # type: ignore[union-attr]
            assert isinstance(label, Constant)
            result.append(label.value)
        else:
            assert choice.clause is not None
            raise ProgramError(
                f"{choice.clause.functor} has no exact weight: its label is learned",
                hint="exact fractions are for constant labels",
            )
    return result


def _ints(values: Sequence[int]) -> Ints:
    return np.asarray(values, dtype=np.int64)
