"""Reading triples: Prolog facts `relation(head, tail).` or lines `head<TAB>relation<TAB>tail`.

A field of a table is a name as it stands: an integer where it is written as Prolog writes one
(`2252`, `-3`), an atom otherwise (`Ada`, `00260881`, `/m/08966`). In Prolog facts the reader's own
rules hold: `00260881` is the integer 260881, `'Ada'` an atom and `Ada` a variable, which no triple
may hold. Only a hyphen in a bare relation name is taken as part of the name. The first row of a
table may name its columns, and is no triple then.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from deepprooflog.data.whole import read_file, unpack
from deepprooflog.errors import DataError
from deepprooflog.kg.data.header import column_kind
from deepprooflog.kg.data.notice import DataNotice
from deepprooflog.kg.data.triples import TripleSource, binary_atom
from deepprooflog.logic.limits.gc_pause import gc_paused
from deepprooflog.syntax.reader import Fact, ReadTerm, read_program
from deepprooflog.syntax.terms import Atom, Functor, Struct, Term, Var, deref
from deepprooflog.syntax.writer import write_term

SHIPPED = Path(__file__).parents[2] / "data"

INTEGER_BYTES = 4000
"""A name of so many digits is no integer: Python refuses to read very long ones."""
_INTEGER = re.compile(r"0|-?[1-9][0-9]*")
_DIRECTIVE = Functor(":-", 1)
_RULE = Functor(":-", 2)
_LABEL = Functor("::", 2)

_N_TRIPLES = re.compile(r"(<[^<>\s]*>|_:\S+)\s+<[^<>\s]*>\s+(<|_:|\").*\.")
_TURTLE = re.compile(r"@(prefix|base)\b|(PREFIX|BASE)\s+\S*\s*<")


@dataclass(frozen=True, eq=False)
class TripleRows:
    """The triples of one file, by name and in file order."""

    rows: list[tuple[Term, str, Term]]  # head, relation, tail
    source: TripleSource | None = None  # None for those that were never in a file
    notices: tuple[DataNotice, ...] = ()


def read_text(path: Path) -> str:
    """A file's text, unpacked where its name ends in .gz."""
    raw = read_file(path)
    if path.suffix == ".gz":
        raw = unpack(raw, str(path))
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as e:
        line = raw.count(b"\n", 0, e.start) + 1
        raise DataError(
            f"not UTF-8 text (byte {e.start})", file=str(path), line=line, hint="save it as UTF-8"
        ) from None


def named(path: Path) -> str:
    """How a file is called in proofs and messages: those of the package by folder and name."""
    return str(path.relative_to(SHIPPED) if path.is_relative_to(SHIPPED) else path)


def graph_name(folder: Path) -> str:
    """How the graph in a folder is called: as the folder, also where that is given as a dot."""
    return folder.absolute().name


def read_triples(path: Path) -> TripleRows:
    """The triples of a file, whichever way it writes them."""
    return parse_triples(read_text(path), named(path))


def parse_triples(text: str, file: str = "<text>") -> TripleRows:
    """The triples of a text; the file's name decides the format, else the first line does.

    >>> parse_triples("knows(ann,bob).").rows, parse_triples("ann\\tknows\\t7").rows
    ([(Atom('ann'), 'knows', Atom('bob'))], [(Atom('ann'), 'knows', 7)])
    """
    if not text.strip():
        raise DataError("the file is empty", file=file, hint="head<TAB>relation<TAB>tail lines")
    _refuse_rdf(text, file)
    name = file.removesuffix(".gz")
    table = name.endswith(".tsv") or (not name.endswith(".pl") and _looks_like_a_table(text))
    with gc_paused():
        rows, lines = _table(text, file) if table else _facts(text, file)
    notices: tuple[DataNotice, ...] = ()
    if table and _names_columns(rows):
        shown = ", ".join(text.split("\n")[lines[0] - 1].split("\t")).strip()
        notices = (
            DataNotice(f"the first row names the columns ({shown}): left out", file, lines[0]),
        )
        rows, lines = rows[1:], lines[1:]
    if not rows:
        raise DataError("no triples in the file", file=file)
    return TripleRows(rows, TripleSource(file, np.array(lines, dtype=np.int64)), notices)


def _looks_like_a_table(text: str) -> bool:
    return "\t" in _first_line(text)


def _first_line(text: str, comment: str = "%") -> str:
    """The first line that says something."""
    # Not `splitlines`: a name may hold what ends a line elsewhere, and a table goes by \n alone.
    lines = (line.strip() for line in text.split("\n"))
    return next((line for line in lines if line and line[0] != comment), "")


def _names_columns(rows: list[tuple[Term, str, Term]]) -> bool:
    """Whether the first row is a header: usual names of columns, none of which occurs again."""
    if len(rows) < 2:
        return False
    head, relation, tail = rows[0]
    names = [x.name if type(x) is Atom else "" for x in (head, Atom(relation), tail)]
    if [column_kind(name) for name in names] != [0, 1, 2]:
        return False
    own = {head, tail}
    return not any(h in own or t in own or r == relation for h, r, t in rows[1:])


def _refuse_rdf(text: str, file: str) -> None:
    first = _first_line(text, comment="#")
    form = "N-Triples" if _N_TRIPLES.fullmatch(first) else "Turtle" if _TURTLE.match(first) else ""
    if form:
        ending = ".nt" if form == "N-Triples" else ".ttl"
        raise DataError(
            f"{form} in a file whose name does not say so: triples are head<TAB>relation<TAB>tail "
            "lines or Prolog facts here",
            file=file, hint=f"call it {Path(file).name.partition('.')[0]}{ending}",
        )  # fmt: skip


def name_term(name: str) -> Term:
    """The constant that a bare name stands for.

    >>> name_term("2252"), name_term("00260881"), name_term("Ada")
    (2252, Atom('00260881'), Atom('Ada'))
    """
    return int(name) if len(name) < INTEGER_BYTES and _INTEGER.fullmatch(name) else Atom(name)


def _table(text: str, file: str) -> tuple[list[tuple[Term, str, Term]], list[int]]:
    return _even_table(text) or _any_table(text, file)


def _even_table(text: str) -> tuple[list[tuple[Term, str, Term]], list[int]] | None:
    """A table of three fields in every line, in few passes over all of it; None for any other."""
    lines = text.removesuffix("\n").split("\n")
    if not all(line.count("\t") == 2 for line in lines):
        return None
    fields = [field.strip() for field in "\t".join(lines).split("\t")]
    heads, relations, tails = fields[::3], fields[1::3], fields[2::3]
    names = dict.fromkeys(chain(heads, tails))
    if "" in names or "" in set(relations):
        return None
    terms = {name: name_term(name) for name in names}
    rows = zip(map(terms.__getitem__, heads), relations, map(terms.__getitem__, tails), strict=True)
    return list(rows), list(range(1, len(lines) + 1))


def _any_table(text: str, file: str) -> tuple[list[tuple[Term, str, Term]], list[int]]:
    rows: list[tuple[Term, str, Term]] = []
    lines: list[int] = []
    terms: dict[str, Term] = {}
    for number, line in enumerate(text.split("\n"), 1):
        fields = [field.strip() for field in line.split("\t")]
        if len(fields) != 3 or not all(fields):
            if not line.strip():
                continue
            raise DataError(
                f"a triple has 3 fields, not {len(fields)}"
                if len(fields) != 3
                else "a field of the triple is empty",
                file=file,
                line=number,
                text=line.rstrip("\r"),
                hint="head<TAB>relation<TAB>tail",
            )
        head, relation, tail = fields
        if head not in terms:
            terms[head] = name_term(head)
        if tail not in terms:
            terms[tail] = name_term(tail)
        rows.append((terms[head], relation, terms[tail]))
        lines.append(number)
    return rows, lines


def _facts(text: str, file: str) -> tuple[list[tuple[Term, str, Term]], list[int]]:
    rows: list[tuple[Term, str, Term]] = []
    lines: list[int] = []
    for item in read_program(text, file):
        if type(item) is Fact and len(item.args) == 2:
            rows.append((item.args[0], item.functor.name, item.args[1]))
        else:
            row = _unusual(item, text, file)
            if row is None:
                continue
            rows.append(row)
        lines.append(item.line)
    return rows, lines


def _unusual(item: Fact | ReadTerm, text: str, file: str) -> tuple[Term, str, Term] | None:
    """A fact that is not written plainly; None for a directive."""
    column = item.column if type(item) is ReadTerm else None
    wrong = "a triple is a fact with 2 arguments"
    hint = "relation(head, tail)."
    if type(item) is Fact:
        wrong += f", not {len(item.args)}"
    else:
        assert type(item) is ReadTerm
        term = deref(item.term)
        functor = term.functor if type(term) is Struct else None
        if functor is _DIRECTIVE:
            return None
        atom = binary_atom(term)
        if functor is _RULE:
            wrong, hint = "a rule among the triples", "put rules into a file of their own"
        elif functor is _LABEL:
            wrong = "a label on a triple"
        elif atom is not None and atom[0] != "-":
            name, (head, tail) = atom
            odd = next((a for a in (head, tail) if type(a) in (Var, Struct)), None)
            if odd is None:
                return head, name, tail
            shown = write_term(odd) if type(odd) is Struct else repr(odd)
            wrong = f"{shown} is no constant"
            if type(odd) is Var:
                wrong = f"{shown} is a variable, and triples are ground"
                hint = f"quote it, '{shown}', or write head<TAB>relation<TAB>tail"
    line = text.split("\n")[item.line - 1].rstrip("\r")
    raise DataError(wrong, file=file, line=item.line, column=column, text=line, hint=hint)
