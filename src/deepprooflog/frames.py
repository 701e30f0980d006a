"""Results as tables: pandas frames, CSV and Parquet files.

CSV is written by the standard library; frames and Parquet need `pip install deepprooflog[frames]`.
"""

from __future__ import annotations

import csv
import importlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deepprooflog.errors import DataError

DELIMITED = {".csv": ",", ".tsv": "\t"}
PARQUET_ENDINGS = (".parquet", ".pq")
ENDINGS = (*DELIMITED, *PARQUET_ENDINGS)


@dataclass(frozen=True)
class ResultTable:
    """Rows of a result by the names of their columns; a value that a row lacks is None.

    >>> rows = ResultTable(("X", "probability"), ({"X": "ann", "probability": 0.5},))
    >>> rows.to_frame()["probability"].tolist()
    [0.5]
    """

    columns: tuple[str, ...]
    rows: tuple[Mapping[str, Any], ...]

    def to_frame(self) -> Any:
        """The table as a `pandas.DataFrame`."""
        pandas = _extra("pandas", "frames")
        found = [[row.get(name) for name in self.columns] for row in self.rows]
        return pandas.DataFrame(found, columns=list(self.columns))

    def save(self, path: str | Path) -> None:
        """Write the table as CSV, TSV or Parquet, by the ending; a file is whole or not there."""
        target = Path(path)
        ending = table_ending(target)
        part = target.with_name(f".{target.name}.part")
        try:
            if ending in DELIMITED:
                self._write_delimited(part, DELIMITED[ending])
            else:
                self._write_parquet(part)
            os.replace(part, target)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise DataError(f"cannot write: {reason}", file=str(path)) from None
        finally:
            part.unlink(missing_ok=True)

    def _write_delimited(self, path: Path, delimiter: str) -> None:
        with open(path, "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
            writer.writerow(self.columns)
            writer.writerows([row.get(name) for name in self.columns] for row in self.rows)

    def _write_parquet(self, path: Path) -> None:
        pyarrow, parquet = _extra("pyarrow", "frames"), _extra("pyarrow.parquet", "frames")
        columns = {name: [row.get(name) for row in self.rows] for name in self.columns}
        parquet.write_table(pyarrow.table(columns), path)


def table_ending(path: str | Path) -> str:
    """The ending of a table's file, which says its format.

    >>> table_ending("answers.csv")
    '.csv'
    """
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise DataError(
            f"which format is {ending or 'no ending'}?", file=str(path), hint=", ".join(ENDINGS)
        )
    return ending


def _extra(module: str, extra: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise DataError(
            f"{module.partition('.')[0]} is not installed",
            hint=f"pip install 'deepprooflog[{extra}]'; CSV needs nothing",
        ) from None
