"""p_success by layers, against exact inference over the goal graph with the same scorer."""

from __future__ import annotations

import pytest
import torch
from hypothesis import assume
from hypothesis import strategies as st

import deepprooflog as dpl
from deepprooflog.errors import ProofLogError
from deepprooflog.logic.limits.budget import Budget
from deepprooflog.logic.program import BodyOrder, Program
from deepprooflog.relational.database import Database
from deepprooflog.relational.goals import Goals
from deepprooflog.relational.layers import Layers, explore
from deepprooflog.relational.sweep import Mass, masses, pruned
from deepprooflog.relational.weigh import log_weights, transitions_of
from deepprooflog.score.embedding.embedding import Embedding
from deepprooflog.score.embedding.vocabulary import ConstantRows
from programs.fresh import fresh
from programs.function_free import ORDERS, Asked, stratified

CONSTANTS = st.sampled_from(["own", "shared"])
SMALL = Budget(max_goals=300)


def scorer_of(
    program: Program, false_action: bool = False, constants: ConstantRows = "own"
) -> Embedding:
    return Embedding(
        program, 6, "mlp", "mean", false_action=false_action, constants=constants, seed=1
    ).double()


def weighed(scorer: Embedding, database: Database, layers: Layers) -> Mass:
    return masses(layers, log_weights(transitions_of(scorer, database), layers))


def gradients(scorer: Embedding) -> dict[str, torch.Tensor]:
    found = {n: p.grad for n, p in scorer.named_parameters() if p.grad is not None}
    return {name: grad for name, grad in found.items() if grad.any()}


@fresh(14, stratified(), ORDERS, CONSTANTS, st.booleans())
def test_success_is_that_of_the_goal_graph(
    asked: Asked, order: BodyOrder, constants: ConstantRows, false_action: bool
) -> None:
    """Values and gradients, of queries with and without variables."""
    program, queries = asked.program(order), asked.queries
    database = Database.of(program)
    layers = explore(database, database.goals(queries), max_depth=30, max_goals=3000)
    assume(not layers.cut)
    ours, theirs = (scorer_of(program, false_action, constants) for _ in range(2))
    found = weighed(ours, database, layers)
    expected = dpl.Model(program, scorer=theirs).log_prob(queries).exp()
    torch.testing.assert_close(found.success, expected)
    assert torch.equal(found.proof, found.success) and not found.open.any()
    # Queries that no clause matches weigh nothing and hang on nothing.
    if not found.success.requires_grad:
        assert not found.success.any() and not expected.requires_grad
        return
    found.success.sum().backward()
    expected.sum().backward()
    one, two = gradients(ours), gradients(theirs)
    for name in one.keys() | two.keys():
        zero = torch.zeros_like(ours.get_parameter(name))
        torch.testing.assert_close(
            one.get(name, zero), two.get(name, zero), rtol=1e-5, atol=1e-9, msg=name
        )


@fresh(
    10,
    stratified(recursive=True),
    st.integers(1, 5),
    st.integers(1, 4),
    st.integers(10, 80),
    st.booleans(),
)
def test_bounds_hold_what_is_exact(
    asked: Asked, depth: int, atoms: int, most: int, false_action: bool
) -> None:
    """success ≤ exact ≤ success + open for every budget, also where goals lead back to goals."""
    program, queries = asked.program("bound_first"), asked.queries
    scorer = scorer_of(program, false_action)
    try:
        exact = dpl.Model(program, scorer=scorer).log_prob(queries[:1], SMALL).exp()
    except ProofLogError:
        assume(False)
    database = Database.of(program)
    goals = database.goals(queries[:1])
    budgets = [
        {"max_depth": depth},
        {"max_depth": 9, "max_atoms": atoms},
        {"max_depth": 9, "max_goals": most},
    ]
    for budget in budgets:
        layers = explore(database, goals, **{"max_goals": 2000, **budget})  # type: ignore[arg-type]
        found = weighed(scorer, database, layers)
        assert found.success <= exact + 1e-9
        assert exact <= found.upper + 1e-9
        if not layers.cut:
            torch.testing.assert_close(found.success, exact)
        fewer = pruned(layers)
        assert fewer.size <= layers.size and fewer.cut == layers.cut
        same = weighed(scorer, database, fewer)
        for name in ("success", "proof", "open"):
            torch.testing.assert_close(getattr(same, name), getattr(found, name))


def test_deeper_is_closer() -> None:
    """p → p | True with probability ½: after d steps 1 − 2^−d is proved and 2^−d is open."""
    program = Program("p :- p. p.")
    scorer = scorer_of(program)
    with torch.no_grad():
        for parameter in scorer.parameters():
            parameter.zero_()
    database = Database.of(program)
    for depth in range(1, 6):
        layers = explore(database, database.goals(["p"]), max_depth=depth)
        found = weighed(scorer, database, layers)
        assert found.success.item() == pytest.approx(1 - 0.5**depth)
        assert found.open.item() == pytest.approx(0.5**depth)
        assert found.upper.item() == pytest.approx(1.0)


def test_a_fact_left_out_is_a_program_without_it() -> None:
    text = "e(a, b). e(b, c). p(a, c). p(X, Y) :- e(X, Z), e(Z, Y). p(X, Y) :- e(Y, X)."
    program = Program(text, order="bound_first")
    scorer = scorer_of(program, false_action=True)
    database = Database.of(program)
    goals = database.goals(["p(a, c)", "e(a, b)", "p(b, a)"], leave_out=True)
    kept = database.goals(["p(a, c)"])
    layers = explore(database, Goals.cat([goals, kept]), max_depth=40)
    found = weighed(scorer, database, layers).success
    for number, query in enumerate(["p(a, c)", "e(a, b)"]):
        view = program.without(program.query(query).atoms[0])  # type: ignore[arg-type]
        expected = dpl.Model(view, scorer=scorer).log_prob(query).exp()
        torch.testing.assert_close(found[number], expected.squeeze())
    expected = dpl.Model(program, scorer=scorer).log_prob(["p(b, a)", "p(a, c)"]).exp()
    torch.testing.assert_close(found[2:], expected)
    assert found[0] != found[3] and found[1] == 0


def test_queries_that_share_goals() -> None:
    """A query given twice has the same mass twice, and its gradient twice."""
    text = ":- dynamic(s/1). p(a). p(b) :- p(a). p(b) :- r. r :- p(a), p(a). r :- s(b)."
    program = Program(text)
    scorer, database = scorer_of(program, false_action=True), Database.of(program)
    layers = explore(database, database.goals(["p(b)", "r", "p(b)"]), max_depth=9)
    found = weighed(scorer, database, layers).success
    assert found[0] == found[2] and 0 < found[1] < 1
    alone = explore(database, database.goals(["p(b)"]), max_depth=9)
    once = weighed(scorer, database, alone).success
    torch.testing.assert_close(found[:1], once)
    (one,) = torch.autograd.grad(found[0] + found[2], [scorer.true])
    (two,) = torch.autograd.grad(once.sum(), [scorer.true])
    torch.testing.assert_close(one, 2 * two)
