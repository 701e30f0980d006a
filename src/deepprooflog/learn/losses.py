"""Losses of labelled queries, one value for each, from log p_success and the label y.

    linear                (1 − 2y) · p                          the paper's objective, −Σ V(q, y)
    cross_entropy         −y log p − (1 − y) log(1 − p)
    nll                   −log p                                positive queries only
    conditional_nll       −(log p − log z)                      given that the query z succeeds

A label that the model gives probability 0 has no finite cross-entropy. `impossible` says what
becomes of it: an error that names the example ("raise"), a loss of +inf ("inf") or of 0 ("skip").
Under the last two its gradient is 0; a gradient is never NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor

from deepprooflog.errors import ModelError
from deepprooflog.infer.success import ABOVE_ONE, OVERLAP_HINT

Impossible = Literal["raise", "inf", "skip"]


def linear(log_p: Float[Tensor, " batch"], y: Shaped[Tensor, " batch"]) -> Float[Tensor, " batch"]:
    """(1 − 2y) · p: what the paper minimises; its sum is −J(λ) of the decision process.

    >>> linear(torch.tensor([0.25, 0.5]).log(), torch.tensor([1, 0])).tolist()
    [-0.25, 0.5]
    """
    return (1 - 2 * _labels(log_p, y)) * torch.exp(log_p)


def cross_entropy(
    log_p: Float[Tensor, " batch"],
    y: Shaped[Tensor, " batch"],
    impossible: Impossible = "raise",
) -> Float[Tensor, " batch"]:
    """−y log p − (1 − y) log(1 − p), to full precision for p near 0 and near 1.

    >>> cross_entropy(torch.tensor([0.5, 0.5]).log(), torch.tensor([1, 0])).exp().tolist()
    [2.0, 2.0]
    """
    positive = _labels(log_p, y) == 1
    _below_one(log_p)
    # On each side the other label's queries are replaced by p = ½, whose gradient is finite.
    half = torch.full_like(log_p, -math.log(2))
    log_label = torch.where(
        positive,
        torch.where(positive, log_p, half),
        log_complement(torch.where(positive, half, log_p)),
    )
    return _negated(log_label, impossible, y)


def nll(
    log_p: Float[Tensor, " batch"], impossible: Impossible = "raise"
) -> Float[Tensor, " batch"]:
    """−log p, for queries that are all positive.

    >>> nll(torch.tensor([0.25]).log()).exp().tolist()
    [4.0]
    """
    return _negated(log_p, impossible, None)


def conditional_nll(
    log_p: Float[Tensor, " batch"],
    log_z: Float[Tensor, " batch"],
    impossible: Impossible = "raise",
) -> Float[Tensor, " batch"]:
    """−log(p / z): the likelihood of an observation given that the open query z succeeds.

    >>> conditional_nll(torch.tensor([0.25]).log(), torch.tensor([0.5]).log()).exp().tolist()
    [2.0]
    """
    return _negated(conditioned(log_p, log_z), impossible, None)


def conditioned(
    log_p: Float[Tensor, " batch"], log_z: Float[Tensor, " batch"]
) -> Float[Tensor, " batch"]:
    """log p − log z, and −inf where p is 0, also where z is."""
    fails = log_p == -torch.inf
    zero = torch.zeros_like(log_p)
    difference = torch.where(fails, zero, log_p) - torch.where(fails, zero, log_z)
    return torch.where(fails, torch.full_like(log_p, -torch.inf), difference)


def log_complement(log_p: Float[Tensor, " batch"]) -> Float[Tensor, " batch"]:
    """log(1 − p) without cancellation; −inf, with gradient 0, where p is 1.

    >>> log_complement(torch.tensor([-1e-20], dtype=torch.float64)).exp().tolist()
    [9.99...e-21]
    """
    certain = log_p >= 0
    near = (log_p > -math.log(2)) & ~certain
    minus_one = torch.full_like(log_p, -1.0)
    # log(−expm1(log p)) is exact near p = 1, log1p(−p) elsewhere (Mächler 2012).
    by_expm1 = torch.log(-torch.expm1(torch.where(near, log_p, minus_one)))
    by_log1p = torch.log1p(-torch.exp(torch.where(near | certain, minus_one, log_p)))
    value = torch.where(near, by_expm1, by_log1p)
    return torch.where(certain, torch.full_like(log_p, -torch.inf), value)


def possible(loss: Float[Tensor, " batch"]) -> Bool[Tensor, " batch"]:
    """Which losses are finite: an example of loss +inf is one the model holds impossible."""
    return loss.isfinite()


def _positive_nll(log_p: Tensor, y: Tensor) -> Tensor:
    if not bool((y == 1).all()):
        raise ModelError("nll is for positive examples", hint='loss="cross_entropy" or "linear"')
    return nll(log_p, "inf")


# What `fit` can be asked for by name; where an example is impossible, it looks itself.
BY_NAME: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "nll": _positive_nll,
    "linear": linear,
    "cross_entropy": lambda log_p, y: cross_entropy(log_p, y, "inf"),
}


def _labels(log_p: Tensor, y: Tensor) -> Tensor:
    wrong = (y != 0) & (y != 1)
    if bool(wrong.any()):
        raise ModelError(f"a label is 0 or 1, not {y[wrong][0].item():g}")
    return y.to(log_p)


def _below_one(log_p: Tensor) -> None:
    wrong = log_p > ABOVE_ONE
    if bool(wrong.any()):
        first = int(wrong.nonzero()[0])
        raise ModelError(
            f"example {first} has weight {math.exp(min(log_p[first].item(), 700.0)):g}, more than "
            "1: overlapping unlabelled clauses add up to a sum of weights, not a probability",
            hint=OVERLAP_HINT,
        )


def _negated(log_label: Tensor, impossible: Impossible, y: Tensor | None) -> Tensor:
    none = log_label == -torch.inf
    if impossible == "raise" and bool(none.any()):
        first = int(none.nonzero()[0])
        negative = y is not None and y[first] == 0
        what = "certain, but its label is 0" if negative else "impossible, but its label is 1"
        raise ModelError(
            f"the model holds example {first} to be {what}: no parameters give it a finite loss",
            hint='check the goal and the program, or pass impossible="inf" or "skip"',
        )
    value = torch.full_like(log_label, torch.inf if impossible == "inf" else 0.0)
    return torch.where(none, value, -torch.where(none, torch.zeros_like(log_label), log_label))


@dataclass(frozen=True)
class Loss:
    """The loss of a batch of queries, to be minimised, and what it was estimated from.

    It unpacks: `loss, log_prob, diagnostics = smc_loss(model, goals)`.

    >>> import torch
    >>> loss, log_prob, _ = Loss(torch.tensor(0.7), torch.tensor([-0.7]), None)
    >>> float(loss) == -float(log_prob)
    True
    """

    loss: Float[Tensor, ""]  # its gradient is what is learned from
    log_prob: Float[Tensor, "queries"]  # estimates of log p_success
    diagnostics: Any  # how the particles or rollouts fared

    def __iter__(self) -> Iterator[Any]:
        return iter((self.loss, self.log_prob, self.diagnostics))


@dataclass(frozen=True)
class History:
    """What a run did: the mean loss of each epoch or iteration, as each of its steps found it."""

    losses: tuple[float, ...]
    converged: bool  # the loss came to rest within the tolerance
    skipped: int  # examples of the last epoch that the model held impossible
    seconds: float
    diagnostics: tuple[Any, ...] = ()  # a report of each iteration, where there is one
