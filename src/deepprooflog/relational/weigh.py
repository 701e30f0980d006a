"""p_λ(G' | G) of every step of a goal graph, layer by layer; each layer is embedded once."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor

from deepprooflog.relational.embed import Rows, embed_once, log_steps
from deepprooflog.relational.layers import Layers
from deepprooflog.score.embedding import Embedding


def log_weights(scorer: Embedding, table: Rows, layers: Layers) -> list[Float[Tensor, " _steps"]]:
    """log p_λ of the steps between each layer and the next."""
    found = []
    here = embed_once(scorer, table, layers.goals[0])
    for goals, steps in zip(layers.goals[1:], layers.steps, strict=True):
        after = embed_once(scorer, table, goals)
        found.append(log_steps(scorer, here, after, steps.source, steps.target))
        here = after
    return found
