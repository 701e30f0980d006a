"""How undecided a policy is about its first step: −Σ p log p over a query's choices, in nats."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor

from deepprooflog.relational.layers import Layers


def first_entropy(
    layers: Layers, log_weights: Float[Tensor, " steps"]
) -> Float[Tensor, " queries"]:
    """The entropy of each query's own choices, differentiable; 0 where there is nothing to choose.

    >>> from deepprooflog.logic.program import Program
    >>> from deepprooflog.relational.database import Database
    >>> from deepprooflog.relational.layers import explore
    >>> database = Database.of(Program("p :- q. p :- r. q. r."))
    >>> layers = explore(database, database.goals(["p", "q"]), max_depth=9)
    >>> even = layers.steps[0].source.eq(0) * -0.6931  # p has two choices, q has one
    >>> [round(h, 3) for h in first_entropy(layers, even).tolist()]
    [0.693, 0.0]
    """
    log = log_weights.double()
    goals = log.new_zeros(len(layers.goals[0]))
    found = goals.index_add(0, layers.steps[0].source, -log.exp() * log)
    return found.index_select(0, layers.roots)
