"""Errors, proofs and compiled batches cross a process boundary whole."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from collections.abc import Callable, Iterator
from multiprocessing.pool import Pool
from typing import Any

import pytest
import torch

import deepprooflog as dpl
from deepprooflog.errors import (
    DataError,
    Inexact,
    ModelError,
    ProgramError,
    PrologError,
    ProofLogError,
    Stopped,
    SyntaxProblem,
)
from deepprooflog.syntax.terms import Atom

SECONDS = 60
PLACE: dict[str, Any] = {
    "file": "a.pl",
    "line": 3,
    "column": 2,
    "text": "p :- q",
    "hint": "a full stop",
}
SLP = "0.4::s(X) :- p(X), p(X). 0.6::s(X) :- q(X). 0.3::p(a). 0.7::p(b). 0.2::q(a). 0.8::q(b)."
DIGITS = "nn(net, [X], D, 0..3) :: d(X, D). q(X, Y, S) :- d(X, A), d(Y, B), S is A + B."

ERRORS: list[ProofLogError] = [
    *(kind("wrong", **PLACE) for kind in (ProofLogError, SyntaxProblem, ProgramError, ModelError,
                                          DataError)),
    PrologError("type", term=Atom("type_error"), **PLACE),
    Inexact("budget", lower=0.25, upper=0.5, hint="more", found={"s(a)": 0.125}),
    Inexact("budget", lower=0.25, upper=None),
]  # fmt: skip


def raised(number: int) -> None:
    """What a worker does: raise one of the errors."""
    raise ERRORS[number]


def same(value: Any) -> Any:
    return value


def proved(query: str) -> dpl.Proof:
    return dpl.Model(dpl.Program(SLP)).best_proof(query)


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with multiprocessing.get_context("fork").Pool(1) as made:
        yield made


def through_pickle(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize("again", [through_pickle, copy.copy, copy.deepcopy])
@pytest.mark.parametrize("error", ERRORS, ids=lambda e: type(e).__name__)
def test_errors_come_back_whole(error: ProofLogError, again: Callable[[Any], Any]) -> None:
    back = again(error)
    assert type(back) is type(error)
    assert back.__dict__ == error.__dict__
    assert str(back) == str(error)
    assert back.args == error.args


CALLS: dict[str, Callable[[], object]] = {
    "syntax": lambda: dpl.Program("p(X :- q."),
    "labels": lambda: dpl.Program("0.9::p. 0.9::p."),
    "unknown": lambda: dpl.prob(dpl.Program("p :- q."), "p"),
    "prolog": lambda: list(dpl.solve(dpl.Program("p(X) :- X is foo + 1."), "p(X)")),
    "budget": lambda: list(
        dpl.solve(dpl.Program("p :- p."), "p", budget=dpl.Budget(max_steps=100))
    ),
    "inexact": lambda: dpl.prob(
        dpl.Program("0.5::p(X) :- p(f(X)). 0.5::p(_)."), "p(a)", budget=dpl.Budget(max_goals=50)
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_errors_as_they_are_raised(name: str) -> None:
    with pytest.raises(ProofLogError) as found:
        CALLS[name]()
    back = through_pickle(found.value)
    assert type(back) is type(found.value)
    assert str(back) == str(found.value)
    assert back.__dict__.keys() == found.value.__dict__.keys()


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_an_error_in_a_pool_is_raised_and_not_waited_for(pool: Pool, number: int) -> None:
    with pytest.raises(type(ERRORS[number])) as found:
        pool.apply_async(raised, (number,)).get(timeout=SECONDS)
    assert str(found.value) == str(ERRORS[number])
    assert {k: v for k, v in found.value.__dict__.items() if k in ERRORS[number].__dict__} == (
        ERRORS[number].__dict__
    )


def test_a_stopped_run_tells_its_signal_in_another_process(pool: Pool) -> None:
    stopped = pool.apply_async(same, (Stopped("saved", 15),)).get(timeout=SECONDS)
    assert (stopped.message, stopped.status) == ("saved", 143)


def test_a_proof_from_a_pool(pool: Pool) -> None:
    here = proved("s(a)")
    there = pool.apply_async(proved, ("s(a)",)).get(timeout=SECONDS)
    assert there == here
    assert str(there) == str(here)
    assert here.check()
    with pytest.raises(ProofLogError, match="without its program"):
        there.check()
    assert copy.copy(here).check()
    assert copy.deepcopy(here).check()


@pytest.mark.parametrize("answer", ["2", "S"])
def test_a_compiled_batch_computes_the_same_elsewhere(answer: str) -> None:
    """Unfolded where the goals are ground, by goal graphs where they are open."""
    torch.manual_seed(0)
    model = dpl.Model(dpl.Program(DIGITS), networks={"net": torch.nn.Linear(2, 4)})
    goals = [dpl.goal(f"q(X, Y, {answer})", X=torch.randn(2), Y=torch.randn(2)) for _ in range(4)]
    batch = model.compile(goals)
    back = through_pickle(batch)
    assert back.describe(3) == batch.describe(3) == str(goals[3])
    assert torch.equal(model.log_prob(back), model.log_prob(batch))
