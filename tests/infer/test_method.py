"""Goal graph or tables: the cheap one is found early, and a budget means one thing everywhere.

How early is counted in goals, items and work, never in seconds.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from fractions import Fraction

import pytest
import torch
from jaxtyping import TypeCheckError

import deepprooflog as dpl
from deepprooflog.graph.explore import RECURSION, Exploration
from deepprooflog.infer import method as module
from deepprooflog.infer.method import FIRST, NARROW, Method, Solvable, write_down
from deepprooflog.infer.tables.tabled import Tabulation
from deepprooflog.logic.goal import Interner
from deepprooflog.logic.resolve import start
from oracles.nltk_oracle import Production, as_dcg, parse_probability

RNA = [
    Production(Fraction(label), left, tuple(right.split()))
    for label, left, right in [
        ("2/5", "s", "l s"), ("1/5", "s", "l"), ("2/5", "s", "p"),
        ("1/4", "l", "'a'"), ("1/4", "l", "'c'"), ("1/4", "l", "'g'"), ("1/4", "l", "'u'"),
        ("1/4", "p", "'a' s 'u'"), ("1/4", "p", "'c' s 'g'"),
        ("1/4", "p", "'g' s 'c'"), ("1/4", "p", "'u' s 'a'"),
    ]
]  # fmt: skip
SUM = "sum([], 0). sum([X|Xs], S) :- d(X, A), sum(Xs, T), S is A + T.\n"
DIGITS = "".join(f"0.1 :: d(_, {i}). " for i in range(10))
LEFT = "0.2 :: s --> s, [a]. 0.4 :: s --> [a]. 0.2 :: s --> s, [b]."
SIBLING = (
    "0.2 :: s --> s, [a]. 0.4 :: s --> [a]. 0.2 :: s --> s, "
    + ", ".join(["[b]", "{true}"] * 12)
    + ", [b]."
)
AND = "0.6 :: s --> np, vp. 0.4 :: s --> s, [and], s. 1 :: np --> [we]. 1 :: vp --> [run]."


def bases(n: int) -> list[str]:
    rng = random.Random(n)
    return [rng.choice("acgu") for _ in range(n)]


def written(program: dpl.Program, query: str, **options: object) -> Solvable:
    interner = Interner()
    goal = start(program.query(query).atoms, interner)
    return write_down(program, goal, interner, **options)  # type: ignore[arg-type]


class Counted:
    """Every exploration and tabulation that is made while this is watched."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.made: list[Exploration | Tabulation] = []

        def watched(kind: type) -> Callable[..., Exploration | Tabulation]:
            def make(*args: object, **options: object) -> Exploration | Tabulation:
                self.made.append(kind(*args, **options))
                return self.made[-1]

            return make

        monkeypatch.setattr(module, "Exploration", watched(Exploration))
        monkeypatch.setattr(module, "Tabulation", watched(Tabulation))

    @property
    def work(self) -> int:
        return sum(one.work for one in self.made)


def how_many(digits: int, total: int) -> int:
    """The number of sequences of decimal digits with this sum."""
    counts = {0: 1}
    for _ in range(digits):
        added: dict[int, int] = {}
        for (s, c), d in itertools.product(counts.items(), range(10)):
            added[s + d] = added.get(s + d, 0) + c
        counts = added
    return counts.get(total, 0)


# -- early ----------------------------------------------------------------------------------------


def test_small_graphs_never_see_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Counted(monkeypatch)
    program = dpl.Program("0.5 :: p :- q. 0.5 :: p. 0.5 :: q.")
    assert dpl.success(program, "p").method == "graph"
    assert [type(one) for one in counted.made] == [Exploration]


@pytest.mark.parametrize("n", [14, 30, 60])
def test_a_grammar_is_tabled_after_one_turn(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Counted(monkeypatch)
    result = dpl.success(dpl.Program(as_dcg(RNA)), f"s([{','.join(bases(n))}], [])")
    assert (result.method, result.exact) == ("tabled", True)
    # The graph of 14 bases has some hundred thousand goals.
    graph, table = counted.made
    assert graph.work <= 4 * FIRST + 100
    assert result.goals <= table.work <= 40 * n * n


def test_a_grammar_has_nltks_value() -> None:
    sentence = bases(10)
    result = dpl.prob(dpl.Program(as_dcg(RNA)), f"s([{','.join(sentence)}], [])")
    assert result == pytest.approx(parse_probability(RNA, "s", sentence), rel=1e-9)


@pytest.mark.parametrize("ask", ["prob", "log_prob", "best_proof", "answers"])
def test_recursion_that_is_not_last(ask: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over 8 digits the graph has 10⁸ goals, tables have thousands of items."""
    counted = Counted(monkeypatch)
    model = dpl.Model(dpl.Program(DIGITS + SUM))
    query = f"sum({[0] * 8}, 30)"
    value = how_many(8, 30) / 10**8
    if ask == "prob":
        assert model.prob(query) == pytest.approx(value, rel=1e-9)
    elif ask == "log_prob":
        assert float(model.log_prob([query]).exp()) == pytest.approx(value, rel=1e-9)
    elif ask == "answers":
        assert list(model.answers(query).values()) == [pytest.approx(value, rel=1e-9)]
    else:
        assert model.best_proof(query).probability == pytest.approx(1e-8, rel=1e-9)
    # log_prob asks the query first whether it should be unfolded.
    assert counted.work <= 2 * 20 * FIRST


def test_recursion_over_tensors_that_is_not_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same over networks: values, gradients and a batch that shares its tables."""
    counted = Counted(monkeypatch)
    torch.manual_seed(0)
    net = torch.nn.Linear(2, 10).double()
    model = dpl.Model(
        dpl.Program("nn(net, [X], D, 0..9) :: d(X, D).\n" + SUM), networks={"net": net}
    )
    images = torch.randn(4, 6, 2, dtype=torch.float64)
    goals = [dpl.goal("sum(L, S)", L=list(row), S=25) for row in images]
    compiled = model.compile(goals)
    assert [part.queries.tolist() for part in compiled.tabled] == [[0, 1, 2, 3]]
    # One pair of methods that asks whether to unfold, one for what the batch shares.
    assert len(counted.made) == 4
    found = model.log_prob(compiled)
    digits = torch.log_softmax(net(images), dim=2)
    total = torch.zeros(4, 1, dtype=torch.float64)
    for i in range(6):
        grown = torch.full((4, total.shape[1] + 9), -math.inf, dtype=torch.float64)
        for d in range(10):
            shifted = torch.full_like(grown, -math.inf)
            shifted[:, d : d + total.shape[1]] = total + digits[:, i, d : d + 1]
            grown = torch.logaddexp(grown, shifted)
        total = grown
    torch.testing.assert_close(found, total[:, 25], rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(
        model.log_prob(compiled, select=[2, 0]), total[[2, 0], 25], rtol=1e-10, atol=1e-10
    )
    slopes = torch.autograd.grad(found.sum(), net.weight)[0]
    wanted = torch.autograd.grad(total[:, 25].sum(), net.weight)[0]
    torch.testing.assert_close(slopes, wanted, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(
    ("text", "query", "value"),
    [
        (LEFT, "s([a,b,b,a,b], [])", 0.4 * 0.2**4),
        (SIBLING, "s([a,a,a], [])", 0.4 * 0.2**2),
        (AND, "s([we,run], [])", 0.6),
        (AND, "s([we,run,and,we,run,and,we,run], [])", 0.6**3 * 0.4**2 * 2),
    ],
    ids=["left", "longer sibling", "two words", "conjoined"],
)
def test_left_recursion_is_noticed_early(
    text: str, query: str, value: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = Counted(monkeypatch)
    program = dpl.Program(text)
    assert dpl.prob(program, query) == pytest.approx(value, rel=1e-12)
    assert counted.work < 4 * FIRST
    assert float(dpl.Model(program).log_prob([query]).exp()) == pytest.approx(value, rel=1e-12)
    assert dpl.Model(program).best_proof(query).check()
    assert counted.work < 20 * FIRST


def test_a_longer_sibling_does_not_hide_recursion() -> None:
    interner = Interner()
    program = dpl.Program(SIBLING)
    goal = start(program.query("s([a], [])").atoms, interner)
    exploration = Exploration(program, [goal], interner)
    exploration.advance()
    assert exploration.stopped == RECURSION
    assert len(exploration.goals) < 2000


def test_recursion_behind_another_call_is_noticed() -> None:
    interner = Interner()
    program = dpl.Program("0.3 :: p :- a, p, q. 0.7 :: p. a. q.")
    exploration = Exploration(program, [start(program.query("p").atoms, interner)], interner)
    exploration.advance()
    assert exploration.stopped == RECURSION
    assert len(exploration.goals) < 100


# -- turns ----------------------------------------------------------------------------------------


def test_a_narrow_graph_is_left_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long chain does not branch out: tables get a small share of the work."""
    counted = Counted(monkeypatch)
    program = dpl.Program(
        "0.5 :: step(a, a). 0.5 :: step(a, b). 0.5 :: step(b, a). 0.5 :: step(b, b).\n"
        "chain(0, _). chain(N, S) :- N > 0, step(S, T), M is N - 1, chain(M, T).\n"
    )
    assert dpl.success(program, "chain(2000, a)").method == "graph"
    graph, table = counted.made
    assert graph.work > 8 * FIRST
    assert table.work <= graph.work / NARROW + 100


def test_a_long_derivation_with_small_tables_is_tabled(monkeypatch: pytest.MonkeyPatch) -> None:
    """A narrow graph may be exponentially long: tables get their share of it in time."""
    counted = Counted(monkeypatch)
    program = dpl.Program("t(0) :- a. t(N) :- N > 0, M is N - 1, t(M), t(M). 0.999999 :: a.")
    result = dpl.success(program, "t(18)")
    assert result.method == "tabled"
    assert result.log_lower == pytest.approx(2**18 * math.log(0.999999), rel=1e-9)
    assert counted.work < 20 * FIRST


def test_the_choice_is_the_same_every_time() -> None:
    program = dpl.Program(as_dcg(RNA))
    query = f"s([{','.join(bases(12))}], [])"
    first, second = written(program, query), written(program, query)
    assert (first.method, first.goals, first.complete) == (second.method, second.goals, True)


def test_errors_in_tables_name_the_clause() -> None:
    program = dpl.Program("p :- q, r.\nr :- q.\nq :- a,\n  X is foo + 1, a.\na.")
    for method in ("graph", "tabled"):
        with pytest.raises(dpl.ProofLogError) as caught:
            dpl.prob(program, "p", method=method)
        assert caught.value.line == 3


def test_an_unknown_method_is_refused() -> None:
    # Under the tests' type checker the wrong type is met before the wrong value.
    with pytest.raises((dpl.ProgramError, TypeCheckError), match="magic"):
        dpl.prob(dpl.Program("p."), "p", method="magic")  # type: ignore[arg-type]


# -- one budget -----------------------------------------------------------------------------------

ASKED: dict[str, Callable[[dpl.Program, str, dpl.Budget], object]] = {
    "prob": lambda p, q, b: dpl.prob(p, q, budget=b),
    "answers": lambda p, q, b: dpl.answers(p, q, budget=b),
    "Model.prob": lambda p, q, b: dpl.Model(p).prob(q, b),
    "Model.answers": lambda p, q, b: dpl.Model(p).answers(q, b),
    "log_prob": lambda p, q, b: dpl.Model(p).log_prob([q], b),
    "best_proof": lambda p, q, b: dpl.Model(p).best_proof(q, b),
    "predict": lambda p, q, b: dpl.Model(p).predict(q, budget=b),
}
asked = pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
WALK = "0.5 :: walk(N) :- M is N + 1, walk(M). 0.25 :: walk(N) :- N >= 40. 0.25 :: walk(_) :- fail."


@asked
@pytest.mark.parametrize(
    ("text", "query"),
    [
        (LEFT, "s([a,b,b,a], [])"),
        (as_dcg(RNA), "s([a,c,g,u], [])"),
        ("p :- q. q :- r. r :- s. s.", "p"),
    ],
    ids=["left", "grammar", "chain"],
)
def test_a_limit_on_depth_means_the_goal_graph(
    ask: Callable[[dpl.Program, str, dpl.Budget], object], text: str, query: str
) -> None:
    """No question goes on to tables, which know no depth."""
    with pytest.raises(dpl.Inexact, match="max_depth"):
        ask(dpl.Program(text), query, dpl.Budget(max_depth=3))


@asked
def test_a_limit_on_depth_that_cuts_nothing_is_exact(
    ask: Callable[[dpl.Program, str, dpl.Budget], object],
) -> None:
    found = ask(dpl.Program("p :- q. q :- r. r :- s. s."), "p", dpl.Budget(max_depth=4))
    assert found is not None


@asked
@pytest.mark.parametrize(
    "budget", [dpl.Budget(max_goals=25), dpl.Budget(max_atoms=25)], ids=["goals", "atoms"]
)
def test_a_tight_limit_is_inexact_for_every_question(
    ask: Callable[[dpl.Program, str, dpl.Budget], object], budget: dpl.Budget
) -> None:
    with pytest.raises(dpl.Inexact):
        ask(dpl.Program(as_dcg(RNA)), "s([a,c,g,u,a,c,g,u,a,a,a], [])", budget)


@asked
def test_a_guard_without_an_end_is_inexact_for_every_question(
    ask: Callable[[dpl.Program, str, dpl.Budget], object],
) -> None:
    program = dpl.Program("loop :- loop. p(X) :- X = f(_), \\+ loop.")
    with pytest.raises(dpl.Inexact):
        ask(program, "p(f(a))", dpl.Budget(max_steps=1000))


def test_tables_refuse_a_depth() -> None:
    with pytest.raises(dpl.ProgramError, match="tables know no depth"):
        dpl.prob(dpl.Program("p."), "p", method="tabled", budget=dpl.Budget(max_depth=9))


def test_the_clock_is_one_for_all_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exploration, tables and prefixes share the deadline of the question."""
    counted = Counted(monkeypatch)
    program = dpl.Program(DIGITS + SUM)
    dpl.Model(program).predict(f"sum({[0] * 4}, S)", budget=dpl.Budget(max_seconds=100))
    deadlines = {one.budget.deadline for one in counted.made}
    assert len(counted.made) >= 2
    assert len(deadlines) == 1
    assert None not in deadlines


@pytest.mark.parametrize("how", ["auto", "graph", "tabled"])
def test_models_take_a_method(how: Method) -> None:
    model = dpl.Model(dpl.Program("0.4 :: p(a). 0.3 :: p(b). 0.3 :: p(X) :- q(X). 1 :: q(b)."))
    assert model.prob("p(b)", method=how) == pytest.approx(0.6)
    assert model.success("p(b)", method=how).method == ("tabled" if how == "tabled" else "graph")
    assert model.bounds("p(b)", method=how) == pytest.approx((0.6, 0.6))
    assert model.answers("p(X)", method=how) == pytest.approx({"p(b)": 0.6, "p(a)": 0.4})
    assert model.log_prob(["p(b)", "p(a)"], method=how).exp().tolist() == pytest.approx([0.6, 0.4])
    assert model.best_proof("p(b)", method=how).probability == pytest.approx(0.3)
    (best,) = model.predict("p(X)", method=how)
    assert best.answer == "p(b)"
    assert best.probability == pytest.approx(0.6)
