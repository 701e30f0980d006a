"""The proof environment one episode at a time, straight from `successors`.

    state     a goal G; True and False end the episode
    actions   N(G), the distinct successors, less those visited; and False when it is on
    reward    2y − 1 at True, 0 otherwise

It runs any program and is the measure of the batched environment, which is quicker and must agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from deepprooflog.errors import ModelError
from deepprooflog.logic.choice import WeightSource
from deepprooflog.logic.goal import Goal, Interner
from deepprooflog.logic.program import Program
from deepprooflog.logic.resolve import start, successors
from deepprooflog.mdp.environment import Process
from deepprooflog.syntax.terms import Atom, Struct, functor_of, is_ground


class End(Enum):
    """How an episode ended."""

    PROVED = "proved"
    FAILED = "failed"
    CUT = "cut"


@dataclass(frozen=True)
class Episode:
    """Where an episode stands. `end` is None while it goes on."""

    program: Program
    interner: Interner
    goal: Goal
    label: int
    depth: int
    visited: frozenset[Goal]
    end: End | None = None


@dataclass(frozen=True)
class Offers:
    """A(G): the distinct successors in clause order, and which of them the memory leaves open."""

    goals: tuple[Goal, ...]
    open: tuple[bool, ...]
    false: bool
    chance: bool
    """The leftmost atom is a neural fact: its network, not the policy, decides whether to go on."""


def begin(program: Program, query: str, label: int, *, leave_out: bool = False) -> Episode:
    """The start of an episode. `leave_out`: a query of one atom that is a fact may not use it.

    >>> episode = begin(Program("p(a) :- q(a). q(a)."), "p(a)", 1)
    >>> episode, reward = step(episode, Process(), 0)
    >>> step(episode, Process(), 0)[1]
    1.0
    """
    atoms = program.query(query).atoms
    if leave_out and len(atoms) == 1 and is_ground(atoms[0]):
        assert isinstance(atoms[0], Atom | Struct)
        program = program.without(atoms[0])
    interner = Interner()
    goal = start(atoms, interner)
    return Episode(program, interner, goal, label, 0, frozenset([goal]))


def offers(episode: Episode, process: Process) -> Offers:
    """The actions at an episode's goal."""
    if episode.end is not None:
        return Offers((), (), false=False, chance=False)
    steps = list(successors(episode.program, episode.goal, episode.interner))
    chance = any(s.choice.weigher is WeightSource.BERNOULLI for s in steps)
    every = (s.goal for s in steps)
    goals = tuple(every if process.every_clause else dict.fromkeys(every))
    free = tuple(not process.memory or g not in episode.visited for g in goals)
    false = process.false_action and not chance and not _is_builtin(episode)
    return Offers(goals, free, false, chance)


def _is_builtin(episode: Episode) -> bool:
    """A builtin is no choice: it has its solutions, and False is not among them."""
    functor = functor_of(episode.goal.atoms[0]) if episode.goal.atoms else None
    return functor is not None and not episode.program.defines(functor)


def step(episode: Episode, process: Process, action: int | None) -> tuple[Episode, float]:
    """Take a successor by its number, or False (None); without an open action None is all there is.

    Once an episode has ended, nothing changes any more.
    """
    if episode.end is not None:
        return episode, 0.0
    offered = offers(episode, process)
    if action is None:
        if any(offered.open) and not offered.false and not offered.chance:
            raise ModelError("False is no action here", hint="Process(false_action=True)")
        return replace(episode, depth=episode.depth + 1, end=End.FAILED), 0.0
    if not 0 <= action < len(offered.goals) or not offered.open[action]:
        raise ModelError(f"action {action} is not open", hint=f"one of {_open(offered.open)}")
    goal, depth = offered.goals[action], episode.depth + 1
    cut = not goal.is_true and depth >= process.max_depth
    end = End.PROVED if goal.is_true else End.CUT if cut else None
    visited = episode.visited | {goal}
    reward = float(2 * episode.label - 1) if goal.is_true else 0.0
    return replace(episode, goal=goal, depth=depth, visited=visited, end=end), reward


def _open(free: Sequence[bool]) -> str:
    return ", ".join(str(i) for i, is_open in enumerate(free) if is_open) or "none"
