"""The derivations that end in one answer: their sum, their best, none where there are none."""

from __future__ import annotations

import math
from itertools import product

import pytest

from deepprooflog.infer.answers.ending import best_of, log_weight
from deepprooflog.syntax.reader import read_term
from infer.weighed import DRAWS, weighed

DRAWN = {1: 0.5, 2: 0.3, 3: 0.2}


@pytest.mark.parametrize("total", range(1, 8))
def test_the_sum_and_the_best_of_an_answer_s_derivations(total: int) -> None:
    whole = weighed(DRAWS, "sum(S)")
    ending = whole.ending_in((total,))
    ways = [DRAWN[x] * DRAWN[y] for x, y in product(DRAWN, repeat=2) if x + y == total]
    assert math.exp(log_weight(ending, whole.graph, whole.weights)) == pytest.approx(sum(ways))
    path = best_of(ending, whole.weights)
    if not ways:
        assert path is None
        return
    assert path is not None
    assert math.exp(math.fsum(whole.weights[path])) == pytest.approx(max(ways))
    assert whole.graph.goals[int(whole.graph.target[path[-1]])].is_true


@pytest.mark.parametrize(
    ("query", "answer", "value"),
    [
        ("twice(X)", "2", 0.09),
        ("pair(P)", "[3, 1]", 0.10),
        ("pair(P)", "[3, 4]", 0.0),
        ("open(X)", "b", 0.4),
        ("open(X)", "_", 0.6),
    ],
)
def test_an_answer_is_a_variant(query: str, answer: str, value: float) -> None:
    """What a derivation leaves open is open in its answer: open(_) and open(b) are two answers."""
    whole = weighed(DRAWS, query)
    term = read_term(answer, end_optional=True).term
    log = log_weight(whole.ending_in((term,)), whole.graph, whole.weights)
    assert math.exp(log) == pytest.approx(value)
