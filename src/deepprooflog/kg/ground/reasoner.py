"""Scores of triples by a system over ground rules: the maximum of embedding and bodies.

The rounds of the grounder are swept from the last to the first. An atom that is a fact has the
embedding's value in every body; one that is not has what its own round makes of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from deepprooflog.kg.belief.believe import Belief
from deepprooflog.kg.ground.backward import NO_ATOM, Grounder, GroundRound
from deepprooflog.kg.ground.options import SystemOptions
from deepprooflog.kg.ground.system import AtomStates, GroundSystem
from deepprooflog.kg.ground.table import BY_NAME
from deepprooflog.kg.ground.tnorms import TNORMS
from deepprooflog.kg.kge.kge import Kge, rows


def make_system(options: SystemOptions, grounder: Grounder, width: int) -> GroundSystem:
    """An untrained system for the grounder's rules and vectors of `width` numbers."""
    atoms = max((len(rule.body) for rule in grounder.rules), default=1)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(options.seed)
        make = BY_NAME[options.kind]
        return make(len(grounder.rules), atoms, width, options.dimension, TNORMS[options.tnorm])


@dataclass(frozen=True, eq=False)
class GroundScores:
    """The probabilities of triples: the larger of the embedding's and the bodies'."""

    value: Float[Tensor, " n"]
    embedding: Float[Tensor, " n"]
    by_rules: Float[Tensor, " n"]  # 0 where there is no grounding

    @property
    def task(self) -> Float[Tensor, " n"]:
        """What the groundings say, or the embedding where there are none."""
        return torch.where(self.by_rules > 0, self.by_rules, self.embedding)


class GroundReasoner(nn.Module):
    """An embedding and a system over the groundings that its rules have."""

    def __init__(self, belief: Belief, system: GroundSystem, grounder: Grounder) -> None:
        super().__init__()
        self.belief, self.system, self.grounder = belief, system, grounder
        self.groundings = 0  # met so far

    def forward(self, triples: Int[Tensor, "n 3"]) -> GroundScores:
        first, bodies = self.first_round(triples)
        own = self._embedded(triples)
        none = torch.zeros_like(own.value)
        by_rules = none.scatter_reduce(0, first.head, bodies.value, "amax")
        return GroundScores(torch.maximum(own.value, by_rules), own.value, by_rules)

    def first_round(self, triples: Int[Tensor, "n 3"]) -> tuple[GroundRound, AtomStates]:
        """The ground bodies that prove triples, and what the system makes of each."""
        rounds = self.grounder.rounds(triples)
        self.groundings += sum(map(len, rounds))
        states: AtomStates | None = None
        for found in reversed(rounds[1:]):
            own = self._embedded(found.asked)
            states = pooled(found, own, self._bodies(found, states))
        return rounds[0], self._bodies(rounds[0], states)

    def _bodies(self, found: GroundRound, below: AtomStates | None) -> AtomStates:
        return self.system.bodies(found.rule, self._atoms(found, below), found.present)

    def _atoms(self, found: GroundRound, below: AtomStates | None) -> AtomStates:
        """The states of the atoms of bodies; those of missing atoms are those of some other."""
        facts = found.present & (found.below == NO_ATOM)
        atoms, which = found.body[facts].unique(dim=0, return_inverse=True)  # type: ignore[no-untyped-call]
        states = self._embedded(atoms)
        if below is not None:
            value = torch.cat([states.value, below.value])
            states = AtomStates(value, torch.cat([states.vector, below.vector]))
        place = (found.below + len(atoms)).clamp_min(0)
        place[facts] = which
        place[~found.present] = 0
        return AtomStates(states.value[place], states.vector[place])

    def _embedded(self, atoms: Int[Tensor, "n 3"]) -> AtomStates:
        head, relation, tail = atoms.unbind(1)
        value = self.belief(relation, head, tail).sigmoid()
        if not self.system.size:
            return AtomStates(value, value.new_zeros(len(value), 0))
        kge = self.belief.kge
        assert isinstance(kge, Kge)
        both = torch.cat([kge.ask_tail(head, relation), rows(kge.entity, tail)], -1)
        return AtomStates(value, self.system.vectors(both))


def pooled(found: GroundRound, own: AtomStates, bodies: AtomStates) -> AtomStates:
    """The states of a round's atoms: the maximum of their own and their bodies'."""
    value = own.value.scatter_reduce(0, found.head, bodies.value, "amax")
    to = found.head[:, None].expand_as(bodies.vector)
    return AtomStates(value, own.vector.scatter_reduce(0, to, bodies.vector, "amax"))
