"""The goal graph of a query as something to look at: goals, steps with their probabilities."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from deepprooflog.graph.explore import explore
from deepprooflog.graph.goalgraph import GoalGraph, goal_text
from deepprooflog.logic.limits.budget import Budget
from deepprooflog.logic.limits.watch import watched
from deepprooflog.logic.program import Program
from deepprooflog.logic.query import Query
from deepprooflog.proof.build import step_place, step_reason
from deepprooflog.questions import ProgramQuestions, Questions

GoalKind: TypeAlias = Literal["query", "goal", "true", "dead", "open"]
"""`dead` goals have no successor; of `open` ones the successors were not looked at, or not all."""


@dataclass(frozen=True)
class GoalNode:
    """A goal of the graph."""

    id: int
    goal: str
    kind: GoalKind


@dataclass(frozen=True)
class GoalStep:
    """A step from a goal to another."""

    source: int
    target: int
    probability: float
    clause: str
    place: str | None


@dataclass(frozen=True)
class GoalGraphView:
    """Goals and steps, the query's goal first; when not `complete`, `stopped` says why."""

    query: str
    nodes: tuple[GoalNode, ...]
    edges: tuple[GoalStep, ...]
    complete: bool
    stopped: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain Python, as scripts read it."""
        return {
            "query": self.query,
            "nodes": [{"id": n.id, "goal": n.goal, "kind": n.kind} for n in self.nodes],
            "edges": [
                {"from": e.source, "to": e.target, "probability": e.probability,
                 "clause": e.clause, "place": e.place}
                for e in self.edges
            ],
            "complete": self.complete, "stopped": self.stopped,
        }  # fmt: skip

    def to_svg(self) -> str:
        """A drawing in layers, the query on top; cycles go back up in dashes."""
        from deepprooflog.insight.goal_drawing import draw

        return draw(self)

    def __repr__(self) -> str:
        state = "complete" if self.complete else f"stopped by {self.stopped}"
        return f"GoalGraphView({len(self.nodes)} goals, {len(self.edges)} steps, {state})"


def goal_graph(
    program: Program | Questions,
    query: str | Query,
    most: int = 300,
    *,
    budget: Budget | None = None,
) -> GoalGraphView:
    """The goals that a query reaches, at most `most` of them, and the steps between them.

    >>> view = goal_graph(Program("0.5 :: p :- p. 0.25 :: p :- q. 1 :: q."), "p")
    >>> [(node.goal, node.kind) for node in view.nodes]
    [('p', 'query'), ('q', 'goal'), ('true', 'true')]
    >>> [(edge.source, edge.target, edge.probability) for edge in view.edges]
    [(0, 0, 0.5), (0, 1, 0.25), (1, 2, 1.0)]
    """
    asked = ProgramQuestions(program) if isinstance(program, Program) else program
    with watched(budget or Budget(max_goals=most, max_seconds=10.0)) as limits:
        parsed, goal, interner = asked.begin(query)
        graph = explore(asked.program, [goal], interner, limits)
        weights = asked.weigher(parsed)(graph, graph.choices).tolist()
    count = min(graph.nodes, max(most, 1))
    edges = tuple(
        GoalStep(source, target, math.exp(log), _clause(graph, e), step_place(choice.clause))
        for e, (source, target, choice, log) in enumerate(
            zip(graph.source.tolist(), graph.target.tolist(), graph.choices, weights, strict=True)
        )
        # Of clauses that lead to one goal a scorer on goals weighs the first for all.
        if source < count and target < count and (log > -math.inf or graph.twin[e] == e)
    )
    stopped = graph.stopped
    if count < graph.nodes:
        stopped = stopped or "max_goals"
    return GoalGraphView(str(parsed), _nodes(graph, count), edges, stopped is None, stopped)


def _nodes(graph: GoalGraph, count: int) -> tuple[GoalNode, ...]:
    first = graph.first.tolist()
    opened = set(graph.open.tolist())
    found = []
    for number, goal in enumerate(graph.goals[:count]):
        below = graph.target[first[number] : first[number + 1]]
        kind: GoalKind = "goal"
        if goal.is_true:
            kind = "true"
        elif number in opened or (len(below) and int(below.max()) >= count):
            kind = "open"
        elif not len(below):
            kind = "dead"
        elif not number:
            kind = "query"
        found.append(GoalNode(number, goal_text(goal), kind))
    return tuple(found)


def _clause(graph: GoalGraph, edge: int) -> str:
    goal = graph.goals[int(graph.source[edge])]
    return step_reason(goal.leftmost, graph.choices[edge], graph.program)
