"""Fitting a model to labelled queries by exact gradients.

    λ* = argmin over λ of  Σ wᵢ · loss(log p_success(qᵢ), yᵢ) / Σ wᵢ

The goal graphs are built once; every epoch then weighs and solves them anew.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import torch
from torch import Tensor

from deepprooflog.errors import ModelError
from deepprooflog.learn import losses
from deepprooflog.learn.examples import (
    Data,
    Examples,
    GoalLike,
    compile_examples,
    log_probabilities,
    streamed,
)
from deepprooflog.learn.losses import History, Impossible
from deepprooflog.logic.limits.budget import Budget
from deepprooflog.model import Model
from deepprooflog.terminal import Own

LossFunction = str | Callable[[Tensor, Tensor], Tensor]
"""nll, linear, cross_entropy, or a function of log p and y."""
Optimizer = str | Callable[[Sequence[torch.nn.Parameter]], torch.optim.Optimizer]
"""adam, lbfgs, or a function of the parameters."""
Callback = Callable[[int, float], object]

# The loss is at rest when it has moved less than the tolerance over this many epochs.
REST = 3


def fit(
    model: Model,
    data: Data,
    *,
    loss: LossFunction = "nll",
    given: GoalLike | Sequence[GoalLike] | None = None,
    epochs: int = 100,
    lr: float | None = None,
    optimizer: Optimizer = "adam",
    batch_size: int | None = None,
    stream: bool = False,
    tolerance: float = 1e-12,
    impossible: Impossible = "raise",
    seed: int = 0,
    callback: Callback | None = None,
    progress: bool = False,
    budget: Budget | None = None,
) -> History:
    """Fit a model's parameters to data and say how it went.

    >>> from deepprooflog.logic.program import Program
    >>> model = Model(Program("t(0.5) :: p(a). t(0.5) :: p(b)."))
    >>> history = fit(model, {"p(a)": 3, "p(b)": 1}, optimizer="lbfgs")
    >>> [round(p, 4) for p in model.labels.values().tolist()]
    [0.75, 0.25]

    `data` are goals, pairs (goal, y), triples (goal, y, weight), or a mapping from goals to counts;
    or batches of them, as a `DataLoader` gives. They are read once, and compiled together; with
    `stream` they are batches that are read anew each epoch, one at a time, and none is kept.
    `given` conditions the likelihood: log p(goal) − log p(given) takes the place of log p(goal).
    A `loss` of one's own gets log p and y and returns a value for each example. Mini-batches
    are drawn anew each epoch. `callback(epoch, loss)` ends the fit by returning True. Losses and
    gradients are checked before each step: the weights stay finite.
    """
    began = time.perf_counter()
    parameters = [p for p in model.parameters() if p.requires_grad and p.numel()]
    if not parameters:
        raise ModelError("the model has no parameters to fit", hint="t(0.5) :: p(a), or a network")
    generator = torch.Generator().manual_seed(seed)
    if stream and batch_size is not None:
        raise ModelError("a stream comes in batches of its own", hint="leave out batch_size")
    batches: Callable[[], Iterator[FitBatch]]
    if stream:
        rule = _optimizer(optimizer, parameters, lr, True)
        parts = streamed(model, data, given, epochs, budget)
        batches = partial(_of_stream, parts, partial(_objective, model, loss, impossible))
    else:
        examples = compile_examples(model, data, given, budget)
        if batch_size is None:
            batch_size = getattr(data, "batch_size", None)
        size = len(examples) if batch_size is None else batch_size
        rule = _optimizer(optimizer, parameters, lr, size < len(examples))
        objective = _objective(model, loss, impossible, examples)
        batches = partial(_shuffled, len(examples), size, generator, objective)
    was_training = model.training
    model.train()
    history: list[float] = []
    converged, skipped = False, 0
    try:
        for epoch in range(epochs):
            before = [p.detach().clone() for p in parameters]
            sums = [_step(model, batch, rule, of, before) for batch, of in batches()]
            totals, weights, left_out = zip(*sums, strict=True)
            skipped = sum(left_out)
            if not sum(weights):
                raise ModelError("the model holds every example impossible, or all weights are 0")
            history.append(sum(totals) / sum(weights))
            _show(progress, epoch, epochs, history[-1])
            last = history[-REST:]
            rest = tolerance * max(1.0, abs(last[-1]))
            converged = len(last) == REST and max(last) - min(last) <= rest
            if (callback is not None and callback(epoch, history[-1]) is True) or converged:
                break
    finally:
        model.train(was_training)
        if progress:
            print(file=sys.stderr)
    return History(tuple(history), converged, skipped, time.perf_counter() - began)


def _optimizer(
    which: Optimizer, parameters: Sequence[torch.nn.Parameter], lr: float | None, in_parts: bool
) -> torch.optim.Optimizer:
    if not isinstance(which, str):
        return which(parameters)
    if which == "adam":
        return torch.optim.Adam(parameters, lr=0.01 if lr is None else lr)
    if which == "lbfgs":
        if in_parts:
            raise ModelError(
                "L-BFGS needs all examples at once", hint="leave out batch_size and stream"
            )
        return torch.optim.LBFGS(
            parameters, lr=1.0 if lr is None else lr, tolerance_grad=1e-10,
            tolerance_change=1e-14, line_search_fn="strong_wolfe",
        )  # fmt: skip
    raise ModelError(f"there is no optimizer {which!r}", hint="adam, lbfgs, or a function")


def _split(order: Tensor, size: int) -> Sequence[Tensor]:
    if size < 1:
        raise ModelError(f"a batch of {size} examples is empty")
    if size >= len(order):
        return [order.sort().values]
    return order.split(size)  # type: ignore[no-untyped-call,no-any-return]


FitObjective = Callable[[Tensor], tuple[Tensor, float, float, int]]
"""Of a batch: its mean loss to descend; weighted sum of losses; weight; examples left out."""


FitBatch = tuple[Tensor, FitObjective]
"""Numbers of examples, and what is to be made small over them."""


def _shuffled(
    count: int, size: int, generator: torch.Generator, objective: FitObjective
) -> Iterator[FitBatch]:
    for batch in _split(torch.randperm(count, generator=generator), size):
        yield batch, objective


def _of_stream(
    parts: Callable[[], Iterator[Examples]], objective: Callable[[Examples], FitObjective]
) -> Iterator[FitBatch]:
    for examples in parts():
        yield torch.arange(len(examples)), objective(examples)


def _objective(
    model: Model, loss: LossFunction, impossible: Impossible, examples: Examples
) -> FitObjective:
    per_example = _per_example(loss)

    def objective(batch: Tensor) -> tuple[Tensor, float, float, int]:
        each = per_example(log_probabilities(model, examples, batch), examples.y[batch])
        if not each.requires_grad:
            raise ModelError(
                "the loss does not depend on the model's parameters",
                hint="check that the goals' proofs use a t(...) label, a network or the scorer",
            )
        finite = losses.possible(each)
        for i in (~finite).nonzero()[:, 0].tolist():
            if impossible == "raise" or not bool(each[i] == torch.inf):
                raise _no_loss(examples, int(batch[i]), each[i].item())
        used = examples.weight[batch] * finite
        total = (torch.where(finite, each, torch.zeros_like(each)) * used).sum()
        left_out = int((~finite).sum())
        shown = torch.inf if left_out and impossible == "inf" else total.item()
        return total / used.sum().clamp_min(1e-300), shown, used.sum().item(), left_out

    return objective


def _per_example(loss: LossFunction) -> Callable[[Tensor, Tensor], Tensor]:
    if not isinstance(loss, str):
        return loss
    if loss not in losses.BY_NAME:
        names = ", ".join(losses.BY_NAME)
        raise ModelError(f"there is no loss {loss!r}", hint=f"{names}, or a function")
    return losses.BY_NAME[loss]


def _no_loss(examples: Examples, i: int, value: float) -> ModelError:
    goal = examples.compiled.describe(i)
    if value != float("inf"):
        return ModelError(f"the loss of {goal} is {value}", hint="check the loss function")
    what = "impossible" if examples.y[i] == 1 else "certain"
    return ModelError(
        f"the model holds {goal} to be {what}, against its label: its loss is infinite",
        hint='check the goal and the program, or pass impossible="skip" or "inf"',
    )


def _step(
    model: Model,
    batch: Tensor,
    rule: torch.optim.Optimizer,
    objective: FitObjective,
    before: Sequence[Tensor],
) -> tuple[float, float, int]:
    """One step of the optimizer; the sum of the batch's losses, its weight, examples left out."""
    first: list[tuple[float, float, int]] = []

    def closure() -> float:
        rule.zero_grad()
        mean, total, weight, left_out = objective(batch)
        first.append((total, weight, left_out))
        if weight:
            mean.backward()  # type: ignore[no-untyped-call]
        for name, p in model.named_parameters():
            if p.grad is not None and not bool(p.grad.isfinite().all()):
                raise ModelError(
                    f"the gradient of {name} is not finite",
                    hint="look for a probability of exactly 0 or 1 in a network's outputs",
                )
        return mean.item()

    parameters = [p for p in model.parameters() if p.requires_grad and p.numel()]
    try:
        rule.step(closure)
        if not all(bool(p.isfinite().all()) for p in parameters):
            raise ModelError("a step left the range of floats", hint="a smaller lr")
    except ModelError:
        with torch.no_grad():
            for p, old in zip(parameters, before, strict=True):
                p.copy_(old)
        raise
    return first[0]


def _show(progress: bool, epoch: int, epochs: int, loss: float) -> None:
    if progress:
        sys.stderr.write(Own(f"\repoch {epoch + 1}/{epochs}  loss {loss:.6g}  "))
        sys.stderr.flush()
