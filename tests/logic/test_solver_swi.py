"""Whole programs against SWI-Prolog, interpreted and compiled: answers, order, choices, errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from deepprooflog.logic.program import Program
from deepprooflog.logic.solver import dispatch
from logic.swi_goals import Outcome, assert_agree, goals_of, our_outcome, swi_outcomes

TEXT = Path(__file__).with_name("solver_programs.pl").read_text(encoding="utf-8")
GOALS = goals_of("solver_goals.txt")
PROGRAM = Program(TEXT)


@pytest.fixture(scope="module")
def theirs(swipl: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    """What SWI-Prolog answers to each goal."""
    outcomes = swi_outcomes(swipl, GOALS, tmp_path_factory.mktemp("programs"), TEXT)
    return dict(zip(GOALS, outcomes, strict=True))


@pytest.mark.parametrize("way", ["interpreted", "warming", "compiled"])
@pytest.mark.parametrize("goal", GOALS)
def test_as_swi_prolog(
    goal: str, way: str, theirs: dict[str, Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same under every way to run a clause: interpreted, compiled in the midst, compiled."""
    program = PROGRAM
    if way != "interpreted":
        # Code of its own, so that no clause is warm from another test.
        program = Program(TEXT) if way == "warming" else COMPILED
        monkeypatch.setattr(dispatch, "WARM", 2 if way == "warming" else 1)
    assert_agree(our_outcome(program, goal, way != "interpreted"), theirs[goal])


COMPILED = Program(TEXT)
