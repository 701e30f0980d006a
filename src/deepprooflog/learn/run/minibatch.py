"""Minibatches, and one guarded step down the gradient of a minibatch's mean loss.

A loss or gradient that is not finite is refused before the weights see it, with the example named
where there is one to name. The host waits for the device once a step.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from deepprooflog.errors import ModelError
from deepprooflog.learn.run import checkpoint

Objective = Callable[[Tensor], Tensor]
"""The losses of some examples, or their mean: positions in the data set [batch] → [batch] or []."""

SHOWN = 160


def descend(
    objective: Objective,
    batch: Int[Tensor, " batch"],
    optimizer: torch.optim.Optimizer,
    describe: Callable[[int], str],
    clip: float = 0.0,
) -> float:
    """One step of the optimizer; the minibatch's mean loss before it.

    `clip` bounds the gradient's norm; 0 leaves it alone.
    """
    optimizer.zero_grad()
    losses = objective(batch)
    loss = losses.mean()
    loss.backward()  # type: ignore[no-untyped-call]
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    norm = torch.nn.utils.get_total_norm([p.grad for p in parameters if p.grad is not None])
    value, size = torch.stack([loss.detach().double(), norm.double()]).tolist()
    if not math.isfinite(value):
        raise _refused(losses.detach().reshape(-1), batch, describe)
    if not math.isfinite(size):
        raise ModelError(
            "the gradient is not finite; the weights are as they were before this step",
            hint="a smaller lr; look for a probability of exactly 0 or 1 in a network's outputs",
        )
    if clip and size > clip:
        torch.nn.utils.clip_grads_with_norm_(parameters, clip, norm)
    optimizer.step()
    return float(value)


def _refused(
    losses: Float[Tensor, " losses"], batch: Int[Tensor, " batch"], describe: Callable[[int], str]
) -> ModelError:
    if len(losses) != len(batch):
        return ModelError(
            f"the loss is {losses[0].item()}; the weights are as they were before this step"
        )
    first = int((~losses.isfinite()).nonzero()[0])
    goal = shortened(describe(int(batch[first])))
    if losses[first] == torch.inf:
        return ModelError(
            f"no derivation proves {goal}: log p = −inf; the weights are as they were before "
            "this step",
            hint="check the goal: its lists' lengths, its sum",
        )
    return ModelError(
        f"the loss of {goal} is {losses[first].item()}; the weights are as they were before "
        "this step",
        hint="a smaller lr, and a look at the inputs",
    )


def shortened(text: str) -> str:
    """A goal as an error shows it: its beginning and its end.

    >>> len(shortened("x" * 1000))
    161
    """
    half = SHOWN // 2
    return text if len(text) <= SHOWN else f"{text[:half]}…{text[-half:]}"


class BatchStream:
    """Positions 0 … n−1 in one random order after another, cut into batches.

    With `epochs` a batch ends where its order ends: the last of each may be smaller.

    >>> stream = BatchStream(10, torch.device("cpu"), epochs=True)
    >>> [len(stream.take(4)) for _ in range(6)]
    [4, 4, 2, 4, 4, 2]
    """

    def __init__(self, n: int, device: torch.device, *, epochs: bool = False) -> None:
        self.n, self.device, self.epochs = n, device, epochs
        self.order = torch.empty(0, dtype=torch.int64, device=device)

    def take(self, size: int) -> Int[Tensor, " batch"]:
        """The next positions."""
        while len(self.order) < (1 if self.epochs else size):
            fresh = torch.randperm(self.n, device=self.device)
            self.order = torch.cat([self.order, fresh])
        batch, self.order = self.order[:size], self.order[size:]
        return batch

    def restore(self, order: Int[Tensor, " rest"]) -> None:
        """Continue with a checkpoint's order."""
        self.order = checkpoint.restore_order(order, self.n).to(self.device)
