"""Belief in every candidate of r(h, ?) or r(?, t): the logits of whole lists.

The same numbers as `Belief.of_triples` gives, without a triple for each: the embedding matches a
list's question with all entities in one product, and what facts add is a sum of what they say of
the entity asked about and of the candidate, except where the two are a fact themselves.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from deepprooflog.kg.belief.believe import Belief
from deepprooflog.kg.belief.evidence import Evidence
from deepprooflog.kg.data.triple_set import Side

# Of the weights of evidence those of r(a, ·) and of facts about a, and those of the other side.
OF_SIDE = {"head": [0, 1, 4], "tail": [2, 3, 5]}


@torch.no_grad()
def believed_lists(
    belief: Belief, queries: Int[Tensor, "lists 3"], side: Side, entities: int
) -> Float[Tensor, "lists entities"]:
    """The logits of all entities on one side of some triples."""
    kge, line = belief.kge, belief.calibration
    head, relation, tail = queries.to(kge.device).unbind(1)
    known, last = (head, tail)[side == "head"], kge.entities - 1
    if side == "tail":
        score = kge.all_tails(head.clamp_max(last), relation)
    else:
        score = kge.all_heads(relation, tail.clamp_max(last))
    logit = line.slope[relation, None] * score.double()[:, :entities] + line.offset[relation, None]
    if entities > logit.shape[1]:
        # Of entities that the embedding does not know it believes nothing.
        unknown = logit.new_full((len(logit), entities - logit.shape[1]), -torch.inf)
        logit = torch.cat([logit, unknown], 1)
    logit[known > last] = -torch.inf
    if belief.evidence is not None:
        assert line.facts is not None
        _add_evidence(logit, belief.evidence, line.facts, known, relation, side)
    return logit


def _add_evidence(
    logit: Float[Tensor, "lists entities"],
    evidence: Evidence,
    weights: Float[Tensor, "relations 6"],
    known: Int[Tensor, " lists"],
    relation: Int[Tensor, " lists"],
    side: Side,
) -> None:
    """Add what the facts say, in place."""
    # The candidates that are facts, and the list of each.
    list_of, entity = evidence.known(side).pairs(relation * evidence.entities + known)
    at_facts = logit[list_of, entity]
    other: Side = "head" if side == "tail" else "tail"
    logit += _says(evidence, weights, relation, known, other)[:, None]
    relations, number = torch.unique(relation, return_inverse=True)
    everyone = torch.arange(logit.shape[1], device=logit.device).repeat(len(relations), 1)
    each = relations[:, None].expand_as(everyone)
    logit += _says(evidence, weights, each, everyone, side)[number]
    # A fact is no evidence for itself.
    pair = known[list_of], entity
    head, tail = pair if side == "tail" else pair[::-1]
    r = relation[list_of]
    logit[list_of, entity] = at_facts + (weights[r] * evidence(r, head, tail)).sum(-1)


def _says(
    evidence: Evidence,
    weights: Float[Tensor, "relations 6"],
    relation: Int[Tensor, "*n"],
    entity: Int[Tensor, "*n"],
    side: Side,
) -> Float[Tensor, "*n"]:
    """What the facts about entities on one side of a relation add."""
    known = evidence.known("tail" if side == "head" else "head")
    count = known.count(relation * evidence.entities + entity).double()
    has, log, about = weights[relation][..., OF_SIDE[side]].unbind(-1)
    return has * (count > 0) + log * count.log1p() + about * evidence.facts[entity].log1p()
