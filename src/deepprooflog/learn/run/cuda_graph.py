"""Training steps replayed as one CUDA graph.

A step of a small network is hundreds of small kernels, and starting them takes longer than running
them. A captured step starts them all at once. Nothing can be looked at while a graph runs, so a
step whose loss or gradient is not finite leaves the weights alone on the device and is counted;
`check` reads the count and raises.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from deepprooflog.errors import ModelError
from deepprooflog.learn.run.minibatch import Objective

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
