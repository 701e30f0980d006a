"""An addition run from beginning to end: options, folder, training, testing."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from deepprooflog.device import threads
from deepprooflog.kg.data.notice import plural
from deepprooflog.learn.run.card import ModelCard, training_command, write_card
from deepprooflog.learn.run.folder import RunFolder
from deepprooflog.learn.run.progress import Progress
from deepprooflog.learn.run.settings import values_of
from deepprooflog.learn.run.track import TrackedRun, tracked
from deepprooflog.learn.run.weights import restore_weights, save_weights
from deepprooflog.model import Model
from deepprooflog.recipes.addition.options import AdditionOptions, resolve
from deepprooflog.recipes.addition.sums import Accuracy, accuracy
from deepprooflog.recipes.addition.task import (
    TASK,
    capturable,
    classifier,
    device_of,
    distort,
    look,
    objective,
    pictures,
    predict,
    prepare,
    program,
    tensor,
    training_sums,
)
from deepprooflog.recipes.addition.training import Training, TrainingTask, best_start
from deepprooflog.recipes.begin import begin
from deepprooflog.recipes.recipe import read_recipe

NETWORK_WEIGHTS = "networks"
# What a resumed run may be given anew: where it runs, not what it computes.
PLACES = ("device", "data", "threads", "track")


def train(
    recipe: str,
    given: Mapping[str, object],
    out: Path,
    *,
    resume: bool = False,
    progress: bool = True,
) -> dict[str, object]:
    """Train a recipe into a folder; what stands in its result.json."""
    with begin(
        recipe, given, out, resume, task=TASK, resolve=resolve, check=_check, places=PLACES
    ) as (options, run):
        if resume and run.result.exists():
            return run.read_result()
        return _train(recipe, options, run, resume, progress)


def _train(
    recipe: str, options: AdditionOptions, run: RunFolder, resume: bool, progress: bool
) -> dict[str, object]:
    began = time.perf_counter()
    device = device_of(options)
    told = TrackedRun(run.path.absolute().name, values_of(options), run.path)
    with (
        torch.random.fork_rng(),
        threads(options.threads),
        tracked(options.track, told) as tracking,
    ):
        torch.manual_seed(options.seed)
        task = prepare(options, device)
        compiled_in = time.perf_counter() - began
        lesson = TrainingTask(
            task.model, objective(options, task), task.training,
            (lambda: look(options, task)) if len(task.validation) else None,
            lambda i: str(task.goals[i]),
            lambda share: distort(task.model, options, share), capturable(options, task),
        )  # fmt: skip
        plan = options.training
        losses: list[float] = []
        training = Training(lesson, plan, run)
        if resume:
            training.resume()
        if not training.begun and options.trials.count > 1:
            trial = max(1, round(options.trials.share * plan.epochs))
            losses = best_start(lesson, plan, options.trials.count, trial)
        bar = Progress(training.loop.steps)
        bar.live = bar.live and progress
        trained = training.train(bar, tracking.row)
        save_weights(run.path, NETWORK_WEIGHTS, task.model)
        found = _test(task.model, options)
        tracking.test(asdict(found))
    seconds = {
        "prepare": round(compiled_in, 3),
        "train": round(trained.seconds, 3),
        "total": round(time.perf_counter() - began, 3),
    }
    result = {
        "recipe": recipe, "n": options.n, "method": options.method, "seed": options.seed,
        "augment": options.augment.kind, **asdict(found), "epochs": trained.epochs,
        "best_epoch": trained.best_epoch, "tries": losses, "seconds": seconds,
        "device": str(device), "torch": torch.__version__,
    }  # fmt: skip
    write_card(run, _card(options, result))
    run.write_json("result.json", result)
    return result


def _card(options: AdditionOptions, result: Mapping[str, Any]) -> ModelCard:
    """What the run's README.md says."""
    shown = ("sum_accuracy", "sum_accuracy_regrouped", "digit_accuracy")
    about = (
        f"Adds two numbers of {plural(options.n, 'digit')} that are given as pictures, by a logic "
        "program whose digits a network reads; it learned from sums alone."
    )
    return ModelCard(
        f"addition of {options.data}", [about], "image-classification", options.data,
        training_command(str(result["recipe"]), options),
        {"test": {key: float(result[key]) for key in shown}},
        f"{result['test_sums']:,} test sums.", ["pip install deepprooflog", "dprl evaluate FOLDER"],
    )  # fmt: skip


def _check(options: AdditionOptions) -> None:
    """Refuse what cannot run before a folder is made for it."""
    device_of(options)
    training_sums(options)


def evaluate(run: RunFolder, device: str | None = None, data: str | None = None) -> Accuracy:
    """Test the best weights of a run."""
    return _test(*trained(run, device, data))


def trained(
    run: RunFolder, device: str | None = None, data: str | None = None
) -> tuple[Model, AdditionOptions]:
    """The model of a run with its best weights, and the options it was trained with."""
    kept = run.config()
    places = {k: v for k, v in (("device", device), ("data", data)) if v is not None}
    options = resolve(read_recipe(kept["recipe"]), places, kept["options"])
    shape = pictures(options.data)[1].images.shape[1:]
    model = Model(program(), networks={"lenet": classifier(options, shape)})
    restore_weights(run.path, NETWORK_WEIGHTS, model, device_of(options), "model")
    return model.to(device_of(options)), options


def _test(model: Model, options: AdditionOptions) -> Accuracy:
    _, test = pictures(options.data)
    return accuracy(predict(model, tensor(test)), test.labels, options.n)


def summary(result: Mapping[str, object]) -> str:
    """The test figures of a run for people.

    >>> print(summary({"n": 4, "sum_accuracy": 0.95, "sum_accuracy_regrouped": 0.948,
    ...     "regrouped_spread": 0.004, "digit_accuracy": 0.9935, "test_sums": 1250,
    ...     "regroupings": 200, "seconds": {"total": 17.2}}))
    sums, file order       95.00%   of 1250 sums of two numbers of 4 digits
    sums, regrouped        94.80%   mean of 200 regroupings, standard deviation 0.40
    digits                 99.35%
    seconds                17.2
    """

    def percent(key: str) -> str:
        return f"{100 * float(str(result[key])):.2f}%"

    seconds = result["seconds"]
    total = seconds["total"] if isinstance(seconds, dict) else seconds
    spread = 100 * float(str(result["regrouped_spread"]))
    return "\n".join(
        [
            f"sums, file order       {percent('sum_accuracy')}   of {result['test_sums']} sums of "
            f"two numbers of {result['n']} digits",
            f"sums, regrouped        {percent('sum_accuracy_regrouped')}   mean of "
            f"{result['regroupings']} regroupings, standard deviation {spread:.2f}",
            f"digits                 {percent('digit_accuracy')}",
            f"seconds                {total}",
        ]
    )
