"""Which code adds up the dense hops of a device: that of torch, or a GPU's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec

import torch
from torch import Tensor

from deepprooflog.device import GPU
from deepprooflog.kg.walk.hops import hop
from deepprooflog.kg.walk.hops.gates import GateSums, TorchGates
from deepprooflog.kg.walk.hops.last_hop import PairSums, TorchPairs, last_hop

KERNELS = (GPU,)
"""Devices that add up by kernels of their own."""


@dataclass(frozen=True)
class HopSums:
    """What a dense hop is made of; of the last one, sums over pairs."""

    gates: GateSums
    turned: Callable[..., Tensor]
    hop: Callable[..., Tensor]
    pairs: PairSums

    @property
    def last_hop(self) -> Callable[..., Tensor]:
        """The last hop by these sums."""
        return partial(last_hop, sums=self.pairs)


PLAIN = HopSums(TorchGates(), hop.turned, hop.hop, TorchPairs())


def fused_sums() -> HopSums:
    """Those of a GPU, for which Triton is needed."""
    from deepprooflog.kg.walk.hops import fused

    return HopSums(fused.TritonGates(), fused.turned, fused.hop, fused.TritonPairs())


def sums_for(device: torch.device, states: int) -> HopSums:
    """The sums of a device for heads of so many states: a GPU's own are for powers of two.

    >>> sums_for(torch.device("cpu"), 8) is PLAIN
    True
    """
    if device.type not in KERNELS or states & (states - 1) or find_spec("triton") is None:
        return PLAIN
    return fused_sums()
