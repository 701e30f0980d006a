"""The table of a model's rules: a sequence of rows, also a frame, a file, a page of a notebook."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, overload

from deepprooflog import markup
from deepprooflog.frames import ResultTable
from deepprooflog.kg.data.notice import plural
from deepprooflog.kg.readings.table import RuleRow

SHOWN = 200  # rows in a notebook
HEAD = ("weight", "confidence", "support", "predictions", "right", "wrong", "rule")


@dataclass(frozen=True)
class RuleTable(Sequence[RuleRow]):
    """The rules of a model, each with what was learned and counted of it.

    >>> RuleTable(()).to_frame().columns.tolist()[:3]
    ['id', 'relation', 'rule']
    """

    rows: tuple[RuleRow, ...]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[RuleRow]:
        return iter(self.rows)

    @overload
    def __getitem__(self, at: int) -> RuleRow: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[RuleRow, ...]: ...
    def __getitem__(self, at: int | slice) -> RuleRow | tuple[RuleRow, ...]:
        return self.rows[at]

    def __repr__(self) -> str:
        return f"RuleTable({plural(len(self), 'rule')})"

    def to_dict(self) -> dict[str, Any]:
        """Plain Python, as `dprl rules --json` prints it."""
        return {"rules": [row.to_dict() for row in self.rows]}

    def table(self) -> ResultTable:
        """The rows by the names of their columns."""
        names = tuple(field.name for field in fields(RuleRow))
        return ResultTable(names, tuple(self.to_dict()["rules"]))

    def to_frame(self) -> Any:
        """The table as a `pandas.DataFrame`, a row for each rule."""
        return self.table().to_frame()

    def _repr_html_(self) -> str:
        some = self.rows[:SHOWN]
        found = [
            tuple(
                markup.code(value) if isinstance(value := getattr(row, name), str) else value
                for name in HEAD
            )
            for row in some
        ]
        parts = [markup.table(HEAD, found)]
        if len(self) > SHOWN:
            parts.append(markup.line(f"… and {len(self) - SHOWN:,} more rules"))
        return markup.block(*parts)
