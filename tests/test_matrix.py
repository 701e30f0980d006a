"""Every program through every engine: `oracles/programs/*.pl`, whose values are known exactly.

Each program says how its values come about and lists them,

    %? goal = fraction
    %! infinite             resolvents grow without end: the goal graph has no end, tables do
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import deepprooflog as dpl
from deepprooflog.infer.method import Method

SAMPLES = 600
SMALL = dpl.Budget(max_goals=30)


@dataclass(frozen=True)
class Known:
    """A program, a goal, and the goal's exact probability."""

    name: str
    text: str
    goal: str
    value: Fraction
    infinite: bool

    @property
    def program(self) -> dpl.Program:
        return dpl.Program(self.text)


def _fraction(text: str) -> Fraction:
    power = re.fullmatch(r"\((\d+/\d+)\)\^(\d+)", text)
    return Fraction(power[1]) ** int(power[2]) if power else Fraction(text)


def _read(path: Path) -> list[Known]:
    text = path.read_text(encoding="utf-8")
    asked = re.findall(r"^%\? (.*) = (\S+)$", text, re.MULTILINE)
    infinite = re.search(r"^%! infinite$", text, re.MULTILINE) is not None
    return [Known(path.stem, text, goal, _fraction(value), infinite) for goal, value in asked]


FILES = sorted((Path(__file__).parent / "oracles" / "programs").glob("*.pl"))
KNOWN = [known for path in FILES for known in _read(path)]
FINITE = [known for known in KNOWN if not known.infinite]
INFINITE = [known for known in KNOWN if known.infinite]


def _name(known: Known) -> str:
    return f"{known.name}: {known.goal}"


every = pytest.mark.parametrize("known", KNOWN, ids=_name)
finite = pytest.mark.parametrize("known", FINITE, ids=_name)
infinite = pytest.mark.parametrize("known", INFINITE, ids=_name)


def test_there_are_programs() -> None:
    assert len(FILES) >= 25
    assert all(_read(path) for path in FILES)


@every
def test_auto(known: Known) -> None:
    assert dpl.prob(known.program, known.goal) == pytest.approx(float(known.value), rel=1e-9)


@every
def test_tabled(known: Known) -> None:
    found = dpl.prob(known.program, known.goal, method="tabled")
    assert found == pytest.approx(float(known.value), rel=1e-9)


@finite
def test_graph(known: Known) -> None:
    found = dpl.prob(known.program, known.goal, method="graph")
    assert found == pytest.approx(float(known.value), rel=1e-12)


@infinite
def test_graph_without_end(known: Known) -> None:
    """The goal graph alone cannot be exact: it raises its bounds, and they hold."""
    with pytest.raises(dpl.Inexact) as caught:
        dpl.prob(known.program, known.goal, method="graph", budget=dpl.Budget(max_goals=200))
    assert caught.value.lower <= known.value
    assert caught.value.upper is None or known.value <= caught.value.upper


@finite
def test_fraction(known: Known) -> None:
    assert dpl.exact_fraction(known.program, known.goal) == known.value


@every
@pytest.mark.parametrize("budget", [None, SMALL], ids=["default", "small"])
def test_bounds(known: Known, budget: dpl.Budget | None) -> None:
    lower, upper = dpl.bounds(known.program, known.goal, budget=budget)
    value = float(known.value)
    assert lower <= value * (1 + 1e-9)
    assert upper is None or value <= upper * (1 + 1e-9)


@every
def test_answers_add_up(known: Known) -> None:
    """The answers of a goal have its probability together."""
    total = sum(dpl.answers(known.program, known.goal).values())
    assert total == pytest.approx(float(known.value), rel=1e-9)


def _model(known: Known, **options: Any) -> float:
    """The value by a compiled batch, twice in it so that queries share what can be shared."""
    model = dpl.Model(known.program)
    first, second = model.log_prob(model.compile([known.goal] * 2, **options)).exp().tolist()
    assert first == second
    return float(first)


@every
@pytest.mark.parametrize("unfolding", [True, False], ids=["unfolded", "explored"])
def test_model(known: Known, unfolding: bool) -> None:
    value = float(known.value)
    assert _model(known, unfolding=unfolding) == pytest.approx(value, rel=1e-9)
    log = dpl.Model(known.program).log_prob([known.goal])
    assert log.exp().tolist() == [pytest.approx(value, rel=1e-9)]
    assert dpl.Model(known.program).prob(known.goal) == pytest.approx(value, rel=1e-9)


@every
def test_model_tabled(known: Known) -> None:
    value = float(known.value)
    assert _model(known, method="tabled") == pytest.approx(value, rel=1e-9)
    answers = dpl.Model(known.program).answers(known.goal, method="tabled")
    assert sum(answers.values()) == pytest.approx(value, rel=1e-9)


@finite
@pytest.mark.parametrize("unfolding", [True, False], ids=["unfolded", "explored"])
def test_model_by_graph(known: Known, unfolding: bool) -> None:
    value = float(known.value)
    assert _model(known, method="graph", unfolding=unfolding) == pytest.approx(value, rel=1e-9)


@every
def test_best_proof_is_one(known: Known) -> None:
    """The best proof by the choice, by tables and, where it is finite, by the graph."""
    model = dpl.Model(known.program)
    methods: list[Method] = ["auto", "tabled"] if known.infinite else ["auto", "tabled", "graph"]
    if known.value == 0:
        for method in methods:
            with pytest.raises(dpl.ProgramError, match="has no proof"):
                model.best_proof(known.goal, method=method)
        return
    proofs = [model.best_proof(known.goal, method=method) for method in methods]
    assert all(proof.check() for proof in proofs)
    logs = [proof.log_prob for proof in proofs]
    assert logs == pytest.approx([logs[0]] * len(logs), rel=1e-9)
    assert logs[0] <= math.log(known.value.numerator) - math.log(known.value.denominator) + 1e-9


@every
def test_provable(known: Known) -> None:
    """The boolean semiring: a goal is provable exactly when its probability is positive."""
    assert dpl.provable(known.program, known.goal) == (known.value > 0)


@finite
def test_sampling(known: Known) -> None:
    """The mean of weighted successes is within four standard errors of the value."""
    drawn = dpl.Model(known.program).sample(known.goal, SAMPLES, seed=7)
    assert not any(s.cut_off for s in drawn)
    weights = [math.exp(s.log_factor) if s.succeeded else 0.0 for s in drawn]
    mean = sum(weights) / SAMPLES
    variance = sum((w - mean) ** 2 for w in weights) / SAMPLES
    value = float(known.value)
    # A rare event may not be seen at all: its own variance counts when the sample has none.
    spread = math.sqrt(max(variance, value * (1 - value)) / SAMPLES)
    assert abs(mean - value) <= 4 * spread + 1e-12


@infinite
def test_sampling_without_end(known: Known) -> None:
    """Derivations cut off may yet succeed: the value lies between without and with them."""
    drawn = dpl.Model(known.program).sample(known.goal, 200, seed=7, max_depth=25)
    value = float(known.value)
    error = 4 * math.sqrt(value * (1 - value) / len(drawn))
    proved = sum(s.succeeded for s in drawn) / len(drawn)
    open_ = sum(s.cut_off for s in drawn) / len(drawn)
    assert proved - error <= value <= proved + open_ + error
