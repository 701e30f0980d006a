"""e_t: embeddings of terms.

symbol        a row of the table e_v; one that the program does not have, the row of <unk>
number        an MLP on its features, or a row of the table where numbers are symbols
variable      a row for each order of first occurrence in the goal; late ones share the last
tensor        the encoder of the network that reads it
f(t₁, …, tₙ)  tanh of an MLP on e_f, e_t₁, …, e_tₙ
[t | ts]      a step of a GRU from e_ts on e_t: a list is read from its end, from e_[]
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from deepprooflog.score.embedding.atoms import Mlp
from deepprooflog.score.embedding.encoders import WIDTH, Encoders
from deepprooflog.score.embedding.layout import (
    Compounds,
    Lists,
    Numbers,
    Slots,
    SymbolRows,
    Variables,
)
from deepprooflog.score.segments import run_gru

# Variables from this one on are embedded alike.
VARIABLES = 32

LevelValues = Sequence[Float[Tensor, "_ _ dim"]]


class TermEmbedding(nn.Module):
    """The tables and networks behind e_t."""

    def __init__(
        self, dim: int, symbols: int, positions: int, spread: float, encoders: Encoders
    ) -> None:
        super().__init__()
        self.dim = dim
        self.symbols = nn.Parameter(spread * torch.randn(symbols, dim))
        self.variables = nn.Parameter(spread * torch.randn(VARIABLES, dim))
        self.number = nn.Sequential(nn.Linear(WIDTH, 2 * dim), nn.Tanh(), nn.Linear(2 * dim, dim))
        self.compound = Mlp(dim, positions)
        self.list = nn.GRU(dim, dim)
        self.encoders = encoders

    def forward(
        self,
        group: SymbolRows | Numbers | Variables | Slots | Compounds | Lists,
        values: LevelValues,
        slots: Int[Tensor, "batch slots"],
        bank: Sequence[Tensor],
    ) -> Float[Tensor, "items columns dim"]:
        """The vectors of one group of terms; `values` are those of the groups before it."""
        batch = len(slots)
        if isinstance(group, SymbolRows):
            return self.symbols[group.rows].unsqueeze(1)
        if isinstance(group, Variables):
            return self.variables[group.numbers.clamp(max=VARIABLES - 1)].unsqueeze(1)
        if isinstance(group, Numbers):
            result: Tensor = self.number(group.features.to(self.symbols)).unsqueeze(1)
            return result
        if isinstance(group, Slots):
            numbers = slots[:, group.numbers.to(slots.device)]
            return self.encoders.encode(group.network, numbers, bank, self.symbols)
        columns = batch if group.slotted else 1
        if isinstance(group, Lists):
            heads, bases = group.heads(values, columns), group.bases(values, columns)
            return run_gru(self.list, heads, group.runs, bases)
        return torch.tanh(self.compound(*self.parts(group, values, columns)))

    def parts(
        self, group: Compounds, values: LevelValues, columns: int
    ) -> tuple[Float[Tensor, "items columns dim"], Float[Tensor, "items columns arity dim"]]:
        """e_f and e_t₁, …, e_tₙ of compounds or atoms."""
        functors = self.symbols[group.functors].unsqueeze(1).expand(-1, columns, -1)
        if not group.arity:
            return functors, functors.new_empty((len(functors), columns, 0, self.dim))
        arguments = group.arguments(values, columns)
        shaped = arguments.reshape(len(functors), group.arity, columns, self.dim)
        return functors, shaped.transpose(1, 2)
