"""What an ask is given beside its arguments: a budget whose clock runs, and where to report."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from deepprooflog.errors import BudgetExceeded, DataError, ProofLogError
from deepprooflog.logic.limits.budget import Budget
from deepprooflog.proof.tree import Proof

# Goals that a search for failed derivations takes up.
NEAR_GOALS = 20_000


@dataclass(frozen=True)
class Asking:
    """One ask as its worker sees it."""

    arguments: Mapping[str, Any]
    budget: Budget
    on_stage: Callable[[str], None]

    @property
    def near_budget(self) -> Budget:
        """The budget of a search for failed derivations: nearer ones come first."""
        return replace(self.budget, max_goals=NEAR_GOALS)

    def text(self, name: str) -> str:
        """An argument that must be there, and say something."""
        value = self.arguments.get(name)
        if not isinstance(value, str) or not value.strip().rstrip("."):
            raise DataError(f"the {name} is empty", hint="a goal such as s(X)")
        return value

    def number(self, name: str, default: int) -> int:
        """A count among the arguments."""
        return int(self.arguments.get(name, default))


def error_record(error: BaseException) -> dict[str, Any]:
    """An error as the page and scripts read it.

    >>> from deepprooflog.errors import SyntaxProblem
    >>> record = error_record(SyntaxProblem("unexpected ')'", line=1, column=5))
    >>> record["kind"], record["line"], record["column"], record["hint"]
    ('SyntaxProblem', 1, 5, None)
    """
    if not isinstance(error, ProofLogError):
        message = "there was not enough memory" if isinstance(error, MemoryError) else str(error)
        return {**_NO_PLACE, "kind": type(error).__name__, "message": message, "hint": None}
    return {
        "kind": type(error).__name__, "message": error.message, "hint": error.hint,
        "file": error.file, "line": error.line, "column": error.column, "text": error.text,
        **({"limit": error.limit} if isinstance(error, BudgetExceeded) else {}),
    }  # fmt: skip


_NO_PLACE = {"file": None, "line": None, "column": None, "text": None}


def checked(proof: Proof) -> dict[str, Any]:
    """A proof as plain Python, with its text and whether each step was replayed and found right.

    `checked` is null where there is no program to replay it through.
    """
    replayed = None if proof.checker is None else proof.check()
    return {**proof.to_dict(), "text": str(proof), "checked": replayed}


def plain(value: Any) -> Any:
    """A result in which every number is one that JSON has: infinities and NaN become null.

    >>> plain({"log": -math.inf, "rows": (1.5, "a")})
    {'log': None, 'rows': [1.5, 'a']}
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    # A number of numpy or torch is the number that it holds.
    return plain(value.item()) if hasattr(value, "item") else value
