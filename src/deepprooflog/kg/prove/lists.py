r"""p_success of all candidates of r(h, ?) or r(?, t) at once, equal to that of each ground query.

A query q = r(h, t) succeeds by clauses or by belief. Belief that is offered at the query only has
one derivation, q → believe(r, h, t) → True, so that for a candidate which clauses do not prove

    p_success(q) = p(believe | q) · p_belief(q)                          and 0 without belief.

*Who is proved* is what one exploration of the open query finds: the proofs of ground queries are
those of their open query, whatever the order of atoms, with the same steps and the same nesting.

*p(believe | q)* is a softmax over N(q), the rules whose heads unify with q, those that lead to one
goal counted once; q is no fact, for clauses would prove it. A permutation of the constants that no
rule of r names turns N(q) into N of the permuted query, and a policy to which constants are alike
gives both the same weights. So the weight of belief depends on r, on whether h = t, and on which of
h and t the rules of r name: it is looked up once for each such kind of query.

The answers of the open query are explored as ground queries, which share goals but have normalisers
of their own; all other candidates cost one product.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from deepprooflog.kg.data.triple_set import Side, column
from deepprooflog.kg.kge.kge import chunks
from deepprooflog.kg.prove.prover import Prover
from deepprooflog.relational.database import Database
from deepprooflog.relational.goals import Goals, variable
from deepprooflog.relational.layers import Layers, explore
from deepprooflog.relational.rules import EncodedRule, Offer
from deepprooflog.syntax.writer import write_term

# Goals of open queries that are explored together; a list with more is explored by itself.
TOGETHER = 1_000_000


@dataclass(frozen=True)
class ProvedLists:
    """The candidates of some lists that clauses prove, and what belief weighs at all others."""

    list_of: Int[Tensor, " proved"]
    entity: Int[Tensor, " proved"]
    success: Float[Tensor, " proved"]
    proof: Float[Tensor, " proved"]  # of it, by clauses alone
    goals: int
    cut: int  # goals that limits left open


QueryKind: TypeAlias = tuple[int, Side, int | None]
"""A relation, the side asked for, and the other's entity where rules of the relation name it."""


class ListProver:
    """Proves the candidates of whole lists; `batch` ground queries are explored together.

    Weights of belief are kept: a policy that has learned meanwhile needs another one.

    >>> from deepprooflog.kg.data.rules import parse_rules
    >>> from deepprooflog.kg.data.triples import graph_of
    >>> from deepprooflog.kg.prove.build import prover
    >>> graph = graph_of([("ann", "mother", "bob"), ("bob", "father", "cy"), ("ann", "gran", "cy")])
    >>> rules = parse_rules("gran(X, Y) :- mother(X, Z), father(Z, Y).")
    >>> lists = ListProver(prover(graph, rules), len(graph.entities))
    >>> found = lists.prove(torch.tensor([[0, 2, 0]]), "tail")  # gran(ann, ?)
    >>> [graph.entity_text(number) for number in found.entity.tolist()]
    ['cy']
    """

    def __init__(self, prover: Prover, entities: int, batch: int = 4096) -> None:
        self.prover, self.entities, self.batch = prover, entities, batch
        self._weights: dict[QueryKind, Float[Tensor, " _asked"]] = {}

    def prove(self, queries: Int[Tensor, "lists 3"], side: Side) -> ProvedLists:
        """The lists of queries, whose own entity on that side is not looked at."""
        queries = queries.to(self.prover.device)
        proved, goals, cut = self._answers(queries, side)
        list_of, entity = proved.nonzero().unbind(1)
        triples = queries.index_select(0, list_of)
        triples[:, column(side)] = entity
        masses = [torch.zeros(2, 0, dtype=torch.float64, device=proved.device)]
        for part in chunks(triples, self.batch):
            layers = self.prover.explore(self.prover.goals(part))
            goals, cut = goals + layers.size, cut + layers.cut.total
            mass = self.prover.weigh(layers)
            masses.append(torch.stack([mass.success, mass.proof]))
        success, proof = torch.cat(masses, 1)
        return ProvedLists(list_of, entity, success, proof, goals, cut)

    def _answers(
        self, queries: Int[Tensor, "lists 3"], side: Side
    ) -> tuple[Bool[Tensor, "lists entities"], int, int]:
        """Which candidates clauses prove, and what the open queries cost."""
        proved = torch.zeros(len(queries), self.entities, dtype=torch.bool, device=queries.device)
        goals = cut = 0
        for begin, layers in self._open(queries, side):
            goals, cut = goals + layers.size, cut + layers.cut.total
            answers = torch.cat([layer.answer[layer.is_true] for layer in layers.goals]).long()
            number, entity = answers[:, 0] + begin, answers[:, 1]
            named = (entity >= 0) & (entity < self.entities)
            proved[number[named], entity[named]] = True
            # An answer that is still a variable stands for every entity.
            proved[number[entity < 0]] = True
        return proved, goals, cut

    def _open(self, queries: Int[Tensor, "lists 3"], side: Side) -> Iterator[tuple[int, Layers]]:
        """The goal graphs of the open queries, by the first list of each."""
        waiting = [(0, len(queries))]
        while waiting:
            begin, end = waiting.pop()
            goals = self._goals(queries[begin:end], side)
            most = TOGETHER if end - begin > 1 else None
            layers = explore(
                self.prover.database, goals, max_depth=self.prover.limits.depth, max_goals=most
            )
            if layers.cut.goals:
                middle = (begin + end) // 2
                waiting += [(begin, middle), (middle, end)]
            else:
                yield begin, layers

    def _goals(self, queries: Int[Tensor, "lists 3"], side: Side) -> Goals:
        """Queries with a variable on one side; the answer names the list, too."""
        arguments = queries[:, [0, 2]].clone()
        arguments[:, column(side) // 2] = variable(0)
        goals = self.prover.database.triples(queries[:, 1], arguments)
        number = torch.arange(len(queries), device=queries.device)
        answer = torch.stack([number, torch.full_like(number, variable(0))], 1)
        return Goals(goals.atoms, answer.int(), goals.left_out)

    def believing(
        self, queries: Int[Tensor, "lists 3"], side: Side
    ) -> Float[Tensor, "lists entities"]:
        """p(believe | q) of candidates that clauses do not prove."""
        known = queries[:, 2 - column(side)].tolist()
        pairs = list(zip(queries[:, 1].tolist(), known, strict=True))
        kinds = [(r, side, h if h in self._named.get(r, ()) else None) for r, h in pairs]
        fresh = {k: h for k, h in zip(kinds, known, strict=True) if k not in self._weights}
        if fresh:
            self._weigh(fresh)
        found = torch.empty(len(queries), self.entities, dtype=torch.float64, device=queries.device)
        for row, kind, h in zip(found, kinds, known, strict=True):
            other, same, *named = self._weights[kind].unbind()
            row.fill_(other)
            row[h] = same
            if named:
                row[sorted(self._named[kind[0]])] = torch.stack(named)
        return found

    def _weigh(self, kinds: Mapping[QueryKind, int]) -> None:
        """Look up the weight of belief for kinds of queries, of which each has an example."""
        parts = []
        for (relation, side, _), h in kinds.items():
            names = self._named.get(relation, set())
            # Any entity but h that no rule names; where there is none, none is asked about.
            other = next((e for e in range(self.entities) if e != h and e not in names), h)
            asked = torch.tensor([other, h, *sorted(names)])
            triples = torch.full((len(asked), 3), h)
            triples[:, 1], triples[:, column(side)] = relation, asked
            parts.append(triples)
        weights = torch.cat([self._of_roots(p) for p in chunks(torch.cat(parts), self.batch)])
        end = 0
        for kind, part in zip(kinds, parts, strict=True):
            end += len(part)
            self._weights[kind] = weights[end - len(part) : end]

    def _of_roots(self, triples: Int[Tensor, "n 3"]) -> Float[Tensor, " n"]:
        """p(believe | q) of queries, as if none were a fact."""
        database, policy = self.prover.database, self.prover.policy
        goals = self.prover.goals(triples, leave_out=True)
        layers = explore(database, goals, max_depth=1, every_clause=policy.local)
        weight = torch.zeros(len(layers.goals[0]), dtype=torch.float64, device=goals.device)
        if layers.steps:
            (log, *_), steps = self.prover.log_weights(layers)[0], layers.steps[0]
            believes = self._beliefs.to(goals.device)[steps.clause]
            weight = weight.index_add(0, steps.source[believes], log[believes].double().exp())
        return weight[layers.roots]

    @cached_property
    def _beliefs(self) -> Bool[Tensor, " clauses"]:
        """Which clauses believe."""
        database = self.prover.database
        rules = [rule.offer is Offer.BELIEF for rule in database.rules]
        return torch.tensor([*rules, *[False] * len(database.facts)])

    @cached_property
    def _named(self) -> dict[int, set[int]]:
        """The entities that the rules of each relation name."""
        named: dict[int, set[int]] = {}
        for rule in _plain(self.prover.database):
            terms = {a for atom in (rule.head, *rule.body) for a in atom[1:]}
            named.setdefault(rule.head[0], set()).update(a for a in terms if 0 <= a < self.entities)
        return named


def why_not_lists(prover: Prover) -> str | None:
    """Why the candidates of a list must be proved one by one, or None."""
    limits, database = prover.limits, prover.database
    if limits.goals is not None or limits.atoms is not None:
        return "search.goals leaves open what depends on the queries beside it"
    if prover.belief is not None:
        if database.believe == "everywhere" and database.nesting != 0:
            return "search.believe=everywhere gives every candidate a derivation"
        if not prover.transitions.alike:
            return "policy.constants=own weighs the steps of each candidate differently"
    return _waiting_guard(database)


def _waiting_guard(database: Database) -> str | None:
    """A guard that an open query may call before its variables are bound."""
    guards = database.shape.guards
    if not guards:
        return None
    for rule in _plain(database):
        bound: set[int] = set()
        for atom in rule.body:
            if atom[0] not in guards:
                bound.update(atom[1:])
            elif any(a < 0 and a not in bound for a in atom[1:]):
                return f"a guard of {write_term(rule.clause.head)} stands before what binds it"
        if any(a < 0 and a not in bound for a in rule.head[1:]):
            return f"there are guards, and {write_term(rule.clause.head)} leaves a variable free"
    return None


def _plain(database: Database) -> list[EncodedRule]:
    return [rule for rule in database.rules if rule.offer is Offer.PLAIN]
