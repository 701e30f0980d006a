"""The tensor bank of a batch: one stacked tensor where shapes allow it, else a list."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from deepprooflog.errors import ModelError

Bank = Tensor | list[Tensor]


def stacked(tensors: Sequence[object]) -> Bank:
    """The tensors as a bank."""
    bank = [torch.as_tensor(t) for t in tensors]
    shapes = {(tuple(t.shape), t.dtype, t.device) for t in bank}
    return torch.stack(bank) if len(shapes) == 1 else bank


def replaced(bank: Bank, tensors: Sequence[Tensor] | Tensor) -> Bank:
    """Other tensors in place of a bank's: as many as it has."""
    if len(tensors) != len(bank):
        raise ModelError(f"the batch has {len(bank)} tensors, not {len(tensors)}")
    return tensors if isinstance(tensors, Tensor) else list(tensors)


def moved(bank: Bank, device: torch.device) -> Bank:
    """The bank on a device."""
    return bank.to(device) if isinstance(bank, Tensor) else [t.to(device) for t in bank]
