"""One sweep over the layers of a goal graph, from the last to the first, in any semiring.

V(G) = ⊕ over the steps G → G' of  w(step) ⊗ V(G'),        V(end) = 1

MASS      +, ×       the probability of reaching an end, differentiable
BEST      max, +     log p of the best way to an end
FEWEST    min, +     how many steps the shortest way takes
ANY       or, and    whether there is a way

`masses` is p_success of many queries at once: the mass of all derivations that end in True, of
those among them that use no neural fact, and of those that budgets left open. Success is at least
the first and at most the first and the last together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor

from deepprooflog.relational.layers import Layers, Steps

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


@dataclass(frozen=True)
class Mass:
    """Where the probability of each query goes."""

    success: Float[Tensor, " queries"]
    proof: Float[Tensor, " queries"]  # of it, by clauses alone
    open: Float[Tensor, " queries"]  # undecided within the budget

    @property
    def upper(self) -> Float[Tensor, " queries"]:
        """The most that success can be."""
        return (self.success + self.open).clamp_max(1.0)


def masses(
    layers: Layers,
    log_weights: Sequence[Float[Tensor, " _steps"]],
    neural: Sequence[Bool[Tensor, " _steps"]] | None = None,
) -> Mass:
    """The masses of the layers' queries, differentiable in the weights of their steps.

    `neural` says which steps are neural facts; None where there are none.
    """
    weights = [log.double().exp() for log in log_weights]
    success = at_roots(layers, sweep(layers, MASS, weights))
    proof = success
    if neural is not None:
        by_clause = [w.masked_fill(n, 0.0) for w, n in zip(weights, neural, strict=True)]
        proof = at_roots(layers, sweep(layers, MASS, by_clause))
    open_ = torch.zeros_like(success)
    if layers.cut:
        open_ = at_roots(layers, sweep(layers, MASS, weights, true=False, open=True))
    return Mass(success, proof, open_)


def pruned(layers: Layers) -> Layers:
    """The layers without the successors of goals that must fail: the same masses, fewer steps.

    A goal from which neither True nor an open goal can be reached stays as a choice of the goals
    before it, where it takes its share, but its own successors need no weights.

    >>> from deepprooflog.logic.program import Program
    >>> from deepprooflog.relational.database import Database
    >>> from deepprooflog.relational.layers import explore
    >>> database = Database.of(Program(":- dynamic(u/0). p :- q. p :- r, s. q. r. s :- u."))
    >>> layers = explore(database, database.goals(["p"]), max_depth=9)
    >>> [len(goals) for goals in layers.goals], [len(goals) for goals in pruned(layers).goals]
    ([1, 2, 2, 1], [1, 2, 1])
    """
    # From where True or an open goal can be reached.
    live = list(sweep(layers, ANY, open=True))[::-1]
    goals, steps, open_ = [layers.goals[0]], [], [layers.open[0]]
    number = torch.arange(len(layers.goals[0]), device=layers.roots.device)
    for depth, step in enumerate(layers.steps):
        kept = live[depth].index_select(0, step.source).nonzero().squeeze(1)
        if not len(kept):
            break
        source = number.index_select(0, step.source.index_select(0, kept))
        target = step.target.index_select(0, kept)
        present = torch.zeros_like(live[depth + 1])
        present[target] = True
        number = present.cumsum(0) - 1
        goals.append(layers.goals[depth + 1].select(present))
        clause = step.clause.index_select(0, kept)
        steps.append(Steps(source, number.index_select(0, target), clause))
        open_.append(number.index_select(0, layers.open[depth + 1]))
    return Layers(tuple(goals), tuple(steps), layers.roots, tuple(open_), layers.cut)


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
