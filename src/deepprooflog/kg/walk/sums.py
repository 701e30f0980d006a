"""Which code adds up the dense hops of a device: that of torch, or a GPU's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

import torch
from torch import Tensor

from deepprooflog.device import GPU
from deepprooflog.kg.walk import hop


@dataclass(frozen=True)
class HopSums:
    """The four sums of a dense hop."""

    gated: Callable[..., Tensor]
    turned: Callable[..., Tensor]
    hop: Callable[..., Tensor]
    last_hop: Callable[..., Tensor]


PLAIN = HopSums(hop.gated, hop.turned, hop.hop, hop.last_hop)


def fused_sums() -> HopSums:
    """Those of a GPU, for which Triton is needed."""
    from deepprooflog.kg.walk import fused

    return HopSums(fused.gated, fused.turned, fused.hop, fused.last_hop)


def sums_for(device: torch.device, states: int) -> HopSums:
    """The sums of a device for heads of so many states: a GPU's own are for powers of two.

    >>> sums_for(torch.device("cpu"), 8) is PLAIN
    True
    """
    if device.type != GPU or states & (states - 1) or find_spec("triton") is None:
        return PLAIN
    return fused_sums()
