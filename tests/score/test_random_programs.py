"""Random programs with every kind of term: distributions everywhere, and nothing hangs on names."""

from __future__ import annotations

import re
import warnings

import torch
from hypothesis import given
from hypothesis import strategies as st

from deepprooflog.graph.explore import explore
from deepprooflog.logic.goal import Interner
from deepprooflog.logic.limits.budget import Budget
from deepprooflog.logic.program import Program
from deepprooflog.logic.query import parse_query
from deepprooflog.logic.resolve import start
from deepprooflog.score.edges import edge_table
from deepprooflog.score.embedding.embedding import Embedding
from deepprooflog.score.scorer import Scene
from programs.compound import compound_programs, compound_queries
from score.scenes import mass

CHOICES = st.tuples(
    st.sampled_from(["mlp", "transe", "distmult", "complex", "rotate"]),
    st.sampled_from(["sum", "mean", "attention", "gru"]),
    st.booleans(),
)


def limited(program: Program, query: str) -> Scene:
    interner = Interner()
    root = start(parse_query(query).atoms, interner)
    graph = explore(program, [root], interner, Budget(max_goals=20), track_answers=True)
    steps = torch.as_tensor(edge_table(graph.choices).scored)
    return Scene(graph, steps, torch.zeros((1, 0), dtype=torch.int64), [])


@given(compound_programs(), compound_queries(), CHOICES, st.booleans())
def test_every_goal_gets_a_distribution(
    text: str, query: str, choice: tuple[str, str, bool], false_action: bool
) -> None:
    program = Program(text, occurs_check=True)
    scene = limited(program, query)
    f_atom, f_agg, normalize = choice
    scorer = Embedding(
        program, 6, f_atom, f_agg, normalize=normalize, false_action=false_action, seed=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        log = scorer.log_weights(scene)
    assert not bool(log.isnan().any())
    total = mass(scene, log.exp())
    assert bool(((total > 0) & (total < 1 + 1e-9)).all())
    if not false_action:
        torch.testing.assert_close(total, torch.ones_like(total))
    if not len(log):
        return
    log[log > -torch.inf].sum().backward()
    for parameter in scorer.parameters():
        assert parameter.grad is None or bool(parameter.grad.isfinite().all())


@given(compound_programs(), compound_queries())
def test_names_of_variables_do_not_matter(text: str, query: str) -> None:
    renamed = re.sub(r"\b([XYZ])\b", r"Other\1", query)
    program = Program(text, occurs_check=True)
    scorer = Embedding(program, dim=6, f_agg="gru", seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        one = scorer.log_weights(limited(program, query))
        two = scorer.log_weights(limited(program, renamed))
    assert torch.equal(one, two)


@given(compound_programs())
def test_two_queries_at_once_are_two_queries(text: str) -> None:
    """Batching terms of several goals changes none of them."""
    program = Program(text, occurs_check=True)
    scorer = Embedding(program, dim=6, f_agg="gru", seed=0).double()
    queries = ["u(a)", "u([f(a), 1 | X])"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        goals = [g for q in queries for g in limited(program, q).graph.goals]
        together = scorer.embed(goals)
        alone = torch.cat([scorer.embed([g]) for g in goals])
    torch.testing.assert_close(together, alone)
