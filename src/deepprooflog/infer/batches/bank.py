"""The tensor bank of a batch: one stacked tensor where shapes allow it, else a list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from deepprooflog.errors import ModelError
from deepprooflog.score.weigh import WeighRequest

StackedBank = Tensor | list[Tensor]


def tensor_of(value: object) -> Tensor:
    """A tensor, or an array of numpy as one: also one that is turned round or of another machine.

    >>> tensor_of(np.array([1, 2, 3], dtype=">i4")[::-1]).tolist()
    [3, 2, 1]
    """
    try:
        if isinstance(value, np.ndarray):
            return torch.as_tensor(np.array(value, dtype=value.dtype.newbyteorder("=")))
        tensor = torch.as_tensor(value)
        if tensor.is_meta or tensor.layout != torch.strided or tensor.is_quantized:
            raise ValueError("it is not an array of numbers in memory")
        return tensor
    except (TypeError, ValueError, RuntimeError, OverflowError, AttributeError) as reason:
        raise ModelError(
            f"a {type(value).__name__} in a goal is no tensor: {reason}",
            hint="pass tensors, or arrays of numbers; to_dense() or dequantize() makes plain ones",
        ) from None


def bank_of(tensors: Sequence[object] | Tensor | np.ndarray) -> StackedBank:
    """The tensors as a bank: a tensor or an array with a row for each is one already."""
    if isinstance(tensors, Tensor):
        return tensor_of(tensors)
    if isinstance(tensors, np.ndarray):
        shared = tensors.flags.writeable and min(tensors.strides, default=0) >= 0
        native = tensors.dtype.isnative and tensors.dtype.kind in "biuf"
        return torch.from_numpy(tensors) if shared and native else tensor_of(tensors)
    bank = [tensor_of(t) for t in tensors]
    shapes = {(tuple(t.shape), t.dtype, t.device) for t in bank}
    return torch.stack(bank) if len(shapes) == 1 else bank


def replaced(bank: StackedBank, tensors: Sequence[Tensor] | Tensor) -> StackedBank:
    """Other tensors in place of a bank's: as many as it has."""
    fits = tensors.ndim > 0 if isinstance(tensors, Tensor) else isinstance(tensors, Sequence)
    if not fits:
        raise ModelError(
            f"a {type(tensors).__name__} is no bank of tensors",
            hint="a list of tensors, or one tensor with a row for each",
        )
    if len(tensors) != len(bank):
        raise ModelError(f"the batch has {len(bank)} tensors, not {len(tensors)}")
    return tensors if isinstance(tensors, Tensor) else [tensor_of(t) for t in tensors]


def moved(bank: StackedBank, device: torch.device) -> StackedBank:
    """The bank on a device."""
    return bank.to(device) if isinstance(bank, Tensor) else [t.to(device) for t in bank]


def narrowed(
    asked: Sequence[WeighRequest], bank: StackedBank, device: torch.device
) -> tuple[list[WeighRequest], list[Tensor]]:
    """What is asked over those tensors of the bank alone that it names."""
    if not asked:
        return [], []
    used, own = np.unique(np.concatenate([a.slots.reshape(-1) for a in asked]), return_inverse=True)
    ends = np.cumsum([a.slots.size for a in asked])
    parts = np.split(own.reshape(-1), ends[:-1])
    narrow = [
        replace(a, slots=part.reshape(a.slots.shape)) for a, part in zip(asked, parts, strict=True)
    ]
    return narrow, [bank[int(n)].to(device) for n in used]
