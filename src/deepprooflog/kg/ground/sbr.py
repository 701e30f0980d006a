"""SBR, semantic-based regularisation (Diligenti et al. 2017): a body is the t-norm of its atoms.

    v(a) = max(p_kge(a), max_g ⊗_{b ∈ body(g)} v(b))

It has no weights of its own: what the task teaches goes into the embedding.
"""

from __future__ import annotations

from jaxtyping import Bool, Int
from torch import Tensor

from deepprooflog.kg.ground.system import AtomStates, GroundSystem


class Sbr(GroundSystem):
    """Conjunctions of what the embedding holds true."""

    reads_vectors = False

    def bodies(
        self,
        rule: Int[Tensor, " groundings"],
        atoms: AtomStates,
        present: Bool[Tensor, "groundings atoms"],
    ) -> AtomStates:
        value = self.tnorm(atoms.value.masked_fill(~present, 1.0))
        return AtomStates(value, atoms.vector[:, 0])
