"""The policy π_λ(a | G) = p_λ(G' | G), and a value network of the same architecture.

π_λ(a | G) ∝ exp(e_G · e_G')        over what is open of N(G), and False
V(G) = w · e'_G + b                 e' an embedding of its own
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from deepprooflog.errors import ModelError
from deepprooflog.mdp.environment import FALSE, Actions, Process
from deepprooflog.relational.database import Database
from deepprooflog.relational.goals import Goals
from deepprooflog.relational.weigh import transitions_of
from deepprooflog.score.embedding.embedding import Embedding
from deepprooflog.score.embedding.numbered import EmbeddedGoals
from deepprooflog.score.scorer import Scorer
from deepprooflog.score.transitions import LogPolicy, Transitions, log_policy


class Policy(nn.Module):
    """A scorer as the actor and, with a critic, V(G); both read goals by a database's numbers.

    The environment's process must offer what the actor weighs: `process_of` is made for it.
    """

    def __init__(self, actor: Scorer, database: Database, critic: Embedding | None = None) -> None:
        super().__init__()
        known = actor.vocabulary.digest() if isinstance(actor, Embedding) else None
        if critic is not None and known not in (None, critic.vocabulary.digest()):
            raise ModelError(
                "the actor and the critic know different symbols",
                hint="build both from the same program",
            )
        self.actor = actor
        self.critic = critic
        self.head = None if critic is None else nn.Linear(critic.dim, 1)
        if self.head is not None:
            # The first advantages are then the rewards themselves.
            nn.init.zeros_(self.head.weight)
            nn.init.zeros_(self.head.bias)
        self.database = database
        self._forms: tuple[torch.device, Transitions[Any], EmbeddedGoals | None] | None = None

    @property
    def device(self) -> torch.device:
        """Where the actor is."""
        return self.actor.device

    def _on_numbers(self) -> tuple[torch.device, Transitions[Any], EmbeddedGoals | None]:
        """The actor and the critic on the database's goals, on the device of the parameters."""
        if self._forms is None or self._forms[0] != self.device:
            actor = transitions_of(self.actor, self.database)
            symbols = self.database.symbols
            critic = None if self.critic is None else EmbeddedGoals(self.critic, symbols)
            self._forms = self.device, actor, critic
        return self._forms

    def log_policy(
        self,
        goals: Goals,
        successors: Goals,
        parent: Int[Tensor, " successors"],
        clause: Int[Tensor, " successors"],
        open: Bool[Tensor, " successors"],
        false: Bool[Tensor, " goals"],
    ) -> LogPolicy:
        """log π of every successor and of False."""
        _, actor, _ = self._on_numbers()
        both = actor.view(Goals.cat([goals, successors]).atoms)
        here, after = both[: len(goals)], both[len(goals) :]
        return log_policy(actor, here, after, parent, clause, open=open, false=false)

    def value(self, goals: Goals) -> Float[Tensor, " goals"]:
        """V(G), 0 without a critic."""
        _, _, critic = self._on_numbers()
        if critic is None or self.head is None:
            return torch.zeros(len(goals), device=self.device)
        found: Tensor = self.head(critic.view(goals.atoms).each)
        return found.squeeze(1)


def process_of(actor: Scorer, max_depth: int = 20, *, memory: bool = True) -> Process:
    """The process that offers what a scorer weighs: False where it fails, every clause or none.

    What a local scorer's clauses leave of the mass fails.
    """
    false = actor.local or bool(getattr(actor, "false_action", False))
    return Process(max_depth, false, memory, every_clause=actor.local)


def draw(
    log: LogPolicy,
    offered: Actions,
    generator: torch.Generator | None = None,
    *,
    greedy: bool = False,
) -> Int[Tensor, " episodes"]:
    """An action of each episode, drawn from the policy or (`greedy`) the most likely one.

    The largest of log π plus Gumbel noise is a draw from π.
    """
    steps, false = log.steps, log.false
    if not greedy:
        noise = _gumbel(len(steps) + len(false), steps.device, generator)
        steps, false = steps + noise[: len(steps)], false + noise[len(steps) :]
    nothing = torch.full_like(false, -torch.inf)
    best = nothing.scatter_reduce(0, offered.episode, steps, "amax")
    wins = (steps == best[offered.episode]) & (steps > -torch.inf)
    number = torch.arange(len(steps), device=steps.device)
    number = torch.where(wins, number, len(steps))
    last = torch.full((len(false),), len(steps), device=steps.device)
    row = last.scatter_reduce(0, offered.episode, number, "amin")
    return torch.where((row < len(steps)) & (best >= false), row, FALSE)


def log_prob(log: LogPolicy, chosen: Int[Tensor, " goals"]) -> Float[Tensor, " goals"]:
    """log π of what was chosen; 0 where nothing was open and False was all that was left."""
    # One row more, so that there is something to read where no goal has a successor.
    steps = torch.cat([log.steps, log.steps.new_zeros(1)])
    false = log.false.masked_fill(log.false == -torch.inf, 0.0)
    return torch.where(chosen == FALSE, false, steps[chosen.clamp_min(0)])


def entropy(log: LogPolicy, parent: Int[Tensor, " successors"]) -> Float[Tensor, " goals"]:
    """−Σ π log π over the successors and False of each goal."""
    return _plogp(log.false).index_add(0, parent, _plogp(log.steps)).neg()


def _plogp(log: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
    # p log p is 0 at p = 0, where log p has no finite value to multiply by.
    finite = log.masked_fill(log == -torch.inf, 0.0)
    return torch.where(log == -torch.inf, 0.0, finite.exp() * finite)


def _gumbel(
    count: int, device: torch.device, generator: torch.Generator | None
) -> Float[Tensor, " count"]:
    where = device if generator is None else generator.device
    drawn = torch.empty(count, dtype=torch.float64, device=where)
    return -drawn.exponential_(generator=generator).log().to(device)
