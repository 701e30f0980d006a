"""The triples of a graph's files, whichever way they are written: the ending of a name decides.

Prolog facts and tables (`.pl`, `.tsv`, `.txt`), RDF (`.nt`, `.nq`, `.ttl`, `.trig`, `.rdf`), each
plain or gzipped, Parquet and Arrow. Files of one graph that are RDF share their prefixes, so that a
resource has one name in all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from deepprooflog.kg.data.frame_rows import is_frame_file, read_frame_file
from deepprooflog.kg.data.rdf import RdfRows, is_rdf, named_rows, read_rdf
from deepprooflog.kg.data.rdf_names import RdfNames
from deepprooflog.kg.data.reading import TripleRows, named, read_triples
from deepprooflog.kg.data.triples import SplitName


@dataclass(frozen=True)
class RdfReading:
    """How RDF is read: further prefixes, whether literals are entities, the language of labels."""

    prefixes: Mapping[str, str] = field(default_factory=dict)
    literals: bool = False
    language: str = "en"


AS_USUAL = RdfReading()


def read_files(
    paths: Mapping[SplitName, Path], how: RdfReading = AS_USUAL
) -> tuple[dict[SplitName, TripleRows], RdfNames | None]:
    """The triples of each file, and the names of RDF where some are RDF."""
    found: dict[SplitName, TripleRows] = {}
    rdf: dict[SplitName, RdfRows] = {}
    for split, path in paths.items():
        if is_rdf(path):
            # Blank nodes of two files are not the same, whatever they are called there.
            scope = "b" if len(paths) == 1 else split
            part = read_rdf(
                path, named(path), scope=scope, literals=how.literals, language=how.language
            )
            rdf[split] = part
            found[split] = TripleRows([], part.source, part.notices)
        elif is_frame_file(path):
            rows, source = read_frame_file(path, named(path))
            found[split] = TripleRows(rows, source)
        else:
            found[split] = read_triples(path)
    if not rdf:
        return found, None
    parts, names = named_rows(list(rdf.values()), how.prefixes)
    for split, part_rows in zip(rdf, parts, strict=True):
        found[split] = replace(found[split], rows=part_rows)
    return found, names
