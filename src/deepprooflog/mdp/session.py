"""Episodes behind an adapter: actions by number, observations padded to a declared size.

    goal          [atoms, width]             the atoms of G: predicate, arguments
    successors    [actions, atoms, width]    those of each G' in N(G)
    action_mask   [actions (+ 1)]            which numbers may be chosen; the last one is False

What does not fit is an error, never cut. A number that the mask excludes ends the episode as a
failure, as False does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from deepprooflog.errors import ModelError
from deepprooflog.graph.goalgraph import goal_text
from deepprooflog.logic.program import Program
from deepprooflog.mdp.environment import (
    FALSE,
    Actions,
    Environment,
    FactLogProb,
    Outcome,
    Process,
    Queries,
    State,
    actions,
    reset,
    restart,
    step,
)
from deepprooflog.relational.database import Database
from deepprooflog.relational.goals import PAD, Goals


@dataclass(frozen=True)
class ObservationSize:
    """The declared size of observations."""

    atoms: int
    actions: int


@dataclass(frozen=True)
class View:
    """What an agent sees of each episode."""

    goal: Int[Tensor, "episodes atoms width"]
    successors: Int[Tensor, "episodes actions atoms width"]
    mask: Bool[Tensor, "episodes numbers"]


class Session:
    """Labelled queries of a program and the episodes under way.

    `max_depth`, `false_action` and `memory` are those of `Process`; `max_atoms` and `max_actions`
    declare the size of observations. `nesting` limits how deep rules nest, `leave_out` keeps a
    query from using itself as a fact, and `belief` decides neural facts. Every adapter takes these
    options by these names.

    >>> session = Session("p(X) :- q(X). q(a).", ["p(a)"], max_actions=2, false_action=False)
    >>> session.begin(torch.tensor([0]), seed=0).mask.tolist()
    [[True, False]]
    >>> session.text()
    ['p(a)']
    """

    def __init__(
        self,
        program: Program | str,
        queries: Sequence[str],
        labels: Sequence[int] | None = None,
        *,
        max_depth: int = 20,
        max_atoms: int = 16,
        max_actions: int = 64,
        false_action: bool = True,
        memory: bool = True,
        nesting: int | None = None,
        leave_out: bool = False,
        belief: FactLogProb | None = None,
        device: torch.device | str = "cpu",
    ) -> None:
        if isinstance(program, str):
            program = Program(program)
        given = [1] * len(queries) if labels is None else list(labels)
        if not queries or len(given) != len(queries) or not set(given) <= {0, 1}:
            raise ModelError(
                f"{len(queries)} queries with {len(given)} labels make no environment",
                hint="give at least one query, and a label 0 or 1 for each",
            )
        process = Process(max_depth, false_action, memory)
        database = Database.of(program, nesting=nesting, device=device)
        self.environment = Environment(database, process, belief)
        goals = database.goals(queries, leave_out=leave_out)
        self.queries = Queries(goals, torch.tensor(given, device=device))
        self.limits = ObservationSize(max_atoms, max_actions)
        self.generator = torch.Generator(device)
        self.state: State | None = None
        self.offered: Actions | None = None

    @property
    def device(self) -> torch.device:
        return self.environment.database.device

    @property
    def numbers(self) -> int:
        """How many numbers an action may have."""
        return self.limits.actions + self.environment.process.false_action

    @property
    def width(self) -> int:
        """Columns of an atom."""
        return self.environment.database.shape.width

    @property
    def bounds(self) -> tuple[int, int]:
        """The least and the largest number an observation of atoms may hold."""
        symbols = self.environment.database.symbols
        nesting = self.environment.database.nesting or 0
        largest = max(len(symbols.predicates), len(symbols.constants), nesting)
        # No goal has more variables than arguments.
        return PAD - self.limits.atoms * self.width, largest

    def begin(self, query: Int[Tensor, " episodes"], seed: int) -> View:
        """New episodes for the queries of these numbers."""
        self.generator.manual_seed(seed)
        return self._look(reset(self.environment, self.queries, query.to(self.device)))

    def act(
        self, number: Int[Tensor, " episodes"]
    ) -> tuple[Outcome, View, Bool[Tensor, " episodes"]]:
        """Take actions by number; what they led to, and which of them the mask had excluded."""
        assert self.state is not None and self.offered is not None
        chosen, excluded = self._rows(self.offered, number.to(self.device))
        outcome = step(self.environment, self.state, self.offered, chosen, self.generator)
        return outcome, self._look(outcome.state), excluded

    def renew(
        self, query: Int[Tensor, " episodes"], which: Bool[Tensor, " episodes"] | None = None
    ) -> View:
        """New episodes, for the queries given, in the place of some: by default, of those over."""
        assert self.state is not None
        state = self.state
        which = state.over if which is None else which.to(self.device)
        renewed = replace(state, over=which)
        fresh = restart(self.environment, renewed, self.queries, query.to(self.device))
        return self._look(replace(fresh, over=fresh.over | (state.over & ~which)))

    def text(self) -> list[str]:
        """The goal of each episode as Prolog."""
        assert self.state is not None
        return [goal_text(g) for g in self.environment.database.decode(self.state.goals)]

    def _look(self, state: State) -> View:
        offered = actions(self.environment, state)
        self.state, self.offered = state, offered
        count = offered.start[1:] - offered.start[:-1]
        _check(int(count.max()), self.limits.actions, "successors", "max_actions")
        episodes, most = len(state), self.limits.actions
        place = torch.arange(len(offered), device=count.device) - offered.start[offered.episode]
        shape = (episodes, most, self.limits.atoms, self.width)
        successors = torch.full(shape, PAD, dtype=torch.int64, device=count.device)
        successors[offered.episode, place] = self._padded(offered.goals)
        mask = torch.zeros((episodes, self.numbers), dtype=torch.bool, device=count.device)
        mask[offered.episode, place] = offered.open
        if self.environment.process.false_action:
            mask[:, -1] = offered.false
        return View(self._padded(state.goals), successors, mask)

    def _padded(self, goals: Goals) -> Int[Tensor, "goals atoms width"]:
        widest = int(goals.length.max()) if len(goals) else 0
        _check(widest, self.limits.atoms, "atoms", "max_atoms")
        atoms = goals.atoms[:, :widest].long()
        missing = self.limits.atoms - widest
        return torch.nn.functional.pad(atoms, (0, 0, 0, missing), value=PAD)

    def _rows(
        self, offered: Actions, number: Int[Tensor, " episodes"]
    ) -> tuple[Int[Tensor, " episodes"], Bool[Tensor, " episodes"]]:
        """The row of each number, FALSE where it is False or excluded; and what was excluded."""
        if not len(offered):
            return torch.full_like(number, FALSE), ~(offered.false & (number == self.numbers - 1))
        row = offered.start[:-1] + number
        own = (number >= 0) & (row < offered.start[1:])
        row = torch.where(own, row, 0)
        own = own & offered.open[row]
        is_false = offered.false & (number == self.limits.actions)
        return torch.where(own, row, FALSE), ~own & ~is_false


def _check(found: int, most: int, what: str, name: str) -> None:
    if found > most:
        raise ModelError(
            f"a goal has {found} {what}, more than the {most} declared",
            hint=f"{name}={found} or more; or limit how deep rules nest",
        )
