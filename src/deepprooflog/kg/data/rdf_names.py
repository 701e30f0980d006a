"""The names of RDF in a graph: IRIs shortened by prefixes, and the labels that people read.

An IRI whose namespace has a prefix is named `prefix:local`; with the empty prefix it is the bare
local name; one without a prefix is its own name. Nothing is lost: `iri` gives back what `shorten`
was given. Blank nodes are named `_:b1`, `_:b2`, … in the order in which the file names them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

WELL_KNOWN: Mapping[str, str] = {
    "dbo": "http://dbpedia.org/ontology/",
    "dbp": "http://dbpedia.org/property/",
    "dbr": "http://dbpedia.org/resource/",
    "dc": "http://purl.org/dc/elements/1.1/",
    "dcterms": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "owl": "http://www.w3.org/2002/07/owl#",
    "prov": "http://www.w3.org/ns/prov#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "schema": "http://schema.org/",
    "sdo": "https://schema.org/",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "wd": "http://www.wikidata.org/entity/",
    "wdt": "http://www.wikidata.org/prop/direct/",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
"""Prefixes that are understood where a file declares no others for the same namespaces."""

_LOCAL = re.compile(r"[^\W_][\w.\-]*|_[\w.\-]*")
_LAST = re.compile(r"[/#:]")


@dataclass(frozen=True)
class RdfNames:
    """Prefixes and labels of a graph that was read from RDF.

    >>> names = RdfNames({"ex": "http://example.org/", "": "http://here.org/"})
    >>> [names.shorten(f"http://{end}") for end in ("example.org/ann", "here.org/bob", "x.org/y")]
    ['ex:ann', 'bob', 'http://x.org/y']
    >>> [names.iri(name) for name in ("ex:ann", "bob", "http://x.org/y", "_:b1")]
    ['http://example.org/ann', 'http://here.org/bob', 'http://x.org/y', '_:b1']
    """

    prefixes: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)  # by name, of entities and relations

    def shorten(self, iri: str) -> str:
        """The name of an IRI."""
        # Namespaces end where local names begin: only so many ends have to be looked up.
        for match in reversed(list(_LAST.finditer(iri))):
            prefix = self._of_namespace.get(iri[: match.end()])
            if prefix is not None and _LOCAL.fullmatch(local := iri[match.end() :]):
                name = f"{prefix}:{local}" if prefix else local
                return name if self.iri(name) == iri else iri
        return iri

    def iri(self, name: str) -> str:
        """The IRI that a name stands for; a blank node is its own name."""
        prefix, colon, local = name.partition(":")
        if not colon:
            return self.prefixes.get("", "") + name
        if prefix == "_" or local.startswith("//"):
            return name
        namespace = self.prefixes.get(prefix) if prefix else None
        return name if namespace is None else namespace + local

    @cached_property
    def _of_namespace(self) -> Mapping[str, str]:
        return {namespace: prefix for prefix, namespace in reversed([*self.prefixes.items()])}


def prefixes_of(declared: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """What prefixes stand for: as first declared, then the well-known ones.

    >>> found = prefixes_of([{"ex": "http://a.org/"}, {"ex": "http://b.org/", "wd": "http://c/"}])
    >>> found["ex"], found["wd"], found["rdf"]
    ('http://a.org/', 'http://c/', 'http://www.w3.org/1999/02/22-rdf-syntax-ns#')
    """
    found: dict[str, str] = {}
    for prefixes in (*declared, WELL_KNOWN):
        for prefix, namespace in prefixes.items():
            # A namespace that ends in a local name cannot be told from it.
            if namespace and _LAST.fullmatch(namespace[-1]):
                found.setdefault(prefix, namespace)
    return found
