"""Derivations drawn at random: their frequencies are the exact probabilities."""

from __future__ import annotations

import math
from collections import Counter

import pytest

import deepprooflog as dpl
from deepprooflog.infer.particles.sample import Sample
from deepprooflog.syntax.writer import write_term

N = 4000


def within_four_sigma(samples: list[Sample], p: float) -> None:
    """The estimate E[exp(log_factor) · succeeded] lies within 4 standard errors of p."""
    draws = [math.exp(s.log_factor) if s.succeeded else 0.0 for s in samples]
    mean = math.fsum(draws) / len(draws)
    variance = math.fsum((d - mean) ** 2 for d in draws) / (len(draws) - 1)
    assert abs(mean - p) <= 4 * math.sqrt(variance / len(draws)) + 1e-12


PROGRAMS = {
    "two ways": (
        "0.4 :: s(X) :- p(X), p(X). 0.6 :: s(X) :- q(X). "
        "0.3 :: p(a). 0.7 :: p(b). 0.2 :: q(a). 0.8 :: q(b).",
        "s(X)",
        0.832,
    ),
    "a cycle": ("0.5 :: a :- b. 0.5 :: a. 0.5 :: b :- a. 0.5 :: b :- fail.", "a", 2 / 3),
    "unlabelled alternatives": ("p :- q. p :- r. 0.3 :: q. 0.4 :: r.", "p", 0.7),
    "a builtin with three solutions": ("p :- member(X, [1, 2, 3]), r(X). 0.2 :: r(_).", "p", 0.6),
    "goals that grow": ("0.3 :: p :- p, p. 0.4 :: p.", "p", (1 - math.sqrt(0.52)) / 0.6),
    "labels that leave mass over": ("0.2 :: p(a). 0.3 :: p(b). q :- p(a).", "q", 0.2),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_success_rate(name: str) -> None:
    text, query, p = PROGRAMS[name]
    model = dpl.Model(dpl.Program(text))
    samples = model.sample(query, N, seed=1)
    assert not any(s.memory or s.cut_off for s in samples)
    within_four_sigma(samples, p)


def test_answers_come_as_often_as_they_are_probable() -> None:
    text, query, _ = PROGRAMS["two ways"]
    samples = dpl.Model(dpl.Program(text)).sample(query, N, seed=2)
    counts = Counter(write_term(s.answer[0]) for s in samples if s.succeeded)
    assert set(counts) == {"a", "b"}
    for answer, expected in {"a": 0.156, "b": 0.676}.items():
        sigma = math.sqrt(expected * (1 - expected) / N)
        assert abs(counts[answer] / N - expected) <= 4 * sigma


def test_a_drawn_derivation_has_its_own_weight() -> None:
    """log_prob + log_factor is its log-weight: of 0.3 or 0.4 here, each drawn half as often."""
    text, query, _ = PROGRAMS["unlabelled alternatives"]
    for s in dpl.Model(dpl.Program(text)).sample(query, 50, seed=3):
        if s.succeeded:
            assert s.log_factor == pytest.approx(math.log(2))
            weight = math.exp(s.log_prob + s.log_factor)
            assert weight == pytest.approx(0.3) or weight == pytest.approx(0.4)


def test_a_seed_repeats_itself() -> None:
    model = dpl.Model(dpl.Program(PROGRAMS["two ways"][0]))
    assert model.sample("s(X)", 30, seed=5) == model.sample("s(X)", 30, seed=5)
    assert model.sample("s(X)", 30, seed=5) != model.sample("s(X)", 30, seed=6)


def test_memory_is_another_process_and_says_so() -> None:
    """At b the way back to a is barred and failing takes its weight: success is ½, not ⅔."""
    model = dpl.Model(dpl.Program(PROGRAMS["a cycle"][0]))
    samples = model.sample("a", N, seed=4, memory=True)
    assert all(s.memory for s in samples)
    rate = sum(s.succeeded for s in samples) / N
    assert abs(rate - 0.5) <= 4 * math.sqrt(0.25 / N)


def test_a_derivation_without_end_is_cut_off_and_says_so() -> None:
    model = dpl.Model(dpl.Program("p :- q. q :- p."))
    samples = model.sample("p", 20, seed=0, max_depth=9)
    assert all(not s.succeeded for s in samples)
    assert all(s.cut_off and len(s.choices) == 9 for s in samples)
