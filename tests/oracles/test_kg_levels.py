"""Published level counts of Family and WN18RR, recomputed by joins and compared with `dpl`."""

from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path

import deepprooflog as dpl
from oracles.kg_levels import Levels, Triple, read_paths, read_triples


def _load(data_dir: Path, name: str) -> tuple[Levels, list[Triple]]:
    folder = data_dir / "kg" / name
    oracle = Levels(read_triples(folder / "train.txt"), read_paths(folder / "rules.txt"))
    return oracle, read_triples(folder / "test.txt")


def test_family_levels(data_dir: Path) -> None:
    oracle, queries = _load(data_dir, "family")
    counts = Counter(oracle.level(query, 5) for query in queries)
    assert counts == {1: 4297, 2: 92, 3: 6, None: 5626 - 4395}


def test_wn18rr_levels(data_dir: Path) -> None:
    oracle, queries = _load(data_dir, "wn18rr")
    counts = Counter(oracle.level(query, 4) for query in queries)
    assert counts == {1: 1199, 2: 78, 3: 134, 4: 135, None: 2924 - 1546}


def _as_program(data_dir: Path, name: str) -> dpl.Program:
    """The facts and rules as clauses: a rule's single letters are its variables."""
    folder = data_dir / "kg" / name
    clauses = [(folder / "train.txt").read_text()]
    for line in (folder / "rules.txt").read_text().splitlines():
        if line.strip():
            body, head = line.split(":", 2)[2].split("->")
            rule = f"{head.strip()} :- {body.strip()}."
            clauses.append(re.sub(r"\b[a-z]\b", lambda m: m[0].upper(), rule))
    return dpl.Program("\n".join(clauses), order="bound_first")


def _proved(program: dpl.Program, query: str, budget: dpl.Budget) -> bool:
    """Whether there is a proof within the budget."""
    try:
        return dpl.provable(program, query, budget=budget)
    except dpl.Inexact:
        return False


def test_family_proofs_agree_with_levels(data_dir: Path) -> None:
    """Within three steps, a rule and two facts, all of level 1 is proved and nothing unprovable."""
    oracle, queries = _load(data_dir, "family")
    program = _as_program(data_dir, "family")
    shallow = dpl.Budget(max_depth=3)
    seen: Counter[int | None] = Counter()
    for triple in random.Random(0).sample(queries, 300):
        relation, a, b = triple
        level = oracle.level(triple, 4)
        proved = _proved(program, f"{relation}({a}, {b})", shallow)
        if level == 1:
            assert proved, triple
        if level is None:
            assert not proved, triple
        seen[level] += 1
    assert seen[1] >= 200
    assert seen[None] >= 40
