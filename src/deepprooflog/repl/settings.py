"""What one question at the top level may use and how much of its answers is shown."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from deepprooflog.errors import DataError, ProofLogError
from deepprooflog.logic.limits.budget import Budget
from deepprooflog.logic.limits.sizes import read_size
from deepprooflog.logic.limits.watch import available, size_text

OFF = ("off", "none")


@dataclass(frozen=True)
class TopLevelSettings:
    """Limits of each question; None is no limit, and of memory three quarters of what is free.

    >>> TopLevelSettings().changed("seconds", "10").seconds
    10.0
    >>> TopLevelSettings().changed("memory", "2GB").shown("memory")
    '2 GB'
    """

    seconds: float | None = None
    goals: int | None = None
    memory: int | None = None
    answers: int | None = 1000
    top: int = 10
    proofs: int = 3

    def changed(self, name: str, text: str) -> TopLevelSettings:
        """With one setting read from text; `off` lifts a limit."""
        if name not in SETTINGS:
            raise DataError(f"there is no setting {name}", hint=", ".join(SETTINGS))
        about = SETTINGS[name]
        if text.lower() in OFF and about.may_be_off:
            return replace(self, **dict[str, Any]({name: None}))
        value = about.read(text)
        if value is None:
            raise DataError(f"{name} is {about.what}, not {text!r}", hint=f":set {name} {about.eg}")
        return replace(self, **{name: value})

    def shown(self, name: str) -> str:
        """A setting for people."""
        value = getattr(self, name)
        if value is None:
            return "three quarters of what is free" if name == "memory" else "off"
        return size_text(value) if name == "memory" else f"{value:g}"

    def budget(self, counts: str = "max_goals") -> Budget:
        """The budget of one question; `counts` is the limit that `goals` sets."""
        free = available()
        memory = self.memory or (None if free is None else free * 3 // 4)
        plain = Budget(max_seconds=self.seconds, max_memory=memory)
        return plain if self.goals is None else replace(plain, **{counts: self.goals})


def larger(error: ProofLogError) -> str:
    """Which setting to raise when a budget has ended a question."""
    limit = getattr(error, "limit", "max_goals").removeprefix("max_")
    name = {"steps": "goals"}.get(limit, limit)
    return f":set {name} with a larger value" if name in SETTINGS else error.hint or ""


@dataclass(frozen=True)
class _Setting:
    what: str
    eg: str
    read: Callable[[str], Any]
    may_be_off: bool = True


def _count(text: str) -> int | None:
    return int(text) if text.isdecimal() and int(text) > 0 else None


def _seconds(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 < value < math.inf else None


SETTINGS = {
    "seconds": _Setting("a number of seconds above 0", "10", _seconds),
    "goals": _Setting("a positive integer", "100000", _count),
    "memory": _Setting("a size", "2GB", read_size),
    "answers": _Setting("a positive integer", "1000", _count),
    "top": _Setting("a positive integer", "10", _count, may_be_off=False),
    "proofs": _Setting("a positive integer", "3", _count, may_be_off=False),
}
"""The settings by name: seconds, goals (of plain answers: steps) and memory of a question; answers
that are printed where no one is asked for more; top answers and proofs of a graph."""
