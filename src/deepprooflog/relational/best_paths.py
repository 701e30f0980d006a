"""The most probable derivations of a query, one after another, over weighed layers.

One sweep finds for every goal the weight of its best way to True. With that as the bound of what is
still to come, a best-first search meets complete derivations in order of probability.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from deepprooflog.errors import Inexact
from deepprooflog.relational.layers import Cut, Layers
from deepprooflog.relational.sweep import BEST, sweep


@dataclass(frozen=True)
class BestPath:
    """A derivation: of each layer's steps the one it takes, with its log-probability."""

    steps: tuple[int, ...]
    log_weights: tuple[float, ...]

    @property
    def log_prob(self) -> float:
        """log p of the derivation."""
        return math.fsum(self.log_weights)


@dataclass(frozen=True, slots=True)
class _Taken:
    """A step, its weight, and those before it."""

    step: int
    weight: float
    before: _Taken | None


@dataclass(frozen=True, eq=False)
class PathSearch:
    """What the search for the derivations of any query of a batch needs, on the host."""

    ahead: Sequence[Float[Tensor, " _goals"]]  # the best way from each goal to True or an open goal
    weights: Sequence[Float[Tensor, " _steps"]]
    true: Sequence[Bool[Tensor, " _goals"]]
    sources: Sequence[Int[Tensor, " _steps"]]
    targets: Sequence[Int[Tensor, " _steps"]]
    roots: Sequence[int]
    cut: Cut

    @classmethod
    def of(
        cls,
        layers: Layers,
        log_weights: Sequence[Float[Tensor, " _steps"]],
        *,
        past_open: bool = True,
    ) -> PathSearch:
        """One sweep over the layers, for all of their queries.

        Without `past_open` the search is among the derivations that were explored, whatever open
        goals may hold.
        """
        logs = [log.detach().double() for log in log_weights]
        return cls(
            ahead=[value.cpu() for value in sweep(layers, BEST, logs, open=past_open)][::-1],
            weights=[log.cpu() for log in logs],
            true=[goals.is_true.cpu() for goals in layers.goals],
            sources=[steps.source.cpu() for steps in layers.steps],
            targets=[steps.target.cpu() for steps in layers.steps],
            roots=layers.roots.tolist(),
            cut=layers.cut,
        )

    def paths(self, query: int = 0) -> Iterator[BestPath]:
        """The derivations of one query that end in True, most probable first.

        Where budgets left a goal open that may hold a more probable one than the next, `Inexact` is
        raised in its place.
        """
        ahead, root = self.ahead, self.roots[query]
        # Entries: the bound, a number that settles ties, depth, goal, weight so far, steps so far.
        waiting: list[tuple[float, int, int, int, float, _Taken | None]] = []
        if float(ahead[0][root]) > -math.inf:
            waiting.append((-float(ahead[0][root]), 0, 0, root, 0.0, None))
        met = 0
        while waiting:
            bound, _, depth, goal, so_far, taken = heappop(waiting)
            if self.true[depth][goal]:
                yield _path(taken)
                continue
            begin, end = (0, 0)
            if depth < len(self.sources):
                begin, end = _range(self.sources[depth], goal)
            if begin == end:
                raise Inexact(
                    f"a more probable proof may lie outside the limits ({self.cut})",
                    lower=0.0, upper=math.exp(-bound), hint="raise the limits",
                )  # fmt: skip
            following = self.targets[depth][begin:end]
            rest = ahead[depth + 1][following].tolist()
            own = self.weights[depth][begin:end].tolist()
            steps = zip(following.tolist(), own, rest, strict=True)
            for i, (after, weight, later) in enumerate(steps):
                total = so_far + weight
                if total + later > -math.inf:
                    met += 1
                    step = _Taken(begin + i, weight, taken)
                    heappush(waiting, (-(total + later), met, depth + 1, after, total, step))


def best_paths(
    layers: Layers, log_weights: Sequence[Float[Tensor, " _steps"]], query: int = 0
) -> Iterator[BestPath]:
    """The derivations of one query of a batch, as `PathSearch.paths` finds them."""
    return PathSearch.of(layers, log_weights).paths(query)


def _range(source: Tensor, goal: int) -> tuple[int, int]:
    """The steps of a goal; sources ascend."""
    key = torch.tensor([goal, goal + 1], dtype=source.dtype)
    begin, end = torch.searchsorted(source, key).tolist()
    return begin, end


def _path(taken: _Taken | None) -> BestPath:
    steps: list[int] = []
    weights: list[float] = []
    while taken is not None:
        steps.append(taken.step)
        weights.append(taken.weight)
        taken = taken.before
    return BestPath(tuple(reversed(steps)), tuple(reversed(weights)))
