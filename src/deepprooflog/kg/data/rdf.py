"""RDF files as triples: N-Triples, N-Quads, Turtle, TriG and RDF/XML, read by pyoxigraph.

A statement whose object is an IRI or a blank node is a triple, whatever its predicate. Literals are
no entities: such statements are left out and counted, but for `rdfs:label` and `skos:prefLabel`,
which are kept as labels. With `literals=True` literals are constants: integers, floats and strings.
Named graphs are read as one, and a statement about a statement is left out; both are counted.
"""

from __future__ import annotations

import importlib
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from deepprooflog.data.whole import read_file, unpack
from deepprooflog.errors import DataError
from deepprooflog.kg.data.notice import DataNotice, plural
from deepprooflog.kg.data.rdf_names import RdfNames, prefixes_of
from deepprooflog.kg.data.triples import TripleSource
from deepprooflog.syntax.terms import Atom, Float, Str, Term

FORMATS: Mapping[str, str] = {
    ".nt": "N_TRIPLES", ".nq": "N_QUADS", ".ttl": "TURTLE", ".trig": "TRIG", ".rdf": "RDF_XML",
    ".owl": "RDF_XML",
}  # fmt: skip
RDF_ENDINGS = tuple(end + packed for packed in ("", ".gz") for end in FORMATS)
LABELS = (
    "http://www.w3.org/2000/01/rdf-schema#label",
    "http://www.w3.org/2004/02/skos/core#prefLabel",
)
_XSD = "http://www.w3.org/2001/XMLSchema#"
_INTEGERS = frozenset(
    _XSD + name
    for name in ("integer", "int", "long", "short", "byte", "nonNegativeInteger", "positiveInteger")
)
_FLOATS = frozenset(_XSD + name for name in ("decimal", "double", "float"))
_WHOLE = re.compile(r"[+-]?[0-9]{1,4000}")
_ONE_A_LINE = ("N_TRIPLES", "N_QUADS")


@dataclass(frozen=True, eq=False)
class RdfRows:
    """The triples of one file by their IRIs, in file order."""

    rows: list[tuple[Term, str, Term]]  # head, relation, tail
    source: TripleSource
    notices: tuple[DataNotice, ...]
    prefixes: Mapping[str, str]
    labels: Mapping[str, str] = field(default_factory=dict)  # by IRI


def is_rdf(path: Path) -> bool:
    """Whether a file is RDF, by its name."""
    return path.name.lower().endswith(RDF_ENDINGS)


def read_rdf(
    path: Path, file: str, *, scope: str = "b", literals: bool = False, language: str = "en"
) -> RdfRows:
    """The triples of an RDF file; blank nodes are numbered and named by `scope`."""
    name = path.name.lower().removesuffix(".gz")
    form = next(form for ending, form in FORMATS.items() if name.endswith(ending))
    raw = read_file(path)
    if path.name.lower().endswith(".gz"):
        raw = unpack(raw, str(path))
    return parse_rdf(raw, form, file, scope=scope, literals=literals, language=language)


def parse_rdf(
    raw: bytes,
    form: str,
    file: str = "<text>",
    *,
    scope: str = "b",
    literals: bool = False,
    language: str = "en",
) -> RdfRows:
    """The triples of RDF text in one of the `FORMATS`.

    >>> text = b'@prefix e: <http://e.org/> . e:ann e:knows e:bob ; e:age 7 .'
    >>> found = parse_rdf(text, "TURTLE")
    >>> found.rows[0][1], dict(found.prefixes), found.notices[0].message
    ('http://e.org/knows', {'e': 'http://e.org/'},
     '1 statement with a literal is left out: http://e.org/age 1')
    """
    rdf = _library()
    reader = _Reader(rdf, scope, literals, language)
    try:
        statements = rdf.parse(raw, format=getattr(rdf.RdfFormat, form))
        for at, statement in enumerate(statements):
            reader.read(at, statement)
        prefixes = dict(statements.prefixes)
    except SyntaxError as error:
        raise DataError(
            f"not {form.replace('_', '-').title()}: {error.msg}", file=file, line=error.lineno,
            column=error.offset, hint="the file's ending says which format it is in",
        ) from None  # fmt: skip
    except ValueError as error:
        raise DataError(f"cannot be read as RDF: {error}", file=file) from None
    if not reader.rows:
        raise DataError(
            "no statement between two resources", file=file,
            hint="literals=True makes entities of literals" if reader.literal else None,
        )  # fmt: skip
    lines = np.array(reader.at, dtype=np.int64)
    lines = _lines(raw, reader.count)[lines] if form in _ONE_A_LINE else np.zeros_like(lines)
    labels = {iri: text for iri, (_, text) in reader.labels.items()}
    source = TripleSource(file, lines)
    return RdfRows(reader.rows, source, tuple(reader.notices(file)), prefixes, labels)


def named_rows(
    parts: Sequence[RdfRows], declared: Mapping[str, str] | None = None
) -> tuple[list[list[tuple[Term, str, Term]]], RdfNames]:
    """The rows of files of one graph by their short names, and what these stand for.

    `declared` prefixes come before the files' own.
    """
    names = RdfNames(prefixes_of([declared or {}, *(part.prefixes for part in parts)]))
    terms: dict[Term, Term] = {}
    relations: dict[str, str] = {}

    def term(x: Term) -> Term:
        if x not in terms:
            terms[x] = Atom(names.shorten(x.name)) if type(x) is Atom else x
        return terms[x]

    found = []
    for part in parts:
        rows = []
        for head, relation, tail in part.rows:
            if relation not in relations:
                relations[relation] = names.shorten(relation)
            rows.append((term(head), relations[relation], term(tail)))
        found.append(rows)
    iris = {iri: text for part in reversed(parts) for iri, text in part.labels.items()}
    met = {x.name for x in terms if type(x) is Atom} | relations.keys()
    labels = {names.shorten(iri): text for iri, text in iris.items() if iri in met}
    return found, replace(names, labels=labels)


class _Reader:
    """Statements on their way to rows: what is kept, and the counts of what is not."""

    def __init__(self, rdf: Any, scope: str, literals: bool, language: str) -> None:
        self.rdf, self.scope, self.literals, self.language = rdf, scope, literals, language
        self.rows: list[tuple[Term, str, Term]] = []
        self.at: list[int] = []
        self.labels: dict[str, tuple[int, str]] = {}  # how well the language fits, and the text
        self.literal: Counter[str] = Counter()
        self.graphs: set[str] = set()
        self.count = self.quoted = 0
        self._terms: dict[Any, Term] = {}
        self._blank = 0

    def read(self, at: int, statement: Any) -> None:
        self.count = at + 1
        subject, predicate, value = statement.subject, statement.predicate.value, statement.object
        if type(statement.graph_name) is not self.rdf.DefaultGraph:
            self.graphs.add(str(statement.graph_name))
        kinds = {type(subject), type(value)}
        if self.rdf.Triple in kinds:
            self.quoted += 1
            return
        if type(value) is self.rdf.Literal:
            if predicate in LABELS and type(subject) is self.rdf.NamedNode:
                self._label(subject.value, value)
            if not self.literals:
                if predicate not in LABELS:
                    self.literal[predicate] += 1
                return
        self.rows.append((self._term(subject), predicate, self._term(value)))
        self.at.append(at)

    def _label(self, iri: str, value: Any) -> None:
        tongue = (value.language or "").lower()
        own = self.language.lower()
        fit = 3 if tongue.split("-")[0] == own else 2 if not tongue else 1
        if fit > self.labels.get(iri, (0, ""))[0]:
            self.labels[iri] = fit, value.value

    def _term(self, node: Any) -> Term:
        found = self._terms.get(node)
        if found is None:
            if type(node) is self.rdf.Literal:
                found = _constant(node)
            elif type(node) is self.rdf.BlankNode:
                self._blank += 1
                found = Atom(f"_:{self.scope}{self._blank}")
            else:
                found = Atom(node.value)
            self._terms[node] = found
        return found

    def notices(self, file: str) -> Iterable[DataNotice]:
        if count := self.literal.total():
            most = ", ".join(f"{name} {n:,}" for name, n in self.literal.most_common(3))
            more = f" and {len(self.literal) - 3} more" if len(self.literal) > 3 else ""
            what = "statement with a literal is" if count == 1 else "statements with literals are"
            yield DataNotice(f"{count:,} {what} left out: {most}{more}", file, None, count)
        if self.graphs:
            told = f"the statements of {plural(len(self.graphs), 'named graph')} are read as one"
            yield DataNotice(told, file, None, len(self.graphs))
        if self.quoted:
            what = plural(self.quoted, "statement") + " about statements"
            yield DataNotice(f"{what}, left out", file, None, self.quoted)


def _constant(literal: Any) -> Term:
    kind, text = literal.datatype.value, literal.value
    if kind in _INTEGERS and _WHOLE.fullmatch(text):
        return int(text)
    if kind in _FLOATS:
        try:
            value = float(text)
        except ValueError:
            return Str(text)
        return Float(value) if math.isfinite(value) else Str(text)
    return Str(text)


def _lines(raw: bytes, statements: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The line of each statement where each has one of its own; else zeros."""
    lines = [
        number
        for number, line in enumerate(raw.split(b"\n"), 1)
        if (text := line.strip()) and not text.startswith(b"#")
    ]
    found = lines if len(lines) == statements else [0] * statements
    return np.array(found, dtype=np.int64)


def _library() -> Any:
    try:
        return importlib.import_module("pyoxigraph")
    except ImportError:
        raise DataError(
            "RDF is read by pyoxigraph, which is not installed",
            hint="pip install 'deepprooflog[rdf]'",
        ) from None
