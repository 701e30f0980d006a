"""Many goals at once: columns of values, rows of a bank, and which variables name rows."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import torch

import deepprooflog as dpl
from deepprooflog import GoalBatch, Program, ProgramError
from deepprooflog.logic.analysis.tensor_places import variables_of_tensors
from deepprooflog.logic.goal_batch import BankRows
from deepprooflog.logic.query import form_of

DIGIT = "nn(net, [X], D, 0..9) :: digit(X, D).\n"
ADD = Program(
    DIGIT
    + """
add([], [], [], 0).   add([], [], [1], 1).
add([X|Xs], [Y|Ys], [Z|Zs], C) :-
    digit(X, A), digit(Y, B), S is A+B+C, Z is S mod 10, C1 is S // 10, add(Xs, Ys, Zs, C1).
"""
)
IMAGES = torch.arange(12.0).reshape(6, 2)


def tensors(query: dpl.Query) -> list[float]:
    return [t[0].item() / 2 for t in query.tensors]  # type: ignore[index]


ROWS = [[0, 1], [2, 3], [4, 4]]
FORMS = [list, np.asarray, torch.tensor, lambda rows: torch.tensor(rows, dtype=torch.int32)]


@pytest.mark.parametrize("rows", FORMS)
@pytest.mark.parametrize("digits", FORMS)
def test_networks_say_which_variables_are_rows(rows: Any, digits: Any) -> None:
    """X and Y are pictures and Z is not, whether they come as lists, arrays or tensors."""
    batch = dpl.goals(
        "add(X, Y, Z, 0)",
        bank=IMAGES,
        X=rows(ROWS),
        Y=rows(ROWS[::-1]),
        Z=digits([[1, 2], [3, 4], [5, 6]]),
    )
    read = batch.read(ADD)
    assert [str(q) for q in read] == [
        "add([<tensor 0>,<tensor 1>],[<tensor 2>,<tensor 2>],[1,2],0)",
        "add([<tensor 0>,<tensor 1>],[<tensor 0>,<tensor 1>],[3,4],0)",
        "add([<tensor 0>,<tensor 0>],[<tensor 1>,<tensor 2>],[5,6],0)",
    ]
    assert [tensors(q) for q in read] == [[0, 1, 4], [2, 3], [4, 0, 1]]


def test_a_goal_of_a_batch_is_read_by_itself() -> None:
    batch = dpl.goals("add(X, Y, Z, 0)", bank=IMAGES, X=ROWS, Y=ROWS, Z=ROWS)
    assert isinstance(batch[1], dpl.Query)
    assert str(batch[1]) == "add([2,3],[2,3],[2,3],0)"
    assert (
        str(ADD.query(batch[1])) == "add([<tensor 0>,<tensor 1>],[<tensor 0>,<tensor 1>],[2,3],0)"
    )
    assert tensors(ADD.query(batch[1])) == [2, 3]


def test_one_picture_or_a_list_of_them() -> None:
    batch = dpl.goals("digit(X, D)", bank=IMAGES, X=torch.tensor([3, 1]), D=[7, 8])
    assert [str(q) for q in batch.read(ADD)] == ["digit(<tensor 0>,7)", "digit(<tensor 0>,8)"]
    assert [tensors(q) for q in batch.read(ADD)] == [[3], [1]]


def test_several_banks_said_outright() -> None:
    sounds = IMAGES + 100
    batch = dpl.goals(
        "p(X, Y, N)", bank={"X": IMAGES, "Y": sounds}, X=[1, 2], Y=[[0], [2]], N=[0, 1]
    )
    assert [str(q) for q in batch] == [
        "p(<tensor 0>,[<tensor 1>],0)",
        "p(<tensor 0>,[<tensor 1>],1)",
    ]
    assert [tensors(q) for q in batch] == [[1, 50], [2, 52]]


def test_one_bank_under_two_names_is_one_bank() -> None:
    (goal,) = dpl.goals("p(X, Y)", bank={"X": IMAGES, "Y": IMAGES}, X=[2], Y=[[2, 3]])
    assert str(goal) == "p(<tensor 0>,[<tensor 0>,<tensor 1>])"


def test_values_of_all_kinds() -> None:
    batch = dpl.goals("p(A, B, C, D, E)", A=[1, "x"], B=np.array([1.5, 2.0]), C=7, D="all")
    assert [str(q) for q in batch] == ["p(1,1.5,7,all,E)", "p(x,2.0,7,all,E)"]
    assert list(batch[0].variables) == ["E"]


def test_tensors_beside_rows() -> None:
    own = torch.zeros(2)
    (goal,) = dpl.goals("p(X, Y)", bank={"X": IMAGES}, X=[5], Y=[own])
    assert str(goal) == "p(<tensor 0>,<tensor 1>)"
    assert goal.tensors[1] is own


def test_a_batch_is_a_sequence() -> None:
    batch = dpl.goals("p(X, Y)", X=list(range(5)), Y="a")
    assert len(batch) == 5
    assert str(batch[-1]) == "p(4,a)"
    assert [str(q) for q in batch[1:3]] == ["p(1,a)", "p(2,a)"]
    assert [str(q) for q in batch[::-2]] == ["p(4,a)", "p(2,a)", "p(0,a)"]
    for some in ([3, 0], torch.tensor([3, 0]), np.array([3, 0])):
        assert [str(q) for q in batch[some]] == ["p(3,a)", "p(0,a)"]
    assert [str(q) for q in batch[[True, False, False, False, True]]] == ["p(0,a)", "p(4,a)"]
    assert str(batch[torch.tensor(2)]) == "p(2,a)"
    assert repr(batch) == "GoalBatch(5 goals p(X, Y))"
    with pytest.raises(IndexError, match="no goal 5"):
        batch[5]
    with pytest.raises(IndexError, match="no goal 9"):
        batch[[0, 9]]


def test_batches_are_joined() -> None:
    one = dpl.goals("p(X)", bank=IMAGES, X=[1, 2])
    two = dpl.goals("p(X)", bank=IMAGES, X=[3])
    both = one + two
    assert isinstance(both, GoalBatch)
    assert [str(q) for q in both] == ["p(1)", "p(2)", "p(3)"]
    others = dpl.goals("q(X)", X=[1]) + one
    assert isinstance(others, list)
    assert [str(q) for q in others] == ["q(1)", "p(1)", "p(2)"]
    first: list[dpl.Query] = [dpl.goal("r")]
    assert [str(q) for q in first + two] == ["r", "p(3)"]


def test_free_variables_are_each_goal_s_own() -> None:
    first, second = dpl.goals("p(X, Y, _)", X=[1, 2])
    assert first.variables["Y"] is not second.variables["Y"]


def test_a_goal_is_sent_with_its_own_tensors() -> None:
    batch = dpl.goals("digit(X, 3)", bank=torch.zeros(100_000, 2), X=[7]).read(ADD)
    goal = batch[0]
    assert isinstance(goal.tensors, BankRows)
    assert goal.tensors == batch[0].tensors
    assert len({goal.tensors, batch[0].tensors}) == 1
    sent = pickle.dumps(goal)
    assert len(sent) < 2000
    assert pickle.loads(sent).tensors[0].tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("text", "values", "message"),
    [
        ("p(X, Y)", {"X": [1, 2], "Y": [1, 2, 3]}, "X has a value for each of 2 goals, Y for 3"),
        ("p(X)", {"X": [1], "Z": [1]}, "Z is not a variable of p"),
        ("p(X)", {}, "no column says how many"),
        ("p(X)", {"X": 3}, "no column says how many"),
        ("p(X)", {"X": torch.zeros(3, 2)}, r"X is an array of floats of shape \[3, 2\]"),
        ("p(X)", {"X": torch.zeros(3, requires_grad=True)}, "X wants a gradient"),
        ("p(X, Y)", {"bank": {"X": IMAGES}, "Y": [1]}, "X has a bank but no rows"),
        ("p(X)", {"bank": {"Z": IMAGES}, "X": [1]}, "Z is not a variable of p"),
        ("p(X)", {"bank": {"X": IMAGES}, "X": [1, 6]}, "X names row 6 of a bank of 6"),
        ("p(X)", {"bank": {"X": IMAGES}, "X": [[1], [-1]]}, "X names row -1 of a bank of 6"),
        ("p(X)", {"bank": {"X": IMAGES}, "X": [1.5]}, "X names no row of a bank by 1.5"),
        ("p(X", {"X": [1]}, "never closed"),
    ],
)
def test_what_is_refused(text: str, values: dict[str, Any], message: str) -> None:
    with pytest.raises(dpl.ProofLogError, match=message):
        dpl.goals(text, **values)


def test_a_mask_has_an_entry_for_each_goal() -> None:
    with pytest.raises(ProgramError, match="a mask of 2 selects from 3 goals"):
        dpl.goals("p(X)", X=[1, 2, 3])[[True, False]]


def test_rows_that_the_bank_has_not_are_refused_when_read() -> None:
    with pytest.raises(ProgramError, match="X names row 9 of a bank of 6") as caught:
        dpl.goals("digit(X, D)", bank=IMAGES, X=[9], D=[9]).read(ADD)
    assert caught.value.hint == "rows are 0 to 5"


def test_a_bank_that_no_network_reads() -> None:
    with pytest.raises(ProgramError, match="no network of the program is seen to read one of X"):
        dpl.goals("p(X)", bank=IMAGES, X=[1]).read(Program("p(1)."))


@pytest.mark.parametrize(
    ("text", "goal", "expected"),
    [
        ("q(box(X), N) :- digit(X, D), D > N.", "q(box(A), B)", ["A"]),
        ("q(f(X, N)) :- digit(X, D), D > N.", "q(f(A, B))", ["A"]),
        ("q([X, Y]) :- digit(X, D), digit(Y, D).", "q([A, B|C])", ["A", "B", "C"]),
        ("q(Xs, Ds) :- maplist(digit, Xs, Ds).", "q(A, B)", ["A"]),
        ("q(Xs, S) :- foldl(step, Xs, 0, S). step(X, A, B) :- digit(X, D), B is A + D.",
         "q(A, B)", ["A"]),
        ("q(Xs, D) :- member(X, Xs), digit(X, D).", "q(A, B)", ["A"]),
        ("q(Xs, I, D) :- nth0(I, Xs, X), digit(X, D).", "q(A, B, C)", ["A"]),
        ("q(Xs, Ds) :- rev(Xs, [], Ys), all(Ys, Ds). rev([], Y, Y). "
         "rev([X|Xs], A, Y) :- rev(Xs, [X|A], Y). all([], []). "
         "all([X|Xs], [D|Ds]) :- digit(X, D), all(Xs, Ds).", "q(A, B)", ["A"]),
        ("q(X, D) :- ( X = none -> D = 0 ; digit(X, D) ).", "q(A, B)", ["A"]),
        ("q(X, D) :- Y = X, call(digit, Y, D).", "q(A, B)", ["A"]),
        ("q(X, D) :- append([X], _, L), last(L, Y), digit(Y, D).", "q(A, B)", ["A"]),
        ("q(0, 1).", "q(A, B), digit(C, B)", ["C"]),
        ("q(0, 1).", "A = C, digit(C, B)", ["A", "C"]),
        ("q(t(L, X, R), S) :- q(L, A), q(R, B), digit(X, D), S is A + B + D. q(nil, 0).",
         "q(t(nil, A, B), C)", ["A"]),
    ],
)  # fmt: skip
def test_where_tensors_stand(text: str, goal: str, expected: list[str]) -> None:
    form = form_of(goal)
    found = variables_of_tensors(Program(DIGIT + text), form.atoms)
    assert [name for name, number in form.names.items() if number in found] == expected


def test_a_text_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second goal of a text costs no parsing, and shares nothing that can be bound."""
    from deepprooflog.logic import query

    read: list[str] = []
    parse = query.parse_query

    def parsing(text: str) -> dpl.Query:
        read.append(text)
        return parse(text)

    monkeypatch.setattr(query, "parse_query", parsing)
    goals = [dpl.goal("once_read(X, Y, _)", X=i) for i in range(3)]
    goals += list(dpl.goals("once_read(X, Y, _)", X=[3, 4]))
    assert read == ["once_read(X, Y, _)"]
    assert [str(g)[:13] for g in goals] == [f"once_read({i},Y" for i in range(5)]
    assert len({id(g.variables["Y"]) for g in goals}) == 5


def test_only_short_texts_are_remembered() -> None:
    from deepprooflog.logic import query

    before = query._remembered_form.cache_info().currsize
    dpl.goal(f"p({'a' * query.SHORT})")
    assert query._remembered_form.cache_info().currsize == before
