"""One sweep over the layers of a goal graph, from the last to the first, in any semiring.

V(G) = ⊕ over the steps G → G' of  w(step) ⊗ V(G'),        V(end) = 1

MASS      +, ×       the probability of reaching an end, differentiable
BEST      max, +     log p of the best way to an end
FEWEST    min, +     how many steps the shortest way takes
ANY       or, and    whether there is a way
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Shaped
from torch import Tensor

from deepprooflog.relational.layers import Layers

FAR = 1 << 30
"""More steps than any way has."""


@dataclass(frozen=True)
class LayerSemiring:
    """Values of ends, of a step with what comes after it, and of all steps of a goal."""

    ends: Callable[[Tensor], Tensor]
    times: Callable[[Tensor, Tensor], Tensor]
    join: Callable[[Tensor, Tensor, Tensor], Tensor]
    """The values of goals as ends, joined with those of their steps, whose sources are given."""


MASS = LayerSemiring(
    ends=lambda ends: ends.double(),
    times=torch.mul,
    join=lambda ends, source, values: ends.index_add(0, source, values),
)
BEST = LayerSemiring(
    ends=lambda ends: torch.where(ends, 0.0, -torch.inf).double(),
    times=torch.add,
    join=lambda ends, source, values: ends.scatter_reduce(0, source, values, "amax"),
)
FEWEST = LayerSemiring(
    ends=lambda ends: torch.where(ends, 0, FAR),
    times=torch.add,
    join=lambda ends, source, values: ends.scatter_reduce(0, source, values, "amin"),
)
ANY = LayerSemiring(
    ends=lambda ends: ends,
    times=torch.logical_and,
    join=lambda ends, source, values: ends.index_fill(0, source[values], True),
)


def sweep(
    layers: Layers,
    semiring: LayerSemiring,
    weights: Sequence[Shaped[Tensor, " _steps"]] | None = None,
    *,
    true: bool = True,
    open: bool = False,
) -> Iterator[Shaped[Tensor, " _goals"]]:
    """The values of each layer's goals, the last layer first; without `weights` every step is 1.

    Ends are the goals that are True, those that budgets left open, or both.
    """
    value: Tensor | None = None
    for depth in range(len(layers.goals) - 1, -1, -1):
        ends = layers.goals[depth].is_true & true
        if open:
            ends[layers.open[depth]] = True
        here = semiring.ends(ends)
        if value is not None:
            steps = layers.steps[depth]
            after = value.index_select(0, steps.target)
            after = after if weights is None else semiring.times(weights[depth], after)
            here = semiring.join(here, steps.source, after)
        value = here
        yield value


def at_roots(layers: Layers, values: Iterator[Shaped[Tensor, " _goals"]]) -> Tensor:
    """The queries' own values, the last that a sweep gives."""
    for value in values:
        last = value
    return last.index_select(0, layers.roots)


def provable(layers: Layers) -> Bool[Tensor, " queries"]:
    """Which queries have a derivation that ends in True.

    >>> from deepprooflog.logic.program import Program
    >>> from deepprooflog.relational.database import Database
    >>> from deepprooflog.relational.layers import explore
    >>> database = Database.of(Program("p(X) :- q(X, Y), p(Y). p(c). q(a, b). q(b, c)."))
    >>> provable(explore(database, database.goals(["p(a)", "p(b)"]), max_depth=9)).tolist()
    [True, True]
    """
    return at_roots(layers, sweep(layers, ANY))
