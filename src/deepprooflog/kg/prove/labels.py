"""The labels and IRIs of a graph from RDF, for the names that answers and proofs show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from deepprooflog.errors import ProofLogError
from deepprooflog.kg.data.rdf_names import RdfNames
from deepprooflog.proof.tree import Proof
from deepprooflog.syntax.reader import read_term
from deepprooflog.syntax.terms import Atom, Struct, deref
from deepprooflog.syntax.writer import write_term


def labels_in(texts: Iterable[str], rdf: RdfNames | None) -> Mapping[str, str]:
    """The labels of the names in some atoms, by the names as a program writes them.

    >>> labels_in(["'ex:in'('ex:b', ann)"], RdfNames(labels={"ex:b": "Berlin", "ann": "ann"}))
    {"'ex:b'": 'Berlin'}
    """
    if rdf is None or not rdf.labels:
        return {}
    labels = {name: rdf.labels.get(name.name) for name in _names(texts)}
    # A label that is the name says nothing.
    return {write_term(n): label for n, label in labels.items() if label and label != n.name}


def iris_in(texts: Iterable[str], rdf: RdfNames) -> dict[str, str]:
    """The IRIs of the names in some atoms, by the names as a program writes them.

    >>> iris_in(["'ex:in'(ann, 7)"], RdfNames({"ex": "http://e.org/", "": "http://here.org/"}))
    {"'ex:in'": 'http://e.org/in', 'ann': 'http://here.org/ann'}
    """
    found = {write_term(name): rdf.iri(name.name) for name in _names(texts)}
    # What rules alone name has none.
    return {name: iri for name, iri in found.items() if ":" in iri}


def _names(texts: Iterable[str]) -> Iterator[Atom]:
    """The relations and entities of some atoms."""
    for text in texts:
        try:
            term = read_term(text, end_optional=True).term
        except ProofLogError:  # an atom that shows what no program can write
            continue
        if type(term) is Struct:
            for name in (Atom(term.functor.name), *map(deref, term.args)):
                if type(name) is Atom:
                    yield name


def with_labels(proof: Proof, rdf: RdfNames) -> Proof:
    """The proof with the labels and the IRIs of the names in its steps."""
    texts = (proof.query, *(node.atom for node in proof.nodes))
    return replace(proof, labels=dict(labels_in(texts, rdf)), iris=iris_in(texts, rdf))
