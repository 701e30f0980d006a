"""What the facts of a graph say of a triple's two entities, beside the embedding's score.

An embedding knows which entities are alike; it does not know what is still missing. Who has a
mother among the facts is seldom the one whose mother is looked for, and who is an uncle of five may
well be one of a sixth. Six numbers of a triple r(a, b) tell, all without the triple itself:

    has r(a, ·), log(1 + number of r(a, ·)), has r(·, b), log(1 + number of r(·, b)),
    log(1 + facts about a), log(1 + facts about b)

Which of them speak for a triple and which against differs between relations; calibration finds out.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Float64, Int
from torch import Tensor, nn

from deepprooflog.kg.data.triple_set import Side, TripleSet, check_triples

# Of which count each of the six numbers is made: r(a, ·), r(·, b), about a, about b.
OF_COUNT = (0, 0, 1, 1, 2, 3)


class Evidence(nn.Module):
    """Counts of facts, by searches in sorted keys: memory grows with the facts alone.

    >>> facts = torch.tensor([[0, 0, 1], [0, 0, 2], [3, 0, 2]])
    >>> known = Evidence(facts, entities=4, relations=1)
    >>> seen = known(torch.tensor([0]), torch.tensor([0]), torch.tensor([3]))[0]
    >>> seen[[0, 2]].tolist(), seen[[1, 3, 4, 5]].expm1().round().tolist()
    ([1.0, 0.0], [2.0, 0.0, 2.0, 1.0])
    """

    by_head: Tensor
    by_tail: Tensor
    facts: Tensor

    def __init__(self, facts: Int[Tensor, "n 3"], *, entities: int, relations: int) -> None:
        super().__init__()
        self.entities, self.relations = entities, relations
        check_triples(facts, entities, relations)
        tails, heads = (TripleSet.of(facts, entities=entities, side=s) for s in ("tail", "head"))
        self.register_buffer("by_head", tails.keys, persistent=False)
        self.register_buffer("by_tail", heads.keys, persistent=False)
        h, _, t = tails.columns()
        # A loop is one fact about its entity.
        about = torch.bincount(h, minlength=entities) + torch.bincount(
            t[h != t], minlength=entities
        )
        self.register_buffer("facts", about, persistent=False)

    def known(self, side: Side) -> TripleSet[Tensor]:
        """The facts by their entity on one side."""
        keys = self.by_head if side == "tail" else self.by_tail
        return TripleSet(keys, self.entities, side)

    def counts(
        self, relation: Int[Tensor, " batch"], head: Int[Tensor, " batch"],
        tail: Int[Tensor, " batch"],
    ) -> Int[Tensor, "batch 4"]:  # fmt: skip
        """Facts r(a, ·) and r(·, b), facts about a and about b, but for r(a, b)."""
        tails, heads = self.known("tail"), self.known("head")
        found = [
            tails.count(relation * self.entities + head),
            heads.count(relation * self.entities + tail),
            self.facts[head],
            self.facts[tail],
        ]
        return torch.stack(found, 1) - tails.holds(head, relation, tail).long()[:, None]

    def forward(
        self, relation: Int[Tensor, " batch"], head: Int[Tensor, " batch"],
        tail: Int[Tensor, " batch"],
    ) -> Float64[Tensor, "batch 6"]:  # fmt: skip
        """The six numbers of each triple."""
        counts = self.counts(relation, head, tail).double()
        has, log = (counts > 0).double(), counts.log1p()
        return torch.stack([has[:, 0], log[:, 0], has[:, 1], log[:, 1], log[:, 2], log[:, 3]], 1)

    def answers(self, query: Int[Tensor, " kinds"]) -> Float[Tensor, "kinds entities 4"]:
        """Four numbers of every entity as an answer, where a relation from R on asks for heads.

        Whether it is one already among the facts, log(1 + how often), log(1 + facts about it), and
        whether there are none about it at all.

        >>> known = Evidence(torch.tensor([[0, 0, 1], [0, 0, 2]]), entities=4, relations=1)
        >>> known.answers(torch.tensor([0, 1]))[:, :, 0].tolist()
        [[0.0, 1.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0]]
        """
        count = self.facts.new_zeros(len(query), self.entities)
        for place, number in enumerate(query.tolist()):
            heads, relation = divmod(number, self.relations)
            everyone = torch.arange(self.entities, device=count.device)
            known = self.known("tail" if heads else "head")
            count[place] = known.count(relation * self.entities + everyone)
        about = self.facts.expand(len(query), -1)
        numbers = [(count > 0).float(), count.log1p(), about.log1p(), (about == 0).float()]
        return torch.stack(numbers, 2)
