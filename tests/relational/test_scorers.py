"""Graphs under any scorer: masses, gradients and policies against the model on terms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import Tensor

import deepprooflog as dpl
from deepprooflog.errors import ModelError
from deepprooflog.logic.program import PredicateKind, Program
from deepprooflog.logic.query import Query
from deepprooflog.mdp.environment import Environment, Queries, actions, reset, step
from deepprooflog.mdp.policy import Policy, draw, process_of
from deepprooflog.relational.database import Database
from deepprooflog.relational.layers import Layers, explore
from deepprooflog.relational.sweep import masses
from deepprooflog.relational.weigh import AsTerms, log_weights, transitions_of
from deepprooflog.score.clause_weights import ClauseWeights
from deepprooflog.score.embedding.embedding import Embedding
from deepprooflog.score.embedding.leftmost import Leftmost
from deepprooflog.score.scorer import Scorer
from deepprooflog.score.transitions import Transitions
from programs.function_free import Asked, stratified
from score.leftmost_network import LeftmostNetwork
from score.scenes import scene_of


def weights(program: Program, over: str, facts: str) -> ClauseWeights:
    scorer = ClauseWeights(program, over, facts)  # type: ignore[arg-type]
    with torch.no_grad():
        scorer.logits.normal_(generator=torch.Generator().manual_seed(1))
    return scorer


SCORERS: dict[str, Callable[[Program], Scorer]] = {
    "scalar": lambda p: weights(p, "predicate", "own"),
    "scalar, facts alike": lambda p: weights(p, "predicate", "shared"),
    "scalar, by call": lambda p: weights(p, "call", "own"),
    "term": lambda p: Leftmost(p, 6, "distmult", seed=1).double(),
    "term, constants alike": lambda p: Leftmost(p, 6, constants="shared", seed=1).double(),
    "goal": lambda p: Embedding(p, 6, seed=1, false_action=True).double(),
    "a user's": lambda p: LeftmostNetwork(p, local=True),
    "a user's, not local": lambda p: LeftmostNetwork(p, local=False),
}
EVERY = pytest.mark.parametrize("name", SCORERS)


def explored(database: Database, scorer: Scorer, queries: list[str]) -> Layers:
    return explore(
        database, database.goals(queries), max_depth=30, max_goals=3000, every_clause=scorer.local
    )


def has_twins(database: Database, queries: list[str]) -> bool:
    """True when two clauses lead from one goal to the same one."""
    goals = database.goals(queries)
    each, merged = (
        explore(database, goals, max_depth=30, max_goals=3000, every_clause=every)
        for every in (True, False)
    )
    return sum(len(s.source) for s in each.steps) != sum(len(s.source) for s in merged.steps)


def success(
    model: Transitions[Any], scorer: Scorer, database: Database, queries: list[str]
) -> Tensor:
    layers = explored(database, scorer, queries)
    return masses(layers, log_weights(model, layers)).success


def gradients(value: Tensor, scorer: Scorer) -> list[Tensor]:
    parameters = list(scorer.parameters())
    if not value.requires_grad:
        return [torch.zeros_like(p) for p in parameters]
    found = torch.autograd.grad(value.sum(), parameters, allow_unused=True)
    pairs = zip(parameters, found, strict=True)
    return [torch.zeros_like(p) if g is None else g for p, g in pairs]


@EVERY
@settings(max_examples=3)
@given(stratified())
def test_success_is_that_of_the_goal_graph(name: str, asked: Asked) -> None:
    """Values and gradients, by a scorer's own form for numbers and by terms."""
    program, queries = asked.program("bound_first"), list(asked.queries)
    database, scorer = Database.of(program), SCORERS[name](program)
    assume(not explored(database, scorer, queries).cut)
    # Weighed by clause and not local: where two clauses lead to one goal, which is the choice?
    assume(name != "a user's, not local" or not has_twins(database, queries))
    found = success(transitions_of(scorer, database), scorer, database, queries)
    by_terms = success(AsTerms(scorer, database), scorer, database, queries)
    expected = dpl.Model(program, scorer=scorer).log_prob(queries).exp()
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(by_terms, expected)
    wanted = gradients(expected, scorer)
    torch.testing.assert_close(gradients(found, scorer), wanted, rtol=1e-5, atol=1e-9)
    torch.testing.assert_close(gradients(by_terms, scorer), wanted, rtol=1e-5, atol=1e-9)


def labelled(text: str, program: Program, scorer: ClauseWeights) -> Program:
    """The same program with λ as labels."""
    source = text.splitlines()
    lines, values = [], scorer.log_values().exp().tolist()
    for functor, predicate in program.predicates.items():
        if not len(predicate.entries):
            lines.append(f":- dynamic({functor}).")
        for clause in predicate.entries:
            assert clause.place is not None and predicate.kind is PredicateKind.PLAIN
            key = (clause.functor, clause.args, clause.body)
            label = values[scorer.rows.row(key, is_fact=not clause.body and not clause.size)]
            lines.append(f"{label!r} :: {source[clause.place.line - 1]}")
    return Program("\n".join(lines), order=program.order)


@settings(max_examples=10)
@given(stratified(), st.sampled_from(["own", "shared"]))
def test_clause_weights_are_labels(asked: Asked, facts: str) -> None:
    """A stochastic logic program: the scorer's weights written before the clauses."""
    text, program = asked.text, asked.program("bound_first")
    scorer = weights(program, "predicate", facts)
    other = labelled(text, program, scorer)
    model = dpl.Model(program, scorer=scorer)
    for query in ("r3(a, V)", "r2(b, c)", "r3(V, W), u(W)"):
        assert model.prob(query) == pytest.approx(dpl.prob(other, query), rel=1e-9)


def test_a_clause_written_twice_is_one_clause() -> None:
    twice = Program(":- dynamic(r/0). p :- q. p :- q. p. q. q. q :- r.")
    once = Program(":- dynamic(r/0). p :- q. p. q. q :- r.")
    for program in (twice, once):
        scorer = ClauseWeights(program)
        assert dpl.Model(program, scorer=scorer).prob("p") == pytest.approx(0.75)
        database = Database.of(program)
        found = success(transitions_of(scorer, database), scorer, database, ["p"])
        assert found.tolist() == pytest.approx([0.75])


@EVERY
def test_a_policy_is_the_transition_model(name: str) -> None:
    """log π along rollouts, against the weights of the same goals as terms; what is left fails."""
    program = Program(
        ":- dynamic(u/1). u(a). u(c). r0(a, b). r0(b, c). r0(c, a). r0(b, b). r1(c, b). "
        "r1(X, Y) :- r0(X, Y). r1(X, Y) :- r0(Y, X). r2(X, Y) :- r1(X, Z), r0(Z, Y). "
        "r2(X, Y) :- u(X), r1(X, Y), u(Y). r3(X, Y) :- r2(X, Z), r1(Y, Z), u(Z). r3(b, c).",
        order="bound_first",
    )
    queries = ["r3(a, V)", "r2(b, c)", "r1(V, b)", "r2(V, W)", "r3(a, V), u(V)"]
    database, scorer = Database.of(program), SCORERS[name](program)
    policy = Policy(scorer, database)
    environment = Environment(database, process_of(scorer, 12, memory=False))
    asked = Queries(database.goals(queries), torch.ones(len(queries), dtype=torch.int64))
    state = reset(environment, asked)
    generator = torch.Generator().manual_seed(0)
    met = 0
    for _ in range(12):
        offered = actions(environment, state)
        with torch.no_grad():
            log = policy.log_policy(
                state.goals, offered.goals, offered.episode, offered.clause, offered.open,
                offered.false,
            )  # fmt: skip
        terms = database.decode(state.goals)
        for i in range(len(queries)):
            begin, end = offered.start[i], offered.start[i + 1]
            found = log.steps[begin:end].exp()
            if not len(found):
                continue
            met += 1
            scene = scene_of(program, Query(terms[i].atoms), track_answers=True)
            mine = scene.steps < int(scene.graph.first[1])
            expected = scorer.log_weights(scene)[mine, 0].exp()
            expected = expected[expected > 0]
            found = found[found > 0]
            torch.testing.assert_close(found.sort().values, expected.sort().values)
            total = float(found.sum() + log.false[i].exp())
            assert total == pytest.approx(1.0)
        state = step(environment, state, offered, draw(log, offered, generator), generator).state
    assert met >= len(queries)


def test_weights_of_another_program_are_refused() -> None:
    one, other = Program("p :- q. q."), Program("p :- q. q. q :- p.")
    for make in (ClauseWeights, Leftmost):
        with pytest.raises(ModelError, match="other clauses"):
            make(other).load_state_dict(make(one).state_dict())
    with pytest.raises(ModelError, match="none of the scorer's program"):
        dpl.Model(other, scorer=ClauseWeights(one)).prob("q")
