"""The ways to embed atoms by name: a new one is a file and a line here."""

from __future__ import annotations

from collections.abc import Callable

from deepprooflog.errors import ModelError
from deepprooflog.score.embedding.atoms import (
    AtomFunction,
    ComplExAtom,
    DistMultAtom,
    FAtom,
    Mlp,
    RotatEAtom,
    TransEAtom,
)

BY_NAME: dict[str, Callable[[int, int], AtomFunction]] = {
    "mlp": Mlp,
    "transe": lambda dim, positions: TransEAtom(dim),
    "distmult": lambda dim, positions: DistMultAtom(dim),
    "complex": lambda dim, positions: ComplExAtom(dim),
    "rotate": lambda dim, positions: RotatEAtom(dim),
}
"""f_atom by name: from dim and the number of argument positions."""


def atom_function(f_atom: str | FAtom, dim: int, positions: int) -> FAtom:
    """An f_atom by name, or the module that was given."""
    if not isinstance(f_atom, str):
        return f_atom
    if f_atom not in BY_NAME:
        names = ", ".join(BY_NAME)
        raise ModelError(f"there is no f_atom {f_atom!r}", hint=f"one of {names}, or a module")
    return BY_NAME[f_atom](dim, positions)
