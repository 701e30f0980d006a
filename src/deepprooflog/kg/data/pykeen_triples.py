"""Triples of PyKEEN: a dataset with its splits, or one triples factory.

PyKEEN's names are text, as in a table: a name written as an integer is one, as when a folder is
read. A factory without names (`CoreTriplesFactory`) has numbers: entity 7 is the integer 7, and
relation 3 is called `3`. Inverse triples that PyKEEN adds for training are no part of the graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deepprooflog.kg.data.reading import name_term
from deepprooflog.kg.data.triples import SplitName
from deepprooflog.syntax.terms import Term

_PARTS: Mapping[SplitName, str] = {"train": "training", "valid": "validation", "test": "testing"}


def is_factory(source: object) -> bool:
    """Whether an object is a triples factory of PyKEEN."""
    return hasattr(source, "mapped_triples") and hasattr(source, "num_relations")


def is_dataset(source: object) -> bool:
    """Whether an object is a dataset of PyKEEN: factories by their part in training."""
    return all(hasattr(source, name) for name in ("training", "testing")) and is_factory(
        source.training  # type: ignore[attr-defined]
    )


def dataset_rows(dataset: Any) -> dict[SplitName, list[tuple[Term, str, Term]]]:
    """The triples of each split; one that the dataset does not have is empty."""
    found: dict[SplitName, list[tuple[Term, str, Term]]] = {}
    for split, part in _PARTS.items():
        factory = getattr(dataset, part, None)
        found[split] = [] if factory is None else factory_rows(factory)
    return found


def factory_rows(factory: Any) -> list[tuple[Term, str, Term]]:
    """The triples of a factory, by name."""
    entities: dict[int, Term] = {
        number: name_term(str(name))
        for name, number in getattr(factory, "entity_to_id", {}).items()
    }
    relations = {
        number: str(name) for name, number in getattr(factory, "relation_to_id", {}).items()
    }
    return [
        (entities.get(h, h), relations.get(r, str(r)), entities.get(t, t))
        for h, r, t in factory.mapped_triples.tolist()
    ]
