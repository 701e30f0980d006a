"""What a program may not do: change itself, or end the process."""

from __future__ import annotations

from typing import Any

from deepprooflog.logic.builtins.registry import det
from deepprooflog.logic.machine import Machine
from deepprooflog.logic.raise_iso import indicator, permission_error
from deepprooflog.syntax.terms import Functor

_CHANGES = (
    ("assert", 1), ("asserta", 1), ("assertz", 1), ("retract", 1), ("retractall", 1),
    ("abolish", 1), ("nb_setval", 2), ("nb_getval", 2), ("b_setval", 2), ("b_getval", 2),
    ("setarg", 3), ("nb_setarg", 3), ("consult", 1),
)  # fmt: skip
_ENDS = (("halt", 0), ("halt", 1))


def _refuse(name: str, arity: int, why: str) -> None:
    functor = Functor(name, arity)

    def refuse(m: Machine, args: Any) -> bool:
        raise permission_error("execute", "procedure", indicator(functor), why)

    det(name, arity)(refuse)


for _name, _arity in _CHANGES:
    _refuse(_name, _arity, "not supported: a program is immutable, pass state as arguments")
for _name, _arity in _ENDS:
    _refuse(_name, _arity, "not supported: a goal cannot end the process that runs it")
