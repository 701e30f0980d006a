"""Random programs with every kind of term: distributions everywhere, and nothing hangs on names."""

from __future__ import annotations

import re
import warnings

import torch
from hypothesis import given
from hypothesis import strategies as st

from deepprooflog.graph.explore import explore
from deepprooflog.logic.budget import Budget
from deepprooflog.logic.goal import Interner
from deepprooflog.logic.program import Program
from deepprooflog.logic.query import parse_query
from deepprooflog.logic.resolve import start
from deepprooflog.score.edges import edge_table
from deepprooflog.score.embedding import Embedding
from deepprooflog.score.scorer import Scene
from score.scenes import mass

LEAVES = st.sampled_from(["a", "b", "X", "Y", "Z", "0", "-7", "123456789012345678901234567890"]) | (
    st.sampled_from(["2.5", "-1.0e300", '"text"', "[]", "zebra"])
)
TERMS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=2).map(lambda ts: f"f({', '.join(ts)})"),
        st.lists(inner, min_size=1, max_size=3).map(lambda ts: f"[{', '.join(ts)}]"),
        st.tuples(inner, inner).map(lambda ts: f"[{ts[0]} | {ts[1]}]"),
    ),
    max_leaves=4,
)
ATOMS = st.one_of(
    st.just("n"),
    TERMS.map(lambda t: f"u({t})"),
    st.tuples(TERMS, TERMS).map(lambda ts: f"v({ts[0]}, {ts[1]})"),
    st.tuples(TERMS, TERMS, TERMS).map(lambda ts: f"w({', '.join(ts)})"),
)
BODIES = st.lists(ATOMS, max_size=2)
CLAUSES = st.tuples(ATOMS, BODIES).map(
    lambda c: f"{c[0]} :- {', '.join(c[1])}." if c[1] else f"{c[0]}."
)
PROGRAMS = st.lists(CLAUSES, min_size=1, max_size=6).map(
    lambda clauses: "\n".join(["n.", "u(_).", "v(a, X) :- u(X).", "w(_, _, _).", *clauses])
)
QUERIES = st.lists(ATOMS, min_size=1, max_size=2).map(", ".join)
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


@given(PROGRAMS, QUERIES, CHOICES, st.booleans())
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


@given(PROGRAMS, QUERIES)
def test_names_of_variables_do_not_matter(text: str, query: str) -> None:
    renamed = re.sub(r"\b([XYZ])\b", r"Other\1", query)
    program = Program(text, occurs_check=True)
    scorer = Embedding(program, dim=6, f_agg="gru", seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        one = scorer.log_weights(limited(program, query))
        two = scorer.log_weights(limited(program, renamed))
    assert torch.equal(one, two)


@given(PROGRAMS)
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
