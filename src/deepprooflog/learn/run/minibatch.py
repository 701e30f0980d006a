"""Minibatches, and one guarded step down the gradient of a minibatch's mean loss.

A loss or gradient that is not finite is refused before the weights see it, with the example named
where there is one to name. The host waits for the device once a step; on a GPU, steps replayed as
one CUDA graph make it wait for none.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from deepprooflog.errors import ModelError
from deepprooflog.learn.run import checkpoint
from deepprooflog.learn.run.processes import processes

Objective = Callable[[Tensor], Tensor]
"""The losses of some examples, or their mean: positions in the data set [batch] → [batch] or []."""

SHOWN = 160


def descend(
    objective: Objective,
    batch: Int[Tensor, " batch"],
    optimizer: torch.optim.Optimizer,
    describe: Callable[[int], str],
    clip: float = 0.0,
    *,
    step: int = 0,
    together: bool = False,
) -> float:
    """One step of the optimizer; the minibatch's mean loss before it.

    `clip` bounds the gradient's norm; 0 leaves it alone. Of several processes each takes its share
    of the minibatch and the gradients are summed; an objective that is asked `together` gets the
    whole minibatch in each, draws for all of it, and gives the losses of its own share.
    """
    optimizer.zero_grad()
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    here, own = processes(), batch
    if here.several and not together:
        own = batch[here.share(len(batch))]
        with here.own_random(step, parameters[0].device):
            losses = objective(own) if len(own) else parameters[0].new_zeros(0)
    else:
        losses = objective(batch)
    loss = losses.mean() if not here.several else _share_of_mean(losses, len(own), len(batch))
    if loss.requires_grad or not here.several:
        loss.backward()
    own_value = float(loss.detach()) if here.several else 0.0
    total = here.sum_gradients(parameters, own_value)
    norm = torch.nn.utils.get_total_norm([p.grad for p in parameters if p.grad is not None])
    value, size = torch.stack([loss.detach().double(), norm.double()]).tolist()
    value = total if here.several else value
    if not math.isfinite(value):
        raise _refused(losses.detach().reshape(-1), own, describe)
    if not math.isfinite(size):
        raise ModelError(
            "the gradient is not finite; the weights are as they were before this step",
            hint="a smaller lr; look for a probability of exactly 0 or 1 in a network's outputs",
        )
    if clip and size > clip:
        torch.nn.utils.clip_grads_with_norm_(parameters, clip, norm)
    optimizer.step()
    return float(value)


def _share_of_mean(losses: Tensor, own: int, whole: int) -> Tensor:
    """What a process adds to the mean loss of a minibatch."""
    return losses.sum() / whole if losses.dim() else losses * (own / whole)


def _refused(
    losses: Float[Tensor, " losses"], batch: Int[Tensor, " batch"], describe: Callable[[int], str]
) -> ModelError:
    if processes().several and bool(losses.isfinite().all()):
        return ModelError("the loss of another process is not finite; no weights have changed")
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


# Steps taken one by one before the graph is captured, so that every lazy initialisation is done.
WARM_UP = 3


class CapturedStep:
    """One guarded step of an optimizer on minibatches of one size.

    The optimizer must be fused and capturable, with a tensor for its learning rate.
    """

    def __init__(
        self, objective: Objective, optimizer: torch.optim.Optimizer, size: int, clip: float = 0.0
    ) -> None:
        self.objective = objective
        self.optimizer = optimizer
        self.clip = clip
        self.parameters = [p for group in optimizer.param_groups for p in group["params"]]
        device = self.parameters[0].device
        self.batch = torch.zeros(size, dtype=torch.int64, device=device)
        self.total = torch.zeros((), dtype=torch.float64, device=device)
        self.refused = torch.zeros((), dtype=torch.int64, device=device)
        self.stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self.graph: torch.cuda.CUDAGraph | None = None
        self.steps = 0

    def __call__(self, batch: Int[Tensor, " batch"]) -> None:
        """Take one step; its loss is added to what `check` returns."""
        self.batch.copy_(batch, non_blocking=True)
        self.steps += 1
        if self.graph is not None:
            self.graph.replay()
        elif self.steps <= WARM_UP:
            self.stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(self.stream):
                self._step()
            torch.cuda.current_stream().wait_stream(self.stream)
        else:
            self.optimizer.zero_grad(set_to_none=True)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                self._step()
            self.graph = graph
            graph.replay()

    def check(self) -> float:
        """The sum of the losses since the last check; waits for the device."""
        total, refused = self.total.item(), int(self.refused.item())
        self.total.zero_()
        if refused:
            raise ModelError(
                f"{refused} steps had a loss or a gradient that is not finite; they left the "
                "weights alone",
                hint="a smaller lr; look for goals that no derivation proves",
            )
        return total

    def _step(self) -> None:
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.objective(self.batch).mean()
        loss.backward()  # type: ignore[no-untyped-call]
        grads = [p.grad for p in self.parameters if p.grad is not None]
        norm = torch.nn.utils.get_total_norm(grads)
        good = loss.isfinite() & norm.isfinite()
        scale = (norm / self.clip).clamp(min=1.0) if self.clip else None
        _step_if(self.optimizer, good, scale)
        self.total += torch.where(good, loss.detach().double(), 0.0)
        self.refused += ~good


def _step_if(
    optimizer: torch.optim.Optimizer, good: Bool[Tensor, ""], scale: Float[Tensor, ""] | None
) -> None:
    """Take a step by the gradient over `scale`; where it is not good, nothing changes.

    These two attributes are how torch's own gradient scaler tells a fused optimizer.
    """
    optimizer.grad_scale = scale  # type: ignore[attr-defined]
    optimizer.found_inf = (~good).float()  # type: ignore[attr-defined]
    optimizer.step()
    optimizer.grad_scale = optimizer.found_inf = None  # type: ignore[attr-defined]
