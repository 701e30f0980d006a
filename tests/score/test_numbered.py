"""e_G and the softmax over successors from integers, against the scorer's own from terms."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from deepprooflog.logic.goal import Goal, Interner
from deepprooflog.logic.program import Program
from deepprooflog.logic.query import parse_query
from deepprooflog.logic.resolve import start
from deepprooflog.relational.goals import NO_FACT, PAD, Goals, variable
from deepprooflog.relational.symbols import Symbols
from deepprooflog.score.embedding.embedding import Embedding
from deepprooflog.score.embedding.numbered import EmbeddedGoals, Vectors
from deepprooflog.score.embedding.vocabulary import ConstantRows
from deepprooflog.score.segments import Segments
from deepprooflog.score.transitions import log_policy, log_steps
from deepprooflog.syntax.terms import Term, Var, args_of, functor_of
from score.scenes import scene_of

F_ATOM = ["mlp", "transe", "distmult", "complex", "rotate"]
F_AGG = ["sum", "mean", "attention", "gru"]

# Arities 0 to 3, atoms, integers, floats and strings, repeated variables, equal atoms in a goal.
PROGRAM = Program(
    """
    p(X, Y) :- q(X, Z), q(Z, Y).
    p(X, Y) :- t(X, Y, 7), s.
    p(X, X) :- q(X, X), q(X, X).
    q(a, b). q(b, c). q(b, 12). q(12, c). q("b", 2.5).
    t(X, Y, W) :- q(X, Y).
    t(a, X, 7) :- u(X), u(X), u(Z), s.
    u(c). u(-3).
    s :- u(c).
    s.
    """
)
QUERIES = ["p(a, c)", "p(X, Y)", "p(a, Y), u(Y)", "t(A, B, C), q(C, D), q(E, F)", "s", "u(-3)"]


def encoded(symbols: Symbols, goals: list[Goal], extra_columns: int = 0) -> Goals:
    """Goals as integers, by hand."""
    widest = max(f.arity for f in symbols.predicates)
    longest = max(len(g.atoms) for g in goals)

    def number(term: Term) -> int:
        return variable(term.index) if isinstance(term, Var) else symbols.constant(term)

    atoms = torch.full((len(goals), longest, 1 + widest + extra_columns), PAD)
    for g, goal in enumerate(goals):
        for a, atom in enumerate(goal.atoms):
            functor = functor_of(atom)
            assert functor is not None
            arguments = [number(t) for t in args_of(atom)]
            entries = [symbols.predicate(functor), *arguments]
            atoms[g, a, : len(entries)] = torch.tensor(entries)
            if extra_columns:
                atoms[g, a, -1] = 2
    none = torch.full((len(goals),), NO_FACT)
    return Goals(atoms, torch.zeros((len(goals), 0), dtype=torch.int64), none)


def embed(scorer: Embedding, symbols: Symbols, goals: Goals) -> Tensor:
    """e_G of each goal."""
    return EmbeddedGoals(scorer, symbols).view(goals.atoms).each


def met_goals() -> list[Goal]:
    """Every goal of the queries' goal graphs, True among them."""
    goals = [scene_of(PROGRAM, query).graph.goals for query in QUERIES]
    return list(dict.fromkeys(itertools.chain.from_iterable(goals)))


@pytest.mark.parametrize("f_agg", F_AGG)
@pytest.mark.parametrize("f_atom", ["mlp", "rotate"])
@pytest.mark.parametrize(
    "options", [{"constants": "shared"}, {"numbers": "symbols"}], ids=["shared", "symbols"]
)
def test_embeddings_agree_whatever_constants_are(
    f_atom: str, f_agg: str, options: dict[str, Any]
) -> None:
    scorer = Embedding(PROGRAM, 8, f_atom, f_agg, seed=1, **options).double()
    symbols, goals = Symbols.of(PROGRAM), met_goals()
    found = embed(scorer, symbols, encoded(symbols, goals))
    torch.testing.assert_close(found, scorer.embed(goals).squeeze(1))


@pytest.mark.parametrize("f_agg", F_AGG)
@pytest.mark.parametrize("f_atom", F_ATOM)
@pytest.mark.parametrize("normalize", [False, True])
def test_embeddings_agree(f_atom: str, f_agg: str, normalize: bool) -> None:
    scorer = Embedding(PROGRAM, 8, f_atom, f_agg, normalize=normalize, seed=1).double()
    symbols, goals = Symbols.of(PROGRAM), met_goals()
    assert any(g.is_true for g in goals) and len(goals) > 30
    found = embed(scorer, symbols, encoded(symbols, goals))
    torch.testing.assert_close(found, scorer.embed(goals).squeeze(1))


@pytest.mark.parametrize("constants", ["own", "shared"])
def test_gradients_agree(constants: ConstantRows) -> None:
    symbols, goals = Symbols.of(PROGRAM), met_goals()
    one, other = (
        Embedding(PROGRAM, 8, "rotate", "attention", constants=constants, seed=1).double()
        for _ in range(2)
    )
    weights = torch.randn(len(goals), 8, generator=torch.manual_seed(0), dtype=torch.float64)
    (one.embed(goals).squeeze(1) * weights).sum().backward()
    (embed(other, symbols, encoded(symbols, goals)) * weights).sum().backward()
    for (name, a), (_, b) in zip(one.named_parameters(), other.named_parameters(), strict=True):
        if a.grad is None:
            assert b.grad is None or not b.grad.any(), name
        else:
            assert b.grad is not None, name
            torch.testing.assert_close(a.grad, b.grad, msg=name)


def test_modules_of_ones_own() -> None:
    """An f_atom and f_agg that the library does not know, one of them sensitive to order."""

    class Last(nn.Module):
        def forward(self, atoms: Tensor, goals: Segments) -> Tensor:
            end = goals.lengths.cumsum(0) - 1
            return 2 * atoms[end]

    def product(predicate: Tensor, arguments: Tensor) -> Tensor:
        return predicate * arguments.sum(2)

    scorer = Embedding(PROGRAM, 6, product, Last(), seed=0).double()
    symbols, goals = Symbols.of(PROGRAM), met_goals()
    found = embed(scorer, symbols, encoded(symbols, goals))
    torch.testing.assert_close(found, scorer.embed(goals).squeeze(1))


def test_the_nesting_column_is_not_embedded() -> None:
    scorer = Embedding(PROGRAM, 8, seed=1)
    symbols, goals = Symbols.of(PROGRAM), met_goals()
    plain = embed(scorer, symbols, encoded(symbols, goals))
    assert torch.equal(plain, embed(scorer, symbols, encoded(symbols, goals, extra_columns=1)))


def test_many_variables_share_the_last_row() -> None:
    """Beyond 32 variables the scorer embeds them alike, and so must the batch."""
    program = Program("q(X, Y, Z) :- q(Y, Z, X). q(a, b, c).")
    text = ", ".join(f"q(A{i}, B{i}, C{i})" for i in range(14))
    goal = start(parse_query(text).atoms, Interner())
    scorer = Embedding(program, 8, seed=3).double()
    symbols = Symbols.of(program)
    found = embed(scorer, symbols, encoded(symbols, [goal]))
    torch.testing.assert_close(found, scorer.embed([goal]).squeeze(1))


def test_more_symbols_than_a_key_holds() -> None:
    """Atoms too wide for one 63-bit number are embedded one by one, to the same vectors."""
    arity = 12
    facts = [", ".join(f"c{i}_{j}" for j in range(arity)) for i in range(20)]
    program = Program(" ".join(f"w({f})." for f in facts))
    goals = [start(parse_query(f"w({f}), w({f})").atoms, Interner()) for f in facts]
    scorer = Embedding(program, 4, seed=3).double()
    symbols = Symbols.of(program)
    assert (len(symbols.constants)) ** arity > 2**63
    found = embed(scorer, symbols, encoded(symbols, goals))
    torch.testing.assert_close(found, scorer.embed(goals).squeeze(1))


def test_many_atoms_of_few_symbols() -> None:
    """An MLP takes each symbol through its first layer once; the vectors stay the same."""
    program = Program(" ".join(f"r{i % 4}(c{i}, c{i + 1})." for i in range(20)))
    symbols = Symbols.of(program)
    pairs = itertools.product(range(4), range(20), range(20))
    texts = [f"r{i}(c{j}, c{k}), r{(i + 1) % 4}(c{k}, X)" for i, j, k in pairs]
    goals = [start(parse_query(text).atoms, Interner()) for text in texts]
    scorer = Embedding(program, 4, seed=3).double()
    found = embed(scorer, symbols, encoded(symbols, goals))
    torch.testing.assert_close(found, scorer.embed(goals).squeeze(1))


@pytest.mark.parametrize("f_agg", F_AGG)
def test_only_true_goals(f_agg: str) -> None:
    scorer = Embedding(PROGRAM, 8, f_agg=f_agg, seed=1)
    table = Symbols.of(PROGRAM)
    empty = torch.zeros((2, 0), dtype=torch.int64)
    goals = Goals(torch.zeros((2, 0, 4), dtype=torch.int64), empty, torch.full((2,), NO_FACT))
    assert torch.equal(embed(scorer, table, goals), scorer.true.expand(2, -1))
    wide = Goals(torch.full((2, 3, 4), PAD), empty, torch.full((2,), NO_FACT))
    assert torch.equal(embed(scorer, table, wide), scorer.true.expand(2, -1))
    none = wide.select(torch.zeros(0, dtype=torch.int64))
    assert embed(scorer, table, none).shape == (0, 8)


@pytest.mark.parametrize("false_action", [False, True])
@pytest.mark.parametrize("constants", ["own", "shared"])
@pytest.mark.parametrize("query", QUERIES)
def test_the_policy_is_the_transition_model(
    query: str, constants: ConstantRows, false_action: bool
) -> None:
    """log π(G' | G) of every step of a goal graph, against `log_weights`."""
    scorer = Embedding(
        PROGRAM, 8, "transe", "gru", temperature=0.7, false_action=false_action, seed=5,
        constants=constants,
    ).double()  # fmt: skip
    scene = scene_of(PROGRAM, query)
    graph, symbols = scene.graph, Symbols.of(PROGRAM)
    expected = scorer.log_weights(scene)[:, 0]
    kept = (expected > -torch.inf).nonzero().squeeze(1)  # of merged steps, the first
    steps = scene.steps[kept].numpy()
    source, target = torch.as_tensor(graph.source[steps]), torch.as_tensor(graph.target[steps])
    model = EmbeddedGoals(scorer, symbols)
    goals = model.view(encoded(symbols, list(graph.goals)).atoms)
    clause = torch.zeros_like(source)
    log = log_steps(model, goals, goals, source, target, clause)
    torch.testing.assert_close(log, expected[kept])
    every, offered = torch.ones_like(source) > 0, torch.full((graph.nodes,), false_action)
    after = model.view(encoded(symbols, [graph.goals[t] for t in target.tolist()]).atoms)
    found = log_policy(model, goals, after, source, clause, open=every, false=offered)
    torch.testing.assert_close(found.steps, expected[kept])
    total = torch.zeros(graph.nodes, dtype=torch.float64).index_add(0, source, log.exp())
    total = total + found.false.exp()
    has_choice = torch.unique(source) if not false_action else torch.arange(graph.nodes)
    torch.testing.assert_close(total[has_choice], torch.ones(len(has_choice), dtype=total.dtype))


def test_what_is_closed_is_renormalised() -> None:
    """By hand: log 1, log 2, log 5 and False log 2; the middle one closed leaves 1 : 5 : 2."""
    scorer = Embedding(PROGRAM, 2, seed=0).double()
    with torch.no_grad():
        scorer.false.copy_(torch.tensor([2.0, 0.0]).log().clamp_min(0.0))
    goals = torch.tensor([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]], dtype=torch.float64)
    logs = torch.tensor([1.0, 2.0, 5.0, 3.0, 4.0], dtype=torch.float64).log()
    successors = torch.stack([logs, torch.zeros_like(logs)], 1).requires_grad_()
    found = log_policy(
        EmbeddedGoals(scorer, Symbols.of(PROGRAM)),
        Vectors(goals, torch.arange(3)),
        Vectors(successors, torch.arange(5)),
        torch.tensor([0, 0, 0, 1, 2]),
        torch.zeros(5, dtype=torch.int64),
        open=torch.tensor([True, False, True, False, True]),
        false=torch.tensor([True, False, False]),
    )
    torch.testing.assert_close(
        found.steps.exp().detach(), torch.tensor([0.125, 0.0, 0.625, 0.0, 1.0], dtype=torch.float64)
    )
    torch.testing.assert_close(
        found.false.exp().detach(), torch.tensor([0.25, 0.0, 0.0], dtype=torch.float64)
    )
    found.steps[0].backward()
    grad = successors.grad
    assert grad is not None and grad.isfinite().all()
    torch.testing.assert_close(
        grad[:, 0], torch.tensor([0.875, 0.0, -0.625, 0.0, 0.0], dtype=torch.float64)
    )
