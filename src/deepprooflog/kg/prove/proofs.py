"""Proofs of a triple: its most probable derivations, replayed through plain resolution.

The engine's derivation is a sequence of goals. Each of its steps is looked up among the successors
of the same goal in the graph's program, so that a proof is made of that program's clauses, with
their files and lines, or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from deepprooflog.kg.belief.believe import BELIEVE
from deepprooflog.logic.choice import Choice
from deepprooflog.logic.index import Entries
from deepprooflog.logic.program import Program
from deepprooflog.logic.query import Query
from deepprooflog.proof.build import Derivation, build_proof, retraced
from deepprooflog.proof.tree import Proof
from deepprooflog.relational.best_paths import BestPath, PathSearch
from deepprooflog.relational.database import Database
from deepprooflog.relational.layers import Layers
from deepprooflog.relational.rules import is_fact


@dataclass(frozen=True, eq=False)
class ProofSearch:
    """The proofs of the queries of one explored and weighed batch.

    Where some steps believe, those who ask may want the proofs without them, or these first.
    """

    database: Database
    layers: Layers
    every: PathSearch
    plain: PathSearch | None  # without the steps that believe; None where there are none

    @classmethod
    def of(
        cls,
        database: Database,
        layers: Layers,
        log_weights: Sequence[Float[Tensor, " _steps"]],
        neural: Sequence[Bool[Tensor, " _steps"]] | None,
        *,
        past_open: bool = True,
    ) -> ProofSearch:
        """From what a prover has explored and weighed.

        Without `past_open` proofs are the best of those explored, whatever open goals may hold.
        """
        plain = None
        if neural is not None:
            pairs = zip(log_weights, neural, strict=True)
            without = [log.masked_fill(by_belief, -torch.inf) for log, by_belief in pairs]
            plain = PathSearch.of(layers, without, past_open=past_open)
        every = PathSearch.of(layers, log_weights, past_open=past_open)
        return cls(database, layers, every, plain)

    def proofs(
        self,
        program: Program,
        query: Query,
        number: int,
        n: int,
        believing: bool | Literal["last"] = True,
    ) -> list[Proof]:
        """The `n` most probable proofs of query `number` of the batch; fewer if it has fewer."""
        if self.plain is None or believing is True:
            return self._best(self.every, program, query, number, n)
        found = self._best(self.plain, program, query, number, n)
        if believing is False or len(found) == n:
            return found
        rest = self._best(self.every, program, query, number, n)
        return [*found, *(proof for proof in rest if proof not in found)][:n]

    def _best(
        self, search: PathSearch, program: Program, query: Query, number: int, n: int
    ) -> list[Proof]:
        found = islice(search.paths(number), n)
        return [_proof(self.database, program, query, self.layers, path) for path in found]


def program_with_facts(database: Database) -> Program:
    """The database's program, with the facts that it has from arrays as clauses too."""
    program, first = database.program, len(database.rules)
    start_of = database.facts.start.tolist()
    changed = {}
    for number, functor in enumerate(database.symbols.predicates):
        predicate = program.predicates.get(functor)
        begin, end = start_of[number], start_of[number + 1]
        if predicate is None or begin == end:
            continue
        entries = Entries(functor, program.file)
        for row in range(begin, end):
            entries.add(database.clause(first + row))
        for clause in predicate.entries.explicit():
            if not is_fact(clause):
                entries.add(clause)
        changed[functor] = replace(predicate, entries=entries)
    return program.with_predicates(changed)


def _proof(
    database: Database, program: Program, query: Query, layers: Layers, path: BestPath
) -> Proof:
    goals = []
    for depth, step in enumerate(path.steps):
        target = layers.steps[depth].target[step : step + 1]
        goals += database.decode(layers.goals[depth + 1].select(target))
    choices = retraced(
        program, query, goals, lambda step, goal: step.goal == goal,
        "give the prover the program that its database was made of",
    )  # fmt: skip
    proof = build_proof(program, query, Derivation(choices, path.log_weights))
    nodes = tuple(
        replace(node, kind="belief") if _is_belief(choice) else node
        for node, choice in zip(proof.nodes, choices, strict=True)
    )
    return replace(proof, nodes=nodes)


def _is_belief(choice: Choice) -> bool:
    return choice.clause is not None and choice.clause.functor is BELIEVE
