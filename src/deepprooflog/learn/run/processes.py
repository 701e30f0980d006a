"""Several processes as one run: who this one is, what it takes, what all of them add up.

    torchrun --nproc-per-node 2 -m deepprooflog train RECIPE --out RUN

Every rank holds the whole data and the same weights, and draws the same random numbers; of each
minibatch and of each ranking it takes a part. What the parts come to is summed over ranks, so that
all go on with the same numbers and take the same decisions. The first rank alone has the run's
folder. With one process, everything here does nothing.

Only within `joined` are there ranks: a process group that someone else has made is not used.
"""

from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor, distributed, nn

from deepprooflog.device import GPU, random_state, restore_random
from deepprooflog.errors import DataError, ModelError, ProofLogError, error_text

Common = TypeVar("Common")

# The longest that a rank waits for another one that works; one that has ended is noticed at once.
PATIENCE = timedelta(minutes=30)
# How long a rank that fails looks whether the first one says the same.
TOLD_WITHIN = timedelta(seconds=5)
# What torchrun tells the processes that it starts.
TOLD = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


class ProcessLost(ModelError):
    """Another process of the run has ended, or is not heard of any more."""


@dataclass(frozen=True)
class Processes:
    """This process among those of a run.

    >>> Processes(0, 2).share(5), Processes(1, 2).share(5)
    (slice(0, 2, None), slice(2, 5, None))
    >>> [n for n in range(5) if Processes(1, 2).takes(n)]
    [1, 3]
    """

    rank: int = 0
    size: int = 1

    @property
    def first(self) -> bool:
        """The one that prints, and writes."""
        return self.rank == 0

    @property
    def several(self) -> bool:
        return self.size > 1

    def share(self, count: int) -> slice:
        """The rows of so many that are this rank's."""
        return slice(self.rank * count // self.size, (self.rank + 1) * count // self.size)

    def takes(self, number: int) -> bool:
        """Whether a piece of work, by its number, is this rank's: they are dealt in turn."""
        return number % self.size == self.rank

    # -- what all ranks come to ------------------------------------------------------------------

    def sum(self, values: np.ndarray) -> np.ndarray:
        """The sum over ranks of an array of numbers."""
        if not self.several:
            return values
        total = torch.from_numpy(np.array(values))
        with _heard():
            distributed.all_reduce(total)
        result: np.ndarray = total.numpy()
        return result

    def highest(self, value: int) -> int:
        """The highest of the ranks' numbers."""
        if not self.several:
            return value
        most = torch.tensor(value)
        with _heard():
            distributed.all_reduce(most, distributed.ReduceOp.MAX)
        return int(most)

    def from_first(self, value: Callable[[], Common]) -> Common:
        """What the first rank finds, on every rank; an error of its own is one of all."""
        if not self.several:
            return value()
        box: list[Common | ProofLogError | None] = [None]
        if self.first:
            try:
                box = [value()]
            except ProofLogError as error:
                box = [error]
        with _heard():
            distributed.broadcast_object_list(box)
        found = box[0]
        if isinstance(found, ProofLogError):
            raise found
        return found  # type: ignore[return-value]

    def gathered(self, values: Sequence[Common]) -> list[Common]:
        """The ranks' values one after another, on every rank."""
        if not self.several:
            return list(values)
        parts: list[list[Common]] = [[] for _ in range(self.size)]
        with _heard():
            distributed.all_gather_object(parts, list(values))
        return [value for part in parts for value in part]

    def agree(self, what: str, value: object, hint: str) -> None:
        """Refuse ranks that have not all the same value, on each of them."""
        if not self.several:
            return
        raw = value if isinstance(value, bytes) else repr(value).encode()
        found = self.gathered([hashlib.sha256(raw).hexdigest()])
        other = next((rank for rank, digest in enumerate(found) if digest != found[0]), None)
        if other is not None:
            raise DataError(f"process {other} has another {what} than process 0", hint=hint)

    def agree_on_weights(self, module: nn.Module, hint: str) -> None:
        """Refuse ranks that have not all the same weights."""
        if self.several:
            found = hashlib.sha256()
            for name, tensor in module.state_dict().items():
                found.update(name.encode() + tensor.detach().cpu().contiguous().numpy().tobytes())
            self.agree("weights", found.digest(), hint)

    # -- weights ---------------------------------------------------------------------------------

    def align(self, module: nn.Module) -> None:
        """Give every rank the first one's weights."""
        if self.several:
            for tensor in module.state_dict().values():
                self.spread(tensor)

    def spread(self, tensor: Tensor) -> None:
        """Fill a tensor on every rank with what the first one has in it."""
        if self.several:
            with _heard(), torch.no_grad():
                distributed.broadcast(tensor, 0)

    def sum_gradients(self, parameters: Sequence[Tensor], loss: float) -> float:
        """Sum the gradients over ranks, and the loss; the sum of the losses.

        A parameter that no rank has a gradient of is left without one.
        """
        if not self.several:
            return loss
        trained = [p for p in parameters if p.requires_grad]
        had = torch.tensor([p.grad is not None for p in trained], dtype=torch.float64)
        told = torch.cat([had, torch.tensor([loss], dtype=torch.float64)])
        with _heard():
            distributed.all_reduce(told)
            for p, present in zip(trained, told[:-1].tolist(), strict=True):
                if present:
                    if p.grad is None:
                        p.grad = torch.zeros_like(p)
                    distributed.all_reduce(p.grad)
        return float(told[-1])

    def own_seed(self, *numbers: int) -> int:
        """A seed of this rank's own, made of some numbers that all have.

        >>> Processes(0, 2).own_seed(0, 7) == Processes(1, 2).own_seed(0, 7)
        False
        """
        made = np.random.SeedSequence((*numbers, self.rank)).generate_state(1, np.uint64)
        return int(made[0] >> np.uint64(1))

    @contextmanager
    def own_random(self, step: int, device: torch.device) -> Iterator[None]:
        """Within, a rank draws its own random numbers; all go on with the common ones."""
        if not self.several:
            yield
            return
        before = random_state(device)
        common = int(torch.randint(1 << 48, ()))
        torch.manual_seed(common + step * self.size + self.rank)
        try:
            yield
        finally:
            restore_random(before, device)


_here = Processes()


def processes() -> Processes:
    """This process among those of the run; the only one where there are no others."""
    return _here


def refuse_several(what: str, hint: str) -> None:
    """Refuse several processes for what would be the same work in each of them."""
    if _here.several:
        raise DataError(f"{what} runs in one process, not in {_here.size}", hint=hint)


@contextmanager
def joined() -> Iterator[Processes]:
    """Within, this process is one of those that torchrun started; alone where it started none."""
    global _here
    alone = not all(os.environ.get(name) for name in TOLD) or os.environ["WORLD_SIZE"] == "1"
    if alone:
        yield _here
        return
    if _here.several:
        with _told_once(_here):
            yield _here
        return
    _choose_gpu()
    with _heard():
        distributed.init_process_group(timeout=PATIENCE)
    _here = Processes(distributed.get_rank(), distributed.get_world_size())
    try:
        with _told_once(_here):
            yield _here
    finally:
        _here = Processes()
        with suppress(RuntimeError):
            distributed.destroy_process_group()


def _choose_gpu() -> None:
    """Each process of a machine has a GPU of its own, where there are any."""
    gpus = torch.get_device_module(GPU)
    there, own = gpus.device_count(), int(os.environ.get("LOCAL_RANK", "0"))
    if not gpus.is_available():
        return
    if own >= there:
        raise ModelError(
            f"process {own} of this machine has no GPU: there are {there}",
            hint=f"--nproc-per-node {there}, or CUDA_VISIBLE_DEVICES= to work on CPUs",
        )
    gpus.set_device(own)


@contextmanager
def _told_once(here: Processes) -> Iterator[None]:
    """Within, an error that all processes meet is marked in all but the first."""
    try:
        yield
    except ProofLogError as error:
        error.told_by_first = _told_by_first(here, error)
        raise


def _told_by_first(here: Processes, error: ProofLogError) -> bool:
    """Whether the first rank fails with the same words, so that one need not repeat them."""
    text = hashlib.sha256(pickle.dumps(error_text(error))).hexdigest()
    with suppress(Exception):  # a store that has gone has heard nothing
        store = distributed.distributed_c10d._get_default_store()
        if here.first:
            store.set("failed", text)
        else:
            store.wait(["failed"], TOLD_WITHIN)
            return bool(store.get("failed").decode() == text)
    return False


@contextmanager
def _heard() -> Iterator[None]:
    """Within, ranks that are not heard of any more are one error that says so."""
    try:
        yield
    except RuntimeError as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0][:160]
        raise ProcessLost(
            f"another process of this run has ended or is not heard of: {reason}",
            hint="what that process printed says why",
        ) from None
