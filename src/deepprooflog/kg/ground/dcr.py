"""DCR, the deep concept reasoner (Barbiero et al. 2023), over ground bodies of given rules.

For each rule and position in its body, networks on the atom's vector say with which sign the atom
stands there and how much it matters:

    ℓ(b) = s(b) v(b) + (1 − s(b)) (1 − v(b))        s = σ(sign_rule(e(b)))
    body = ⊗_b (1 − f(b) (1 − ℓ(b)))                f = σ(filter_rule(e(b)))

Both begin near 1, where a body is SBR's.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from deepprooflog.kg.ground.system import AtomStates, GroundSystem, PerRule

# The logit at which signs and filters begin.
INITIAL = 8.0


class Dcr(GroundSystem):
    """Conjunctions of literals that are chosen and weighed."""

    def __init__(
        self,
        rules: int,
        atoms: int,
        width: int,
        size: int,
        tnorm: Callable[[Tensor], Tensor],
    ) -> None:
        super().__init__(rules, atoms, width, size, tnorm)
        self.literal = PerRule(rules * atoms, size, 2)
        with torch.no_grad():
            self.literal.bias.fill_(INITIAL)

    def bodies(
        self,
        rule: Int[Tensor, " groundings"],
        atoms: AtomStates,
        present: Bool[Tensor, "groundings atoms"],
    ) -> AtomStates:
        place = rule[:, None] * self.atoms + torch.arange(self.atoms, device=rule.device)
        flat = self.literal(place.reshape(-1), atoms.vector.reshape(-1, self.size))
        sign, filtered = flat.sigmoid().to(atoms.value).reshape(*place.shape, 2).unbind(-1)
        literal = sign * atoms.value + (1.0 - sign) * (1.0 - atoms.value)
        kept = 1.0 - filtered * (1.0 - literal)
        value = self.tnorm(kept.masked_fill(~present, 1.0))
        return AtomStates(value, atoms.vector[:, 0])
