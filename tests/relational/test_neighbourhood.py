"""Neighbourhoods: bounds hold the value of the whole goal graph, and only come closer."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import assume

import deepprooflog as dpl
from deepprooflog.errors import ModelError
from deepprooflog.logic.program import Program
from deepprooflog.relational.database import Database
from deepprooflog.relational.layers import Layers, explore
from deepprooflog.relational.neighbourhood import GoalBudget, neighbourhood
from deepprooflog.relational.sweep import Mass, masses
from deepprooflog.relational.weigh import log_weights, transitions_of
from deepprooflog.score.embedding.embedding import Embedding
from programs.fresh import fresh
from programs.function_free import Asked, stratified

BUDGETS = (1, 3, 8, 20, 60, 200, 3000)


def scorer_of(program: Program) -> Embedding:
    return Embedding(program, 6, "mlp", "mean", seed=1).double()


@torch.no_grad()
def bounded(
    database: Database, scorer: Embedding, queries: tuple[str, ...], most: int | None
) -> tuple[Mass, Layers]:
    model = transitions_of(scorer, database)
    found = neighbourhood(
        database, database.goals(queries), lambda layers: (log_weights(model, layers), None),
        GoalBudget(30, None, most),
    )  # fmt: skip
    return masses(found.layers, found.log_weights), found.layers


@fresh(10, stratified())
def test_bounds_hold_the_exact_value_and_only_come_closer(asked: Asked) -> None:
    program, queries = asked.program(), asked.queries
    database = Database.of(program)
    whole = explore(database, database.goals(queries), max_depth=30, max_goals=3000)
    assume(not whole.cut)
    exact = dpl.Model(program, scorer=scorer_of(program)).log_prob(queries).exp().detach()
    lower, upper = torch.zeros_like(exact), torch.ones_like(exact)
    for most in BUDGETS:
        mass, layers = bounded(database, scorer_of(program), queries, most)
        assert layers.size <= max(most, len(layers.goals[0]))
        assert bool((mass.success <= exact + 1e-9).all() & (exact <= mass.upper + 1e-9).all())
        assert bool((mass.success >= lower - 1e-12).all() & (mass.upper <= upper + 1e-12).all())
        lower, upper = mass.success, mass.upper
    mass, layers = bounded(database, scorer_of(program), queries, None)
    assert not layers.cut
    torch.testing.assert_close(mass.success, exact)
    assert torch.equal(mass.upper, mass.success)


def test_a_loop_without_end_is_bounded_by_what_goes_round() -> None:
    """p takes either clause by half: after n goals 1 − 2⁻ⁿ is found, and 2⁻ⁿ is open."""
    database = Database.of(Program("p :- p. p."))

    def even(layers: Layers) -> tuple[list[torch.Tensor], None]:
        return [torch.full((len(s.source),), math.log(0.5)) for s in layers.steps], None

    for most in (3, 5, 9, 21):
        found = neighbourhood(database, database.goals(["p"]), even, GoalBudget(99, None, most))
        mass = masses(found.layers, found.log_weights)
        steps = (most - 1) // 2
        assert found.expanded == steps
        assert float(mass.success) == pytest.approx(1 - 0.5**steps, abs=1e-6)
        assert float(mass.open) == pytest.approx(0.5**steps, abs=1e-6)


def test_the_goal_that_most_mass_reaches_comes_first() -> None:
    """A budget for one of two ways: the probable one is taken, however they are written."""
    for likely in (0, 1):
        database = Database.of(Program("p :- q. p :- r. q :- a. r :- b. a. b."))

        def uneven(layers: Layers, likely: int = likely) -> tuple[list[torch.Tensor], None]:
            steps = layers.steps[0]
            if len(steps.source) != 2 or len(layers.goals[0]) != 1:
                return [torch.zeros(len(steps.source))], None
            return [torch.tensor([0.1, 0.1]).scatter(0, torch.tensor(likely), 0.9).log()], None

        budget = GoalBudget(99, None, 5)
        found = neighbourhood(database, database.goals(["p"]), uneven, budget)
        mass = masses(found.layers, found.log_weights)
        assert float(mass.success) == pytest.approx(0.9)
        assert float(mass.open) == pytest.approx(0.1)


def test_weights_that_add_up_to_more_than_1_are_refused() -> None:
    database = Database.of(Program("p :- q. p :- r. q. r."))

    def ones(layers: Layers) -> tuple[list[torch.Tensor], None]:
        return [torch.zeros(len(steps.source)) for steps in layers.steps], None

    with pytest.raises(ModelError, match="add up to 2"):
        neighbourhood(database, database.goals(["p"]), ones, GoalBudget(9, None, 9))
