"""The devices that can be asked for by name, and the threads of the CPU."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Within, torch uses so many threads of the CPU; 0 leaves them as they are."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)
