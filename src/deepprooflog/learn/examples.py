"""Labelled queries, compiled: goals q, their labels y and weights.

A label is 1 where the goal is to be proved and 0 where it is not. A likelihood may be conditioned
on another goal, whose probability is then computed along with the example's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from deepprooflog.errors import ModelError
from deepprooflog.infer.batches.batch import Compiled
from deepprooflog.learn.losses import conditioned
from deepprooflog.logic.goal_batch import GoalBatch
from deepprooflog.logic.limits.budget import Budget
from deepprooflog.logic.query import Query
from deepprooflog.model import Model

GoalLike = str | Query
Example = GoalLike | tuple[GoalLike, float] | tuple[GoalLike, float, float]
ExampleBatch = Sequence[Any]
"""A list of examples, or goals and labels in columns, as a DataLoader puts them together."""
Data = Iterable[Example | ExampleBatch] | Mapping[str, float]


@dataclass(frozen=True)
class Examples:
    """A data set: its goals, and behind them the goals it is conditioned on, compiled once."""

    compiled: Compiled
    condition: Tensor | None  # [examples] position in `compiled` of each example's condition
    y: Tensor  # [examples]
    weight: Tensor  # [examples]

    def __len__(self) -> int:
        return len(self.y)


def compile_examples(
    model: Model, data: Data, given: GoalLike | Sequence[GoalLike] | None, budget: Budget | None
) -> Examples:
    """Read a data set and build its goals' graphs."""
    if isinstance(data, str | Query):
        data = [data]
    pairs = [(g, 1.0, n) for g, n in data.items()] if isinstance(data, Mapping) else data
    rows = [_example(row) for item in pairs for row in _unpacked(item)]
    if not rows:
        raise ModelError("there are no examples to fit", hint='for example  [("p(a)", 1)]')
    goals: list[GoalLike] = [goal for goal, _, _ in rows]
    condition: Tensor | None = None
    if given is not None:
        each = [given] * len(rows) if isinstance(given, str | Query) else list(given)
        if len(each) != len(rows):
            raise ModelError(f"{len(rows)} examples have {len(each)} conditions")
        place: dict[int, int] = {}
        for other in each:
            if id(other) not in place:
                place[id(other)] = len(goals)
                goals.append(other)
        condition = torch.tensor([place[id(other)] for other in each])
    device = model.device
    return Examples(
        model.compile(goals, budget),
        condition,
        torch.tensor([y for _, y, _ in rows], dtype=torch.float64, device=device),
        torch.tensor([weight for _, _, weight in rows], dtype=torch.float64, device=device),
    )


def streamed(
    model: Model,
    data: Data,
    given: GoalLike | Sequence[GoalLike] | None,
    epochs: int,
    budget: Budget | None,
) -> Callable[[], Iterator[Examples]]:
    """An epoch's batches, each compiled when its turn comes."""
    if given is not None and not isinstance(given, str | Query):
        raise ModelError("a stream has one condition for all examples", hint='given="s(X)"')
    if isinstance(data, str | Query | Mapping):
        raise ModelError("a stream gives batches of examples", hint="leave stream out")
    if iter(data) is data and epochs > 1:
        raise ModelError(
            f"the data can be read once, not {epochs} times",
            hint="epochs=1, or what can be iterated again: a DataLoader, a list, a class "
            "with __iter__",
        )

    def epoch() -> Iterator[Examples]:
        some = False
        for item in data:
            some = True
            yield _compiled_batch(model, item, given, budget)
        if not some:
            raise ModelError("there are no examples to fit", hint="a stream that gives batches")

    return epoch


def _compiled_batch(
    model: Model, item: object, given: GoalLike | None, budget: Budget | None
) -> Examples:
    goals, y = item if isinstance(item, tuple) and len(item) == 2 else (item, None)
    if given is not None or not isinstance(goals, GoalBatch):
        return compile_examples(model, [item], given, budget)  # type: ignore[list-item]
    ones = torch.ones(len(goals), dtype=torch.float64, device=model.device)
    labels = ones if y is None else torch.as_tensor(y).to(ones)
    if labels.shape != ones.shape or not bool(((labels == 0) | (labels == 1)).all()):
        raise ModelError(f"{len(goals)} goals need a label each", hint="labels are 0 or 1")
    return Examples(model.compile(goals, budget), None, labels, ones)


def log_probabilities(
    model: Model, examples: Examples, which: Int[Tensor, " batch"]
) -> Float[Tensor, " batch"]:
    """log p of some examples, conditioned where there is a condition."""
    if examples.condition is None:
        return model.log_prob(examples.compiled, select=which)
    conditions, row = torch.unique(examples.condition[which], return_inverse=True)
    log = model.log_prob(examples.compiled, select=torch.cat([which, conditions]))
    return conditioned(log[: len(which)], log[len(which) :][row])


def _unpacked(item: object) -> Sequence[object]:
    """The examples of a batch, or the one example that it is."""
    if not isinstance(item, list | tuple) or not item or isinstance(item[0], str | Query):
        return item if isinstance(item, list) else [item]
    if isinstance(item[0], list | tuple) and isinstance(item[-1], Tensor):
        columns = [c.tolist() if isinstance(c, Tensor) else c for c in item]
        return list(zip(*columns, strict=True))
    return item


def _example(row: object) -> tuple[GoalLike, float, float]:
    goal, y, weight = (*row, 1.0)[:3] if isinstance(row, tuple) else (row, 1.0, 1.0)
    if not isinstance(goal, str | Query):
        raise ModelError(
            f"an example is a goal, not a {type(goal).__name__}",
            hint='text or dpl.goal(...), with its label: ("p(a)", 1); a DataLoader of goals with '
            "tensors needs collate_fn=list",
        )
    if y not in (0, 1):
        raise ModelError(f"the label of {goal} is {y}", hint="labels are 0 or 1")
    if not 0 <= weight < float("inf"):
        raise ModelError(f"the weight of {goal} is {weight}", hint="weights are finite and not < 0")
    return goal, float(y), float(weight)
