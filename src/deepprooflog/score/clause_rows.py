"""The plain clauses of a program in a table: which row of parameters each has.

A clause is known by what it says, so that the same program read again has the same rows; one that
is written twice is one clause. Labelled and neural clauses have no row: they are weighed already.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import torch
from jaxtyping import Bool, Int, UInt8
from torch import Tensor

from deepprooflog.errors import ModelError
from deepprooflog.graph.goalgraph import GoalGraph
from deepprooflog.logic.clause import Clause
from deepprooflog.logic.program import PredicateKind, Program
from deepprooflog.score.transitions import Numbering
from deepprooflog.syntax.terms import Functor, Term, struct
from deepprooflog.syntax.writer import write_term

FactRows: TypeAlias = Literal["own", "shared"]
ClauseKey: TypeAlias = tuple[Functor, tuple[Term, ...], tuple[Term, ...]]
"""A clause's functor, its arguments and its body."""

NO_ROW = -1


@dataclass(frozen=True)
class StepRows:
    """The rows of some steps of a goal graph."""

    row: Int[Tensor, " steps"]
    source: Int[Tensor, " steps"]  # numbered from 0
    sources: int
    repeated: Bool[Tensor, " steps"]  # by a clause that says what an earlier one says


class ClauseRows:
    """Rows by clause: each rule has its own; ground facts too, or one for all of a predicate.

    >>> rows = ClauseRows(Program("p(X) :- q(X). p(a). p(b). q(a)."), "shared")
    >>> len(rows), rows.count
    (3, [1, 2, 1])
    """

    def __init__(self, program: Program, facts: FactRows = "own") -> None:
        if facts not in get_args(FactRows):
            names = ", ".join(map(repr, get_args(FactRows)))
            raise ModelError(f"there is no facts={facts!r}", hint=f"one of {names}")
        self.shares_facts = facts == "shared"
        self._row: dict[ClauseKey | Functor, int] = {}
        self.predicate: list[int] = []  # of each row
        self.count: list[int] = []  # how many clauses have it
        self.predicates = 0
        for functor, predicate in program.predicates.items():
            if predicate.kind is PredicateKind.PLAIN:
                for key, is_fact in _keys(functor, program):
                    self._enter(functor if is_fact and self.shares_facts else key, functor)
                self.predicates += 1

    def _enter(self, key: ClauseKey | Functor, functor: Functor) -> None:
        row = self._row.setdefault(key, len(self._row))
        if row == len(self.predicate):
            self.predicate.append(self.predicates)
            self.count.append(1)
        elif key is functor:
            self.count[row] += 1

    def __len__(self) -> int:
        return len(self._row)

    def row(self, key: ClauseKey, *, is_fact: bool) -> int:
        """The row of a clause of the program."""
        found = self._row.get(key[0] if is_fact and self.shares_facts else key)
        if found is None:
            text = write_term(struct(key[0].name, *key[1]))
            raise ModelError(
                f"a clause of {text} is none of the scorer's program",
                hint="build the scorer from the program that it weighs",
            )
        return found

    def of_steps(self, graph: GoalGraph, steps: Int[Tensor, " steps"]) -> StepRows:
        """The rows of a graph's steps; the steps of one goal are consecutive."""
        rows, sources, repeated = [], [], []
        met: set[tuple[int, ClauseKey]] = set()
        number: dict[int, int] = {}
        for edge in steps.tolist():
            clause, source = graph.choices[edge].clause, int(graph.source[edge])
            assert clause is not None
            key = key_of(clause)
            rows.append(self.row(key, is_fact=is_ground_fact(clause)))
            sources.append(number.setdefault(source, len(number)))
            repeated.append((source, key) in met)
            met.add((source, key))
        device = steps.device
        return StepRows(
            row=torch.tensor(rows, dtype=torch.int64, device=device),
            source=torch.tensor(sources, dtype=torch.int64, device=device),
            sources=len(number),
            repeated=torch.tensor(repeated, dtype=torch.bool, device=device),
        )

    def of_database(
        self, database: Numbering, device: torch.device
    ) -> tuple[Int[Tensor, " clauses"], Bool[Tensor, " clauses"]]:
        """The row of each clause by number (NO_ROW: a neural fact), and which are repeated."""
        names, rows, repeated = database.symbols, [], []
        met: set[int] = set()
        for rule in database.rules:
            neural = rule.clause.label is not None
            rows.append(NO_ROW if neural else self.row(key_of(rule.clause), is_fact=False))
            repeated.append(rows[-1] in met and not neural)
            met.add(rows[-1])
        predicates = database.facts.predicate.tolist()
        arguments = database.facts.arguments.tolist()
        for predicate, numbers in zip(predicates, arguments, strict=True):
            functor = names.predicates[predicate]
            args = tuple([names.constants[n] for n in numbers[: functor.arity]])
            rows.append(self.row((functor, args, ()), is_fact=True))
        repeated += [False] * len(predicates)
        return torch.tensor(rows, device=device), torch.tensor(repeated, device=device)

    def fingerprint(self) -> UInt8[Tensor, " bytes"]:
        """What tells whether weights belong to the table."""
        hashed = hashlib.sha256()
        for key in self._row:
            terms = (key,) if isinstance(key, Functor) else (key[0], *key[1], "", *key[2])
            hashed.update(f"{[t if isinstance(t, str) else _text(t) for t in terms]}\n".encode())
        return torch.tensor(list(hashed.digest()), dtype=torch.uint8)

    def require(self, fingerprint: UInt8[Tensor, " bytes"]) -> None:
        """Refuse weights of another table."""
        if not torch.equal(fingerprint.cpu(), self.fingerprint()):
            raise ModelError(
                "these weights belong to a program with other clauses",
                hint="build the scorer from the program it was trained on, with the same options",
            )


def key_of(clause: Clause) -> ClauseKey:
    """What a clause says."""
    return clause.functor, clause.args, clause.body


def is_ground_fact(clause: Clause) -> bool:
    """True for a fact without variables."""
    return not clause.body and not clause.size


def _keys(functor: Functor, program: Program) -> Iterator[tuple[ClauseKey, bool]]:
    """What the clauses of a predicate say, each once, and whether they are ground facts."""
    met: set[ClauseKey] = set()
    for item in program.predicates[functor].entries.items():
        if isinstance(item, Clause):
            key, is_fact = key_of(item), is_ground_fact(item)
        else:
            key, is_fact = (functor, item[0], ()), True
        if key not in met:
            met.add(key)
            yield key, is_fact


def _text(item: Functor | Term) -> str:
    return repr(item) if isinstance(item, Functor) else write_term(item)
