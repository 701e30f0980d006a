"""The proof environment for many episodes at once: a state goes in, a state comes out.

    state     a goal G for each episode, with the label y of its query
    actions   N(G), the distinct successors, less those visited; and False where it is on
    reward    2y − 1 at True, 0 otherwise

Episodes lie side by side; their successors are ragged, sorted by episode. At a neural fact there is
one action, to go on, and its network decides whether that succeeds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from deepprooflog.errors import ModelError
from deepprooflog.mdp.memory import Memory, blank, forget, remember, visited
from deepprooflog.relational.database import Database
from deepprooflog.relational.goals import Goals
from deepprooflog.relational.resolve import expand


@dataclass(frozen=True)
class Process:
    """The paper's MDP with its two additions.

    >>> Process(max_depth=0)
    Traceback (most recent call last):
    deepprooflog.errors.ModelError: max_depth=0 leaves no step to take...
    """

    max_depth: int = 20
    """Resolution steps after which an episode is cut off; cut episodes are counted."""
    false_action: bool = True
    """Offer False at every choice: the episode ends there and fails."""
    memory: bool = True
    """Exclude successors that were visited in this episode; the query counts as visited."""
    every_clause: bool = False
    """Offer an action for each clause, also where several lead to the same goal: for scorers that
    weigh clauses, as local ones do."""

    def __post_init__(self) -> None:
        if self.max_depth < 1:
            raise ModelError(
                f"max_depth={self.max_depth} leaves no step to take", hint="max_depth=20"
            )


FactLogProb: TypeAlias = Callable[[Tensor], Tensor]
"""log p of neural facts `[atoms, 1 + arity]`, predicates and constants by number."""

FALSE = -1
"""The action False, and what is left to take where no action is open."""


@dataclass(frozen=True)
class Queries:
    """Labelled queries to begin episodes with."""

    goals: Goals
    label: Int[Tensor, " queries"]  # y: 1 or 0

    def __len__(self) -> int:
        return len(self.goals)


@dataclass(frozen=True)
class State:
    """Where each episode stands. Once `over`, an episode stays as it is until it is restarted."""

    goals: Goals
    label: Int[Tensor, " episodes"]
    depth: Int[Tensor, " episodes"]  # resolution steps taken
    query: Int[Tensor, " episodes"]  # the number its query had among those it was drawn from
    over: Bool[Tensor, " episodes"]
    memory: Memory | None

    def __len__(self) -> int:
        return len(self.goals)

    def select(self, index: Int[Tensor, " chosen"]) -> State:
        """Some of the episodes."""
        return State(
            self.goals.select(index), self.label[index], self.depth[index], self.query[index],
            self.over[index], None if self.memory is None else self.memory.select(index),
        )  # fmt: skip

    @staticmethod
    def cat(parts: Sequence[State]) -> State:
        """The episodes of one environment one after another."""
        memories = [p.memory for p in parts if p.memory is not None]
        return State(
            Goals.cat([p.goals for p in parts]),
            torch.cat([p.label for p in parts]), torch.cat([p.depth for p in parts]),
            torch.cat([p.query for p in parts]), torch.cat([p.over for p in parts]),
            Memory.cat(memories) if memories else None,
        )  # fmt: skip


@dataclass(frozen=True)
class Actions:
    """A(G) of every episode; those of episode i are rows start[i] to start[i + 1]."""

    episode: Int[Tensor, " actions"]
    goals: Goals  # G' of each action
    clause: Int[Tensor, " actions"]  # the clause that leads there, the first of several
    open: Bool[Tensor, " actions"]  # not excluded by the memory
    start: Int[Tensor, " episodes_and_one"]
    false: Bool[Tensor, " episodes"]  # whether False is offered
    chance: Bool[Tensor, " episodes"]  # the leftmost atom is a neural fact

    def __len__(self) -> int:
        return len(self.episode)


@dataclass(frozen=True)
class Outcome:
    """What a step led to."""

    state: State
    reward: Float[Tensor, " episodes"]
    terminated: Bool[Tensor, " episodes"]  # at True, by False or without an action left
    truncated: Bool[Tensor, " episodes"]  # by max_depth
    proved: Bool[Tensor, " episodes"]


@dataclass(frozen=True)
class Environment:
    """A database, the process on it, and what decides neural facts, if it has any."""

    database: Database
    process: Process
    belief: FactLogProb | None = None


def reset(
    environment: Environment, queries: Queries, query: Int[Tensor, " episodes"] | None = None
) -> State:
    """An episode for each query, or for those whose numbers are given."""
    if query is None:
        query = torch.arange(len(queries), device=queries.label.device)
    goals = queries.goals.select(query)
    depth = torch.zeros_like(query)
    memory = None
    if environment.process.memory:
        nothing = blank(goals, environment.process.max_depth + 1)
        memory = remember(nothing, goals, depth, torch.ones_like(depth, dtype=torch.bool))
    return State(goals, queries.label[query], depth, query, goals.is_true, memory)


def restart(
    environment: Environment, state: State, queries: Queries, query: Int[Tensor, " episodes"]
) -> State:
    """The state with a new episode, for the query given, in the place of each that is over."""
    over = state.over
    fresh = queries.goals.select(torch.where(over, query, 0))
    number = torch.arange(len(state), device=over.device)
    goals = Goals.cat([state.goals, fresh]).select(torch.where(over, number + len(state), number))
    depth = torch.where(over, 0, state.depth)
    memory = state.memory
    if memory is not None:
        memory = remember(forget(memory, over), goals, depth, over)
    return State(
        goals=goals,
        label=torch.where(over, queries.label[query], state.label),
        depth=depth,
        query=torch.where(over, query, state.query),
        over=over & goals.is_true,
        memory=memory,
    )


def actions(environment: Environment, state: State) -> Actions:
    """A(G) of the episodes that go on; the others have none."""
    going = (~state.over).nonzero().squeeze(1)
    merge = not environment.process.every_clause
    found = expand(environment.database, state.goals.select(going), merge=merge)
    episode = going[found.parent.long()]
    free = torch.ones_like(episode, dtype=torch.bool)
    if state.memory is not None:
        free = ~visited(state.memory, found.goals, episode, state.depth)
    shape = environment.database.shape
    chance = _at(shape.neural, state.goals) & ~state.over
    false = ~state.over & ~_at(shape.ends, state.goals)
    if not environment.process.false_action:
        false = torch.zeros_like(false)
    edges = torch.arange(len(state) + 1, device=episode.device)
    return Actions(
        episode=episode,
        goals=found.goals,
        clause=found.clause,
        open=free,
        start=torch.searchsorted(episode, edges),
        false=false,
        chance=chance,
    )


def step(
    environment: Environment,
    state: State,
    offered: Actions,
    chosen: Int[Tensor, " episodes"],
    generator: torch.Generator | None = None,
) -> Outcome:
    """Take an action in each episode: a row of `offered`, or FALSE.

    FALSE is also what remains where no action is open. Only neural facts draw from the generator.
    """
    going = ~state.over
    taken = (chosen >= 0) & going
    if environment.belief is not None:
        taken = taken & ~_fails(environment.belief, environment.database, state, offered, generator)
    elif environment.database.shape.neural:
        raise ModelError(
            "the program has neural facts, and nothing decides them", hint="Environment(belief=…)"
        )
    number = torch.arange(len(state), device=chosen.device)
    both = Goals.cat([state.goals, offered.goals])
    # Wide goals come and go: without this, one of them would widen all that follow.
    goals = both.select(torch.where(taken, len(state) + chosen, number)).narrowed()
    depth = state.depth + going
    proved = taken & goals.is_true
    terminated = going & (proved | ~taken)
    truncated = going & ~terminated & (depth >= environment.process.max_depth)
    memory = state.memory
    if memory is not None:
        memory = remember(memory, goals, depth, taken)
    over = state.over | terminated | truncated
    reward = torch.where(proved, 2 * state.label - 1, 0).float()
    after = replace(state, goals=goals, depth=depth, over=over, memory=memory)
    return Outcome(after, reward, terminated, truncated, proved)


def _at(predicates: frozenset[int], goals: Goals) -> Bool[Tensor, " goals"]:
    """Which goals begin with an atom of these predicates."""
    found = torch.zeros(len(goals), dtype=torch.bool, device=goals.device)
    if goals.atoms.shape[1]:
        for predicate in predicates:
            found = found | (goals.leftmost[:, 0] == predicate)
    return found


def _fails(
    belief: FactLogProb,
    database: Database,
    state: State,
    offered: Actions,
    generator: torch.Generator | None,
) -> Bool[Tensor, " episodes"]:
    """Which neural facts turn out not to hold."""
    which = offered.chance.nonzero().squeeze(1)
    atoms = state.goals.atoms[which, 0, : 1 + database.shape.arity]
    log_p = belief(atoms).double()
    where = log_p.device if generator is None else generator.device
    drawn = torch.rand(len(which), generator=generator, device=where, dtype=torch.float64)
    fails = torch.zeros_like(offered.chance)
    return fails.index_put((which,), drawn.to(log_p.device) >= log_p.exp())
