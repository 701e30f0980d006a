"""Addition of numbers given as pictures of digits: the program, its data, training and testing.

Only sums are learned from. Digit labels make the sums and count right digits afterwards.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from deepprooflog.data.digits import Digits, mnist, small_digits
from deepprooflog.errors import DataError, ModelError
from deepprooflog.infer.batch import Compiled
from deepprooflog.learn import checkpoint
from deepprooflog.learn.augment import Affine
from deepprooflog.learn.minibatch import Objective
from deepprooflog.learn.progress import Progress
from deepprooflog.logic.program import Program
from deepprooflog.model import Model
from deepprooflog.recipes.addition_options import AdditionOptions, resolve
from deepprooflog.recipes.folder import RunFolder, create, open_run
from deepprooflog.recipes.lenet import lenet, small_net
from deepprooflog.recipes.recipe import read_recipe
from deepprooflog.recipes.sums import Accuracy, Ints, Sums, accuracy, consecutive, goals
from deepprooflog.recipes.training import Lesson, Training

# Mean and standard deviation of MNIST's training pixels.
MEAN, DEVIATION = 0.1307, 0.3081
PICTURES_AT_ONCE = 5000
# What a resumed run may be given anew: where it runs, not what it computes.
PLACES = ("device", "data")


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
    if not folder.is_dir():
        raise DataError(f"data={data}: neither mnist, digits nor a folder")
    return mnist(folder / "mnist" if (folder / "mnist").is_dir() else folder)


def tensor(images: Digits) -> Float[Tensor, "pictures 1 height width"]:
    """Pictures as a network reads them."""
    return torch.from_numpy((images.images - MEAN) / DEVIATION).unsqueeze(1)


def classifier(options: AdditionOptions, shape: tuple[int, ...]) -> nn.Sequential:
    """The network of the program: a distortion that is active in training, then LeNet."""
    if shape not in {(28, 28), (8, 8)}:
        raise DataError(f"pictures of {shape}: the networks are for 28 × 28 and 8 × 8")
    # What suits 28 pixels blurs 8 too much.
    layer = Affine() if shape == (28, 28) else Affine(rotation=8, scale=0.08, shift=0.05, shear=0.1)
    distort = nn.Identity() if options.augment == "none" else layer
    return nn.Sequential(distort, lenet() if shape == (28, 28) else small_net())


def device_of(options: AdditionOptions) -> torch.device:
    """The device asked for."""
    if options.device == "cuda" and not torch.cuda.is_available():
        raise ModelError("device=cuda: torch sees no GPU", hint="device=auto")
    name = options.device
    return torch.device(
        ("cuda" if torch.cuda.is_available() else "cpu") if name == "auto" else name
    )


@dataclass(frozen=True)
class Task:
    """A model with the compiled sums of the training pictures; the last sixth validates."""

    model: Model
    compiled: Compiled
    sums: Sums
    training: int  # sums to learn from, the first ones
    labels: Ints  # digits that the bank's pictures show, for counting only

    @property
    def validation(self) -> Tensor:
        return torch.arange(self.training, len(self.sums))


def prepare(options: AdditionOptions, device: torch.device) -> Task:
    """Read the data, make the sums and build the graphs of all of them, once."""
    train, _ = pictures(options.data)
    sums = consecutive(train.labels, options.n)
    sums = sums[: options.sums] if options.sums else sums
    if not len(sums):
        raise DataError(
            f"n={options.n}: one sum takes {2 * options.n} pictures, there are {len(train)}"
        )
    images = tensor(train)
    model = Model(program(), networks={"lenet": classifier(options, train.images.shape[1:])})
    compiled = model.compile(goals(sums, images.unbind(0)))
    return Task(
        model=model.to(device),
        compiled=compiled.to(device),
        sums=sums,
        training=max(1, len(sums) * 5 // 6),
        labels=train.labels[sums.pictures.reshape(-1)],
    )


def objective(options: AdditionOptions, task: Task) -> Objective:
    """The losses of some sums: −log p, exactly."""
    if options.method != "dp":
        raise ModelError(f"method={options.method} is not available yet", hint="method=dp")
    model, compiled = task.model, task.compiled
    return lambda batch: -model.log_prob(compiled, select=batch)


def look(task: Task, n: int) -> dict[str, float]:
    """Validation loss and accuracies of the model as it is."""
    if not len(task.validation):
        return {}
    log_p = task.model.log_prob(task.compiled, select=task.validation)
    first = task.training * 2 * n
    bank = task.compiled.bank
    assert isinstance(bank, Tensor)
    digits, labels = predict(task.model, bank[first:]), task.labels[first:]
    # The bank has the least significant digit first: the two numbers of a sum stay together.
    found = accuracy(digits[::-1], labels[::-1], n, regroupings=0)
    return {
        "validation_loss": -float(log_p.mean()),
        "validation_accuracy": found.sum_accuracy,
        "validation_digit_accuracy": found.digit_accuracy,
    }


def predict(model: Model, images: Float[Tensor, "pictures 1 height width"]) -> Ints:
    """The most probable digit of each picture."""
    network = model.networks["lenet"].module
    assert isinstance(network, nn.Module)
    device = model.labels.logits.device
    model.eval()
    with torch.no_grad():
        parts = [
            network(part.to(device)).argmax(1)
            for part in images.split(PICTURES_AT_ONCE)  # type: ignore[no-untyped-call]
        ]
    result: Ints = torch.cat(parts).cpu().numpy().astype(np.int64)
    return result


def train(
    recipe: str,
    given: Mapping[str, object],
    out: Path,
    *,
    resume: bool = False,
    progress: bool = True,
) -> dict[str, object]:
    """Train a recipe into a folder; what stands in its result.json."""
    options, run = _begin(recipe, given, out, resume)
    if resume and run.result.exists():
        return run.read_result()
    began = time.perf_counter()
    device = device_of(options)
    with torch.random.fork_rng():
        torch.manual_seed(options.seed)
        task = prepare(options, device)
        compiled_in = time.perf_counter() - began
        lesson = Lesson(
            task.model, objective(options, task), torch.arange(task.training),
            lambda: look(task, options.n), task.compiled.describe,
        )  # fmt: skip
        training = Training(lesson, options, run)
        if resume:
            training.resume()
        steps = -(-task.training // options.batch)
        bar = Progress(steps * options.epochs, done=steps * training.epoch)
        bar.live = bar.live and progress
        trained = training.train(bar)
    found = _test(task.model, options)
    seconds = {
        "prepare": round(compiled_in, 3),
        "train": round(trained.seconds, 3),
        "total": round(time.perf_counter() - began, 3),
    }
    result = {
        "recipe": recipe, "n": options.n, "method": options.method, "seed": options.seed,
        "augment": options.augment, **asdict(found), "epochs": trained.epochs,
        "best_epoch": trained.best_epoch, "seconds": seconds, "device": str(device),
        "torch": torch.__version__,
    }  # fmt: skip
    run.write_json("result.json", result)
    return result


def _begin(
    recipe: str, given: Mapping[str, object], out: Path, resume: bool
) -> tuple[AdditionOptions, RunFolder]:
    """The options and the folder of a new run, or of one to go on with."""
    if not resume:
        options = resolve(read_recipe(recipe), given)
        _check(options)
        config = {"recipe": recipe, "task": "mnist-addition", "options": asdict(options)}
        return options, create(out, config)
    run = open_run(out)
    kept = run.config()
    if kept["recipe"] != recipe:
        raise DataError(f"a run of {kept['recipe']}, not of {recipe}", file=str(out))
    asked = asdict(resolve(read_recipe(recipe), {**kept["options"], **given}))
    for key, value in asked.items():
        if value != kept["options"][key] and key not in PLACES:
            raise DataError(
                f"the run has {key}={kept['options'][key]}, not {value}",
                file=str(out), hint="another --out for another run",
            )  # fmt: skip
    return AdditionOptions(**asked), run


def _check(options: AdditionOptions) -> None:
    """Refuse what cannot run before a folder is made for it."""
    device_of(options)
    pictures(options.data)


def evaluate(run: RunFolder, device: str | None = None, data: str | None = None) -> Accuracy:
    """Test the best weights of a run."""
    kept = run.config()
    places = {k: v for k, v in (("device", device), ("data", data)) if v is not None}
    options = resolve(read_recipe(kept["recipe"]), {**kept["options"], **places})
    state = checkpoint.load(run.checkpoint, ("best",), device_of(options))
    shape = pictures(options.data)[1].images.shape[1:]
    model = Model(program(), networks={"lenet": classifier(options, shape)})
    try:
        model.load_state_dict(state["best"]["weights"])
    except (KeyError, TypeError, RuntimeError) as error:
        raise DataError(
            f"the checkpoint does not fit this model: {str(error).splitlines()[0]}",
            file=str(run.checkpoint),
        ) from None
    return _test(model.to(device_of(options)), options)


def _test(model: Model, options: AdditionOptions) -> Accuracy:
    _, test = pictures(options.data)
    return accuracy(predict(model, tensor(test)), test.labels, options.n)
