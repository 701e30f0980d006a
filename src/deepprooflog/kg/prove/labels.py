"""The labels of a graph from RDF, put beside the names that answers and proofs show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
    found: dict[str, str] = {}
    if rdf is None or not rdf.labels:
        return found
    for text in texts:
        try:
            term = read_term(text, end_optional=True).term
        except ProofLogError:  # an atom that shows what no program can write
            continue
        if type(term) is not Struct:
            continue
        for name in (Atom(term.functor.name), *map(deref, term.args)):
            label = rdf.labels.get(name.name) if type(name) is Atom else None
            # A label that is the name says nothing.
            if label and type(name) is Atom and label != name.name:
                found[write_term(name)] = label
    return found


def with_labels(proof: Proof, rdf: RdfNames) -> Proof:
    """The proof with the labels of the names in its steps."""
    labels = labels_in((proof.query, *(node.atom for node in proof.nodes)), rdf)
    return replace(proof, labels=dict(labels)) if labels else proof
