"""Checkpoints: the whole state of a training run in one sealed file that is never half written.

A checkpoint with one bit changed is refused. Each entry is checked before any is used: `EntryTypes`
say of which type it is, and what is loaded into a module or an optimizer must fit it tensor by
tensor.
"""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from deepprooflog.data.whole import sealed, unsealed, write_whole
from deepprooflog.errors import DataError, ProofLogError

FORMAT = 1
KIND = "checkpoint"
BARE = b"PK"  # how torch's own file begins, which has no checksum

EntryTypes: TypeAlias = Mapping[str, type | tuple[type, ...]]
"""The entries of a checkpoint, and their types."""

_ANEW = "train into another folder"


def save(path: Path, state: Mapping[str, Any]) -> None:
    """Write a checkpoint whole, or leave the old one and say why."""
    # In memory first: what torch does when a write fails half-way is not ours to catch.
    raw = io.BytesIO()
    torch.save({"format": FORMAT, **state}, raw)
    write_whole(path, sealed(KIND, raw.getvalue()))


def load(path: Path, shape: EntryTypes, device: torch.device | str = "cpu") -> dict[str, Any]:
    """Read a checkpoint, with its tensors on a device, and see that it is whole."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise DataError("there is no checkpoint", file=str(path), hint=_ANEW) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError(f"cannot be read: {reason}", file=str(path)) from None
    body = unsealed(KIND, raw)
    if body is None and raw[:2] == BARE:
        warnings.warn(f"{path} has no checksum: whether it is damaged is not seen", stacklevel=2)
        body = raw
    if body is None:
        raise DataError(
            "the checkpoint is damaged: its checksum is not that of its contents", file=str(path),
            hint=_ANEW,
        )  # fmt: skip
    try:
        state = torch.load(io.BytesIO(body), map_location=device, weights_only=True)
    except Exception as error:
        raise DataError(
            f"the checkpoint is damaged ({first_line(error)})", file=str(path), hint=_ANEW
        ) from None
    if not isinstance(state, dict) or not _same(state.get("format"), FORMAT):
        raise DataError(f"not a checkpoint of format {FORMAT}", file=str(path), hint=_ANEW)
    try:
        check(state, shape)
    except ValueError as error:
        raise DataError(f"the checkpoint has {error}", file=str(path), hint=_ANEW) from None
    return state


def check(state: Mapping[str, Any], shape: EntryTypes) -> None:
    """Refuse a state that lacks an entry, or has one of another type.

    >>> check({"step": "one"}, {"step": int})
    Traceback (most recent call last):
    ...
    ValueError: a 'step' that is not what it must be
    """
    for key, kind in shape.items():
        if key not in state:
            raise ValueError(f"no {key!r}")
        value = state[key]
        if not isinstance(value, kind) or isinstance(value, bool) or not _sound(key, value):
            raise ValueError(f"a {key!r} that is not what it must be")


def _sound(key: str, value: Any) -> bool:
    """What some entries must be beyond their type."""
    if key == "best":
        weights = value.get("weights")
        named = isinstance(weights, dict) and all(
            isinstance(k, str) and isinstance(v, Tensor) for k, v in weights.items()
        )
        return named and all(_number(v) for k, v in value.items() if k != "weights")
    if key == "history":
        return all(isinstance(row, dict) and all(map(_number, row.values())) for row in value)
    # A sum of losses may be negative.
    return not _number(value) or key == "total" or value >= 0


def _same(kept: Any, value: object) -> bool:
    # A tensor would compare element by element.
    return isinstance(kept, str | int | float | None) and bool(kept == value)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def resumed(
    path: Path | None, shape: EntryTypes, options: dict[str, Any], device: torch.device
) -> dict[str, Any] | None:
    """The state to go on from, None where there is none yet; one of other options is refused."""
    if path is None or not path.exists():
        return None
    state = load(path, {**shape, "options": dict}, device)
    changed = [k for k, v in options.items() if not _same(state["options"].get(k), v)]
    if changed:
        raise DataError(
            f"the checkpoint was trained with another {', '.join(changed)}", file=str(path),
            hint=_ANEW,
        )  # fmt: skip
    return state


@contextmanager
def fitting(path: Path | None, what: str = "graph") -> Iterator[None]:
    """Within, a state that does not fit what it is loaded into is an error of its file."""
    try:
        yield
    except (ProofLogError, MemoryError):
        raise
    except Exception as error:
        raise DataError(
            f"the checkpoint does not fit this {what}: {first_line(error)}", file=str(path),
            hint=_ANEW,
        ) from None  # fmt: skip


def first_line(error: Exception) -> str:
    """The beginning of a reason."""
    return (str(error).splitlines() or [type(error).__name__])[0][:120]


def restore_module(module: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Load weights into a module; each must have the type of number that it replaces."""
    if not isinstance(weights, Mapping):
        raise TypeError("weights are tensors by name")
    for key, own in module.state_dict().items():
        kept = weights.get(key)
        if isinstance(kept, Tensor) and kept.dtype != own.dtype:
            raise TypeError(f"{key} is of type {kept.dtype}, not {own.dtype}")
    module.load_state_dict(dict(weights))


def restore_best(best: dict[str, Any], own: Mapping[str, Any], module: nn.Module) -> dict[str, Any]:
    """The best weights so far, none yet or those of a module, with what is kept beside them."""
    if best.keys() != own.keys():
        raise ValueError("the best weights come with other entries")
    weights, wanted = best["weights"], module.state_dict()
    if weights and weights.keys() != wanted.keys():
        raise ValueError("the best weights have other names")
    for key, value in weights.items():
        if value.shape != wanted[key].shape or value.dtype != wanted[key].dtype:
            raise ValueError(f"the best {key} has another shape or type")
    return best


def restore_optimizer(optimizer: torch.optim.Optimizer, state: dict[str, Any]) -> None:
    """Load the state of an optimizer; what it keeps of a parameter has the parameter's shape."""
    before = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict(state)
    for old, group in zip(before, optimizer.param_groups, strict=True):
        if old.keys() - {"params"} != group.keys() - {"params"}:
            raise ValueError("the optimizer has other settings")
        for key, value in old.items():
            if key not in ("params", "lr") and group[key] != value:
                raise ValueError(f"the optimizer has another {key}")
        if not math.isfinite(float(group["lr"])):
            raise ValueError("the optimizer has no learning rate")
        for parameter in group["params"]:
            _check_moments(optimizer.state.get(parameter, {}), parameter)


def _check_moments(kept: Mapping[str, Any], parameter: Tensor) -> None:
    """What Adam keeps of a parameter: a count of steps, and two means of the parameter's shape."""
    if kept and kept.keys() != {"step", "exp_avg", "exp_avg_sq"}:
        raise ValueError("the optimizer keeps other means")
    for key, value in kept.items():
        whole = () if key == "step" else parameter.shape
        if not isinstance(value, Tensor) or value.shape != whole or not value.is_floating_point():
            raise ValueError(f"the optimizer's {key} has another shape or type")
    if kept and not 0 <= float(kept["step"]) < math.inf:
        raise ValueError("the optimizer has taken no number of steps")


def restore_order(order: Any, n: int) -> Tensor:
    """The rest of a random order of the positions 0 … n−1."""
    if not isinstance(order, Tensor) or order.dtype != torch.int64 or order.dim() != 1:
        raise TypeError("an order is a row of positions")
    if len(order) and not bool(((order >= 0) & (order < n)).all()):
        raise ValueError("a position beyond the examples")
    return order
