"""Step by step: what all derivations of the views add up to is p_success, computed elsewhere."""

from __future__ import annotations

import pytest

import deepprooflog as dpl
from deepprooflog.insight.steps import StepView

TWO_WAYS = dpl.Program("""
0.4 :: s(X) :- p(X), p(X).
0.6 :: s(X) :- q(X).
0.3 :: p(a).  0.7 :: p(b).
0.2 :: q(a).  0.8 :: q(b).
""")


def total(view: StepView) -> float:
    """The mass of all derivations below a view that end in True."""
    if view.is_true:
        return view.probability
    return sum(total(view.take(one.number)) for one in view.choices)


@pytest.mark.parametrize(("query", "value"), [("s(X)", 0.832), ("s(a)", 0.156), ("s(b)", 0.676)])
def test_all_derivations_add_up(query: str, value: float) -> None:
    assert total(dpl.steps(TWO_WAYS, query)) == pytest.approx(value)


def test_a_view_is_replayed_by_its_history() -> None:
    view = dpl.steps(TWO_WAYS, "s(X)")
    end = view.take(1).take(0)
    assert (end.is_true, end.bindings, end.history) == (True, {"X": "a"}, (1, 0))
    assert end.probability == pytest.approx(0.6 * 0.2)
    assert dpl.steps(TWO_WAYS, "s(X)").replay([1, 0]) == end
    assert end.back() == view.take(1)
    assert view.back() == view
    with pytest.raises(dpl.ProgramError, match="has no choice 2"):
        view.take(2)


def test_what_is_shown_of_a_choice() -> None:
    one, other = dpl.steps(TWO_WAYS, "s(Who)").take(0).choices
    assert (one.goal, one.clause, one.kind) == ("p(a)", "0.3 :: p(a).", "fact")
    assert one.substitution == {"Who": "a"}
    assert one.place == "<text>:4"
    assert other.probability == pytest.approx(0.7)
    first = dpl.steps(dpl.Program("r(X, Z) :- e(X, Y), e(Y, Z). e(1, 2)."), "r(A, B)")
    assert first.choices[0].goal == "e(A,C), e(C,B)"


def test_labels_that_leave_something_over_fail() -> None:
    view = dpl.steps(dpl.Program("0.25 :: p(a). 0.5 :: p(b)."), "p(X)")
    assert view.failing == pytest.approx(0.25)
    assert dpl.steps(TWO_WAYS, "p(X)").failing == 0.0


def test_a_dead_end_and_a_builtin() -> None:
    program = dpl.Program("p(X) :- X > 2, q(X). q(1).")
    dead = dpl.steps(program, "p(1)").take(0)
    assert dead.is_dead and not dead.is_true and not dead.choices
    many = dpl.steps(program, "between(1, inf, X)")
    assert not many.complete
    assert many.choices[4].substitution == {"X": "5"}
    assert many.choices[0].kind == "builtin"


@pytest.mark.parametrize("false_action", [False, True])
def test_a_model_and_giving_up(false_action: bool) -> None:
    program = dpl.Program("s :- a. s :- b. s :- a, fail. s :- b. a. b :- c. c.")
    scorer = dpl.Embedding(program, dim=8, seed=1, false_action=false_action)
    model = dpl.Model(program, scorer=scorer)
    view = dpl.steps(model, "s")
    # The fourth clause leads where the second does: N(G) is a set.
    assert [one.goal for one in view.choices] == ["a", "b", "a, fail", *["false"] * false_action]
    assert sum(one.probability for one in view.choices) == pytest.approx(1.0)
    assert total(view) == pytest.approx(model.log_prob(["s"]).exp().item())
    if false_action:
        given_up = view.take(3)
        assert given_up.goal == "false" and given_up.is_dead


def test_plain_python() -> None:
    found = dpl.steps(TWO_WAYS, "s(X)").to_dict()
    assert found["goal"] == "s(X)"
    assert [one["probability"] for one in found["choices"]] == pytest.approx([0.4, 0.6])
    assert "0.6000" in str(dpl.steps(TWO_WAYS, "s(X)"))
