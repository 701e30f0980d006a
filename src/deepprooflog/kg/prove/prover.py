"""A graph's program, a policy over its goals and a prior: p_success of triples, exactly.

The goal graphs of a batch of triples are explored together, every step is weighed by the policy
(the steps at believe(r, a, b) by the prior), and one sweep gives p_success with its gradient.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from deepprooflog.errors import ModelError, Notice
from deepprooflog.kg.belief.believe import Belief
from deepprooflog.kg.prove.proofs import ProofSearch, program_with_facts
from deepprooflog.logic.program import Program
from deepprooflog.logic.query import Query
from deepprooflog.proof.tree import Proof
from deepprooflog.relational.database import Database
from deepprooflog.relational.goals import NO_FACT, Goals
from deepprooflog.relational.layers import Layers, explore
from deepprooflog.relational.neighbourhood import GoalBudget, Neighbourhood, neighbourhood
from deepprooflog.relational.rules import Offer
from deepprooflog.relational.sweep import Mass, masses, pruned
from deepprooflog.relational.weigh import log_weights, transitions_of
from deepprooflog.score.scorer import Scorer
from deepprooflog.score.transitions import Transitions
from deepprooflog.syntax.terms import Atom, Functor, Struct


@dataclass(frozen=True)
class ExploreLimits:
    """How far goal graphs are explored. What is beyond is open, and counted."""

    depth: int = 20
    atoms: int | None = None
    goals: int | None = None


class Prover(nn.Module):
    """p_success of triples under a policy; the database follows the policy's device.

    `program` is the graph's program with its facts, by which proofs are replayed, or makes it when
    the first proof is asked for; without it they are replayed by the database's own clauses, which
    do not know the lines of their facts.
    """

    def __init__(
        self,
        database: Database,
        policy: Scorer,
        belief: Belief | None = None,
        limits: ExploreLimits | None = None,
        program: Program | Callable[[], Program] | None = None,
    ) -> None:
        super().__init__()
        self.database = database
        self.policy = policy
        self.belief = belief
        self.limits = limits or ExploreLimits()
        self._program = program
        self._guarded: dict[tuple[Functor, ...], Prover] = {}
        self._transitions: tuple[Database, torch.device, Transitions[Any]] | None = None
        _check_belief(database, belief)
        neural = torch.zeros(len(database.symbols.predicates) + 1, dtype=torch.bool)
        neural[sorted(database.shape.neural)] = True
        # Of True, whose predicate is PAD, the last entry is read.
        self.register_buffer("neural", neural, persistent=False)
        guards = torch.zeros_like(neural)
        guards[sorted(database.shape.guards)] = True
        self.register_buffer("guards", guards, persistent=False)
        self.register_buffer("relation_of", _relations(database), persistent=False)
        self.to(policy.device)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Prover:
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        device = self.device
        if self.database.device != device:
            self.database = self.database.to(device)
            self._guarded = {}
        return self

    @property
    def device(self) -> torch.device:
        """Where the policy is, and the database with it."""
        return self.policy.device

    @property
    def program(self) -> Program:
        """The program with its facts, by which proofs are replayed."""
        if self._program is None:
            self._program = program_with_facts(self.database)
        elif not isinstance(self._program, Program):
            self._program = self._program()
        return self._program

    @property
    def transitions(self) -> Transitions[Any]:
        """The policy on the database's goals."""
        kept, database, device = self._transitions, self.database, self.device
        if kept is None or kept[0] is not database or kept[1] != device:
            kept = self._transitions = database, device, transitions_of(self.policy, database)
        return kept[2]

    def goals(self, triples: Int[Tensor, "n 3"], *, leave_out: bool = False) -> Goals:
        """Triples as ground queries; `leave_out`: each without the fact that it is itself."""
        triples = triples.to(self.database.device)
        return self.database.triples(triples[:, 1], triples[:, [0, 2]], leave_out=leave_out)

    def explore(self, goals: Goals, most: int | None = None) -> Layers:
        """The goal graph of a batch within the limits, without successors of goals that fail.

        `most` is a limit on the goals for where there is none.
        """
        limits = self.limits
        layers = explore(
            self.database, goals, max_depth=limits.depth, max_atoms=limits.atoms,
            max_goals=limits.goals or most, every_clause=self.policy.local,
        )  # fmt: skip
        return pruned(layers)

    @torch.no_grad()
    def neighbourhood(self, goals: Goals, max_goals: int | None) -> Neighbourhood:
        """Of the goal graph of a batch the goals that most mass reaches, `max_goals` at most.

        They take the place of the limit on goals, where there is one.
        """
        if self.policy.weighs_one:
            raise ModelError(
                "clauses that weigh 1 each may add up to more: what is left open bounds nothing",
                hint="a policy whose weights are probabilities",
            )
        budget = GoalBudget(self.limits.depth, self.limits.atoms, max_goals)
        return neighbourhood(
            self.database, goals, self.log_weights, budget, every_clause=self.policy.local
        )

    def forward(self, triples: Int[Tensor, "n 3"], *, leave_out: bool = False) -> Mass:
        """The masses of some triples, differentiable."""
        return self.weigh(self.explore(self.goals(triples, leave_out=leave_out)))

    def weigh(self, layers: Layers) -> Mass:
        """The masses of explored queries."""
        weights, neural = self.log_weights(layers)
        return masses(layers, weights, neural)

    def log_weights(
        self, layers: Layers
    ) -> tuple[list[Float[Tensor, " _steps"]], list[Bool[Tensor, " _steps"]] | None]:
        """log p of every step, and which are steps at a neural fact (None: there is no such)."""
        weights = log_weights(self.transitions, layers)
        if self.database.shape.guards:
            guarded = self._steps_at("guards", layers)
            weights = [w.masked_fill(g, 0.0) for w, g in zip(weights, guarded, strict=True)]
        if self.belief is None:
            return weights, None
        neural = self.neural_steps(layers)
        for depth, steps in enumerate(layers.steps):
            goals, asked = layers.goals[depth], neural[depth]
            weights[depth] = self._with_belief(weights[depth], goals, asked, steps.source)
        return weights, neural

    def neural_steps(self, layers: Layers) -> list[Bool[Tensor, " _steps"]]:
        """Which steps are steps at a neural fact."""
        return self._steps_at("neural", layers)

    def _steps_at(self, kind: str, layers: Layers) -> list[Bool[Tensor, " _steps"]]:
        is_one, pairs = self.get_buffer(kind), zip(layers.goals, layers.steps, strict=False)
        return [is_one[goals.leftmost[:, 0]][steps.source] for goals, steps in pairs]

    @torch.no_grad()
    def proofs(
        self,
        triple: Sequence[int],
        n: int = 1,
        *,
        leave_out: bool = False,
        believing: bool | Literal["last"] = True,
    ) -> list[Proof]:
        """The `n` most probable proofs of a triple (head, relation, tail), fewer if it has fewer.

        Each is one derivation with its own probability; steps at the prior are of kind "belief",
        and without `believing` there are none. `believing="last"` gives proofs by clauses first,
        and what believes after them: how likely the prior holds a triple can be said without a
        proof. With `leave_out` the triple is proved without the fact that it is itself.
        """
        goals = self.goals(torch.tensor([list(triple)]), leave_out=leave_out)
        (asked,) = self.database.decode(goals)
        query, program = Query(asked.atoms), self.program
        if leave_out and int(goals.left_out) != NO_FACT:
            fact = asked.atoms[0]
            assert isinstance(fact, Struct)
            program = program.without(fact)
        return self.search(goals).proofs(program, query, 0, n, believing)

    @torch.no_grad()
    def weigh_and_search(
        self, goals: Goals, max_goals: int | None = None
    ) -> tuple[Mass, ProofSearch | None]:
        """The masses of some queries, and the search for their proofs over the same goals.

        Where limits cut the goals of the batch, what is left open may have room when a query is
        asked alone: then there is no search, and each is to be proved by itself. With `max_goals`
        of each query there is the neighbourhood of all of them, and proofs are those found in it.
        """
        if max_goals is not None:
            near = self.neighbourhood(goals, max_goals * len(goals))
            mass = masses(near.layers, near.log_weights, near.neural)
            return mass, ProofSearch.of(
                self.database, near.layers, near.log_weights, near.neural, past_open=False
            )
        layers = self.explore(goals)
        weights, neural = self.log_weights(layers)
        mass = masses(layers, weights, neural)
        if layers.cut:
            return mass, None
        return mass, ProofSearch.of(self.database, layers, weights, neural)

    @torch.no_grad()
    def search(self, goals: Goals) -> ProofSearch:
        """The search for the proofs of some queries."""
        layers = self.explore(goals)
        return ProofSearch.of(self.database, layers, *self.log_weights(layers))

    def with_policy(self, policy: Scorer) -> Prover:
        """A prover of the same program and prior with another policy."""
        own = partial(getattr, self, "program")
        made = Prover(self.database, policy, self.belief, self.limits, program=own)
        return made.train(self.training)

    def with_guards(self, guards: Sequence[Functor]) -> Prover:
        """The prover for queries that use guards which no rule of its program has; made once."""
        symbols = self.database.symbols
        missing = tuple(guard for guard in guards if not symbols.has_predicate(guard))
        if not missing:
            return self
        if missing not in self._guarded:
            database = self.database.with_guards(missing)
            own = partial(getattr, self, "program")
            made = Prover(database, self.policy, self.belief, self.limits, program=own)
            made.train(self.training)
            with warnings.catch_warnings(record=True) as unknown:
                warnings.simplefilter("always")
                made.transitions  # noqa: B018 - which is made once, and tells what it does not know
            if unknown:
                names = ", ".join(guard.name for guard in missing)
                warnings.warn(
                    f"no rule of the run has {names}: the policy weighs goals that have it as it "
                    "weighs any symbol it does not know", Notice, stacklevel=2,
                )  # fmt: skip
            self._guarded[missing] = made
        return self._guarded[missing]

    def _with_belief(
        self,
        log: Float[Tensor, " steps"],
        goals: Goals,
        asked: Bool[Tensor, " steps"],
        source: Int[Tensor, " steps"],
    ) -> Float[Tensor, " steps"]:
        """The weights, those of the steps at a neural fact by the prior."""
        assert self.belief is not None
        where = asked.nonzero().squeeze(1)
        atoms = goals.atoms[source[where], 0].long()
        relation = self.get_buffer("relation_of")[atoms[:, 1]]
        believed = self.belief.log_probability(relation, atoms[:, 2], atoms[:, 3])
        return log.index_copy(0, where, believed.to(log))


def _relations(database: Database) -> Int[Tensor, " constants"]:
    """The number of the relation that a constant in believe(…) names; −1 where it names none."""
    symbols = database.symbols
    if not database.shape.neural:
        return torch.zeros(0, dtype=torch.long)
    found = torch.full((len(symbols.constants),), -1)
    for number, functor in enumerate(symbols.predicates):
        constant = symbols.constant_numbers.get(Atom(functor.name))
        if functor.arity == 2 and constant is not None:
            found[constant] = number
    return found


def _check_belief(database: Database, belief: Belief | None) -> None:
    """Belief where the program asks for it, and of every relation and constant it can ask about."""
    if not database.shape.neural:
        return
    if belief is None:
        raise ModelError(
            "the program believes, but there is no belief to ask",
            hint="Prover(database, policy, belief), or database_of(…, believe=False)",
        )
    for rule in database.rules:
        if rule.offer is Offer.BELIEF and rule.head[0] >= belief.kge.relations:
            name = database.symbols.predicates[rule.head[0]]
            raise ModelError(f"the program believes {name}, which the embedding does not know")
        terms = [a for atom in (rule.head, *rule.body) for a in atom[1:]]
        if rule.offer is Offer.PLAIN and max(terms, default=0) >= belief.entities:
            text = database.symbols.text(max(terms))
            raise ModelError(f"a rule mentions {text}, which the embedding does not know")
