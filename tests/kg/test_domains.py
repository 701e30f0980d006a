"""Domains: their files, and who is a candidate."""

from __future__ import annotations

import numpy as np
import pytest

from deepprooflog.errors import DataError
from deepprooflog.kg.data.domains import Candidates, domain_of, parse_domains
from deepprooflog.kg.data.triples import Graph, graph_of


@pytest.fixture
def graph() -> Graph:
    return graph_of([("rome", "in", "italy"), ("bari", "in", "italy"), ("oslo", "in", "norway")])


def test_a_file_of_domains(graph: Graph) -> None:
    found = parse_domains(graph, "cities rome oslo\n\ncountries norway italy\n")
    assert {
        name: [graph.entity_text(int(e)) for e in members] for name, members in found.items()
    } == {"cities": ["rome", "oslo"], "countries": ["norway", "italy"]}


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("cities rome\ncountries norwey", "unknown entity norwey", 2),
        ("cities rome\ncities oslo", "named twice", 2),
        ("cities", "is empty", 1),
        ("\n\n", "no domains", None),
    ],
)
def test_bad_domains(graph: Graph, text: str, message: str, line: int | None) -> None:
    with pytest.raises(DataError, match=message) as found:
        parse_domains(graph, text, "kinds.txt")
    assert (found.value.file, found.value.line) == ("kinds.txt", line)


def test_a_domain_by_its_name(graph: Graph) -> None:
    domains = parse_domains(graph, "cities rome oslo\ncountries norway italy")
    assert domain_of(domains, "cities", "kinds.txt").tolist() == [0, 3]
    with pytest.raises(DataError, match="no domain citys") as near:
        domain_of(domains, "citys", "kinds.txt")
    assert near.value.hint == "did you mean cities?"
    with pytest.raises(DataError, match="no domain x") as far:
        domain_of(domains, "x", "kinds.txt")
    assert far.value.hint == "domains: cities, countries"


@pytest.mark.parametrize("sides", [("head",), ("tail",), ("head", "tail")])
def test_whose_answers_are_candidates(sides: tuple[str, ...]) -> None:
    """By the definition, triple by triple."""
    rng = np.random.default_rng(0)
    triples = rng.integers(0, 6, (200, 3))
    members = {1, 2, 5}
    found = Candidates(sides, np.array([5, 1, 2])).hold(triples)  # type: ignore[arg-type]
    at = {"head": 0, "tail": 2}
    expected = [all(row[at[side]] in members for side in sides) for row in triples.tolist()]
    assert found.tolist() == expected
    assert Candidates(sides).hold(triples).all()  # type: ignore[arg-type]
