"""Random hidden Markov models as programs, against hmmlearn's forward and Viterbi algorithms."""

from __future__ import annotations

import math

import pytest

import deepprooflog as dpl
from oracles.hmm_oracle import as_query, as_slp, draw_symbols, hmmlearn_scores, random_hmm

pytest.importorskip("hmmlearn", reason="hmmlearn is not installed")

CASES = [
    (states, symbols, length, 100 * states + 10 * symbols + length)
    for states, symbols in [(2, 2), (2, 6), (3, 3), (4, 2), (5, 4)]
    for length in (1, 2, 7, 30, 120)
] + [(2, 6, 300, 1), (3, 3, 300, 2), (5, 4, 300, 3)]


@pytest.mark.parametrize(("states", "symbols", "length", "seed"), CASES)
def test_likelihood_and_best_path(states: int, symbols: int, length: int, seed: int) -> None:
    hmm = random_hmm(states, symbols, seed)
    emitted = draw_symbols(hmm, length, seed)
    forward, best = hmmlearn_scores(hmm, emitted)
    program, query = dpl.Program(as_slp(hmm)), as_query(emitted)
    model = dpl.Model(program)
    assert model.log_prob([query]).tolist() == [pytest.approx(forward, rel=1e-9)]
    assert math.log(dpl.prob(program, query)) == pytest.approx(forward, rel=1e-9)
    assert model.best_proof(query).log_prob == pytest.approx(best, rel=1e-9)


def test_any_word_and_all_words() -> None:
    """All words of one length have probability 1 together, and an open query says so."""
    hmm = random_hmm(3, 3, 5)
    program = dpl.Program(as_slp(hmm))
    assert dpl.prob(program, "hmm([_, _, _, _])") == pytest.approx(1.0, rel=1e-12)
    words = dpl.answers(program, "hmm([A, B])")
    for a in range(3):
        for b in range(3):
            expected = math.exp(hmmlearn_scores(hmm, [a, b])[0])
            key = next((k for k in words if k.replace(" ", "") == f"hmm([o{a},o{b}])"), None)
            assert (words[key] if key else 0.0) == pytest.approx(expected, abs=1e-12)
