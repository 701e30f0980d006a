"""Addition of numbers given as pictures of digits: the program, its data, training and testing.

Only sums are learned from. Digit labels make the sums and count right digits afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from deepprooflog.data.digits import Digits, mnist, small_digits
from deepprooflog.data.places import is_folder
from deepprooflog.device import find_device
from deepprooflog.errors import DataError
from deepprooflog.infer.batches.batch import Compiled
from deepprooflog.infer.particles.prepare import ParticleBatch
from deepprooflog.learn.augment import Distort
from deepprooflog.learn.reinforce import Reinforce, reinforce_loss
from deepprooflog.learn.run.minibatch import Objective
from deepprooflog.learn.run.processes import processes
from deepprooflog.learn.smc import paths, smc_log_prob
from deepprooflog.learn.subgoals import subgoal_log_prob
from deepprooflog.logic.goal_batch import GoalBatch
from deepprooflog.logic.program import Program
from deepprooflog.model import Model
from deepprooflog.recipes.addition.options import AdditionOptions
from deepprooflog.recipes.addition.sums import Ints, Sums, accuracy, consecutive, sum_goals


def lenet() -> nn.Sequential:
    """Logits of the ten digits from pictures [batch, 1, 28, 28]."""
    return nn.Sequential(
        nn.Conv2d(1, 6, 5), nn.MaxPool2d(2), nn.ReLU(),
        nn.Conv2d(6, 16, 5), nn.MaxPool2d(2), nn.ReLU(),
        nn.Flatten(),
        nn.Linear(256, 120), nn.ReLU(),
        nn.Linear(120, 84), nn.ReLU(),
        nn.Linear(84, 10),
    )  # fmt: skip


def small_net() -> nn.Sequential:
    """Logits of the ten digits from pictures [batch, 1, 8, 8]."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(128, 64), nn.ReLU(),
        nn.Linear(64, 10),
    )  # fmt: skip


TASK = "mnist-addition"

# Mean and standard deviation of MNIST's training pixels.
MEAN, DEVIATION = 0.1307, 0.3081
PICTURES_AT_ONCE = 5000
# The elastic field of strength 1, as a share of the picture's size.
ELASTIC = 0.03


def program() -> Program:
    """The ten lines that say what addition is."""
    folder = resources.files("deepprooflog.recipes") / "programs"
    return Program((folder / "addition.pl").read_text("utf-8"))


@lru_cache(maxsize=2)
def pictures(data: str) -> tuple[Digits, Digits]:
    """Training and test pictures of `mnist`, `digits` or a folder of IDX files."""
    if data == "mnist":
        return mnist()
    if data == "digits":
        return small_digits()
    folder = Path(data)
    if not is_folder(folder):
        raise DataError(f"data={data}: neither mnist, digits nor a folder")
    return mnist(folder / "mnist" if (folder / "mnist").is_dir() else folder)


def tensor(images: Digits) -> Float[Tensor, "pictures 1 height width"]:
    """Pictures as a network reads them."""
    return torch.from_numpy((images.images - MEAN) / DEVIATION).unsqueeze(1)


def classifier(options: AdditionOptions, shape: tuple[int, ...]) -> nn.Sequential:
    """The network of the program: a distortion that is active in training, then LeNet."""
    # What suits 28 pixels blurs 8 too much.
    k = options.augment.strength if shape == (28, 28) else options.augment.strength / 2
    field = ELASTIC * k if options.augment.kind == "elastic" else 0.0
    layer = Distort(15 * k, 0.15 * k, 0.1 * k, 0.2 * k, field)
    first = nn.Identity() if options.augment.kind == "none" else layer
    return nn.Sequential(first, lenet() if shape == (28, 28) else small_net())


def distort(model: Model, options: AdditionOptions, share: float) -> None:
    """Let the distortion grow with the share of the run that is done.

    Sums of many digits say little about a network that knows nothing yet; pictures that stay as
    they are get it started in a fraction of the steps.
    """
    for layer in model.modules():
        if isinstance(layer, Distort):
            layer.grow(min(1.0, share / options.augment.ramp) if options.augment.ramp else 1.0)


def device_of(options: AdditionOptions) -> torch.device:
    """The device asked for."""
    return find_device(options.device)


@dataclass(frozen=True)
class AdditionTask:
    """A model with the unfolded sums of the training pictures; the last sixth validates."""

    model: Model
    goals: GoalBatch
    batch: Compiled | ParticleBatch
    sums: Sums
    training: int  # sums to learn from, the first ones
    labels: Ints  # digits that the bank's pictures show, for counting only

    @property
    def validation(self) -> Tensor:
        return torch.arange(self.training, len(self.sums))


def training_sums(options: AdditionOptions) -> tuple[Digits, Sums]:
    """The training pictures and the sums they make, file order."""
    train, _ = pictures(options.data)
    sums = consecutive(train.labels, options.n)
    if not len(sums):
        raise DataError(
            f"n={options.n}: one sum takes {2 * options.n} pictures, there are {len(train)}"
        )
    if train.images.shape[1:] not in {(28, 28), (8, 8)}:
        size = " × ".join(map(str, train.images.shape[1:]))
        raise DataError(f"pictures of {size}: the networks are for 28 × 28 and 8 × 8")
    return train, sums[: options.sums] if options.sums else sums


def prepare(options: AdditionOptions, device: torch.device) -> AdditionTask:
    """Read the data, make the sums and build the graphs of all of them, once."""
    train, sums = training_sums(options)
    asked = sum_goals(sums, tensor(train))
    model = Model(program(), networks={"lenet": classifier(options, train.images.shape[1:])})
    batch: Compiled | ParticleBatch
    batch = model.compile(asked) if options.method == "dp" else paths(model, asked)
    return AdditionTask(
        model=model.to(device),
        goals=asked,
        batch=batch.to(device),
        sums=sums,
        training=max(1, len(sums) * 5 // 6),
        labels=train.labels,
    )


def log_prob(options: AdditionOptions, task: AdditionTask, which: Tensor) -> Float[Tensor, " sums"]:
    """log p of some sums: exact for dp, estimated from particles for pg."""
    if isinstance(task.batch, Compiled):
        return task.model.log_prob(task.batch, select=which)
    return smc_log_prob(task.model, task.batch, options.pg.particles, select=which)[0]


def objective(options: AdditionOptions, task: AdditionTask) -> Callable[[float], Objective]:
    """The losses of some sums, −log p, when a share of the run is done.

    With `window` particles run on sub-goals of the sums for the first `subgoals` of the run.
    """

    def whole(which: Tensor) -> Tensor:
        if options.method == "dp" or options.pg.estimator == "smc":
            return -log_prob(options, task, which)
        assert isinstance(task.batch, ParticleBatch)
        # Of a mean return only the gradient counts.
        settings = Reinforce(rollouts=options.pg.particles, objective="log", leave_one_out=True)
        return reinforce_loss(task.model, task.batch, settings, select=which).loss

    def parts(which: Tensor) -> Tensor:
        assert isinstance(task.batch, ParticleBatch)
        return -subgoal_log_prob(
            task.model, task.batch, options.pg.particles, horizon=options.pg.window, select=which
        )

    on_parts = options.method == "pg" and options.pg.estimator == "smc" and options.pg.window > 0
    return lambda share: parts if on_parts and share < options.pg.subgoals else whole


def capturable(options: AdditionOptions, task: AdditionTask) -> bool:
    """True when a training step never waits for the GPU."""
    if isinstance(task.batch, Compiled):
        return True
    flat = task.batch.flat
    return options.pg.estimator == "smc" and flat is not None and flat.longest is not None


def look(options: AdditionOptions, task: AdditionTask) -> dict[str, float]:
    """Validation loss and accuracies of the model as it is."""
    if not len(task.validation):
        return {}
    bank = task.batch.bank
    assert isinstance(bank, Tensor)
    # A sum has its least significant digits first; backwards its two numbers stay together.
    rows = task.sums.pictures[task.training :].reshape(-1)[::-1].copy()
    digits = predict(task.model, bank[torch.from_numpy(rows)])
    found = accuracy(digits, task.labels[rows], options.n, regroupings=0)
    return {
        "validation_loss": -_mean_log_prob(options, task),
        "validation_accuracy": found.sum_accuracy,
        "validation_digit_accuracy": found.digit_accuracy,
    }


def _mean_log_prob(options: AdditionOptions, task: AdditionTask) -> float:
    """The mean log p of the validation sums; each of several processes has its share of them."""
    here, every = processes(), task.validation
    if not here.several:
        return float(log_prob(options, task, every).mean())
    own = every[here.share(len(every))]
    with here.own_random(0, task.model.device):
        total = float(log_prob(options, task, own).sum()) if len(own) else 0.0
    return float(here.sum(np.array(total))) / len(every)


def predict(model: Model, images: Float[Tensor, "pictures 1 height width"]) -> Ints:
    """The most probable digit of each picture; several processes read a share each."""
    network = model.networks["lenet"].module
    assert isinstance(network, nn.Module)
    device, here = model.device, processes()
    model.eval()
    own = here.share(len(images))
    with torch.no_grad():
        parts = [
            network(part.to(device)).argmax(1)
            for part in images[own].split(PICTURES_AT_ONCE)  # type: ignore[no-untyped-call]
        ]
    result: Ints = np.zeros(len(images), dtype=np.int64)
    result[own] = torch.cat(parts).cpu().numpy()
    return here.sum(result)
