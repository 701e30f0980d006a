"""A walk model as a scorer of the walk program: p(C | A₁) from the leftmost atom and the clause.

It reads degrees and profiles from the program itself, so that a view with a fact left out is scored
as the graph without it. The sparse sweep in `kg/walk/model.py` sums the same weights; this is what
it is compared with, and what plain engines use. Where the graph's profiles are at hand (`stored`),
they are read from there: counting those of all entities in a program takes long.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from deepprooflog.kg.walk.hops.profile import amounts, presence
from deepprooflog.kg.walk.model import WalkGraph, WalkModel
from deepprooflog.kg.walk.policy import Weights
from deepprooflog.kg.walk.program import BEGIN, ENTITY, FACT, STEP, SUITS, WALK, directed_names
from deepprooflog.logic.clause import Clause
from deepprooflog.logic.program import Program
from deepprooflog.score.scorer import Scene, Scorer
from deepprooflog.syntax.terms import Atom, Struct, Term, Var, deref


@dataclass(frozen=True, eq=False)
class StoredProfiles:
    """The facts of a graph that are counted, for a program that has all of them and no others."""

    numbers: Mapping[Term, int]  # of entities
    facts: WalkGraph

    def of(self, entity: Term) -> Float[Tensor, " numbers"]:
        """How many facts an entity has of each relation and inverse."""
        return self.facts.profile.counts[self.numbers[entity]]


class WalkScorer(Scorer):
    """The weights of a walk model, step by step."""

    local = True

    def __init__(self, model: WalkModel, stored: StoredProfiles | None = None) -> None:
        super().__init__()
        self.model, self.stored = model, stored

    def log_weights(self, scene: Scene) -> Float[Tensor, "steps batch"]:
        reader = _Reader(self.model, scene.graph.program, self.stored)
        graph = scene.graph
        found = []
        for edge in scene.steps.tolist():
            atom = graph.goals[int(graph.source[edge])].leftmost
            clause = graph.choices[edge].clause
            assert clause is not None
            found.append(reader.log_weight(atom, clause))
        return torch.stack(found)[:, None].double()


class _Reader:
    """The weights of one program's steps, each part of the policy asked once."""

    def __init__(self, model: WalkModel, program: Program, stored: StoredProfiles | None) -> None:
        self.policy, self.program, self.stored = model.policy, program, stored
        self.number = {name: i for i, name in enumerate(directed_names(model.relations))}
        self.relations = len(model.relations)
        self.weights: Weights = self.policy(torch.arange(2 * self.relations))
        self.powers = self.policy.powers()
        self.profiles: dict[Term, Tensor] = {}
        self.best: dict[int, Tensor] = {}

    def log_weight(self, atom: Term, clause: Clause) -> Tensor:
        assert isinstance(atom, Struct)
        args, weights = atom.args, self.weights
        if atom.functor is FACT:
            return self._one_of(args)
        if atom.functor not in (BEGIN, WALK, STEP, SUITS):
            return self.powers.new_zeros(())
        if atom.functor is SUITS:
            return self._suit(self._query(args[1]), args[2])
        query = self._query(args[0])
        if atom.functor is BEGIN:
            body = clause.body[0]
            assert isinstance(body, Struct)
            if body.functor is ENTITY:
                return weights.leap[query, _number(args[1])].log()
            return weights.begin[query, _number(body.args[2])].log()
        hop, state = _number(args[1]), _number(args[2])
        if atom.functor is STEP:
            return weights.step[hop, self._relation(clause), query, state].log()
        if not clause.body:
            return self.powers.new_zeros(())
        body = clause.body[0]
        assert isinstance(body, Struct)
        other = _number(body.args[2])
        return weights.turn[hop, query, state, other].log() + self._gate(hop, query, state, args[3])

    def _query(self, name: Term) -> int:
        assert isinstance(name, Atom)
        return self.number[name.name]

    def _relation(self, clause: Clause) -> int:
        """Which relation a step goes along; those against the arrow are inverses."""
        if len(clause.body) == 1:
            return 2 * self.relations
        atom = clause.body[0]
        assert isinstance(atom, Struct) and isinstance(clause.head, Struct)
        forward = atom.args[1] == clause.head.args[3]
        return self._query(atom.args[0]) + (0 if forward else self.relations)

    def _one_of(self, args: tuple[Term, ...]) -> Tensor:
        forward = isinstance(deref(args[2]), Var)
        relation = self._query(args[0]) + (0 if forward else self.relations)
        degree = self.powers.new_tensor(float(len(self.program.candidates(FACT, args))))
        return -self.powers[relation] * degree.log()

    def _gate(self, hop: int, query: int, state: int, entity: Term) -> Tensor:
        if self.weights.gate is None:
            return self.powers.new_zeros(())
        gate = self.weights.gate[hop, :, query, state]
        numbers = presence(self._profile(entity)[None])[0]
        return torch.nn.functional.logsigmoid(gate[:-1] @ numbers + gate[-1])

    def _suit(self, query: int, entity: Term) -> Tensor:
        assert self.weights.suit is not None
        suit = self.weights.suit[:, query]
        if query not in self.best:
            self.best[query] = (self._all_amounts() @ suit).amax()
        return amounts(self._profile(entity)[None])[0] @ suit - self.best[query]

    def _all_amounts(self) -> Tensor:
        """What is counted about each entity."""
        if self.stored is not None:
            return self.stored.facts.amounts
        terms = [row[0] for row in self.program.predicates[ENTITY].entries.argument_rows()]
        return amounts(torch.stack([self._profile(term) for term in terms]))

    def _profile(self, entity: Term) -> Tensor:
        """How many facts the entity has of each relation and inverse."""
        entity = deref(entity)
        if self.stored is not None:
            return self.stored.of(entity)
        if entity not in self.profiles:
            names = [Atom(name) for name in self.number][: self.relations]
            calls: list[tuple[Term, ...]] = [(name, entity, Var()) for name in names]
            calls += [(name, Var(), entity) for name in names]
            counts = [float(len(self.program.candidates(FACT, call))) for call in calls]
            self.profiles[entity] = self.powers.new_tensor(counts)
        return self.profiles[entity]


def _number(term: Term) -> int:
    """A hop, a state or a head."""
    assert isinstance(term, int)
    return term
