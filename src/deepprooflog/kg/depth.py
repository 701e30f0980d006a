"""How deep the shortest proof of a triple is, by clauses alone."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Int, Int64
from torch import Tensor

from deepprooflog.kg.prover import Prover
from deepprooflog.relational.layers import Layers

NO_PROOF = -1
_FAR = 1 << 30


def depths(
    prover: Prover, triples: Int64[np.ndarray, "n 3"], batch: int = 4096
) -> Int64[np.ndarray, " n"]:
    """The fewest resolution steps of a proof without belief; −1 where there is none."""
    found = []
    device = prover.device
    for begin in range(0, len(triples), batch):
        part = torch.from_numpy(triples[begin : begin + batch]).to(device)
        layers = prover.explore(prover.goals(part))
        found.append(fewest(layers, prover.get_buffer("neural")).cpu())
    result: Int64[np.ndarray, " n"] = torch.cat(found).numpy().astype(np.int64)
    return result


def fewest(layers: Layers, neural: Tensor) -> Int[Tensor, " queries"]:
    """The fewest steps from each query to True that are no steps at a neural fact."""
    steps = torch.where(layers.goals[-1].is_true, 0, _FAR)
    for depth in range(len(layers.steps) - 1, -1, -1):
        goals, between = layers.goals[depth], layers.steps[depth]
        barred = neural[goals.atoms[:, 0, 0]][between.source]
        ahead = torch.where(barred, _FAR, steps[between.target] + 1)
        here = torch.where(goals.is_true, 0, _FAR)
        steps = here.scatter_reduce(0, between.source, ahead, "amin")
    found = steps[layers.roots]
    return torch.where(found < _FAR, found, NO_PROOF)
