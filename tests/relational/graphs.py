"""Family and WN18RR as programs: training triples as facts, rules over variables.

`python -m relational.graphs FOLDER NESTING` counts test queries by the nesting that proves them;
for WN18RR and nesting 4 that takes ten minutes, which is why the tests take a sample there.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import torch

from deepprooflog.logic.program import BodyOrder, Program
from deepprooflog.relational.database import Database
from deepprooflog.relational.goals import Goals
from deepprooflog.relational.layers import explore
from deepprooflog.relational.sweep import provable
from deepprooflog.syntax.terms import Atom, Functor
from oracles.kg_levels import Levels, Triple, read_paths, read_triples


@dataclass(frozen=True)
class Graph:
    """A folder with train.txt, test.txt and rules.txt."""

    folder: Path

    @lru_cache(maxsize=2)  # noqa: B019 - a graph is one folder, and a test module reads two
    def program(self, order: BodyOrder = "bound_first") -> Program:
        clauses = [(self.folder / "train.txt").read_text()]
        for line in (self.folder / "rules.txt").read_text().splitlines():
            if line.strip():
                body, head = line.split(":", 2)[2].split("->")
                rule = f"{head.strip()} :- {body.strip()}."
                clauses.append(re.sub(r"\b[a-z]\b", lambda m: m[0].upper(), rule))
        return Program("\n".join(clauses), order=order)

    def queries(self) -> list[Triple]:
        return read_triples(self.folder / "test.txt")

    def oracle(self) -> Levels:
        """Bottom-up joins over Python sets, which share no code with the engine."""
        return Levels(
            read_triples(self.folder / "train.txt"), read_paths(self.folder / "rules.txt")
        )


def goals_of(database: Database, triples: list[Triple]) -> Goals:
    """Triples as ground queries, in bulk. Family's entities are numbers."""
    symbols = database.symbols

    def constant(name: str) -> int:
        return symbols.constant(int(name) if name.isdigit() else Atom(name))

    predicate = [symbols.predicate(Functor(r, 2)) for r, _, _ in triples]
    arguments = [[constant(a), constant(b)] for _, a, b in triples]
    return database.triples(torch.tensor(predicate), torch.tensor(arguments))


def level_counts(graph: Graph, deepest: int, batch: int = 1000) -> tuple[list[int], list[Triple]]:
    """How many test queries need rule nesting 1, 2, …, and those that no nesting so far proves."""
    program, left = graph.program(), graph.queries()
    counts = []
    for nesting in range(1, deepest + 1):
        # A query of WN18RR has 230,000 goals at nesting 4.
        found = proved(Database.of(program, nesting=nesting), left, batch if nesting < 4 else 6)
        counts.append(sum(found))
        left = [query for query, is_proved in zip(left, found, strict=True) if not is_proved]
    return counts, left


def proved(database: Database, triples: list[Triple], batch: int = 1000) -> list[bool]:
    """Which triples have a proof within the database's rule nesting."""
    result: list[bool] = []
    for begin in range(0, len(triples), batch):
        goals = goals_of(database, triples[begin : begin + batch])
        layers = explore(database, goals, max_depth=1000)
        assert not layers.cut
        result += provable(layers).tolist()
    return result


if __name__ == "__main__":
    print(*level_counts(Graph(Path(sys.argv[1])), int(sys.argv[2]), batch=300)[0])
