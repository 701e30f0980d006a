"""Networks on terms: what a neural label asks, checked where it is answered."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from deepprooflog.device import capturing
from deepprooflog.errors import ModelError, Notice
from deepprooflog.logic.clause import Bernoulli, Clause, at
from deepprooflog.syntax.terms import Term

Outputs = Literal["logits", "probabilities", "log_probabilities"]

# How far a row of probabilities may be from summing to 1: float32 rounding over a wide domain.
TOLERANCE = 1e-3
# How close to 1 the rows of what should be logits must add up to look like probabilities.
ALIKE = 1e-4


class Network(nn.Module):
    """A module as a program's network: what its outputs are, and how its inputs are embedded.

    The module gets one positional argument for each input of the label, stacked along the first
    axis, and returns `[batch, domain]` (for a Bernoulli label `[batch]` or `[batch, 1]`). By
    default these are logits; where they look like probabilities, a warning says so, unless
    `outputs` does. `encoder` maps the same stacked inputs to vectors for an embedding scorer. With
    `number` the inputs are ground terms in place of tensors: `number(j, term)` is the
    integer that stands for a term as input j, and the module gets integers `[batch]`.

    >>> net = Network(nn.Linear(3, 2), outputs="logits")
    """

    # Nothing was said of the outputs, and they were not looked at yet.
    _doubtful = False

    def __init__(
        self,
        module: nn.Module,
        outputs: Outputs | None = None,
        encoder: nn.Module | None = None,
        number: Callable[[int, Term], int] | None = None,
    ) -> None:
        super().__init__()
        if outputs not in (None, "logits", "probabilities", "log_probabilities"):
            raise ModelError(
                f"a network's outputs cannot be {outputs!r}",
                hint="logits, probabilities or log_probabilities",
            )
        self.module = module
        self.outputs: Outputs = outputs or "logits"
        self._doubtful = outputs is None
        self.encoder = encoder
        self.number = number

    def check_last_layer(self, name: str, clause: Clause) -> None:
        """Warn of a softmax, or of a sigmoid for one probability, at the end of the module."""
        last = self.module
        while isinstance(last, nn.Sequential) and len(last):
            last = last[-1]
        layers = nn.Sigmoid if isinstance(clause.label, Bernoulli) else nn.Softmax
        if self._doubtful and isinstance(last, layers):
            self._doubtful = False
            _warn(name, f"ends in {type(last).__name__}")

    def log_probabilities(
        self, inputs: Sequence[Tensor], domain: int, bernoulli: bool, name: str, clause: Clause
    ) -> Float[Tensor, "rows domain"]:
        """Log-probabilities of the domain's values, in float64; every fault named."""
        raw = self._answer(inputs, name, clause)
        rows = len(inputs[0])
        shapes = {(rows,), (rows, 1)} if bernoulli else {(rows, domain)}
        if not isinstance(raw, Tensor) or tuple(raw.shape) not in shapes:
            got = list(raw.shape) if isinstance(raw, Tensor) else type(raw).__name__
            raise _fault(name, clause, f"returned {got} for {rows} inputs; the label's domain "
                         f"needs {[rows] if bernoulli else [rows, domain]}")  # fmt: skip
        raw = raw.reshape(rows, -1).double()
        if self.outputs == "logits":
            if self._doubtful and rows and not capturing():
                self._doubtful = False
                sums = raw.detach().sum(1)
                if domain > 1 and bool((raw >= 0).all() & ((sums - 1).abs() < ALIKE).all()):
                    _warn(name, "returned values that are not negative and add up to 1")
            log = nn.functional.logsigmoid(raw) if bernoulli else torch.log_softmax(raw, dim=1)
        else:
            log = self._normalised(raw, bernoulli, name, clause)
        # While a CUDA graph is captured nothing can be looked at; whoever replays it checks.
        if not capturing() and bool(torch.isnan(log).any()):
            what = "NaN" if bool(torch.isnan(raw).any()) else "infinite logits"
            raise _fault(name, clause, f"returned {what}", "check its inputs and learning rate")
        return log

    def _answer(self, inputs: Sequence[Tensor], name: str, clause: Clause) -> object:
        try:
            return self.module(*inputs)
        except torch.OutOfMemoryError:
            raise
        except (RuntimeError, ValueError, TypeError) as error:
            # What torch says of an input of the wrong shape names neither network nor program.
            shapes = ", ".join(str(list(x.shape)) for x in inputs)
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise _fault(
                name, clause, f"failed on inputs of shape {shapes}: {reason}",
                "check the shape and type of the tensors in the goals",
            ) from error  # fmt: skip

    def _normalised(self, raw: Tensor, bernoulli: bool, name: str, clause: Clause) -> Tensor:
        if self.outputs == "probabilities":
            if not capturing() and bool((raw < 0).any()):
                raise _fault(name, clause, "returned a negative probability", _HINT)
            # The gradient of log at 0 is infinite, and 0 · ∞ further down would be NaN.
            zero = raw == 0
            log = torch.where(zero, 1.0, raw).log().masked_fill(zero, -torch.inf)
            total = raw.sum(1)
        else:
            total, log = raw.exp().sum(1), raw
        wrong = total > 1 + TOLERANCE if bernoulli else (total - 1).abs() > TOLERANCE
        if not capturing() and bool(wrong.any()):
            value = total[wrong][0].item()
            raise _fault(name, clause, f"returned values that sum to {value:.6g}, not 1", _HINT)
        return log


def _warn(name: str, what: str) -> None:
    warnings.warn(
        f"the network {name} {what}, and is taken to return logits, which are normalised again: "
        'dpl.Network(net, outputs="probabilities") if it returns probabilities, outputs="logits" '
        "if it does not",
        Notice,
        stacklevel=4,
    )


_HINT = 'dpl.Network(net, outputs="logits") when its outputs are not normalised'


def _fault(name: str, clause: Clause, what: str, hint: str | None = None) -> ModelError:
    place = clause.place
    return ModelError(
        f"the network {name} {what}",
        **at(place),
        hint=hint,
    )
