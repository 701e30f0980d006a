"""An arena that is found out as particles go: the reference form, for any program and scorer.

Every goal a particle stands at is resolved by `successors`, once. A step is live unless a short
look past it shows that it cannot go on: a guard that fails, a call that no clause matches. What
lies further is not known here, so that a particle may still die later; its weight is then 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from deepprooflog.errors import Inexact
from deepprooflog.graph.explore import explore
from deepprooflog.graph.goalgraph import GoalGraph, Ints, goal_text
from deepprooflog.graph.schedule import schedule
from deepprooflog.infer.particles.arena import Arena
from deepprooflog.logic.goal import Goal, Interner
from deepprooflog.logic.limits.budget import Budget
from deepprooflog.logic.program import Program
from deepprooflog.score.edges import EdgeTable, edge_table
from deepprooflog.score.weigh import ModelWeights, WeighRequest, edge_weights

# Steps looked at from a goal: its own, and those of its successors to see which are dead ends.
LOOK = Budget(max_depth=2, max_goals=100_000)


@dataclass(frozen=True)
class LiveSteps:
    """The live steps out of one goal."""

    graph: GoalGraph
    table: EdgeTable
    live: Ints  # numbers of the goal's live steps
    goals: list[Goal]  # where each leads


class Frontier:
    """Goals met so far, numbered, with the steps of those that particles have stood at."""

    def __init__(
        self,
        program: Program,
        goals: Sequence[Goal],
        interner: Interner,
        bank: Sequence[Tensor],
        model: ModelWeights,
    ) -> None:
        self.program, self.interner = program, interner
        self.bank, self.model, self.device = bank, model, model.device
        self.goals: list[Goal] = []
        self.number: dict[Goal, int] = {}
        self.begin: list[int] = []
        self.end: list[int] = []
        self.source: list[int] = []
        self.target: list[int] = []
        self.expanded: set[int] = set()
        self.weights = [torch.zeros(0, dtype=torch.float64, device=self.device)]
        self.grad = torch.is_grad_enabled()
        self.roots = self._tensor([self._node(_open(g, program, interner)) for g in goals])
        self._arena: Arena | None = None

    def at(self, nodes: Int[Tensor, "queries particles"]) -> Arena:
        """The arena with the steps of these goals in it."""
        fresh = sorted(set(nodes.reshape(-1).tolist()) - self.expanded)
        fresh = [n for n in fresh if not self.goals[n].is_true]
        if self._arena is not None and not fresh:
            return self._arena
        with torch.set_grad_enabled(self.grad):
            self._expand(fresh)
            weights = torch.cat(self.weights)
        true = [g.is_true for g in self.goals]
        self._arena = Arena(
            roots=self.roots,
            true=torch.tensor(true, dtype=torch.bool, device=self.device),
            begin=self._tensor(self.begin),
            end=self._tensor(self.end),
            source=self._tensor(self.source),
            target=self._tensor(self.target),
            weights=weights,
            distance=torch.zeros(len(true), dtype=torch.int64, device=self.device),
        )
        return self._arena

    def _expand(self, nodes: Sequence[int]) -> None:
        found = [look(self.program, self.goals[n], self.interner) for n in nodes]
        slots = np.arange(len(self.bank), dtype=np.int64)[None, :]
        asked = [WeighRequest(s.table, s.graph, slots) for s in found]
        weights = edge_weights(asked, self.bank, self.model)
        for node, steps, w in zip(nodes, found, weights, strict=True):
            self.begin[node] = len(self.target)
            self.source.extend([node] * len(steps.goals))
            self.target.extend(self._node(g) for g in steps.goals)
            self.end[node] = len(self.target)
            self.weights.append(w[self._tensor(steps.live.tolist()), 0])
            self.expanded.add(node)

    def _node(self, goal: Goal) -> int:
        number = self.number.get(goal)
        if number is None:
            number = self.number[goal] = len(self.goals)
            self.goals.append(goal)
            self.begin.append(0)
            self.end.append(0)
        return number

    def _tensor(self, values: Sequence[int]) -> Tensor:
        return torch.tensor(values, dtype=torch.int64, device=self.device)


def _open(goal: Goal, program: Program, interner: Interner) -> Goal:
    """A query's goal as exploration numbers it."""
    return explore(program, [goal], interner, Budget(max_depth=0)).goals[0]


def look(program: Program, goal: Goal, interner: Interner) -> LiveSteps:
    """The steps out of a goal that can go on, as far as its successors' own steps show."""
    graph = explore(program, [goal], interner, LOOK)
    root = int(graph.roots[0])
    if root in graph.open.tolist():
        raise Inexact(
            f"{goal_text(goal)} has more than {LOOK.max_goals:,} successors",
            lower=0.0,
            upper=None,
            hint="bound the builtin that enumerates them",
        )
    hopeful = np.union1d(np.asarray(graph.true_nodes(), dtype=np.int64), graph.open)
    live = schedule(graph, hopeful).live
    own = np.arange(graph.first[root], graph.first[root + 1])
    own = own[live[graph.target[own]]]
    goals = [graph.goals[t] for t in graph.target[own].tolist()]
    return LiveSteps(graph, edge_table(graph.choices), own, goals)
