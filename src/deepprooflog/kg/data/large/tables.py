"""Tables of triples of any length, read in pieces of bytes into arrays of numbers.

What `reading.py` makes of lines `head<TAB>relation<TAB>tail`, without an object for a name or a
row. This holds of plain tables: UTF-8, three fields in every line, none of them empty, none with
blanks around it, no first row that names the columns. Of any other file None is found, and the
general reader has it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Int32, Int64, UInt8

from deepprooflog.errors import DataError
from deepprooflog.kg.data.header import column_kind
from deepprooflog.kg.data.large.entity_names import ATOM, INTEGER, EntityNames
from deepprooflog.kg.data.large.hash_table import MOST
from deepprooflog.kg.data.large.name_numbers import NameNumbers, padded
from deepprooflog.kg.data.reading import INTEGER_BYTES
from deepprooflog.kg.data.triples import SplitName

PIECE = 4 * 1024 * 1024
_TAB, _LINE, _BLANK, _ASCII = 9, 10, 32, 128
_MINUS, _ZERO, _NINE = b"-09"
_NAMES = 1_000_000  # looked at together


@dataclass(frozen=True, eq=False)
class NumberedTables:
    """The triples of plain tables as numbers, and the names these stand for."""

    entities: EntityNames
    relations: tuple[str, ...]
    rows: Mapping[SplitName, Int32[np.ndarray, "triples 3"]]


class _OtherForm(Exception):
    """The file is no plain table."""


def read_large_tables(files: Mapping[SplitName, Path]) -> NumberedTables | None:
    """The triples of plain tables, numbered in the order of the files; None for any others."""
    entities, relations = NameNumbers(), NameNumbers()
    try:
        rows = {split: _numbered(path, entities, relations) for split, path in files.items()}
        return NumberedTables(_entities(entities), _relations(relations), rows)
    except (_OtherForm, ArithmeticError, OSError, UnicodeDecodeError):
        return None  # what is wrong, if anything, the general reader says


def _numbered(
    path: Path, entities: NameNumbers, relations: NameNumbers
) -> Int32[np.ndarray, "triples 3"]:
    try:
        return _table(path, entities, relations)
    except OverflowError:
        raise DataError(f"more than {MOST:,} names", file=str(path)) from None


def _table(
    path: Path, entities: NameNumbers, relations: NameNumbers
) -> Int32[np.ndarray, "triples 3"]:
    """One table; the array is as long as the file has lines, and no other copy is made."""
    if not path.name.endswith((".tsv", ".txt")):
        raise _OtherForm
    rows, at = np.empty((_lines(path), 3), dtype=np.int32), 0
    for raw in _pieces(path):
        begin, end = _fields(raw)
        if not at:
            _check_first(raw[: end[0, 2]].tobytes().decode())
        more = len(begin)
        if at + more > len(rows):
            raise _OtherForm  # something is writing to it
        filled, ends = padded(raw), [0, 2]
        found = entities.number(filled, begin[:, ends].ravel(), end[:, ends].ravel())
        rows[at : at + more, ends] = found.reshape(-1, 2)
        rows[at : at + more, 1] = relations.number(filled, begin[:, 1].copy(), end[:, 1].copy())
        at += more
    if not at or at != len(rows):
        raise _OtherForm
    return rows


def _lines(path: Path) -> int:
    """How many lines a file has; the last may lack its end."""
    count, last = 0, b"\n"
    with path.open("rb") as file:
        while raw := file.read(PIECE):
            count, last = count + raw.count(b"\n"), raw[-1:]
    return count + (last != b"\n")


def _pieces(path: Path) -> Iterator[UInt8[np.ndarray, " bytes"]]:
    """The bytes of whole lines, some at a time."""
    rest = b""
    with path.open("rb") as file:
        while raw := file.read(PIECE):
            cut = raw.rfind(b"\n") + 1
            if cut:
                yield np.frombuffer(rest + raw[:cut], dtype=np.uint8)
                rest = b""
            rest += raw[cut:]
    if rest:
        yield np.frombuffer(rest + b"\n", dtype=np.uint8)


def _fields(
    raw: UInt8[np.ndarray, " bytes"],
) -> tuple[Int64[np.ndarray, "lines 3"], Int64[np.ndarray, "lines 3"]]:
    """Where the fields of each line begin and end."""
    str(raw.data, "utf-8")
    end = np.flatnonzero((raw == _TAB) | (raw == _LINE))
    if len(end) % 3:
        raise _OtherForm
    begin = np.append(0, end[:-1] + 1)
    marks = raw[end].reshape(-1, 3)
    if (marks != [_TAB, _TAB, _LINE]).any() or (begin >= end).any():
        raise _OtherForm
    if (raw[begin] <= _BLANK).any() or (raw[end - 1] <= _BLANK).any():
        raise _OtherForm
    return begin.reshape(-1, 3), end.reshape(-1, 3)


def _check_first(text: str) -> None:
    """The first line may be a mark, a comment, RDF or the names of columns."""
    kinds = [column_kind(name) for name in text.split("\t")]
    if kinds == [0, 1, 2] or text[0] in "\ufeff%<@#_" or text.startswith(("PREFIX", "BASE")):
        raise _OtherForm


def _entities(table: NameNumbers) -> EntityNames:
    names, ends = table.names(), table.ends()
    begin = np.append(0, ends[:-1])
    kinds = np.full(len(ends), ATOM, dtype=np.uint8)
    first = names[begin]
    kinds[_integers(names, begin, ends)] = INTEGER
    for number in np.flatnonzero((first >= _ASCII) | (names[ends - 1] >= _ASCII)).tolist():
        _check_blanks(names[begin[number] : ends[number]].tobytes().decode())
    return EntityNames(names, ends, kinds)


def _integers(
    names: UInt8[np.ndarray, " bytes"],
    begin: Int64[np.ndarray, " names"],
    end: Int64[np.ndarray, " names"],
) -> Bool[np.ndarray, " names"]:
    """Which names are integers, as `name_term` has it: many at once, since all may be."""
    found = np.zeros(len(end), dtype=bool)
    for at in range(0, len(end), _NAMES):
        some = slice(at, at + _NAMES)
        first, last = begin[some] - begin[at], end[some] - begin[at]
        raw = names[begin[at] : end[some][-1]]
        others = np.add.reduceat((raw < _ZERO) | (raw > _NINE), first, dtype=np.int64)
        signed = raw[first] == _MINUS
        digits = last - first - signed
        leading = raw[np.minimum(first + signed, len(raw) - 1)]
        plain = (leading != _ZERO) | ((digits == 1) & ~signed)
        found[some] = (others == signed) & (digits > 0) & plain & (last - first < INTEGER_BYTES)
    return found


def _relations(table: NameNumbers) -> tuple[str, ...]:
    raw, found, begin = table.names().tobytes(), list[str](), 0
    for end in table.ends().tolist():
        found.append(raw[begin:end].decode())
        _check_blanks(found[-1])
        begin = end
    return tuple(found)


def _check_blanks(name: str) -> None:
    """Blanks beyond ASCII are left out around a name, too."""
    if name != name.strip():
        raise _OtherForm
