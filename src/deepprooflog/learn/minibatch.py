"""One guarded step down the gradient of a minibatch's mean loss.

A loss or gradient that is not finite is refused before the weights see it, with the example named
where there is one to name. The host waits for the device once a step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from deepprooflog.errors import ModelError

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


def batches(order: Int[Tensor, " examples"], size: int) -> Sequence[Int[Tensor, " batch"]]:
    """An order of examples cut into minibatches; the last may be smaller.

    >>> [len(b) for b in batches(torch.arange(10), 4)]
    [4, 4, 2]
    """
    return [order[i : i + size] for i in range(0, len(order), size)]
