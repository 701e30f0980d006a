"""Family and WN18RR: published counts, parity on goals met there, and no proof that is not one."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import torch

from deepprooflog.logic.program import BodyOrder
from deepprooflog.relational.database import Database
from deepprooflog.relational.goals import Goals
from deepprooflog.relational.layers import explore
from deepprooflog.relational.resolve import expand
from oracles.kg_levels import Levels, Triple
from relational.graphs import Graph, goals_of, level_counts, proved
from relational.reference_steps import reference, state


@pytest.fixture(scope="module")
def family(data_dir: Path) -> Graph:
    return Graph(data_dir / "kg" / "family")


@pytest.fixture(scope="module")
def wn18rr(data_dir: Path) -> Graph:
    return Graph(data_dir / "kg" / "wn18rr")


def test_family_levels(family: Graph) -> None:
    """Test queries provable at rule nesting 1, 2 and 3."""
    counts, left = level_counts(family, 3)
    assert (counts, len(left)) == ([4297, 92, 6], 5626 - 4395)


def test_wn18rr_levels(wn18rr: Graph) -> None:
    """1199 and 78 at nesting 1 and 2; deeper for a sample of what is left, by the oracle."""
    counts, queries = level_counts(wn18rr, 2)
    assert (counts, len(queries)) == ([1199, 78], 2924 - 1199 - 78)
    program, oracle = wn18rr.program(), wn18rr.oracle()
    random.Random(3).shuffle(queries)
    sample = queries[:100]
    found = proved(Database.of(program, nesting=3), sample)
    assert found == [oracle.level(q, 3) is not None for q in sample]
    assert 3 < sum(found) < 40
    # A query has 230,000 goals at nesting 4: a few of those that need it, and of those beyond it.
    of_level = {level: [q for q in sample if oracle.level(q, 4) == level] for level in (4, None)}
    deepest = of_level[4][:2] + of_level[None][:2]
    found = proved(Database.of(program, nesting=4), deepest, batch=1)
    assert found == [True] * 2 + [False] * 2


def known_to(oracle: Levels, triples: list[Triple]) -> list[Triple]:
    """The triples whose entities occur in the facts."""
    entities = {c for t in oracle.triples for c in t[1:]}
    return [t for t in triples if entities.issuperset(t[1:])]


def corruptions(oracle: Levels, queries: list[Triple], seed: int, count: int) -> list[Triple]:
    """Triples with their head or tail replaced: by any entity, or by one a few facts away."""
    dice = random.Random(seed)
    entities = sorted({c for t in oracle.triples for c in t[1:]})
    near: dict[str, list[str]] = {c: [] for c in entities}
    for _, a, b in oracle.triples:
        near[a].append(b)
        near[b].append(a)
    result = []
    for relation, a, _ in dice.choices(queries, k=count):
        close = dice.choice(near[dice.choice(near[a])])
        other = dice.choice([close, dice.choice(entities)])
        result.append((relation, a, other) if dice.random() < 0.5 else (relation, other, a))
    return result


def test_corruptions_are_proved_exactly_when_they_follow(family: Graph) -> None:
    oracle, program = family.oracle(), family.program()
    queries = known_to(oracle, family.queries())
    for nesting in (1, 2):
        triples = corruptions(oracle, queries, nesting, 1500)
        found = proved(Database.of(program, nesting=nesting), triples)
        levels = [oracle.level(t, nesting) for t in triples]
        assert found == [level is not None for level in levels]
        assert 50 < sum(found) < 500


def met(database: Database, triples: list[Triple], depth: int, count: int, seed: int) -> Goals:
    """Goals met on the way from queries, from every layer."""
    layers = explore(database, goals_of(database, triples), max_depth=depth)
    dice = torch.Generator().manual_seed(seed)
    share = count // len(layers.goals)
    parts = [
        goals.select(torch.randperm(len(goals), generator=dice)[:share]) for goals in layers.goals
    ]
    return Goals.cat(parts)


@pytest.mark.parametrize("order", ["written", "bound_first"])
@pytest.mark.parametrize("name", ["family", "wn18rr"])
def test_goals_met_have_the_reference_s_successors(
    name: str, order: BodyOrder, family: Graph, wn18rr: Graph
) -> None:
    graph = {"family": family, "wn18rr": wn18rr}[name]
    program = graph.program(order)
    database = Database.of(program)
    queries = random.Random(1).sample(graph.queries(), 20)
    # As written, one goal may have thousands of successors.
    depth, count = (2, 90) if order == "written" else (5, 1200)
    goals = met(database, queries, depth, count, 2)
    made = expand(database, goals)
    ours: list[set[object]] = [set() for _ in range(len(goals))]
    for parent, goal in zip(made.parent.tolist(), database.decode(made.goals), strict=True):
        ours[parent].add(state(goal))
    assert len(made.parent) == sum(map(len, ours))
    theirs = [{s for s, _ in reference(program, g)} for g in database.decode(goals)]
    assert ours == theirs
    assert len(goals) > count // 2
