"""Queries: text, terms, Python values and tensors lifted into goals."""

from __future__ import annotations

import enum

import numpy as np
import pytest
import torch

import deepprooflog as dpl
from deepprooflog import Program, ProgramError, SyntaxProblem
from deepprooflog.logic.query import parse_query
from deepprooflog.syntax.terms import Atom, Float, Slot, Struct, Term, iter_list, struct
from logic.stepping import rows


@pytest.mark.parametrize("text", ["p(X), q(X, a)", "p(X), q(X, a).", " p(X) , q(X,a) . "])
def test_the_final_dot_may_be_missing(text: str) -> None:
    query = parse_query(text)
    assert str(query) == "p(X), q(X,a)"
    assert list(query.variables) == ["X"]


def test_a_query_may_be_a_term() -> None:
    term = struct("p", Atom("a"), 1)
    assert str(parse_query(term)) == "p(a,1)"


@pytest.mark.parametrize("text", ["true", "true.", "true, true", "(true, true)", "!"])
def test_true_is_a_query(text: str) -> None:
    """It holds, once, in every way of asking."""
    program = Program("0.3 :: p.")
    model = dpl.Model(program)
    assert dpl.prob(program, text) == 1
    assert dpl.answers(program, text) == {"true": 1}
    assert list(dpl.solve(program, text)) == [{}]
    assert dpl.bounds(program, text) == (1, 1)
    assert dpl.exact_fraction(program, text) == 1
    assert dpl.provable(program, text)
    assert model.log_prob([text, "p"]).exp().tolist() == pytest.approx([1, 0.3])
    assert model.prob(text) == 1
    assert model.best_proof(text).check()
    assert model.predict(text)[0].probability == 1
    assert model.sample(text)[0].succeeded


@pytest.mark.parametrize("text", ["3", "X, 3", '"text"', "p, 1.5"])
def test_what_is_no_goal(text: str) -> None:
    with pytest.raises(ProgramError, match="is not a goal"):
        parse_query(text)


def test_an_error_at_a_number_of_thousands_of_digits() -> None:
    with pytest.raises(SyntaxProblem, match="found a number"):
        parse_query("p(X) 1" + "0" * 5000)


def test_a_syntax_error_points_into_the_query() -> None:
    with pytest.raises(SyntaxProblem) as caught:
        parse_query("p(X, )")
    assert (caught.value.line, caught.value.column) == (1, 6)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3"),
        (-3, "-3"),
        (10**30, str(10**30)),
        (1.5, "1.5"),
        ("abc", "abc"),
        ("two words", "'two words'"),
        (True, "true"),
        (False, "false"),
        ([1, "a", [2.5]], "[1,a,[2.5]]"),
        ((1, (2,)), "[1,[2]]"),
        ([], "[]"),
        (Atom("x"), "x"),
        (Float(2.0), "2.0"),
        (struct("f", 1), "f(1)"),
    ],
)
def test_python_values_become_terms(value: object, text: str) -> None:
    assert str(dpl.goal("p(X, Y)", X=value)) == f"p({text},Y)"


def test_the_rest_of_the_variables_stay_open() -> None:
    query = dpl.goal("p(X, Y, Z)", Y=1)
    assert list(query.variables) == ["X", "Z"]
    assert dpl.answers(Program("p(a, 1, b). p(a, 2, c)."), query) == {"p(a,1,b)": 1.0}


def test_tensors_become_slots_each_object_once() -> None:
    one, two = torch.zeros(2), torch.zeros(2)
    query = dpl.goal("p(X, Y, Z, W)", X=one, Y=two, Z=one, W=[two, 5])
    (atom,) = rows_args(query)
    assert atom[:3] == [Slot(0), Slot(1), Slot(0)]
    assert list(iter_list(atom[3])) == [Slot(1), 5]
    assert [t is u for t, u in zip(query.tensors, (one, two), strict=True)] == [True, True]


def rows_args(query: dpl.Query) -> list[list[Term]]:
    """The arguments of each atom, bindings followed."""
    from deepprooflog.logic.goal import Interner

    goal = Interner().goal(query.atoms)
    return [list(a.args) for a in goal.atoms if isinstance(a, Struct)]


def test_arrays_are_tensors_too() -> None:
    query = dpl.goal("p(X)", X=np.zeros(3))
    assert len(query.tensors) == 1


def test_a_value_for_no_variable_is_an_error() -> None:
    with pytest.raises(ProgramError, match=r"Z is not a variable of p\(X\) \(its variables: X\)"):
        dpl.goal("p(X)", Z=1)


@pytest.mark.parametrize("value", [None, {}, object(), {1, 2}, [1, None]])
def test_a_value_without_a_term_is_an_error(value: object) -> None:
    with pytest.raises(ProgramError, match=r"X is a .*, which has no term"):
        dpl.goal("p(X)", X=value)


def test_python_lists_may_nest_as_deeply_as_they_like() -> None:
    deep: object = "a"
    for _ in range(100_000):
        deep = [deep]
    query = dpl.goal("p(X)", X=deep)
    assert dpl.prob(Program("0.5 :: p(_)."), query) == 0.5


def test_a_goal_can_be_asked_again() -> None:
    """Answering leaves a query as it was."""
    program = Program("0.5 :: p(a, 1). 0.5 :: p(b, 1).")
    query = dpl.goal("p(X, Y)", Y=1)
    for _ in range(2):
        assert dpl.answers(program, query) == {"p(a,1)": 0.5, "p(b,1)": 0.5}
        assert list(dpl.solve(program, query)) == [{"X": "a"}, {"X": "b"}]
        assert dpl.prob(program, query) == 1.0
        assert str(query) == "p(X,1)"


def test_a_solution_that_is_not_asked_for_is_undone() -> None:
    program = Program("p(a). p(b).")
    query = parse_query("p(X)")
    solutions = dpl.solve(program, query)
    assert next(solutions) == {"X": "a"}
    solutions.close()  # type: ignore[attr-defined]
    assert str(query) == "p(X)"


def test_a_goal_holds_operators_of_its_program() -> None:
    program = Program(":- op(200, xfy, **).\np(2 ** 3).")
    assert rows(program, "p(X)") == ["true | X = 2**3 | scorer | 2"]


class Suit(enum.IntEnum):
    HEARTS = 3


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.int64(3), "3"),
        (np.uint8(3), "3"),
        (np.float64(1.5), "1.5"),
        (np.float32(1.5), "1.5"),
        (np.bool_(True), "true"),
        (np.str_("a"), "a"),
        (np.array(3), "3"),
        (torch.tensor(3), "3"),
        (torch.tensor(1.5), "1.5"),
        (torch.tensor(True), "true"),
        (Suit.HEARTS, "3"),
        ([np.int64(3), torch.tensor(3)], "[3,3]"),
    ],
)
def test_scalars_are_the_numbers_they_hold(value: object, text: str) -> None:
    """0.3 :: p(3) is worth 0.3, whichever library the 3 is from."""
    program = Program(f"0.3 :: p({text}).")
    assert str(dpl.goal("p(X)", X=value)) == f"p({text})"
    assert dpl.prob(program, dpl.goal("p(X)", X=value)) == 0.3


def test_arrays_with_dimensions_are_tensors() -> None:
    row = np.array([1.0, 2.0])
    query = dpl.goal("p(X, Y)", X=row, Y=torch.tensor([3]))
    assert query.atoms[0].args[0] == Slot(0)  # type: ignore[union-attr]
    assert query.tensors[0] is row
    assert len(query.tensors) == 2


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (torch.tensor(1.0, requires_grad=True), r"wants a gradient(.|\n)*value.reshape\(1\)"),
        (torch.empty((), device="meta"), "no number to read"),
        (np.array(["a"]), "array of <U1, which is no tensor"),
        (np.array([None]), "array of object, which is no tensor"),
        (np.complex64(1j), "is a complex, which has no term"),
        (b"bytes", "is a bytes, which has no term"),
        ({1: 2}, "is a dict, which has no term"),
    ],
)
def test_values_without_a_term(value: object, message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        dpl.goal("p(X)", X=value)


def test_a_list_in_itself_is_no_term() -> None:
    endless: list[object] = [1]
    endless.append(endless)
    with pytest.raises(ProgramError, match="contains itself"):
        dpl.goal("p(X)", X=endless)
    twice = [1]
    assert str(dpl.goal("p(X)", X=[twice, twice])) == "p([[1],[1]])"
