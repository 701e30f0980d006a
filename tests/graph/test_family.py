"""A hundred queries of the Family graph, explored bound first to a small depth.

What resolution proves is compared with joins over the facts that share no code with it.
"""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest

import deepprooflog as dpl
from deepprooflog import Budget, Program
from deepprooflog.graph.schedule import schedule
from graph.exploring import graph_of
from oracles.kg_levels import Levels, Triple, read_paths, read_triples

DEPTH = 3


@pytest.fixture(scope="module")
def folder(data_dir: Path) -> Path:
    return data_dir / "kg" / "family"


@pytest.fixture(scope="module")
def program(folder: Path) -> Program:
    """Facts of the training split and the rules `id:weight:body -> head` as clauses."""
    rules = []
    for line in (folder / "rules.txt").read_text().splitlines():
        body, head = line.split(":", 2)[2].split("->")
        clause = f"{head.strip()} :- {body.strip()}."
        rules.append(re.sub(r"\b([a-z])\b(?!\()", lambda m: m[1].upper(), clause))
    return Program(
        "\n".join(rules) + "\n" + (folder / "train.txt").read_text(), order="bound_first"
    )


@pytest.fixture(scope="module")
def queries(folder: Path) -> list[Triple]:
    """Every 56th test triple, so that all relations are among them."""
    return read_triples(folder / "test.txt")[::56][:100]


def one_rule_away(folder: Path, query: Triple, atoms: int) -> bool:
    """Does a rule with at most so many body atoms prove the query from facts alone?"""
    facts = FACTS.get(folder) or FACTS.setdefault(folder, set(read_triples(folder / "train.txt")))
    around = {c for f in facts if query[1] in f[1:] or query[2] in f[1:] for c in f[1:]}
    for relation, path in read_paths(folder / "rules.txt"):
        if relation != query[0] or len(path) > atoms:
            continue
        # Between two ends a path of two steps has one inner node, next to both.
        for inner in product(around, repeat=len(path) - 1):
            nodes = [query[1], *inner, query[2]]
            if all(
                (r, a, b) in facts if forward else (r, b, a) in facts
                for (r, forward), a, b in zip(path, nodes, nodes[1:], strict=False)
            ):
                return True
    return False


FACTS: dict[Path, set[Triple]] = {}


def text(query: Triple) -> str:
    return f"{query[0]}({query[1]}, {query[2]})"


def test_what_is_found_is_what_joins_find(
    folder: Path, program: Program, queries: list[Triple]
) -> None:
    """Depth 3 is one rule of two atoms and a fact for each."""
    found = []
    for query in queries:
        graph = graph_of(program, text(query), max_depth=DEPTH)
        assert graph.complete or (graph.stopped == "max_depth" and graph.open.size)
        found.append(bool(schedule(graph).live[graph.roots[0]]))
    assert found == [one_rule_away(folder, q, DEPTH - 1) for q in queries]
    assert 0 < sum(found) < len(found)


def test_every_proof_replays_and_is_in_the_least_model(
    folder: Path, program: Program, queries: list[Triple]
) -> None:
    oracle = Levels(read_triples(folder / "train.txt"), read_paths(folder / "rules.txt"))
    model = dpl.Model(program)
    proved = 0
    for query in queries:
        graph = graph_of(program, text(query), max_depth=DEPTH)
        if not schedule(graph).live[graph.roots[0]]:
            continue
        proved += 1
        assert oracle.level(query, 5) is not None
        proof = model.best_proof(text(query), Budget(max_depth=DEPTH))
        assert proof.check()
    assert proved > 50
