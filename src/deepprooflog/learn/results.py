"""What learning gives back: the loss of a batch, and the history of a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True)
class Loss:
    """The loss of a batch of queries, to be minimised, and what it was estimated from.

    It unpacks: `loss, log_prob, diagnostics = smc_loss(model, goals)`.

    >>> import torch
    >>> loss, log_prob, _ = Loss(torch.tensor(0.7), torch.tensor([-0.7]), None)
    >>> float(loss) == -float(log_prob)
    True
    """

    loss: Float[Tensor, ""]  # its gradient is what is learned from
    log_prob: Float[Tensor, "queries"]  # estimates of log p_success
    diagnostics: Any  # how the particles or rollouts fared

    def __iter__(self) -> Iterator[Any]:
        return iter((self.loss, self.log_prob, self.diagnostics))


@dataclass(frozen=True)
class History:
    """What a run did: the mean loss of each epoch or iteration, as each of its steps found it."""

    losses: tuple[float, ...]
    converged: bool  # the loss came to rest within the tolerance
    skipped: int  # examples of the last epoch that the model held impossible
    seconds: float
    diagnostics: tuple[Any, ...] = ()  # a report of each iteration, where there is one
