"""Builtins against SWI-Prolog: answers, their order, leftover choices and error terms."""

from __future__ import annotations

import pytest

from deepprooflog.logic.program import Program
from deepprooflog.logic.solver import dispatch
from logic.swi_goals import Outcome, assert_agree, goals_of, our_outcome, swi_outcomes

GOALS = goals_of("builtin_goals.txt")
EMPTY = Program("")


@pytest.fixture(scope="module")
def theirs(swipl: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    """What SWI-Prolog answers to each goal."""
    outcomes = swi_outcomes(swipl, GOALS, tmp_path_factory.mktemp("builtins"))
    return dict(zip(GOALS, outcomes, strict=True))


@pytest.mark.parametrize("compiled", [False, True], ids=["interpreted", "compiled"])
@pytest.mark.parametrize("goal", GOALS)
def test_as_swi_prolog(
    goal: str, compiled: bool, theirs: dict[str, Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same answers in the same order, no choice left that SWI-Prolog drops, the same error."""
    monkeypatch.setattr(dispatch, "WARM", 1)
    assert_agree(our_outcome(EMPTY, goal, compiled), theirs[goal])
