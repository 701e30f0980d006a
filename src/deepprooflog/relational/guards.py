r"""Guards in the bodies of rules, decided for many goals at once.

    X \= Y    X == Y    X \== Y          constants and variables
    X < Y     X =< Y    X =:= Y   …      integers

A guard that holds is a step of weight 1, one that does not has no step, as for `successors`. Here
each guard is a rule without a body, offered where it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from deepprooflog.logic.clause import Clause, Constant
from deepprooflog.syntax.terms import Functor, Struct, Term, canonical_var

Compare = Callable[[Tensor, Tensor], Tensor]

TERMS: dict[Functor, Compare] = {
    # A variable unifies with everything.
    Functor("\\=", 2): lambda a, b: (a != b) & (a >= 0) & (b >= 0),
    Functor("==", 2): torch.eq,
    Functor("\\==", 2): torch.ne,
}
INTEGERS: dict[Functor, Compare] = {
    Functor("<", 2): torch.lt,
    Functor(">", 2): torch.gt,
    Functor("=<", 2): torch.le,
    Functor(">=", 2): torch.ge,
    Functor("=:=", 2): torch.eq,
    Functor("=\\=", 2): torch.ne,
}
GUARDS = TERMS | INTEGERS
# Those that may hold of a variable.
OF_VARIABLES = frozenset({Functor("==", 2), Functor("\\==", 2)})


def guard_clause(functor: Functor) -> Clause:
    """The rule without a body that stands for a guard that holds; its weight is 1."""
    head = Struct(functor, (canonical_var(0), canonical_var(1)))
    return Clause(head, (), 2, Constant(Fraction(1)), names=("X", "Y"))


def integer_values(
    constants: Sequence[Term], device: torch.device
) -> tuple[Int[Tensor, " constants"], Bool[Tensor, " constants"]]:
    """The values of the constants that are integers of 64 bits, and which these are."""
    fits = [type(c) is int and -(2**63) <= c < 2**63 for c in constants]
    values = [c if ok else 0 for c, ok in zip(constants, fits, strict=True)]
    return (
        torch.tensor(values, dtype=torch.int64, device=device),
        torch.tensor(fits, dtype=torch.bool, device=device),
    )
