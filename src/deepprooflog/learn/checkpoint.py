"""Checkpoints: the whole state of a training run in one file that is never half written."""

from __future__ import annotations

import os
import pickle
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from deepprooflog.errors import DataError

FORMAT = 1


def save(path: Path, state: dict[str, Any]) -> None:
    """Write a checkpoint beside its place, then move it there."""
    part = path.with_name(path.name + ".part")
    try:
        with part.open("wb") as file:
            torch.save({"format": FORMAT, **state}, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except OSError as error:
        raise DataError(f"cannot write: {error.strerror or error}", file=str(path)) from None


def load(path: Path, keys: Iterable[str], device: torch.device | str = "cpu") -> dict[str, Any]:
    """Read a checkpoint, with its tensors on a device, and see that it is whole."""
    try:
        state = torch.load(path, map_location=device, weights_only=True)
    except FileNotFoundError:
        raise DataError("there is no checkpoint", file=str(path), hint=_ANEW) from None
    except (OSError, EOFError, RuntimeError, ValueError, pickle.UnpicklingError,
            zipfile.BadZipFile) as error:  # fmt: skip
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise DataError(
            f"the checkpoint is damaged ({reason[:120]})", file=str(path), hint=_ANEW
        ) from None
    if not isinstance(state, dict) or state.get("format") != FORMAT:
        raise DataError(f"not a checkpoint of format {FORMAT}", file=str(path), hint=_ANEW)
    missing = [key for key in keys if key not in state]
    if missing:
        raise DataError(f"the checkpoint has no {missing[0]!r}", file=str(path), hint=_ANEW)
    return state


_ANEW = "train into another folder"


def resumed(
    path: Path | None, keys: Iterable[str], options: dict[str, Any], device: torch.device
) -> dict[str, Any] | None:
    """The state to go on from, None where there is none yet; one of other options is refused."""
    if path is None or not path.exists():
        return None
    state = load(path, keys, device)
    changed = [k for k, v in options.items() if state["options"].get(k) != v]
    if changed:
        raise DataError(
            f"the checkpoint was trained with another {', '.join(changed)}", file=str(path),
            hint=_ANEW,
        )  # fmt: skip
    return state


@contextmanager
def fitting(path: Path | None) -> Iterator[None]:
    """Within, a state that does not fit what it is loaded into is an error of its file."""
    try:
        yield
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise DataError(
            f"the checkpoint does not fit this graph: {str(error).splitlines()[0]}",
            file=str(path), hint=_ANEW,
        ) from None  # fmt: skip


def random_state(device: torch.device) -> dict[str, torch.Tensor]:
    """The state of the random numbers that training draws from."""
    state = {"cpu": torch.get_rng_state()}
    if device.type == "cuda":
        state["cuda"] = torch.cuda.get_rng_state(device)
    return state


def restore_random(state: dict[str, torch.Tensor], device: torch.device) -> None:
    """Continue with a checkpoint's random numbers."""
    torch.set_rng_state(state["cpu"].cpu())
    if device.type == "cuda" and "cuda" in state:
        torch.cuda.set_rng_state(state["cuda"].cpu(), device)
