"""How tensors and numbers in goals become vectors: an encoder for each network that reads them.

Numbers have features: sign, magnitude, and the phases of x / T for periods T. The phases of an
integer are exact however large it is; the short periods tell neighbours apart, the long ones and
the logarithm say how large a number is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from deepprooflog.errors import ModelError
from deepprooflog.graph.goalgraph import GoalGraph
from deepprooflog.logic.clause import Bernoulli, Neural
from deepprooflog.syntax.terms import Slot, Struct

PERIODS = (2, 3, 5, 7, 10, 16, 100, 1000, 10_000, 1_000_000)
# Of the fraction of a float; an integer has none.
FRACTIONS = (1.0, 0.1, 0.01)
WIDTH = 4 + 2 * (len(PERIODS) + len(FRACTIONS))
_LARGEST = math.log(1.7976931348623157e308)
# Keeps the logarithm of everyday numbers near 1.
_SCALE = 1 / 8


def number_features(x: int | float) -> list[float]:
    """The features of a Prolog integer (int) or float.

    >>> number_features(3)[:4], number_features(-3.0)[:4]
    ([0.0, 1.0, 0.17..., 0.0], [1.0, -1.0, 0.17..., 0.0])
    """
    if isinstance(x, float) and not math.isfinite(x):
        sign = 0.0 if math.isnan(x) else math.copysign(1.0, x)
        return [1.0, sign, _LARGEST * _SCALE, 1.0, *[0.0] * (WIDTH - 4)]
    sign = float((x > 0) - (x < 0))
    features = [float(isinstance(x, float)), sign, _log(x) * _SCALE, 0.0]
    for period in PERIODS:
        features += _phase((x % period) / period)
    for fraction in FRACTIONS:
        features += _phase(x % fraction / fraction if isinstance(x, float) else 0.0)
    return features


def _log(x: int | float) -> float:
    # math.log takes integers of any length, math.log1p only those that fit a float.
    return math.log1p(abs(x)) if isinstance(x, float) else math.log(abs(x) + 1)


def _phase(turn: float) -> list[float]:
    return [math.sin(2 * math.pi * turn), math.cos(2 * math.pi * turn)]


class Encoders(nn.Module):
    """Encoders by network name, and one for all other tensors where a default is given.

    An encoder gets tensors stacked along the first axis and returns `[tensors, dim]`.
    """

    def __init__(self, encoders: Mapping[str, nn.Module] | nn.Module | None, dim: int) -> None:
        super().__init__()
        self.dim = dim
        self.default = encoders if isinstance(encoders, nn.Module) else None
        # Not a ModuleDict: a network's name may be any Prolog atom.
        self.names: list[str] = []
        self.by_name = nn.ModuleList()
        if isinstance(encoders, Mapping):
            self.add(encoders)

    def add(self, encoders: Mapping[str, nn.Module]) -> None:
        """Take encoders of networks that have none yet."""
        for name, module in encoders.items():
            if name not in self.names:
                self.names.append(name)
                self.by_name.append(module)

    def of(self, network: str | None) -> nn.Module:
        """The encoder of a network's tensors; of a tensor that no step in sight reads (None), the
        default or the only encoder there is."""
        if network in self.names:
            return self.by_name[self.names.index(network)]
        if self.default is not None:
            return self.default
        if network is None and len(self.names) == 1:
            return self.by_name[0]
        which = "a tensor that no network reads" if network is None else f"the tensors of {network}"
        example = "module" if network is None else f"{{{network!r}: module}}"
        raise ModelError(
            f"the embedding scorer has no encoder for {which}",
            hint=f"dpl.Embedding(program, encoders={example}), where the module maps stacked "
            f"tensors to [tensors, {self.dim}]",
        )

    def encode(
        self,
        network: str | None,
        numbers: Int[Tensor, "batch items"],
        bank: Sequence[Tensor],
        like: Tensor,
    ) -> Float[Tensor, "items batch dim"]:
        """The vectors of tensors of the bank, each distinct one encoded once."""
        encoder = self.of(network)
        distinct, place = torch.unique(numbers, return_inverse=True)
        tensors = [bank[i] for i in distinct.tolist()]
        shapes = {tuple(t.shape) for t in tensors}
        if len(shapes) > 1:
            raise ModelError(
                f"tensors of shapes {sorted(shapes)} cannot be stacked for one encoder",
                hint="give the tensors of one network the same shape",
            )
        encoded = encoder(torch.stack(tensors).to(like.device))
        expected = (len(tensors), self.dim)
        if not isinstance(encoded, Tensor) or tuple(encoded.shape) != expected:
            got = list(encoded.shape) if isinstance(encoded, Tensor) else type(encoded).__name__
            raise ModelError(
                f"the encoder of {network or 'the tensors'} returned {got} for {len(tensors)} "
                f"tensors; the embedding scorer needs {list(expected)}",
                hint="end it with a linear layer to the scorer's dim",
            )
        return encoded.to(like.dtype)[place.T.to(like.device)]


def readers(graph: GoalGraph) -> dict[int, str]:
    """The network that reads each slot, the first in the graph where there are several."""
    found: dict[int, str] = {}
    seen: set[int] = set()
    for choice in graph.choices:
        if not choice.inputs or id(choice.inputs) in seen:
            continue
        seen.add(id(choice.inputs))
        label = choice.clause.label if choice.clause is not None else None
        if not isinstance(label, Neural | Bernoulli):
            continue
        stack = list(choice.inputs)
        while stack:
            term = stack.pop()
            if type(term) is Slot:
                found.setdefault(term.number, label.network)
            elif type(term) is Struct:
                stack.extend(term.args)
    return found
