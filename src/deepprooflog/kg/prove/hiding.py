"""Hiding: learning to answer for entities of which less is known than of others.

A policy that learns from facts finds at every training query what stands beside the fact, and comes
to rely on it. Where that is missing of the entities asked about in the end, as the subregion of a
country whose region is asked for, it is hidden of those asked about in training, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from jaxtyping import Int64

from deepprooflog.errors import DataError
from deepprooflog.kg.data.rules import Rules
from deepprooflog.kg.data.triples import Graph, did_you_mean
from deepprooflog.kg.prove.program import database_of
from deepprooflog.kg.prove.prover import Prover

RelationPath: TypeAlias = tuple[int, ...]
"""Relations to follow from the head of a query; the facts of the last one are hidden."""


@dataclass(frozen=True, eq=False)
class Hiding:
    """What is not known of the heads of queries while these are asked."""

    graph: Graph
    rules: Rules
    paths: tuple[RelationPath, ...]

    def kept(self, queries: Int64[np.ndarray, "queries 3"]) -> Int64[np.ndarray, "facts 3"]:
        """The facts that are known while these queries, all of them together, are asked.

        >>> from deepprooflog.kg.data.triples import graph_of
        >>> facts = [("rome", "in", "lazio"), ("ostia", "in", "lazio"), ("rome", "near", "ostia")]
        >>> graph = graph_of(facts)
        >>> hiding_of(graph, Rules(()), ["in"]).kept(graph.train[:1]).tolist()
        [[2, 0, 1], [0, 1, 2]]
        >>> hiding_of(graph, Rules(()), ["near/in"]).kept(graph.train[:1]).tolist()
        [[0, 0, 1], [0, 1, 2]]
        """
        facts = self.graph.train
        hidden = np.zeros(len(facts), dtype=bool)
        for *along, last in self.paths:
            about = queries[:, 0]
            for relation in along:
                about = facts[(facts[:, 1] == relation) & np.isin(facts[:, 0], about), 2]
            hidden |= (facts[:, 1] == last) & np.isin(facts[:, 0], about)
        return facts[~hidden]

    def prover(self, prover: Prover, queries: Int64[np.ndarray, "queries 3"]) -> Prover:
        """A prover of the same policy that has these facts only."""
        whole = prover.database
        database = database_of(
            replace(self.graph, train=self.kept(queries)), self.rules,
            order=whole.program.order, nesting=whole.nesting, device=whole.device,
            believe=False if prover.belief is None else whole.believe,
        )  # fmt: skip
        return Prover(database, prover.policy, prover.belief, prover.limits)


def hiding_of(graph: Graph, rules: Rules, paths: Iterable[str]) -> Hiding:
    """Hide by paths: `r`, the facts r of a head; `s/r`, those of what s leads to from it."""
    return Hiding(graph, rules, tuple(_path(graph, text) for text in paths))


def _path(graph: Graph, text: str) -> RelationPath:
    for name in text.split("/"):
        if name not in graph.relation_ids:
            raise DataError(
                f"there is no relation {name or repr(name)} to hide by in {text}",
                hint=did_you_mean(name, graph.relations)
                or f"relations: {', '.join(graph.relations)}",
            )
    return tuple(graph.relation_ids[name] for name in text.split("/"))
