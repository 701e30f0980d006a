"""R2N, relational reasoning networks (Marra et al. 2025): a network for each rule, on vectors.

    e(g) = MLP_rule(e(b₁), …, e(bₙ)),    e(a) = max(e₀(a), max_g e(g)),    v(g) = σ(u · e(g) + c)

the maxima taken component by component. With its vector an atom gives its truth value.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn

from deepprooflog.kg.ground.system import AtomStates, GroundSystem, PerRule


class R2n(GroundSystem):
    """Latent reasoning: what a body says is a vector."""

    def __init__(
        self,
        rules: int,
        atoms: int,
        width: int,
        size: int,
        tnorm: Callable[[Tensor], Tensor],
    ) -> None:
        super().__init__(rules, atoms, width, size, tnorm)
        self.hidden = PerRule(rules, atoms * (size + 1), size)
        self.message = PerRule(rules, size, size)
        self.read = nn.Linear(size, 1)

    def bodies(
        self,
        rule: Int[Tensor, " groundings"],
        atoms: AtomStates,
        present: Bool[Tensor, "groundings atoms"],
    ) -> AtomStates:
        truth = atoms.value[..., None].to(atoms.vector)
        given = torch.cat([atoms.vector, truth], -1).masked_fill(~present[..., None], 0.0)
        inner = torch.relu(self.hidden(rule, given.flatten(1)))
        message = torch.tanh(self.message(rule, inner))
        return AtomStates(self.read(message)[:, 0].sigmoid().to(atoms.value), message)
