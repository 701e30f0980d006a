"""Programs whose values are known exactly: `oracles/programs/*.pl`.

Each says how its values come about and lists them,

    %? goal = fraction
    %! infinite             resolvents grow without end: the goal graph has no end, tables do
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import deepprooflog as dpl


@dataclass(frozen=True)
class Known:
    """A program, a goal, and the goal's exact probability."""

    name: str
    text: str
    goal: str
    value: Fraction
    infinite: bool

    @property
    def program(self) -> dpl.Program:
        return dpl.Program(self.text)

    @property
    def without_fail(self) -> str:
        """The text with a predicate of no clauses in place of `fail`, which is a builtin."""
        return ":- dynamic(never/0).\n" + self.text.replace(":- fail.", ":- never.")

    @property
    def unlabelled(self) -> dpl.Program:
        """The same clauses without their labels, and without `fail`."""
        return dpl.Program(re.sub(r"^\S+ :: ", "", self.without_fail, flags=re.MULTILINE))


def _fraction(text: str) -> Fraction:
    power = re.fullmatch(r"\((\d+/\d+)\)\^(\d+)", text)
    return Fraction(power[1]) ** int(power[2]) if power else Fraction(text)


def _read(path: Path) -> list[Known]:
    text = path.read_text(encoding="utf-8")
    asked = re.findall(r"^%\? (.*) = (\S+)$", text, re.MULTILINE)
    infinite = re.search(r"^%! infinite$", text, re.MULTILINE) is not None
    return [Known(path.stem, text, goal, _fraction(value), infinite) for goal, value in asked]


FILES = sorted((Path(__file__).parents[1] / "oracles" / "programs").glob("*.pl"))
KNOWN = [known for path in FILES for known in _read(path)]
