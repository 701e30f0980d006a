"""States of trained models, in files that hold numbers and text and run nothing when they are read.

A state is tensors and plain values by name, some of them in groups:

    {"model": "complex", "slope": tensor, "weights": {"entity": tensor, "factor": tensor}}

In the file, of the safetensors layout, the tensors are called `slope`, `weights.entity` and
`weights.factor`; the plain values are JSON texts in its metadata, a group's as one object.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from deepprooflog.data.tensor_file import TensorFile, packed_tensors, unpacked_tensors
from deepprooflog.data.whole import read_file, write_whole
from deepprooflog.errors import DataError
from deepprooflog.learn.run import checkpoint
from deepprooflog.learn.run.checkpoint import EntryTypes

FORMAT = "1"
WRITER, KIND, VERSION = "written_by", "kind", "format"
ENDING, MODEL = ".safetensors", "model"
_AGAIN = "copy the folder again, or train into another"


def save_state(path: Path, kind: str, state: Mapping[str, Any]) -> str:
    """Write a state whole, or leave the old one and say why; the checksum of the file's bytes."""
    tensors: dict[str, Tensor] = {}
    plain: dict[str, Any] = {}
    for key, value in state.items():
        if isinstance(value, Tensor):
            tensors[key] = value
        elif isinstance(value, Mapping):
            tensors |= {f"{key}.{k}": v for k, v in value.items() if isinstance(v, Tensor)}
            rest = {k: v for k, v in value.items() if not isinstance(v, Tensor)}
            if rest or not value:
                plain[key] = rest
        else:
            plain[key] = value
    texts = {key: json.dumps(value) for key, value in plain.items()}
    about = {WRITER: "deepprooflog", KIND: kind, VERSION: FORMAT}
    raw = packed_tensors(tensors, {**about, **texts})
    write_whole(path, raw)
    return hashlib.sha256(raw).hexdigest()


def load_state(
    path: Path,
    kind: str,
    shape: EntryTypes,
    device: torch.device | str = "cpu",
    *,
    digest: str | None = None,
) -> dict[str, Any]:
    """Read a state, with its tensors on a device, and see that it is whole and of its kind.

    A file of an older run, which ends in `.pt`, is read as the checkpoint that it is. With the
    `digest` that `save_state` gave, a file that is another one is refused.
    """
    if path.suffix != ENDING:
        return checkpoint.load(path, shape, device)
    if not path.exists():
        raise DataError(f"there is no {kind}", file=str(path), hint=_AGAIN)
    raw = read_file(path)
    try:
        if digest is not None and digest != hashlib.sha256(raw).hexdigest():
            raise ValueError("it is not the one that was written with the files beside it")
        file = unpacked_tensors(raw)
        if file.metadata.get(KIND) != kind or file.metadata.get(VERSION) != FORMAT:
            raise ValueError(f"it holds no {kind} of format {FORMAT}")
        state = _state(file, device)
        checkpoint.check(state, shape)
    except (ValueError, RecursionError) as error:
        verb = "are" if kind.endswith("s") else "is"
        told = f"the {kind} {verb} damaged: {checkpoint.first_line(error)}"
        raise DataError(told, file=str(path), hint=_AGAIN) from None
    if not file.sealed:
        warnings.warn(f"{path} has no checksum: whether it is damaged is not seen", stacklevel=2)
    return state


def _state(file: TensorFile, device: torch.device | str) -> dict[str, Any]:
    state: dict[str, Any] = {
        key: json.loads(text)
        for key, text in file.metadata.items()
        if key not in (WRITER, KIND, VERSION)
    }
    for name, tensor in file.tensors.items():
        group, dot, rest = name.partition(".")
        if not dot:
            state[name] = tensor.to(device)
        elif isinstance(own := state.setdefault(group, {}), dict):
            own[rest] = tensor.to(device)
        else:
            raise ValueError(f"{group!r:.80} is a value and a group of tensors")
    return state


def save_weights(folder: Path, kind: str, module: nn.Module) -> None:
    """Write the weights of a run that answer: `model.safetensors`."""
    save_state(folder / (MODEL + ENDING), kind, {"weights": module.state_dict()})


def restore_weights(
    folder: Path, kind: str, module: nn.Module, device: torch.device | str, fits: str = "graph"
) -> None:
    """Load a run's weights into a module: those that answer, or the best of its checkpoint.

    A run that was interrupted has the latter alone, and one of an older version.
    """
    path = folder / (MODEL + ENDING)
    if path.exists():
        weights = load_state(path, kind, {"weights": dict}, device)["weights"]
    else:
        path = folder / "checkpoint.pt"
        weights = checkpoint.load(path, {"best": dict}, device)["best"]["weights"]
    with checkpoint.fitting(path, fits):
        checkpoint.restore_module(module, weights)


def written(folder: Path, name: str) -> Path:
    """The file of a state in a run's folder: as it is written now, or else as it once was."""
    path = folder / (name + ENDING)
    old = folder / f"{name}.pt"
    return old if not path.exists() and old.exists() else path
