"""A program with the queries to put to it: what random generators make and engines are given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")
Draw: TypeAlias = Callable[[st.SearchStrategy[Any]], Any]
Record: TypeAlias = Callable[[str, object], None]
"""pytest's `record_property`: where a test leaves how many cases it compared."""


@dataclass(frozen=True)
class Query:
    """A goal and the names of its variables, in order of first occurrence."""

    goal: str
    variables: tuple[str, ...]


@dataclass(frozen=True)
class Case:
    """A program and its queries."""

    program: str
    queries: tuple[Query, ...]

    def __str__(self) -> str:
        asked = "\n".join(f"?- {query.goal}." for query in self.queries)
        return f"{self.program}\n{asked}"


@dataclass(frozen=True)
class Dice:
    """Small draws, by number and by item."""

    draw: Draw

    def below(self, n: int) -> int:
        """One of 0 … n−1."""
        return int(self.draw(st.integers(0, n - 1)))

    def pick(self, items: Sequence[T]) -> T:
        """One of the items."""
        return items[self.below(len(items))]
