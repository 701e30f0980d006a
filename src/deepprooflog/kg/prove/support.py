"""The triples that a fact supports: those that one rule concludes from it and other facts.

    fact = Bᵢθ,  other facts ⊨ (B₁, …, Bₙ without Bᵢ)θ   ⟹   Hθ is supported by H :- B₁, …, Bₙ

The fact is bound to each atom of each rule's body that it matches, and the rest of the body is
joined over the facts, by the same steps that prove. One rule deep: what a supported triple supports
in turn is asked of that triple.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Int64

from deepprooflog.errors import BudgetExceeded, DataError
from deepprooflog.kg.data.fact_changes import changed_graph
from deepprooflog.kg.data.rules import Rule, Rules
from deepprooflog.kg.data.triples import Graph
from deepprooflog.kg.prove.candidates import TOLD
from deepprooflog.kg.prove.program import program_of, relation_functors
from deepprooflog.kg.prove.question import read_question
from deepprooflog.logic.body_order import bound_first
from deepprooflog.logic.choice import Choice
from deepprooflog.logic.clause import Clause, Frame, abstract, instantiate
from deepprooflog.logic.limits.budget import Budget
from deepprooflog.logic.limits.counts import note
from deepprooflog.logic.limits.watch import watched
from deepprooflog.logic.program import Program
from deepprooflog.logic.resolve import resolvents
from deepprooflog.logic.unify import Trail, undo, unify
from deepprooflog.relational.guards import GUARDS
from deepprooflog.syntax.terms import Struct, Term, Var, args_of, functor_of, variables
from deepprooflog.syntax.writer import write_term

# The joins that are looked at and the seconds they may take, where no budget is given.
JOINS, SECONDS = 20_000, 10.0


@dataclass(frozen=True)
class SupportedTriple:
    """A triple that a rule concludes from a fact.

    `facts` are the others of one such conclusion, `ways` how many there are. `known` as for
    answers: it was told. `needs_it`: it is no fact, and without this one no rule concludes it from
    facts; None where the budget ended before that was known.
    """

    triple: str
    rule: str
    place: str
    facts: tuple[str, ...]
    ways: int
    known: bool
    needs_it: bool | None


@dataclass(frozen=True)
class FactSupport:
    """All that a fact supports through one rule; `stopped` says which limit left some out.

    `told` says whether it is a fact of the graph; of another triple it is what it would support.
    `passed_over` are rules that facts alone do not decide: their bodies ask for more than the
    graph's relations, or leave a variable of their head open.
    """

    fact: str
    told: bool
    triples: tuple[SupportedTriple, ...]
    stopped: str | None = None
    passed_over: tuple[str, ...] = ()
    seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Plain Python, as scripts read it."""
        return {
            "fact": self.fact, "told": self.told,
            "triples": [{**asdict(one), "facts": list(one.facts)} for one in self.triples],
            "stopped": self.stopped, "passed_over": list(self.passed_over),
            "seconds": self.seconds,
        }  # fmt: skip

    def __str__(self) -> str:
        would = "supports" if self.told else "is no fact; it would support"
        lines = [f"{self.fact} {would}" + ("" if self.triples else " nothing through one rule")]
        for one in self.triples:
            marks = [*["known"] * one.known, *["needs it"] * bool(one.needs_it)]
            lines.append(f"  {one.triple}" + (f"  ({', '.join(marks)})" if marks else ""))
            lines.append(f"    by {one.rule}" + (f"  ({one.place})" if one.place else ""))
            ways = f"  (one of {one.ways:,} ways)" if one.ways > 1 else ""
            if one.facts:
                lines.append(f"    with {', '.join(one.facts)}{ways}")
        if self.stopped is not None:
            lines.append(f"(cut by {self.stopped}: there may be more)")
        if self.passed_over:
            lines.append("not looked at, for facts alone do not decide them:")
            lines += [f"  {rule}" for rule in self.passed_over]
        return "\n".join(lines)


def supported_by(
    graph: Graph, rules: Rules, fact: str, *, most: int = 50, budget: Budget | None = None
) -> FactSupport:
    """The triples that rules conclude from a fact in one step, at most `most` of them.

    `max_goals` of the budget limits the joins that are looked at.

    >>> from deepprooflog.kg.data.rules import parse_rules
    >>> from deepprooflog.kg.data.triples import graph_of
    >>> graph = graph_of([("ann", "mother", "bob"), ("bob", "father", "cy"), ("ann", "gran", "cy"),
    ...                   ("bob", "father", "di")])
    >>> rules = parse_rules("gran(X, Y) :- mother(X, Z), father(Z, Y).")
    >>> for one in supported_by(graph, rules, "mother(ann, bob)").triples:
    ...     print(one.triple, one.facts, one.known, one.needs_it)
    gran(ann,cy) ('father(bob,cy)',) True False
    gran(ann,di) ('father(bob,di)',) False True
    """
    began = time.perf_counter()
    question = read_question(graph, fact)
    head, relation, tail = question.head, question.relation, question.tail
    if head is None or tail is None:
        raise DataError(f"{fact} is open", hint="a fact has no variables")
    triple = (head, relation, tail)
    told = bool(graph.holds(np.array([triple]), ("train",))[0])
    own = graph.term(triple)
    if not told:
        graph = changed_graph(graph, [write_term(own)])
    search = _Search(graph, rules, own)
    with watched(budget or Budget(max_goals=JOINS, max_seconds=SECONDS)) as limits:
        stopped = search.run(most, limits)
    return FactSupport(
        write_term(own), told, tuple(search.found.values()), stopped, tuple(search.passed_over),
        round(time.perf_counter() - began, 3),
    )  # fmt: skip


class _Search:
    """The conclusions from one fact, as they are found: one for each triple and rule."""

    def __init__(self, graph: Graph, rules: Rules, fact: Struct) -> None:
        self.graph, self.fact, self.text = graph, fact, write_term(fact)
        self.facts = program_of(graph)
        self.others = self.facts.without(fact)
        self.rules: list[Rule] = []
        self.passed_over: list[str] = []
        for rule in rules:
            if _decided_by_facts(graph, rule.clause):
                self.rules.append(rule)
            else:
                self.passed_over.append(str(rule))
        self.found: dict[tuple[str, int], SupportedTriple] = {}
        self._heads: dict[str, Term] = {}
        self._joins: set[tuple[int, tuple[Term, ...]]] = set()

    def run(self, most: int, limits: Budget) -> str | None:
        """Look at all rules; what cut the search, if something did."""
        stopped: str | None = None
        try:
            stopped = self._look(most, limits)
            needs = {text: self._needs(head, limits) for text, head in self._heads.items()}
            for key, one in self.found.items():
                self.found[key] = replace(one, needs_it=needs[key[0]])
        except BudgetExceeded as error:
            stopped = error.limit
        return stopped

    def _look(self, most: int, limits: Budget) -> str | None:
        for number, rule in enumerate(self.rules):
            for frame, rest in self._matches(rule.clause):
                for _ in _solutions(self.facts, rest, limits):
                    note(joins=len(self._joins), triples=len(self.found))
                    if limits.late:
                        return "max_seconds"
                    if limits.max_goals is not None and len(self._joins) >= limits.max_goals:
                        return "max_goals"
                    body = tuple(instantiate(atom, frame) for atom in rule.clause.body)
                    if not self._take(number, rule, body, frame, most):
                        return "most"
        return None

    def _matches(self, clause: Clause) -> Iterator[tuple[Frame, list[Term]]]:
        """Each atom of a body that the fact matches, bound to it, with the rest of the body."""
        for at, atom in enumerate(clause.body):
            if functor_of(atom) is not self.fact.functor:
                continue
            frame: Frame = [None] * clause.size
            trail: Trail = []
            if unify(instantiate(atom, frame), self.fact, trail):
                rest = [instantiate(b, frame) for i, b in enumerate(clause.body) if i != at]
                yield frame, bound_first(self.facts, rest)
            undo(trail, 0)

    def _take(
        self, number: int, rule: Rule, body: tuple[Term, ...], frame: Frame, most: int
    ) -> bool:
        """Note one conclusion; False when there is no room for it."""
        head = instantiate(rule.clause.head, frame)
        join = (number, tuple(abstract(atom, {}) for atom in (head, *body)))
        key = (write_term(head), number)
        if join in self._joins or key[0] == self.text:
            return True
        one = self.found.get(key)
        if one is None:
            if len(self.found) >= most:
                return False
            facts = dict.fromkeys(write_term(a) for a in body if functor_of(a) not in GUARDS)
            facts.pop(self.text)
            known = bool(self.graph.holds(self._row(head), TOLD)[0])
            one = SupportedTriple(key[0], str(rule), rule.place, tuple(facts), 0, known, None)
        self._joins.add(join)
        self.found[key] = replace(one, ways=one.ways + 1)
        self._heads[key[0]] = join[1][0]
        return True

    def _row(self, triple: Term) -> Int64[np.ndarray, "1 3"]:
        return np.array([self.graph.pattern(triple)])

    def _needs(self, triple: Term, limits: Budget) -> bool:
        """Whether a triple is no fact, and no rule concludes it from the other facts."""
        if self.graph.holds(self._row(triple), ("train",))[0]:
            return False
        for rule in self.rules:
            frame: Frame = [None] * rule.clause.size
            trail: Trail = []
            if unify(instantiate(rule.clause.head, frame), triple, trail):
                body = [instantiate(atom, frame) for atom in rule.clause.body]
                if any(_solutions(self.others, bound_first(self.others, body), limits)):
                    return False
        return True


def _decided_by_facts(graph: Graph, clause: Clause) -> bool:
    """Whether a body asks for the graph's relations alone, and leaves nothing of the head open."""
    relations = set(relation_functors(graph))
    atoms = [atom for atom in clause.body if functor_of(atom) not in GUARDS]
    ends = args_of(clause.head)
    named = all(type(end) is Var or end in graph.entity_ids for end in ends)
    bound = set(variables(*atoms)) >= set(variables(*ends))
    asked = {functor_of(atom) for atom in atoms} <= relations
    return clause.functor in relations and named and bound and asked


def _solutions(program: Program, atoms: Sequence[Term], limits: Budget) -> Iterator[bool]:
    """True for each way in which all atoms hold, while its bindings are in place."""
    trail: Trail = []
    # Each atom that was resolved: its steps still to be tried, and what stands behind it.
    tried: list[tuple[Iterator[tuple[Choice, Sequence[Term]]], Sequence[Term]]] = []
    goal = list(atoms)
    while True:
        if goal:
            tried.append((resolvents(program, goal[0], trail, limits.for_guard()), goal[1:]))
        else:
            yield True
        step = None
        while tried and step is None:
            step = next(tried[-1][0], None)
            if step is None:
                tried.pop()
        if step is None:
            return
        goal = [*step[1], *tried[-1][1]]
