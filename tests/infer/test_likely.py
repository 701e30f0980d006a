"""The most probable answers, against listing every derivation."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import deepprooflog as dpl
from deepprooflog.graph.explore import explore
from deepprooflog.infer.answers.ending import best_of, ending_in, log_weight
from deepprooflog.infer.answers.moves import Moves
from deepprooflog.score.embedding.embedding import Embedding

Word = tuple[str, ...]


@dataclass(frozen=True)
class Automaton:
    """Arcs (label, from, letter or None, to) with from < to; state n accepts."""

    n: int
    arcs: tuple[tuple[float, int, str | None, int], ...]

    @property
    def text(self) -> str:
        lines = [f"s{self.n}([])."]
        for p, i, letter, j in self.arcs:
            head, tail = (f"[{letter}|W]", "W") if letter else ("W", "W")
            lines.append(f"{p} :: s{i}({head}) :- s{j}({tail}).")
        lines += [f"1 :: s{i}(_) :- fail." for i in range(self.n) if not self.out(i)]
        return "\n".join(lines)

    def out(self, state: int) -> list[tuple[float, int, str | None, int]]:
        return [arc for arc in self.arcs if arc[1] == state]

    def runs(self, state: int = 0) -> Iterator[tuple[Word, float]]:
        """Every run to the end: the word it spells and its weight."""
        if state == self.n:
            yield (), 1.0
        for p, _, letter, to in self.out(state):
            for word, weight in self.runs(to):
                yield ((letter, *word) if letter else word), p * weight


@st.composite
def automata(draw: st.DrawFn) -> Automaton:
    n = draw(st.integers(1, 5))
    arcs = []
    for i in range(n):
        parts = draw(st.lists(st.integers(1, 6), max_size=4))
        for part in parts:
            letter = draw(st.sampled_from(["a", "b", None]))
            total = sum(parts) + draw(st.integers(0, 1))
            arcs.append((part / (total + 0.5), i, letter, draw(st.integers(i + 1, n))))
    return Automaton(n, tuple(arcs))


@given(automata())
def test_words_of_an_automaton(case: Automaton) -> None:
    """All words in order of probability; each one's proof is its best run."""
    total: dict[str, float] = defaultdict(float)
    best: dict[str, float] = defaultdict(float)
    for word, weight in case.runs():
        text = f"[{','.join(word)}]"
        total[text] += weight
        best[text] = max(best[text], weight)
    model = dpl.Model(dpl.Program(case.text))
    found = model.predict("s0(W)", top=1000)
    assert [p.bindings["W"] for p in found] == [p.answer[3:-1] for p in found]
    assert {p.bindings["W"]: p.probability for p in found} == pytest.approx(total, rel=1e-9)
    probabilities = [p.probability for p in found]
    # Words of equal probability come in any order, apart from rounding.
    assert probabilities == pytest.approx(sorted(probabilities, reverse=True), rel=1e-8)
    for p in found:
        assert p.certain and p.proof.check() and p.method == "prefixes"
        assert p.proof.bindings == p.bindings
        assert p.proof.probability == pytest.approx(best[p.bindings["W"]], rel=1e-9)
    if not total:
        assert model.predict("s0(W)", by="derivation") == []
        return
    derived = model.predict("s0(W)", by="derivation")[0]
    assert derived.proof.probability == pytest.approx(max(best.values()), rel=1e-9)
    assert derived.probability == pytest.approx(total[derived.bindings["W"]], rel=1e-9)
    rivals = [p for w, p in total.items() if w != derived.bindings["W"]]
    assert max(rivals, default=0.0) <= derived.others + 1e-9
    if derived.certain:
        assert derived.probability >= max(total.values()) - 1e-9


@st.composite
def pairs(draw: st.DrawFn) -> tuple[str, dict[str, float]]:
    """Heads over two variables, some left open or made one; their answers from the data."""
    shapes = ["a,b", "b,a", "a,a", "X,b", "a,Y", "X,Y", "X,X", "f(X),X", "f(X),Y", "f(a),Y"]
    shown = {"X,b": "_0,b", "a,Y": "a,_0", "X,Y": "_0,_1", "X,X": "_0,_0", "f(X),X": "f(_0),_0",
             "f(X),Y": "f(_0),_1", "f(a),Y": "f(a),_0"}  # fmt: skip
    chosen = draw(st.lists(st.tuples(st.sampled_from(shapes), st.integers(1, 5)), min_size=1))
    swapped = draw(st.booleans())
    whole = sum(part for _, part in chosen) + 0.5
    total: dict[str, float] = defaultdict(float)
    lines = ["q(X, Y) :- p(Y, X)." if swapped else "q(X, Y) :- r(X), p(X, Y).", "r(_)."]
    for shape, part in chosen:
        lines.append(f"{part / whole} :: p({shape}).")
        text = shown.get(shape, shape)
        if swapped:
            x, y = text.split(",")
            names = {"_0": "_1", "_1": "_0"} if text in {"_0,_1", "f(_0),_1"} else {}
            text = f"{names.get(y, y)},{x.replace('_0', names.get('_0', '_0'))}"
        total[f"q({text})"] += part / whole
    return "\n".join(lines), total


@given(pairs())
def test_answers_with_variables(case: tuple[str, dict[str, float]]) -> None:
    text, total = case
    found = dpl.Model(dpl.Program(text)).predict("q(X, Y)", top=100)
    assert {p.answer: p.probability for p in found} == pytest.approx(total, rel=1e-9)
    assert all(p.certain and p.proof.check() for p in found)


def table(rows: np.ndarray) -> str:
    """Labelled facts digit(i, D) with these probabilities."""
    return "\n".join(
        f"{p:.17g} :: digit({i}, {d})." for i, row in enumerate(rows) for d, p in enumerate(row)
    )


ADDITION = """
add([], [], [], 0).
add([], [], [1], 1).
add([X|Xs], [Y|Ys], [Z|Zs], C) :-
    digit(X, A), digit(Y, B), S is A + B + C, Z is S mod 10, C1 is S // 10, add(Xs, Ys, Zs, C1).
"""


@pytest.mark.parametrize("sharpness", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("seed", range(3))
def test_sums_of_two_digits(seed: int, sharpness: float) -> None:
    """Against all 10,000 combinations of four digits."""
    logits = sharpness * np.random.default_rng(seed).normal(size=(4, 10))
    rows = np.exp(logits) / np.exp(logits).sum(1, keepdims=True) * (1 - 1e-12)
    total = np.zeros(200)
    for a, b, c, d in itertools.product(range(10), repeat=4):
        total[a + 10 * b + c + 10 * d] += rows[0, a] * rows[1, b] * rows[2, c] * rows[3, d]
    model = dpl.Model(dpl.Program(table(rows) + ADDITION))
    found = model.predict("add([0, 1], [2, 3], Z, 0)", top=7)
    best = np.argsort(-total, kind="stable")
    for p, number in zip(found, best, strict=False):
        digits = eval(p.bindings["Z"])
        assert sum(z * 10**i for i, z in enumerate(digits)) == number
        assert p.probability == pytest.approx(total[number], rel=1e-9)
        assert p.others == pytest.approx(total[best[7]], rel=0.2)
        assert p.others >= total[best[7]] * (1 - 1e-9)


@pytest.mark.parametrize("n", [3, 200])
def test_the_best_answer_is_not_that_of_the_best_derivation(n: int) -> None:
    """Each letter is a by one draw of 0.4 or b by one of two draws of 0.3."""
    text = "word([], []). word([_|T], [X|W]) :- letter(X), word(T, W). 0.4 :: letter(a). "
    text += "0.3 :: letter(b). 0.3 :: letter(X) :- other(X). other(b)."
    model = dpl.Model(dpl.Program(text))
    query = f"word([{','.join('t' * n)}], W)"
    (best,) = model.predict(query)
    assert best.bindings == {"W": f"[{','.join('b' * n)}]"} and best.certain
    assert best.log_prob == pytest.approx(n * math.log(0.6))
    assert best.log_others == pytest.approx((n - 1) * math.log(0.6) + math.log(0.4))
    (derived,) = model.predict(query, by="derivation")
    assert derived.bindings == {"W": f"[{','.join('a' * n)}]"} and not derived.certain
    assert derived.log_prob == pytest.approx(n * math.log(0.4))
    assert derived.proof.check() and best.proof.check()


def test_answers_without_end() -> None:
    """Infinitely many answers: the best five of a geometric distribution, and of a product."""
    program = "0.5 :: nat(0). 0.5 :: nat(s(X)) :- nat(X). "
    found = dpl.Model(dpl.Program(program)).predict("nat(X)", top=5)
    assert [p.probability for p in found] == pytest.approx([2.0**-k for k in range(1, 6)])
    assert [p.answer.count("s") for p in found] == list(range(5))
    assert found[0].others == pytest.approx(2.0**-6)
    program += "both(X, Y) :- nat(Y), coin(X). 0.6 :: coin(h). 0.4 :: coin(t)."
    found = dpl.Model(dpl.Program(program)).predict("both(X, Y)", top=5)
    assert [p.probability for p in found] == pytest.approx([0.3, 0.2, 0.15, 0.1, 0.075])


def test_cycles_that_bind_nothing() -> None:
    """p goes round itself half of the time; the answers are listed, their proofs are direct."""
    program = dpl.Program("0.5 :: p(X, Y) :- p(Y, X). 0.3 :: p(a, b). 0.2 :: p(c, c).")
    found = dpl.Model(program).predict("p(X, Y)", top=2)
    # a b directly or after an even number of turns, b a after an odd one.
    assert {p.answer: p.probability for p in found} == pytest.approx({"p(a,b)": 0.4, "p(c,c)": 0.4})
    assert [p.others for p in found] == pytest.approx([0.2, 0.2])
    assert {p.method for p in found} == {"answers"}
    assert all(p.proof.check() and len(p.proof.nodes) == 1 for p in found)


def test_where_the_goal_graph_has_no_end() -> None:
    program = dpl.Program("0.4 :: s --> s, s. 0.6 :: s --> [a].")
    found = dpl.Model(program).predict("s([a, a, a], Rest)", top=3)
    assert {p.bindings["Rest"]: p.probability for p in found} == pytest.approx(
        {"[a,a]": 0.6, "[a]": 0.144, "[]": 0.06912}
    )
    assert [p.method for p in found] == ["answers"] * 3
    assert all(p.proof.check() for p in found)
    (derived,) = dpl.Model(program).predict("s([a, a, a], Rest)", by="derivation")
    assert derived.bindings == {"Rest": "[a,a]"} and derived.certain


def test_a_search_that_ends_early_says_so() -> None:
    rows = np.full((6, 10), 0.1)
    rows += 0.01 * np.random.default_rng(0).normal(size=rows.shape)
    rows /= rows.sum(1, keepdims=True) * (1 + 1e-12)
    model = dpl.Model(dpl.Program(table(rows) + ADDITION))
    query = "add([0, 1, 2], [3, 4, 5], Z, 0)"
    (whole,) = model.predict(query)
    assert whole.certain
    (early,) = model.predict(query, steps=20)
    assert not early.certain
    assert early.probability <= whole.probability <= early.others + 1e-12
    (ground,) = model.predict(query.replace("Z", early.bindings["Z"]))
    assert early.probability == pytest.approx(ground.probability, rel=1e-9)
    (first, later) = model.predict(query, top=2, steps=100_000)
    assert first.certain and later.certain and first.answer == whole.answer


def test_under_an_embedding() -> None:
    """A renormalising scorer: the same answers as listing them."""
    program = dpl.Program(
        "path(X, Z) :- edge(X, Y), path(Y, Z). path(X, X). edge(a, b). edge(b, c). edge(a, c)."
    )
    model = dpl.Model(program, scorer=Embedding(program, dim=8, seed=0))
    listed = model.answers("path(a, Z)")
    found = model.predict("path(a, Z)", top=10)
    assert [p.answer for p in found] == list(listed)
    assert {p.answer: p.probability for p in found} == pytest.approx(listed, rel=1e-6)


def test_nothing_to_predict() -> None:
    model = dpl.Model(dpl.Program("0.5 :: p(a). q(X) :- p(X), X = b."))
    assert model.predict("q(X)") == []
    (closed,) = model.predict("p(a)")
    assert (closed.answer, closed.bindings, closed.probability) == ("p(a)", {}, 0.5)
    with pytest.raises(dpl.ProgramError, match="more than 1"):
        dpl.Model(dpl.Program("p(a). p(X) :- r(X). r(a).")).predict("p(X)")
    model = dpl.Model(dpl.Program("p(N) :- M is N + 1, p(M)."))
    with pytest.raises(dpl.Inexact, match="max_goals"):
        model.predict("p(0)", budget=dpl.Budget(max_goals=50))


@given(automata())
def test_bounds_hold_at_every_goal(case: Automaton) -> None:
    """u of a goal lies between its best answer and its success probability."""
    model = dpl.Model(dpl.Program(case.text))
    query, state, interner = model.begin("s0(W)")
    graph = explore(model.program, [state], interner, keep_bound=True)
    weights = model.weigher(query)(graph, graph.choices)
    moves = Moves(graph, weights)
    total: dict[Word, float] = defaultdict(float)
    for word, weight in case.runs():
        total[word] += weight
    top = max(total.values(), default=0.0)
    assert math.exp(moves.best[moves.root]) >= top * (1 - 1e-9)
    assert math.exp(moves.value[moves.root]) == pytest.approx(sum(total.values()), abs=1e-12)
    assert moves.best[moves.root] <= moves.value[moves.root]
    for one in model.predict("s0(W)", top=3):
        answer = model.program.query(one.answer).atoms[0].args  # type: ignore[union-attr]
        ending = ending_in(graph, weights, interner.goal((), answer).answer, moves.live)
        assert log_weight(ending, graph, weights) == pytest.approx(one.log_prob, abs=1e-9)
        path = best_of(ending, weights)
        assert path is not None and sum(weights[path]) == pytest.approx(one.proof.log_prob)
