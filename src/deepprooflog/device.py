"""The devices that can be asked for by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepprooflog.errors import ModelError

if TYPE_CHECKING:
    import torch

DEVICES = ("auto", "cpu", "cuda")


def find_device(name: str) -> torch.device:
    """The device of that name; `auto` is the GPU where there is one.

    >>> find_device("cpu")
    device(type='cpu')
    """
    import torch

    if name == "cuda" and not torch.cuda.is_available():
        raise ModelError("device=cuda: torch sees no GPU", hint="device=auto")
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(name)
