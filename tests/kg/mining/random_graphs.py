"""Triples of small random graphs, with loops, hubs and relations of one triple."""

from __future__ import annotations

from hypothesis import strategies as st

Triples = list[tuple[str | int, str, str | int]]


def triples(entities: int = 5, relations: int = 2, most: int = 16) -> st.SearchStrategy[Triples]:
    """At least one triple."""
    name = st.integers(0, entities - 1).map(lambda n: f"e{n}")
    relation = st.integers(0, relations - 1).map(lambda n: f"r{n}")
    triple = st.tuples(name, relation, name)
    return st.lists(triple, min_size=1, max_size=most, unique=True)
