"""Triples from frames: pandas, Arrow tables, and Parquet and Arrow files.

A frame has three columns, head, relation and tail in this order, or among others those that are
called so (`head`, `relation`, `tail`; `subject`, `predicate`, `object`; …, as in the first row of a
table). A name is what it is in the frame: text is an atom, a whole number an integer. What has the
Arrow stream interface (`__arrow_c_stream__`: Polars, DuckDB) is read as a table.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from deepprooflog.errors import DataError
from deepprooflog.kg.data.header import column_kind
from deepprooflog.kg.data.triples import TripleSource
from deepprooflog.syntax.terms import Atom, Term

PARQUET = (".parquet", ".pq")
ARROW = (".arrow", ".feather", ".ipc")
FRAME_ENDINGS = PARQUET + ARROW
_HINT = "three columns, or columns named head, relation, tail"


def is_frame(source: object) -> bool:
    """Whether an object is a frame or a table."""
    named = hasattr(source, "columns") and hasattr(source, "iloc")
    return named or hasattr(source, "__arrow_c_stream__") or hasattr(source, "column_names")


def is_frame_file(path: Path) -> bool:
    """Whether a file is Parquet or Arrow, by its name."""
    return path.name.lower().endswith(FRAME_ENDINGS)


def frame_rows(source: Any, file: str | None = None) -> list[tuple[Term, str, Term]]:
    """The triples of a frame or a table, in its order.

    >>> import pandas
    >>> frame = pandas.DataFrame({"object": ["bob"], "subject": ["ann"], "predicate": ["knows"]})
    >>> frame_rows(frame)
    [(Atom('ann'), 'knows', Atom('bob'))]
    """
    if hasattr(source, "iloc"):
        names = [str(name) for name in source.columns]
        places = triple_columns(names, file)
        columns = [source.iloc[:, place].tolist() for place in places]
    else:
        table = source
        if not hasattr(table, "column_names"):
            table = _pyarrow("pyarrow").table(source)
        names = list(table.column_names)
        places = triple_columns(names, file)
        columns = [table.column(place).to_pylist() for place in places]
    shown = [names[place] for place in places]
    heads, relations, tails = (
        _names(values, name, file) for values, name in zip(columns, shown, strict=True)
    )
    if not heads:
        raise DataError("no triples in the frame", file=file)
    text = {r: r.name if type(r) is Atom else str(r) for r in set(relations)}
    return list(zip(heads, (text[r] for r in relations), tails, strict=True))


def read_frame_file(path: Path, file: str) -> tuple[list[tuple[Term, str, Term]], TripleSource]:
    """The triples of a Parquet or Arrow file; a row's number is its line."""
    try:
        if path.name.lower().endswith(PARQUET):
            table = _pyarrow("pyarrow.parquet").read_table(path)
        else:
            table = _pyarrow("pyarrow.feather").read_table(path)
    except (OSError, ValueError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise DataError(
            f"cannot be read as {'Parquet' if path.suffix in PARQUET else 'Arrow'}: {reason[:160]}",
            file=file, hint=f"the ending says the format: {', '.join(FRAME_ENDINGS)}",
        ) from None  # fmt: skip
    rows = frame_rows(table, file)
    return rows, TripleSource(file, np.arange(1, len(rows) + 1, dtype=np.int64))


def triple_columns(names: Sequence[str], file: str | None = None) -> list[int]:
    """Where head, relation and tail stand among named columns.

    >>> triple_columns(["tail", "weight", "relation", "head"]), triple_columns(["a", "b", "c"])
    ([3, 2, 0], [0, 1, 2])
    """
    lower = [name.lower() for name in names]
    for trio in (("head", "relation", "tail"), ("subject", "predicate", "object")):
        if all(lower.count(name) == 1 for name in trio):
            return [lower.index(name) for name in trio]
    kinds = [column_kind(name) for name in names]
    if all(kinds.count(kind) == 1 for kind in range(3)):
        return [kinds.index(kind) for kind in range(3)]
    if len(names) == 3:
        return [0, 1, 2]
    raise DataError(
        f"which columns are head, relation and tail? There are {', '.join(names[:12]) or 'none'}",
        file=file, hint=_HINT,
    )  # fmt: skip


def _names(values: Sequence[Any], column: str, file: str | None) -> list[Term]:
    """Values of a column as constants."""
    terms: dict[Any, Term] = {}
    found = []
    for number, value in enumerate(values, 1):
        try:
            term = terms.get(value)
        except TypeError:
            term = None
        if term is None or type(value) is float:
            term = _term(value, column, number, file)
            terms[value] = term
        found.append(term)
    return found


def _term(value: Any, column: str, number: int, file: str | None) -> Term:
    if isinstance(value, str) and value:
        return Atom(str(value))
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return int(value)
    what = "empty" if value is None or value != value or value == "" else f"{value!r:.40}"
    raise DataError(
        f"row {number}: {column} is {what}, which is no name", file=file,
        hint="names are text or whole numbers; dropna() or astype(str) first",
    )  # fmt: skip


def _pyarrow(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise DataError(
            "Arrow tables and Parquet files are read by pyarrow, which is not installed",
            hint="pip install 'deepprooflog[frames]'",
        ) from None
