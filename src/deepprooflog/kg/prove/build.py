"""A prover from a graph, its rules and what is believed."""

from __future__ import annotations

from functools import partial

import torch

from deepprooflog.kg.belief.believe import Belief
from deepprooflog.kg.data.rules import Rules
from deepprooflog.kg.data.triples import Graph
from deepprooflog.kg.prove.program import database_of, program_of
from deepprooflog.kg.prove.prover import ExploreLimits, Prover
from deepprooflog.relational.database import Believe
from deepprooflog.score.embedding.embedding import Embedding
from deepprooflog.score.scorer import Scorer


def prover(
    graph: Graph,
    rules: Rules | None = None,
    belief: Belief | None = None,
    *,
    policy: Scorer | None = None,
    nesting: int = 2,
    believe: Believe = "query",
    limits: ExploreLimits | None = None,
    device: torch.device | str = "cpu",
    seed: int = 0,
) -> Prover:
    """A prover of a graph's triples; without a policy of its own, an untrained one.

    >>> from deepprooflog.kg.data.rules import parse_rules
    >>> from deepprooflog.kg.data.triples import graph_of
    >>> graph = graph_of([("ann", "mother", "bob"), ("bob", "father", "cy"), ("ann", "gran", "cy")])
    >>> rules = parse_rules("gran(X, Y) :- mother(X, Z), father(Z, Y).")
    >>> proves = prover(graph, rules)
    >>> print(proves.proofs([0, 2, 2])[0].query)
    gran(ann,cy)
    """
    rules = Rules(()) if rules is None else rules
    database = database_of(
        graph, rules, believe=False if belief is None else believe, nesting=nesting, device=device
    )
    whole = partial(program_of, graph, rules, believe=belief is not None)
    if policy is None:
        # With constants embedded alike, the facts add no symbol to those of the rules.
        policy = Embedding(
            database.program, 64, "mlp", "mean", seed=seed, constants="shared", numbers="symbols"
        )
    return Prover(database, policy.to(device), belief, limits, program=whole).to(device)


def with_graph(own: Prover, graph: Graph, rules: Rules, belief: Belief | None) -> Prover:
    """A prover of the same policy, limits and nesting for other facts."""
    database = own.database
    assert database.nesting is not None
    return prover(
        graph, rules, belief, policy=own.policy, nesting=database.nesting,
        believe=database.believe, limits=own.limits, device=own.device,
    )  # fmt: skip
