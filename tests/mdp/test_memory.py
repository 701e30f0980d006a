"""What was visited is told exactly, whatever the hash does."""

from __future__ import annotations

import random

import pytest
import torch

from deepprooflog.logic.program import Program
from deepprooflog.mdp import memory
from deepprooflog.mdp.environment import Process
from deepprooflog.relational.database import Database
from deepprooflog.relational.goals import Goals
from mdp.test_environment import RANDOMS, play
from programs.fresh import fresh
from programs.function_free import Asked, episodes

PROGRAM = "p(a, b). p(b, c). q(a). q(X) :- p(X, Y), q(Y)."


def test_goals_that_share_a_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """With one hash for all goals, episodes still agree with the plain environment."""

    def constant(goals: Goals) -> torch.Tensor:
        return torch.zeros(len(goals), dtype=torch.int64)

    monkeypatch.setattr(memory, "hash_of", constant)
    compared = []

    @fresh(8, episodes(), RANDOMS)
    def compare(asked: Asked, dice: random.Random) -> None:
        process = Process(max_depth=6)
        compared.append(play(asked.program(), asked.queries, process, dice, leave=False))

    compare()
    assert sum(compared) > 100


def test_the_hash_does_not_depend_on_the_padding() -> None:
    database = Database.of(Program(PROGRAM))
    narrow = database.goals(["p(X, Y)", "q(a)"])
    wide = Goals.cat([narrow, database.goals(["q(a), q(X), p(X, X)"])])
    assert torch.equal(memory.hash_of(narrow), memory.hash_of(wide)[:2])


def test_the_hash_tells_many_goals_apart() -> None:
    """Neighbouring numbers in all places, and the same atoms in another order."""
    database = Database.of(Program(PROGRAM))
    values = torch.cartesian_prod(*[torch.arange(-5, 12)] * 4).int()
    atoms = torch.ones((len(values), 2, 3), dtype=torch.int32)
    atoms[:, :, 1:] = values.view(-1, 2, 2)
    keep = (values != -1).all(1)
    none = torch.full((len(values),), -1, dtype=torch.int32)
    goals = Goals(atoms, values[:, :0], none).select(keep)
    assert len(torch.unique(memory.hash_of(goals))) == len(goals) == 16**4
    assert database.shape.width == 3


def test_answers_count() -> None:
    """The same atoms under another answer are another goal."""
    database = Database.of(Program(PROGRAM))
    goals = database.goals(["q(X)", "q(X)"])
    other = Goals(goals.atoms, torch.tensor([[-2], [0]], dtype=torch.int32), goals.left_out)
    depth = torch.zeros(2, dtype=torch.int64)
    every = torch.ones(2, dtype=torch.bool)
    kept = memory.remember(memory.blank(goals, 3), goals, depth, every)
    assert memory.visited(kept, other, torch.tensor([0, 1]), depth).tolist() == [True, False]
    forgotten = memory.forget(kept, torch.tensor([True, False]))
    assert memory.visited(forgotten, goals, torch.tensor([0, 1]), depth).tolist() == [False, True]
