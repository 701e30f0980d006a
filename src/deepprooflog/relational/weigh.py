"""p_λ(G' | G) of steps between relational goals, by any scorer; each goal is looked at once.

A scorer without a form of its own for goals as numbers (`Scorer.transitions`) is asked about them
as terms, each batch of steps a goal graph for `Scorer.log_weights`: a reference for small graphs.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from deepprooflog.graph.goalgraph import GoalGraph
from deepprooflog.logic.choice import Choice, WeightSource
from deepprooflog.logic.clause import Clause
from deepprooflog.logic.goal import Goal
from deepprooflog.relational.database import Database
from deepprooflog.relational.goals import NO_FACT, Goals
from deepprooflog.relational.layers import Layers
from deepprooflog.score.scorer import Scene, Scorer
from deepprooflog.score.transitions import LogPolicy, Transitions, left_over, log_steps


class AsTerms(Transitions[list[Goal]]):
    """A scorer that weighs the steps of goal graphs, on the goals of a database."""

    normalises = False
    false_action = False  # what a scorer leaves to failing is no step of its own

    def __init__(self, scorer: Scorer, database: Database) -> None:
        self.scorer, self.database = scorer, database
        self._clauses: dict[int, Clause] = {}

    def view(self, atoms: Int[Tensor, "goals atoms columns"]) -> list[Goal]:
        none = torch.full((len(atoms),), NO_FACT)
        return self.database.decode(Goals(atoms.cpu(), none.new_zeros((len(atoms), 0)), none))

    def log_weights(
        self,
        here: list[Goal],
        after: list[Goal],
        source: Int[Tensor, " steps"],
        target: Int[Tensor, " steps"] | None,
        clause: Int[Tensor, " steps"],
        *,
        false: bool,
    ) -> LogPolicy:
        target = torch.arange(len(source), device=source.device) if target is None else target
        choices = [self._choice(n) for n in clause.tolist()]
        ends = source.tolist(), (target + len(here)).tolist()
        graph = GoalGraph.of_steps(self.database.program, [*here, *after], *ends, choices)
        steps = [e for e, choice in enumerate(choices) if choice.weigher is WeightSource.SCORER]
        place = torch.tensor(steps, dtype=torch.int64, device=self.scorer.device)
        log = torch.zeros(len(source), dtype=torch.float64, device=place.device)
        if steps:
            slots = torch.zeros((1, 0), dtype=torch.int64, device=place.device)
            weights = self.scorer.log_weights(Scene(graph, place, slots, []))[:, 0].double()
            log = log.index_copy(0, place, weights)
        log = log.to(source.device)
        return LogPolicy(log, left_over(log, source, len(here)))

    def _choice(self, number: int) -> Choice:
        clause = self._clauses.get(number)
        if clause is None:
            clause = self._clauses[number] = self._clause(number)
        # A neural fact is the prior's to weigh.
        return Choice(
            WeightSource.SCORER if clause.label is None else WeightSource.BERNOULLI, clause
        )

    def _clause(self, number: int) -> Clause:
        """The clause of a number, the program's own where it has it."""
        made, program = self.database.clause(number), self.database.program
        if number < len(self.database.rules) or not program.defines(made.functor):
            return made
        same = (c for c in program.candidates(made.functor, made.args) if c.head == made.head)
        return next((c for c in same if not c.body), made)


def transitions_of(scorer: Scorer, database: Database) -> Transitions[Any]:
    """A scorer on a database's goals: its own form for them, or one by terms."""
    found = scorer.transitions(database)
    return AsTerms(scorer, database) if found is None else found


def log_weights(model: Transitions[Any], layers: Layers) -> list[Float[Tensor, " _steps"]]:
    """log p_λ of the steps between each layer and the next."""
    found = []
    here = model.view(layers.goals[0].atoms)
    for goals, steps in zip(layers.goals[1:], layers.steps, strict=True):
        after = model.view(goals.atoms)
        found.append(log_steps(model, here, after, steps.source, steps.target, steps.clause))
        here = after
    return found
