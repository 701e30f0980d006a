"""The devices that can be asked for by name, what each can do, and its random numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from deepprooflog.errors import ModelError

if TYPE_CHECKING:
    import torch

GPU = "cuda"
DEVICES = ("auto", "cpu", GPU)


def find_device(name: str) -> torch.device:
    """The device of that name; `auto` is the GPU where there is one.

    >>> find_device("cpu")
    device(type='cpu')
    """
    import torch

    there = torch.get_device_module(GPU).is_available()
    if name == GPU and not there:
        raise ModelError(f"device={GPU}: torch sees no GPU", hint="device=auto")
    if name == "auto":
        name = GPU if there else "cpu"
    return torch.device(name)


def replays(device: torch.device) -> bool:
    """True where steps can be captured once and replayed as one CUDA graph."""
    return device.type == GPU


def capturing() -> bool:
    """True while a CUDA graph is being captured: values are not there to be looked at."""
    import torch

    return torch.cuda.is_available() and torch.cuda.is_current_stream_capturing()


def sent(tensor: torch.Tensor, device: torch.device | str) -> torch.Tensor:
    """A tensor of the host on a device; what goes to a GPU is not waited for.

    >>> import torch
    >>> sent(torch.arange(3), "cpu")
    tensor([0, 1, 2])
    """
    import torch

    if torch.device(device).type == GPU:
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)


def free_memory(device: torch.device) -> int | None:
    """Bytes that a device of its own memory has left; None for the CPU."""
    import torch

    return torch.cuda.mem_get_info(device)[0] if device.type == GPU else None


def random_state(device: torch.device) -> dict[str, torch.Tensor]:
    """The state of the random numbers that training draws from."""
    import torch

    state = {"cpu": torch.get_rng_state()}
    if device.type != "cpu":
        state[device.type] = torch.get_device_module(device).get_rng_state(device)
    return state


def restore_random(state: Mapping[str, torch.Tensor], device: torch.device) -> None:
    """Continue with a checkpoint's random numbers."""
    import torch

    torch.set_rng_state(state["cpu"].cpu())
    if device.type != "cpu" and device.type in state:
        torch.get_device_module(device).set_rng_state(state[device.type].cpu(), device)


@contextmanager
def seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Within, torch's random numbers begin at a seed; afterwards they go on as before.

    >>> import torch
    >>> with seeded(7, torch.device("cpu")):
    ...     first = torch.rand(1)
    >>> with seeded(7, torch.device("cpu")):
    ...     print(torch.equal(first, torch.rand(1)))
    True
    """
    import torch

    before = random_state(device)
    torch.manual_seed(seed)
    try:
        yield
    finally:
        restore_random(before, device)


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
