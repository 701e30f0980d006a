"""A running average of a module's weights, in place of its last ones when it is used.

    λ̄ ← d λ̄ + (1 − d) λ      after each step, with d rising from 0.1 to the decay

The average of the path is closer to the bottom than where the path is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class Average:
    """The exponential moving average of a module's parameters; a decay of 0 follows them.

    >>> layer = nn.Linear(1, 1)
    >>> average = Average(layer, decay=0.0)
    >>> _ = nn.init.constant_(layer.weight, 3.0)
    >>> average.update()
    >>> with average.applied():
    ...     layer.weight.item()
    3.0
    """

    def __init__(self, module: nn.Module, decay: float) -> None:
        self.parameters = [p for p in module.parameters() if p.numel()]
        self.values = [p.detach().clone() for p in self.parameters]
        self.decay = decay
        self.steps = 0

    @torch.no_grad()
    def update(self) -> None:
        """Take in the parameters as they are."""
        self.steps += 1
        decay = min(self.decay, (1 + self.steps) / (10 + self.steps))
        torch._foreach_lerp_(self.values, [p.detach() for p in self.parameters], 1 - decay)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Within, the module has the average for its weights."""
        self._swap()
        try:
            yield
        finally:
            self._swap()

    def _swap(self) -> None:
        # By value: a captured step knows the weights by their place in memory.
        for value, parameter in zip(self.values, self.parameters, strict=True):
            kept = parameter.detach().clone()
            parameter.data.copy_(value)
            value.copy_(kept)

    def state(self) -> dict[str, int | list[Tensor]]:
        """What a checkpoint keeps."""
        return {"steps": self.steps, "values": [v.clone() for v in self.values]}

    def restore(self, steps: int, values: list[Tensor]) -> None:
        """Continue from a checkpoint's state."""
        if type(steps) is not int or steps < 0:
            raise TypeError("an average has taken in a number of steps")
        self.steps = steps
        for value, kept in zip(self.values, values, strict=True):
            if kept.shape != value.shape:
                raise ValueError("an average of other weights")
            value.copy_(kept)
