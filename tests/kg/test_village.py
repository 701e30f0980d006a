"""The graph that ships with the package: its counts, by joins that share no code with it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import deepprooflog as dpl
from deepprooflog.kg.data.folder import read_graph
from deepprooflog.kg.data.reading import SHIPPED
from deepprooflog.kg.data.rule_remarks import unknown_relations
from deepprooflog.kg.data.rules import read_rules
from deepprooflog.kg.data.triples import Graph
from deepprooflog.kg.prove.program import program_of
from kg.bottom_up import Triple, levels, read_clauses, read_facts

FOLDER = SHIPPED / "village"
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def graph() -> Graph:
    return read_graph("village")


@pytest.fixture(scope="module")
def level() -> dict[Triple, int]:
    return levels(read_facts(FOLDER / "train.pl"), read_clauses(FOLDER / "rules.pl"), 10)


def test_the_counts_of_its_readme(graph: Graph, level: dict[Triple, int]) -> None:
    page = (FOLDER / "README.md").read_text(encoding="utf-8")

    def numbers(row: str) -> list[int]:
        line = next(line for line in page.splitlines() if line.startswith(f"| {row}"))
        return [int(n.replace(",", "")) for n in re.findall(r"\d[\d,]*", line.split("|")[2])]

    truths = {t for name in ("train", "valid", "test") for t in read_facts(FOLDER / f"{name}.pl")}
    people = {person for relation, person, _ in truths if relation == "lives_in"}
    outer = {place for relation, *pair in truths if relation == "part_of" for place in pair}
    shops = {shop for relation, _, shop in truths if relation == "works_at"}
    counts = [len(graph.entities), len(people), len(outer - shops), len(shops)]
    assert numbers("entities") == counts
    assert numbers("relations") == [len(graph.relations)]
    assert numbers("triples") == [len(graph.train), len(graph.valid), len(graph.test)]
    assert numbers("rules")[0] == len(read_clauses(FOLDER / "rules.pl"))
    test = read_facts(FOLDER / "test.pl")
    found = Counter(level.get(triple) for triple in test)
    assert numbers("test triples provable")[:4] == [found[1], found[2], found[3], found[4]]
    assert numbers("test triples provable")[4] == len(test) - found[None]
    assert numbers("test triples no rule") == [found[None]]
    assert numbers("least model") == [len(level), len(set(level) - truths)]


def test_recursion_is_needed(level: dict[Triple, int]) -> None:
    rules = read_clauses(FOLDER / "rules.pl")
    plain = [rule for rule in rules if all(atom[0] != rule[0][0] for atom in rule[1])]
    without = levels(read_facts(FOLDER / "train.pl"), plain, 10)
    only = [t for t in read_facts(FOLDER / "test.pl") if t in level and t not in without]
    assert len(only) == 281
    assert {"ancestor", "within"} <= {relation for relation, _, _ in only}


def test_nothing_about_it_is_odd(graph: Graph) -> None:
    """No duplicates, no test triple in train, no entity unseen, no relation unknown to a rule."""
    assert graph.notices == ()
    assert graph.rules is not None
    rules = read_rules(graph.rules)
    assert rules.notices == ()
    assert unknown_relations(rules, graph) == []
    assert {rule.weight for rule in rules} > {1.0}


def test_the_script_makes_these_files(tmp_path: Path) -> None:
    script = ROOT / "scripts" / "make_village.py"
    code = (
        f"import runpy, pathlib; made = runpy.run_path({str(script)!r});"
        f"made['main'].__globals__['FOLDER'] = pathlib.Path({str(tmp_path)!r}); made['main']()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["rules.pl", "test.pl", "train.pl", "valid.pl"]
    for name in names:
        assert (tmp_path / name).read_text() == (FOLDER / name).read_text()


def test_resolution_proves_what_joins_prove(graph: Graph, level: dict[Triple, int]) -> None:
    """Level 1 within a rule and two facts; nothing outside the least model at any depth tried."""
    assert graph.rules is not None
    program = program_of(graph, read_rules(graph.rules))
    seen: Counter[int | None] = Counter()
    for relation, head, tail in read_facts(FOLDER / "test.pl")[::4]:
        expected = level.get((relation, head, tail))
        try:
            found = dpl.provable(
                program, f"{relation}({head},{tail})", budget=dpl.Budget(max_depth=3)
            )
        except dpl.Inexact:
            found = False
        seen[expected] += 1
        if expected == 1:
            assert found
        elif expected is None or expected > 2:
            assert not found
    assert seen[1] >= 60 and seen[None] >= 10
