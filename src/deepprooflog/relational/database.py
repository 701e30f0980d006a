"""A function-free program as tensors on one device: its names, its rules, its facts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Literal, TypeAlias, get_args

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from deepprooflog.errors import ProgramError
from deepprooflog.logic.clause import Clause
from deepprooflog.logic.goal import Goal
from deepprooflog.logic.program import Program
from deepprooflog.logic.query import Query
from deepprooflog.relational.call_patterns import (
    CallPattern,
    CompiledRule,
    compile_rule,
    is_canonical,
    pattern_of,
)
from deepprooflog.relational.goals import NO_FACT, PAD, Goals
from deepprooflog.relational.guards import integer_values
from deepprooflog.relational.index import Bound, Facts, Index, build_index, gather_facts
from deepprooflog.relational.pair_facts import PairFacts
from deepprooflog.relational.rules import EncodedRule, Offer, read_facts, read_rules
from deepprooflog.relational.symbols import Symbols
from deepprooflog.relational.tables import AtomLayout, Standing, Tables, build_tables
from deepprooflog.relational.terms import decode, encode
from deepprooflog.syntax.terms import Functor, struct

Believe: TypeAlias = Literal["everywhere", "query"]
"""At which atoms a belief is offered."""


class Database:
    """Rules and facts over numbered symbols.

    Clauses are numbered: rules first, as `program.clauses()` lists them, then the facts. With
    `nesting` rules may stand inside one another only so deep; `believe="query"` then offers belief
    at the query's own atoms only, and not below a rule. Templates and indexes are made when a call
    pattern is first met; everything else never changes.

    >>> program = Program("p(X) :- q(X, Y), p(Y). p(c). q(a, c). q(b, a).", order="bound_first")
    >>> database = Database.of(program)
    >>> database.goals(["p(a)", "q(X, c)"]).atoms.tolist()
    [[[0, 1, -1]], [[1, -2, 0]]]
    >>> database.clause(0).head, database.clause(2).head
    (Struct(p(_0)), Struct(q(a,c)))
    """

    def __init__(
        self,
        symbols: Symbols,
        program: Program,
        facts: Facts | PairFacts,
        nesting: int | None = None,
        believe: Believe = "everywhere",
    ) -> None:
        _check_options(nesting, believe)
        self.symbols = symbols
        self.program = program
        self.nesting = nesting
        self.believe: Believe = believe
        self.facts = facts
        self.rules: tuple[EncodedRule, ...] = tuple(read_rules(program, symbols))
        self.shape = AtomLayout(
            predicates=len(symbols.predicates),
            arity=max((f.arity for f in symbols.predicates), default=0),
            nested=nesting is not None,
            neural=frozenset(r.head[0] for r in self.rules if r.offer is Offer.NEURAL),
            guards=frozenset(r.head[0] for r in self.rules if r.offer is Offer.GUARD),
            standings=_standings(nesting, believe),
        )
        # Facts with variables are rules without a body.
        self.open_facts = any(r.offer is Offer.PLAIN and not r.body for r in self.rules)
        self._templates: dict[CallPattern, list[CompiledRule | None]] = {}
        self._tables: Tables | None = None
        self._index: Index | PairFacts | None = facts if isinstance(facts, PairFacts) else None
        self._learn([(0,) * self.shape.arity])

    @classmethod
    def of(
        cls,
        program: Program,
        *,
        nesting: int | None = None,
        believe: Believe = "everywhere",
        device: torch.device | str = "cpu",
    ) -> Database:
        """The database of a program: its order of bodies, its facts but for those left out."""
        return cls.of_columns(
            Symbols((), ()), {}, program, nesting=nesting, believe=believe, device=device
        )

    @classmethod
    def of_columns(
        cls,
        symbols: Symbols,
        facts: Mapping[int, Int[Tensor, "_rows _arity"]],
        rules: Program,
        *,
        nesting: int | None = None,
        believe: Believe = "everywhere",
        device: torch.device | str = "cpu",
    ) -> Database:
        """A database with facts from arrays, one for each predicate; `rules` may hold more facts.

        `symbols` keep their numbers; what only the rules name is numbered after them.
        """
        symbols = symbols.extended(rules)
        columns = {p: _checked(symbols, p, rows).to(device) for p, rows in facts.items()}
        for functor in rules.predicates:
            read = list(read_facts(rules, symbols, functor))
            if read:
                number = symbols.predicate(functor)
                rows = torch.tensor(read, dtype=torch.int32, device=device)
                rows = rows.reshape(len(read), functor.arity)
                columns[number] = torch.cat([columns[number], rows]) if number in columns else rows
        counts = len(symbols.predicates), len(symbols.constants)
        gathered = gather_facts(columns, *counts, widest=_widest(symbols), device=device)
        return cls(symbols, rules, gathered, nesting, believe)

    @classmethod
    def of_pairs(
        cls,
        symbols: Symbols,
        facts: PairFacts,
        rules: Program,
        *,
        nesting: int | None = None,
        believe: Believe = "everywhere",
        device: torch.device | str = "cpu",
    ) -> Database:
        """A database of facts that are sorted already; `rules` hold no further ones.

        `symbols` name the facts' predicates and constants, and keep their numbers.
        """
        symbols = symbols.extended(rules)
        own = facts.among(len(symbols.predicates), _widest(symbols)).to(device)
        return cls(symbols, rules, own, nesting, believe)

    def __repr__(self) -> str:
        return f"Database({len(self.rules)} rules, {len(self.facts)} facts, {self.device})"

    @property
    def device(self) -> torch.device:
        return self.facts.device

    @property
    def tables(self) -> Tables:
        """The rules, compiled for the call patterns met so far."""
        assert self._tables is not None
        return self._tables

    @property
    def index(self) -> Index | PairFacts:
        """The facts, indexed for the call patterns met so far."""
        assert self._index is not None
        return self._index

    def to(self, device: torch.device | str) -> Database:
        """The database on a device."""
        facts = self.facts.to(device)
        moved = Database(self.symbols, self.program, facts, self.nesting, self.believe)
        moved._learn(list(self._templates))
        return moved

    def with_guards(self, guards: Sequence[Functor]) -> Database:
        """The same rules and facts, for queries with guards that no rule has."""
        names = (*self.symbols.predicates, *guards)
        symbols = self.symbols.with_predicates(names)
        facts = self.facts.among(len(names))
        return Database(symbols, self.program, facts, self.nesting, self.believe)

    def learn(self, codes: Iterable[int]) -> None:
        """Make templates and indexes for calls of these patterns."""
        patterns = [pattern_of(code, self.shape.arity) for code in codes]
        for pattern in patterns:
            if not is_canonical(pattern):
                raise ValueError("the goals' variables are not numbered by first occurrence")
        self._learn(patterns)

    def _learn(self, patterns: Sequence[CallPattern]) -> None:
        for pattern in patterns:
            if pattern not in self._templates:
                self._templates[pattern] = [
                    compile_rule(rule, pattern, self.program.order, self.shape.guards)
                    for rule in self.rules
                ]
        self._tables = build_tables(self.rules, self._templates, self.shape, self.device)
        if isinstance(self.facts, PairFacts):
            return
        bound, before = self._bound(), self._index
        assert not isinstance(before, PairFacts)
        if before is None or not bound <= before.bound:
            counts = len(self.symbols.predicates), len(self.symbols.constants)
            self._index = build_index(self.facts, bound, *counts, before=before)

    def _bound(self) -> set[Bound]:
        """Which arguments calls have bound, for each arity that facts have."""
        arities = {f.arity for f in self.symbols.predicates}
        return {
            (arity, sum(1 << j for j, entry in enumerate(pattern[:arity]) if not entry))
            for arity in arities
            for pattern in self._templates
        }

    @cached_property
    def integers(self) -> tuple[Int[Tensor, " constants"], Bool[Tensor, " constants"]]:
        """The values of the constants that are integers, and which these are."""
        return integer_values(self.symbols.constants, self.device)

    def clause(self, number: int) -> Clause:
        """The clause of a number: a rule, or a fact as a clause without body."""
        if number < len(self.rules):
            return self.rules[number].clause
        row = number - len(self.rules)
        own = torch.tensor([row], device=self.device)
        functor = self.symbols.predicates[int(self.facts.predicates_of(own))]
        arguments = self.facts.arguments_of(own)[0, : functor.arity].tolist()
        head = struct(functor.name, *(self.symbols.constants[c] for c in arguments))
        return Clause(head, (), 0)

    def fact_numbers(
        self, predicate: Int[Tensor, " calls"], arguments: Int[Tensor, "calls _arity"]
    ) -> Int[Tensor, " calls"]:
        """The number of the fact that each ground atom is, NO_FACT where it is none.

        Numbers count facts only; as a clause, fact n is number `len(rules) + n`.
        """
        arguments, predicate = self._padded(arguments), predicate.to(self.device).long()
        begin, count = self.index.lookup(predicate, arguments)
        if len(self.facts) == 0:
            return torch.full_like(predicate, NO_FACT)
        return torch.where(count > 0, self.index.facts_at(begin), NO_FACT)

    def triples(
        self,
        predicate: Int[Tensor, " calls"],
        arguments: Int[Tensor, "calls _arity"],
        *,
        leave_out: bool = False,
    ) -> Goals:
        """Ground atoms as queries; with `leave_out`, a query that is a fact may not use it."""
        count = len(predicate)
        atoms = torch.full((count, 1, self.shape.width), PAD, dtype=torch.int32, device=self.device)
        atoms[:, 0, 0] = predicate
        atoms[:, 0, 1 : 1 + arguments.shape[1]] = arguments
        if self.nesting is not None:
            atoms[:, 0, -1] = self._nesting_of(atoms[:, 0, 0])
        left_out = (
            self.fact_numbers(predicate, arguments)
            if leave_out
            else torch.full((count,), NO_FACT, device=self.device)
        )
        return Goals(atoms, atoms.new_zeros(count, 0), left_out.int())

    def goals(self, queries: Sequence[str | Query], *, leave_out: bool = False) -> Goals:
        """Queries as goals; their answers are their variables in order of first occurrence.

        With `leave_out`, a query of one ground atom that is a fact may not use that fact.
        """
        parsed = [self.program.query(q) for q in queries]
        goals = encode(parsed, self.symbols, self.shape, self.nesting).to(self.device)
        return self._without_own(goals) if leave_out and parsed else goals

    def _without_own(self, goals: Goals) -> Goals:
        first = goals.leftmost
        arguments = first[:, 1 : 1 + self.shape.arity]
        single = (goals.length == 1) & (arguments >= PAD).all(1)
        numbers = self.fact_numbers(first[:, 0], arguments.clamp(min=PAD))
        left_out = torch.where(single, numbers, NO_FACT).int()
        return Goals(goals.atoms, goals.answer, left_out)

    def decode(self, goals: Goals) -> list[Goal]:
        """The goals as terms (without the nesting their atoms have left)."""
        return decode(goals, self.symbols)

    def standing(self, left: Int[Tensor, " atoms"]) -> Int[Tensor, " atoms"]:
        """Which of `shape.standings` atoms with so much nesting left have."""
        spent = (left <= 0).long()
        if self.believe == "everywhere" or not self.nesting:
            return spent
        # The query's atoms have all of it.
        return torch.where(left == self.nesting, 2, spent)

    def _nesting_of(self, predicate: Int[Tensor, " calls"]) -> Int[Tensor, " calls"]:
        """The nesting that an atom of a query starts with: neural facts and guards have none."""
        nesting = torch.full_like(predicate, self.nesting or 0)
        for number in self.shape.ends:
            nesting.masked_fill_(predicate == number, 0)
        return nesting

    def _padded(self, arguments: Int[Tensor, "calls _arity"]) -> Int[Tensor, "calls _widest"]:
        missing = self.shape.arity - arguments.shape[1]
        moved = arguments.to(self.device)
        return torch.nn.functional.pad(moved, (0, missing), value=PAD)


def _check_options(nesting: int | None, believe: Believe) -> None:
    if nesting is not None and nesting < 0:
        raise ProgramError(f"rules cannot nest {nesting} deep", hint="give 0 or more")
    if believe not in get_args(Believe):
        raise ProgramError(
            f"belief cannot be offered {believe!r}", hint="give 'everywhere' or 'query'"
        )
    if believe == "query" and nesting is None:
        raise ProgramError(
            "belief at the query's own atoms needs limited nesting, which tells them from others",
            hint="give nesting=2, say, or believe='everywhere'",
        )


def _standings(nesting: int | None, believe: Believe) -> tuple[Standing, ...]:
    """In between, spent, of the query; `Database.standing` counts so."""
    if nesting is None:
        return (Standing(nests=True, believes=True),)
    # Where nothing nests, all atoms but those of neural facts are the query's.
    everywhere = believe == "everywhere" or nesting == 0
    below = (Standing(nests=True, believes=everywhere), Standing(nests=False, believes=everywhere))
    return below if everywhere else (*below, Standing(nests=True, believes=True))


def _widest(symbols: Symbols) -> int:
    return max((f.arity for f in symbols.predicates), default=0)


def _checked(
    symbols: Symbols, predicate: int, rows: Int[Tensor, "rows arity"]
) -> Int[Tensor, "rows arity"]:
    """The rows of a predicate as int32, after making sure that they fit."""
    if not 0 <= predicate < len(symbols.predicates):
        raise ProgramError(f"facts of predicate number {predicate}, which has no name")
    functor = symbols.predicates[predicate]
    if rows.shape[1] != functor.arity:
        raise ProgramError(f"facts of {functor} with {rows.shape[1]} columns")
    if rows.numel() and not (int(rows.min()) >= 0 and int(rows.max()) < len(symbols.constants)):
        raise ProgramError(f"a fact of {functor} has a constant whose number has no name")
    return rows.int()
