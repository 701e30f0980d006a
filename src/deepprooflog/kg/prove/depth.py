"""How deep the shortest proof of a triple is, by clauses alone."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Int64

from deepprooflog.kg.prove.prover import Prover
from deepprooflog.learn.run.processes import processes
from deepprooflog.relational.sweep import FAR, FEWEST, at_roots, sweep

NO_PROOF = -1


def depths(
    prover: Prover, triples: Int64[np.ndarray, "n 3"], batch: int = 4096
) -> Int64[np.ndarray, " n"]:
    """The fewest resolution steps of a proof without belief; −1 where there is none.

    Several processes are dealt the batches.
    """
    found = np.zeros(len(triples), dtype=np.int64)
    device, here = prover.device, processes()
    for number, begin in enumerate(range(0, len(triples), batch)):
        if not here.takes(number):
            continue
        part = torch.from_numpy(triples[begin : begin + batch]).to(device)
        layers = prover.explore(prover.goals(part))
        weights = [torch.where(neural, FAR, 1) for neural in prover.neural_steps(layers)]
        steps = at_roots(layers, sweep(layers, FEWEST, weights))
        found[begin : begin + batch] = torch.where(steps < FAR, steps, NO_PROOF).cpu().numpy()
    return here.sum(found)
