"""A scorer whose weights are flattened, and shifted of some clauses: two numbers beside a model.

    p_τ(C | G) = Σ p(C' | G) · p(C | G)^τ / Σ p(C' | G)^τ                       sums over C' in N(G)
    p_τδ(C | G) = p_τ(C | G) e^δ_C / (1 − Σ p_τ(C' | G) + Σ p_τ(C' | G) e^δ_C')

τ is the sharpness: at 1 the scorer divides among the clauses as it learned to, at 0 all clauses of
a goal weigh alike. δ_C is δ for the clauses whose body ends in a given predicate and 0 for all
others. What the scorer leaves to failing, 1 − Σ p, keeps its weight. With τ = 1 and δ = 0 the
scorer is what it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from deepprooflog.errors import ModelError
from deepprooflog.logic.clause import Clause
from deepprooflog.score.scorer import Scene, Scorer
from deepprooflog.score.segments import segment_logsumexp
from deepprooflog.score.transitions import (
    GoalView,
    LogPolicy,
    Numbering,
    Transitions,
    left_over,
)
from deepprooflog.syntax.terms import Functor, functor_of


class Shifted(Scorer):
    """A scorer of a sharpness τ, with the clauses that end in a predicate shifted by δ.

    The scorer is `base`.

    >>> from deepprooflog.logic.program import Program
    >>> from deepprooflog.model import Model
    >>> from deepprooflog.score.clause_weights import ClauseWeights
    >>> program = Program("p :- q. p :- r. q. r :- fail.")
    >>> scorer = Shifted(ClauseWeights(program), Functor("q", 0), torch.tensor(3.0).log().item())
    >>> round(Model(program, scorer=scorer).prob("p"), 6)
    0.75
    """

    def __init__(self, base: Scorer, ending: Functor, shift: float, sharpness: float = 1.0) -> None:
        super().__init__()
        if not abs(shift) < float("inf"):
            raise ModelError(f"a shift is a number, not {shift}", hint="0 leaves all as it is")
        if not 0 <= sharpness < float("inf"):
            raise ModelError(
                f"a sharpness is at least 0, not {sharpness}", hint="1 leaves all as it is"
            )
        if base.weighs_one:
            raise ModelError("weights of 1 are no probabilities to shift", hint="another scorer")
        self.base = base
        self.ending = ending
        self.shift, self.sharpness = float(shift), float(sharpness)
        self.local = base.local
        self.false_action = bool(getattr(base, "false_action", False))

    @property
    def device(self) -> torch.device:
        return self.base.device

    def shifts(self, clause: Clause | None) -> bool:
        """Whether a clause is one of those that are shifted."""
        return (
            clause is not None and bool(clause.body) and functor_of(clause.body[-1]) is self.ending
        )

    def take_encoders(self, encoders: Mapping[str, nn.Module]) -> None:
        self.base.take_encoders(encoders)

    def log_weights(self, scene: Scene) -> Float[Tensor, "steps batch"]:
        log = self.base.log_weights(scene).double()
        edges, graph = scene.steps.tolist(), scene.graph
        number: dict[int, int] = {}
        source = [number.setdefault(int(graph.source[e]), len(number)) for e in edges]
        moved = [self.shift * self.shifts(graph.choices[e].clause) for e in edges]
        index = torch.tensor(source, dtype=torch.int64, device=log.device)
        raised = torch.tensor(moved, dtype=torch.float64, device=log.device)
        log = sharpened(log, index, len(number), self.sharpness)
        return shifted(log, index, len(number), raised[:, None])[0]

    def transitions(self, database: Numbering) -> Transitions[Any] | None:
        own = self.base.transitions(database)
        return None if own is None else ShiftedSteps(self, own, database)


class ShiftedSteps(Transitions[GoalView]):
    """`Shifted` on the steps of a database."""

    def __init__(self, scorer: Shifted, own: Transitions[GoalView], database: Numbering) -> None:
        self.own = own
        self.normalises, self.false_action = own.normalises, own.false_action
        self.alike, self.sharpness = own.alike, scorer.sharpness
        moved = [scorer.shift * scorer.shifts(rule.clause) for rule in database.rules]
        moved += [0.0] * len(database.facts.predicate)
        self.moved = torch.tensor(moved, dtype=torch.float64, device=scorer.device)

    def view(self, atoms: Int[Tensor, "goals atoms columns"]) -> GoalView:
        return self.own.view(atoms)

    def log_weights(
        self,
        here: GoalView,
        after: GoalView,
        source: Int[Tensor, " steps"],
        target: Int[Tensor, " steps"] | None,
        clause: Int[Tensor, " steps"],
        *,
        false: bool,
    ) -> LogPolicy:
        found = self.own.log_weights(here, after, source, target, clause, false=false)
        raised = self.moved.to(found.steps.device)[clause]
        log = sharpened(found.steps, source, len(found.false), self.sharpness)
        if self.normalises:
            return LogPolicy(log + raised, found.false)
        return LogPolicy(*shifted(log, source, len(found.false), raised))


def sharpened(
    log: Float[Tensor, "steps *batch"], source: Int[Tensor, " steps"], goals: int, sharpness: float
) -> Float[Tensor, "steps *batch"]:
    """Steps of weights p^τ, of which each goal's add up to what they did.

    >>> log = torch.tensor([0.64, 0.16, 0.0], dtype=torch.float64).log()
    >>> half = sharpened(log, torch.tensor([0, 0, 0]), 1, 0.5).exp()
    >>> [round(p, 4) for p in half.tolist()]
    [0.5333, 0.2667, 0.0]
    """
    if sharpness == 1:
        return log
    flat = torch.where(log == -torch.inf, log, sharpness * log)
    gain = segment_logsumexp(log, source, goals) - segment_logsumexp(flat, source, goals)
    # A goal whose steps all weigh 0 has nothing to share out.
    return flat + gain.nan_to_num(nan=0.0)[source]


def shifted(
    log: Float[Tensor, "steps *batch"],
    source: Int[Tensor, " steps"],
    goals: int,
    raised: Float[Tensor, "steps *one"],
) -> tuple[Float[Tensor, "steps *batch"], Float[Tensor, "goals *batch"]]:
    """Steps of weights p with some raised, normalised anew, and what is left to failing.

    >>> half = torch.tensor([0.5, 0.25], dtype=torch.float64).log()
    >>> two = torch.tensor([2.0, 1.0], dtype=torch.float64).log()
    >>> steps, left = shifted(half, torch.tensor([0, 0]), 1, two)
    >>> steps.exp().tolist(), left.exp().tolist()
    ([0.666..., 0.166...], [0.166...])
    """
    left = left_over(log, source, goals)
    total = segment_logsumexp(log + raised, source, goals, left)
    # A goal without a choice has nothing to normalise.
    total = total.masked_fill(total == -torch.inf, 0.0)
    return log + raised - total[source], left - total
