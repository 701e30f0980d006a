"""Attacks on the library's promises: cases drawn from a seed, counted, for seconds or for hours.

An attack is a module `fuzz_<promise>.py` beside this one with

    PROMISE   one line: what must hold
    QUICK     how many cases `make test` draws
    attack(rounds) -> Tally

`rounds` gives one `random.Random` for each case to draw; the same seed draws the same cases.
"""

from __future__ import annotations

import importlib
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType


@dataclass
class Tally:
    """What an attack counted: cases tried, and a line for each that broke the promise."""

    tried: int = 0
    broken: list[str] = field(default_factory=list)

    def record(self, held: bool, case: str) -> None:
        """Count one case; `case` says how to repeat it."""
        self.tried += 1
        if not held:
            self.broken.append(case)


@dataclass(frozen=True)
class Rounds:
    """How many cases to draw, or for how many seconds."""

    seed: int = 0
    count: int | None = None
    seconds: float | None = None

    def __iter__(self) -> Iterator[random.Random]:
        end = None if self.seconds is None else time.monotonic() + self.seconds
        number = 0
        while (self.count is None or number < self.count) and (
            end is None or time.monotonic() < end
        ):
            yield random.Random(f"{self.seed}/{number}")
            number += 1


def attacks() -> list[ModuleType]:
    """Every attack, by name."""
    folder = Path(__file__).parent
    return [importlib.import_module(f"fuzz.{p.stem}") for p in sorted(folder.glob("fuzz_*.py"))]
