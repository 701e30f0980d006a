"""Part of a goal graph, best first: the goals that most of the probability reaches.

    reach(G) = Σ over queries and ways to G of Π p(step)

Goals are expanded in the order of their reach, some at a time: one at first, then a quarter of what
has been expanded. What is not expanded is open, and the reach of the open goals is the mass that is
neither success nor failure. Which goals are expanded does not depend on the budget, only how many:
a larger budget expands all that a smaller one does, so that bounds only come closer.

The result is made of layers as `explore` makes them, and sweeps treat it alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import pad

from deepprooflog.errors import ModelError
from deepprooflog.relational.database import Database
from deepprooflog.relational.goals import PAD, Goals, group_rows
from deepprooflog.relational.layers import Cut, Layers, Steps, distinct, next_layer
from deepprooflog.relational.match import match
from deepprooflog.relational.resolve import from_rows

# Of the goals expanded so far, one in so many more are expanded together.
SHARE = 4
# By how much the weights of a goal's steps may exceed 1: single precision.
ROUNDING = 1e-4

WeighLayers: TypeAlias = Callable[
    [Layers], tuple[Sequence[Float[Tensor, " _steps"]], Sequence[Bool[Tensor, " _steps"]] | None]
]
"""log p of every step between layers, and which are steps at a neural fact (None: no such)."""


@dataclass(frozen=True)
class Neighbourhood:
    """The explored part of a goal graph with the weights of its steps."""

    layers: Layers
    log_weights: tuple[Float[Tensor, " _steps"], ...]
    neural: tuple[Bool[Tensor, " _steps"], ...] | None
    expanded: int  # goals whose steps were taken


@dataclass(frozen=True)
class GoalBudget:
    """What ends a neighbourhood; None is no limit."""

    depth: int
    atoms: int | None = None
    goals: int | None = None


def neighbourhood(
    database: Database,
    goals: Goals,
    weigh: WeighLayers,
    budget: GoalBudget,
    *,
    every_clause: bool = False,
) -> Neighbourhood:
    """The goals that most mass reaches, as many as the budget allows.

    Before goals are expanded their successors are counted, equal ones not yet merged: the search
    ends at the first goal that would exceed the budget. The goals of the queries are always there.

    >>> from deepprooflog.logic.program import Program
    >>> database = Database.of(Program("p :- q. p :- r, s. q. r. s :- t. t."))
    >>> def even(layers):
    ...     source = [steps.source for steps in layers.steps]
    ...     return [-torch.bincount(s)[s].double().log() for s in source], None
    >>> for most in (2, 5, 9):
    ...     found = neighbourhood(database, database.goals(["p"]), even, GoalBudget(9, None, most))
    ...     print(found.expanded, found.layers.size, found.layers.cut.goals)
    0 1 1
    3 5 1
    5 7 0
    """
    search = _Search(database, weigh, budget, every_clause)
    first, roots = distinct(goals)
    search.begin(first, roots)
    while search.expand():
        pass
    return search.found()


@dataclass
class _GrowingLayer:
    """The goals at one depth and the steps from them, as they are met."""

    rows: Int[Tensor, "goals columns"]
    successors: Int[Tensor, " goals"]  # how many there are at most
    waits: Bool[Tensor, " goals"]  # may be expanded, and is not yet
    beyond: dict[str, Bool[Tensor, " goals"]]  # by a limit: those it forbids to expand
    source: list[Int[Tensor, " _steps"]] = field(default_factory=list)
    target: list[Int[Tensor, " _steps"]] = field(default_factory=list)
    clause: list[Int[Tensor, " _steps"]] = field(default_factory=list)
    log: list[Float[Tensor, " _steps"]] = field(default_factory=list)
    neural: list[Bool[Tensor, " _steps"]] = field(default_factory=list)


class _Search:
    """The layers so far, and what may still be spent."""

    def __init__(
        self, database: Database, weigh: WeighLayers, budget: GoalBudget, every_clause: bool
    ) -> None:
        self.database, self.weigh = database, weigh
        self.budget, self.every_clause = budget, every_clause
        self.layers: list[_GrowingLayer] = []
        self.size = self.expanded = 0

    def begin(self, goals: Goals, roots: Int[Tensor, " queries"]) -> None:
        self.answers = goals.answer.shape[1]
        self.roots = roots
        self._meet(0, goals)

    def expand(self) -> bool:
        """Expand the goals of most reach; False when there are none, or no room for them."""
        chosen = self._chosen(1 + self.expanded // SHARE)
        if not len(chosen):
            return False
        depth, goal, successors = chosen.unbind(1)
        fits = len(chosen)
        if self.budget.goals is not None:
            fits = int((successors.cumsum(0) <= self.budget.goals - self.size).sum())
        depth, goal = depth[:fits], goal[:fits]
        for d in torch.unique(depth).tolist():
            self._steps_from(d, goal[depth == d])
        return fits == len(chosen)

    def _chosen(self, count: int) -> Int[Tensor, "goals 3"]:
        """The waiting goals of most reach, most first: depth, place, how many successors."""
        masses, rows = [], []
        for depth, (layer, reach) in enumerate(zip(self.layers, self._reach(), strict=True)):
            waiting = (layer.waits & (reach > 0)).nonzero().squeeze(1)
            masses.append(reach[waiting])
            here = torch.full_like(waiting, depth)
            rows.append(torch.stack([here, waiting, layer.successors[waiting]], 1))
        order = torch.cat(masses).sort(descending=True, stable=True).indices[:count]
        return torch.cat(rows)[order]

    def _reach(self) -> Iterator[Float[Tensor, " _goals"]]:
        """How much mass comes to each goal, layer by layer."""
        layers, roots = self.layers, self.roots
        reach = torch.zeros(len(layers[0].rows), dtype=torch.float64, device=roots.device)
        reach = reach.index_add(0, roots, torch.ones_like(roots, dtype=torch.float64))
        for layer, after in zip(layers, [*layers[1:], None], strict=True):
            yield reach
            if after is None:
                return
            coming = reach.new_zeros(len(after.rows))
            for source, target, log in zip(layer.source, layer.target, layer.log, strict=True):
                coming.index_add_(0, target, reach[source] * log.exp())
            reach = coming

    def _steps_from(self, depth: int, chosen: Int[Tensor, " goals"]) -> None:
        """Expand some goals of one depth."""
        layer = self.layers[depth]
        layer.waits[chosen] = False
        self.expanded += len(chosen)
        here = self._goals(layer.rows[chosen])
        calls = match(self.database, here)
        after, steps = next_layer(self.database, here, calls, self.every_clause)
        if not len(steps.source):
            return
        none = self.roots.new_zeros(0)
        pair = Layers((here, after), (steps,), none, (none, none), Cut())
        logs, neural = self.weigh(pair)
        log = logs[0].detach().double()
        _check_sums(log, steps.source, len(here))
        layer.source.append(chosen[steps.source])
        layer.target.append(self._meet(depth + 1, after)[steps.target])
        layer.clause.append(steps.clause)
        layer.log.append(log)
        if neural is not None:
            layer.neural.append(neural[0])

    def _goals(self, rows: Int[Tensor, "goals columns"]) -> Goals:
        return from_rows(rows, self.answers, self.database.shape.width).narrowed()

    def _meet(self, depth: int, goals: Goals) -> Int[Tensor, " goals"]:
        """The places of some goals in their layer, which takes in those it has not met."""
        rows = torch.cat([goals.left_out[:, None], goals.answer, goals.atoms.flatten(1)], 1)
        if depth == len(self.layers):
            self.layers.append(self._layer(depth, rows))
            self.size += len(rows)
            return torch.arange(len(rows), device=rows.device)
        layer = self.layers[depth]
        columns = max(rows.shape[1], layer.rows.shape[1])
        own, rows = (pad(r, (0, columns - r.shape[1]), value=PAD) for r in (layer.rows, rows))
        together = torch.cat([own, rows])
        groups = group_rows(together)
        first = torch.empty_like(groups.order)
        first[groups.order] = groups.members[groups.number]
        fresh = first[len(own) :] == torch.arange(len(own), len(together), device=rows.device)
        place = torch.arange(len(together), device=rows.device)
        place[len(own) :][fresh] = len(own) + torch.arange(int(fresh.sum()), device=rows.device)
        new = self._layer(depth, rows[fresh])
        layer.rows = torch.cat([own, new.rows])
        layer.successors = torch.cat([layer.successors, new.successors])
        layer.waits = torch.cat([layer.waits, new.waits])
        layer.beyond = {why: torch.cat([m, new.beyond[why]]) for why, m in layer.beyond.items()}
        self.size += len(new.rows)
        return place[first[len(own) :]]

    def _layer(self, depth: int, rows: Int[Tensor, "goals columns"]) -> _GrowingLayer:
        """Goals that nothing is expanded of yet; those that no clause matches fail at once."""
        goals = self._goals(rows)
        waits = ~goals.is_true
        none = torch.zeros_like(waits)
        beyond = {"depth": none, "atoms": none}
        if self.budget.atoms is not None:
            beyond["atoms"] = goals.length > self.budget.atoms
            waits = waits & ~beyond["atoms"]
        if depth >= self.budget.depth:
            beyond["depth"], waits = waits, none
        calls = match(self.database, goals, waits)
        successors = calls.rules + calls.facts
        return _GrowingLayer(rows, successors, waits & (successors > 0), beyond)

    def found(self) -> Neighbourhood:
        """What was explored, as layers."""
        steps, logs, neural, open_ = [], [], [], []
        counts = {"depth": 0, "atoms": 0, "goals": 0}
        for layer, reach in zip(self.layers, self._reach(), strict=True):
            left = {**layer.beyond, "goals": layer.waits & (reach > 0)}
            for why, mask in left.items():
                counts[why] += int(mask.sum())
            open_.append(torch.stack(list(left.values())).any(0).nonzero().squeeze(1))
        for layer in self.layers[:-1]:
            source, order = torch.cat(layer.source).sort(stable=True)
            target, clause = torch.cat(layer.target)[order], torch.cat(layer.clause)[order]
            steps.append(Steps(source, target, clause))
            logs.append(torch.cat(layer.log)[order])
            if layer.neural:
                neural.append(torch.cat(layer.neural)[order])
        goals = tuple(self._goals(layer.rows) for layer in self.layers)
        layers = Layers(goals, tuple(steps), self.roots, tuple(open_), Cut(**counts))
        return Neighbourhood(layers, tuple(logs), tuple(neural) or None, self.expanded)


def _check_sums(log: Float[Tensor, " steps"], source: Int[Tensor, " steps"], goals: int) -> None:
    """Open mass bounds success only where the steps of a goal weigh 1 at most, together."""
    total = log.new_zeros(goals).index_add(0, source, log.exp())
    if bool((total > 1 + ROUNDING).any()):
        raise ModelError(
            f"the weights of a goal's steps add up to {float(total.max()):.6g}: what is left open "
            "bounds nothing",
            hint="a policy whose weights are probabilities",
        )
