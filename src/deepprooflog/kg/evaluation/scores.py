"""Scores that triples are ranked by: p_success, belief alone; each also of all candidates at once.

A score that has `of_lists` is asked it by the protocol `full`, and about a triple at a time only
where there is nothing but that triple to score.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import TypeAlias

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import logsigmoid

from deepprooflog.errors import Notice
from deepprooflog.kg.belief.believe import Belief
from deepprooflog.kg.belief.lists import believed_lists
from deepprooflog.kg.data.triple_set import Side, column
from deepprooflog.kg.evaluation.fusion import LateFusion, Recorded
from deepprooflog.kg.prove.lists import ListProver, ProvedLists, why_not_lists
from deepprooflog.kg.prove.prover import Prover

Score: TypeAlias = "Callable[[Int[Tensor, 'triples 3']], Tensor]"


def success_score(prover: Prover) -> Score:
    """p_success as a ranking score."""

    def score(triples: Int[Tensor, "triples 3"]) -> Tensor:
        with torch.no_grad():
            success: Tensor = prover(triples.to(prover.device)).success
            return success

    return score


class BeliefScore:
    """The prior alone as a ranking score."""

    def __init__(self, belief: Belief, entities: int) -> None:
        self.belief, self.entities = belief, entities

    def __call__(self, triples: Int[Tensor, "triples 3"]) -> Tensor:
        return self.belief.of_triples(triples)

    def of_lists(
        self, queries: Int[Tensor, "lists 3"], side: Side
    ) -> Float[Tensor, "lists entities"]:
        """The logits of all entities on one side."""
        return believed_lists(self.belief, queries, side, self.entities)


class CountedScore(Recorded):
    """Scores by p_success that count the goals, and are kept for late fusion where asked for."""

    def __init__(self, prover: Prover, keep: bool) -> None:
        super().__init__(prover)
        self.keep = keep
        self.goals = 0
        self.cut = 0

    def __call__(self, triples: Int[Tensor, "triples 3"]) -> Tensor:
        with torch.no_grad():
            here = triples.to(self.prover.device)
            layers = self.prover.explore(self.prover.goals(here))
            self.goals += layers.size
            self.cut += layers.cut.total
            mass = self.prover.weigh(layers)
            if self.keep and self.prover.belief is not None:
                head, relation, tail = here.unbind(1)
                prior = self.prover.belief.log_probability(relation, head, tail)
                self.calls.append((prior.cpu(), mass.proof.cpu()))
            return mass.success


class CountedLists(CountedScore):
    """The same for all candidates of a list at once."""

    def __init__(self, prover: Prover, keep: bool, entities: int, batch: int) -> None:
        super().__init__(prover, keep)
        self.proves = ListProver(prover, entities, batch)
        self.lists: list[ProvedLists] = []

    @torch.no_grad()
    def of_lists(
        self, queries: Int[Tensor, "lists 3"], side: Side
    ) -> Float[Tensor, "lists entities"]:
        """p_success of all entities on one side."""
        queries, number = _distinct(queries, side)
        found = self.proves.prove(queries, side)
        self.goals, self.cut = self.goals + found.goals, self.cut + found.cut
        if self.keep:
            self.lists.append(found)
        if self.prover.belief is None:
            score = found.success.new_zeros(len(queries), self.proves.entities)
        else:
            logits = believed_lists(self.prover.belief, queries, side, self.proves.entities)
            score = logits.sigmoid_().mul_(self.proves.believing(queries, side))
        score[found.list_of, found.entity] = found.success
        return score[number]

    def again(self, fusion: LateFusion) -> FusedLists:
        """The fused scores of the same calls in the same order."""
        return FusedLists(self, fusion)


class FusedLists:
    """Late fusion of recorded lists; what the prior says of all entities is asked anew."""

    def __init__(self, recorded: CountedLists, fusion: LateFusion) -> None:
        self.recorded, self.fusion = recorded, fusion
        self.one_by_one: Score = Recorded.again(recorded, fusion)
        self.lists: Iterator[ProvedLists] = iter(recorded.lists)

    def __call__(self, triples: Int[Tensor, "triples 3"]) -> Tensor:
        return self.one_by_one(triples)

    @torch.no_grad()
    def of_lists(
        self, queries: Int[Tensor, "lists 3"], side: Side
    ) -> Float[Tensor, "lists entities"]:
        """The fused scores of all entities on one side."""
        belief, entities = self.recorded.prover.belief, self.recorded.proves.entities
        assert belief is not None
        queries, number = _distinct(queries, side)
        found = next(self.lists)
        log_prior = logsigmoid(believed_lists(belief, queries, side, entities))
        proof = torch.zeros_like(log_prior)
        proof[found.list_of, found.entity] = found.proof
        fused = self.fusion.score(log_prior.flatten(), proof.flatten())
        return fused.view_as(proof)[number]


def counted_score(prover: Prover, *, keep: bool, entities: int, batch: int) -> CountedScore:
    """Whole lists at once, or one by one with a notice that says why."""
    reason = why_not_lists(prover)
    if reason is None:
        return CountedLists(prover, keep, entities, batch)
    warnings.warn(f"candidates are proved one by one: {reason}", Notice, stacklevel=3)
    return CountedScore(prover, keep)


def _distinct(
    queries: Int[Tensor, "lists 3"], side: Side
) -> tuple[Int[Tensor, "distinct 3"], Int[Tensor, " lists"]]:
    """Each open query once, and which of them is each list's."""
    asked = queries.clone()
    asked[:, column(side)] = 0
    found, number = torch.unique(asked, dim=0, return_inverse=True)
    return found, number
