"""A weight for each clause: the scalar transition model of a stochastic logic program.

    p(C | A₁) = λ_C,    Σ over the clauses C of a predicate of λ_C = 1         over="predicate"
    p(C | A₁) = λ_C / Σ over the clauses C' that match A₁ of λ_C'              over="call"

By the first, which is the definition of a pure normalised program, what does not match the call is
lost; by the second a call that matches anything goes on.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, get_args

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from deepprooflog.errors import ModelError
from deepprooflog.logic.program import Program
from deepprooflog.score.clause_rows import NO_ROW, ClauseRows, FactRows, StepRows
from deepprooflog.score.scorer import GraphMemo, Scene, Scorer
from deepprooflog.score.segments import segment_logsumexp
from deepprooflog.score.transitions import LogPolicy, Numbering, Transitions, left_over

Over: TypeAlias = Literal["predicate", "call"]


class ClauseWeights(Scorer):
    """λ_C of each plain clause, a softmax of learned logits; all are alike to begin with.

    `facts="shared"` gives the ground facts of a predicate one logit between them, so that there are
    as many parameters as rules and predicates, and facts may come and go.

    >>> program = Program("s :- a. s :- b. s :- c. a. b. c :- fail.")
    >>> weights = ClauseWeights(program).log_values().exp()
    >>> [round(w, 3) for w in weights.tolist()]
    [0.333, 0.333, 0.333, 1.0, 1.0, 1.0]
    """

    local = True

    def __init__(self, program: Program, over: Over = "predicate", facts: FactRows = "own") -> None:
        super().__init__()
        if over not in get_args(Over):
            names = ", ".join(map(repr, get_args(Over)))
            raise ModelError(f"there is no over={over!r}", hint=f"one of {names}")
        self.over = over
        self.rows = ClauseRows(program, facts)
        self.logits = nn.Parameter(torch.zeros(len(self.rows), dtype=torch.float64))
        predicate = torch.tensor(self.rows.predicate, dtype=torch.int64)
        count = torch.tensor(self.rows.count, dtype=torch.float64)
        self.register_buffer("predicate", predicate, persistent=False)
        self.register_buffer("log_count", count.log(), persistent=False)
        self._plans: GraphMemo[StepRows] = GraphMemo()

    def log_values(self) -> Float[Tensor, " rows"]:
        """log λ of each row, those of a predicate's clauses summing to 1."""
        predicate, logits = self.get_buffer("predicate"), self.logits.double()
        every = logits + self.get_buffer("log_count")
        return logits - segment_logsumexp(every, predicate, self.rows.predicates)[predicate]

    def log_weights(self, scene: Scene) -> Float[Tensor, "steps batch"]:
        plan = self._plans.get(scene.graph, (scene.steps, self.device), self._plan, scene)
        values = self.log_values() if self.over == "predicate" else self.logits.double()
        log = values[plan.row].masked_fill(plan.repeated, -torch.inf)
        if self.over == "call":
            log = log - segment_logsumexp(log, plan.source, plan.sources)[plan.source]
        return log.unsqueeze(1).to(scene.steps.device)

    def _plan(self, scene: Scene) -> StepRows:
        return self.rows.of_steps(scene.graph, scene.steps.to(self.device))

    def transitions(self, database: Numbering) -> Transitions[Any]:
        return WeighedClauses(self, database)

    def get_extra_state(self) -> Tensor:
        """A fingerprint of the clauses, so that weights are not read for another program."""
        return self.rows.fingerprint()

    def set_extra_state(self, state: Tensor) -> None:
        self.rows.require(state)


class WeighedClauses(Transitions[Tensor]):
    """`ClauseWeights` on the steps of a database: a clause's number is all that is read."""

    false_action = False

    def __init__(self, scorer: ClauseWeights, database: Numbering) -> None:
        self.scorer = scorer
        self.normalises = scorer.over == "call"
        self.alike = scorer.rows.shares_facts
        self.row, self.repeated = scorer.rows.of_database(database, scorer.device)

    def view(self, atoms: Int[Tensor, "goals atoms columns"]) -> Int[Tensor, " goals"]:
        return torch.arange(len(atoms), device=atoms.device)

    def log_weights(
        self,
        here: Int[Tensor, " goals"],
        after: Int[Tensor, " others"],
        source: Int[Tensor, " steps"],
        target: Int[Tensor, " steps"] | None,
        clause: Int[Tensor, " steps"],
        *,
        false: bool,
    ) -> LogPolicy:
        values = self.scorer.logits.double() if self.normalises else self.scorer.log_values()
        row = self.row[clause]
        log = values[row.clamp_min(0)].masked_fill(row == NO_ROW, 0.0)
        log = log.masked_fill(self.repeated[clause], -torch.inf)
        if false and not self.normalises:
            return LogPolicy(log, left_over(log, source, len(here)))
        return LogPolicy(log, log.new_full((len(here),), -torch.inf))
