"""The contract of the step: what `successors` gives for each kind of leftmost atom.

Each case is a program, a query, and N(G) as rows `goal | answer | who weighs | line of the clause`.
"""

from __future__ import annotations

import pytest
import torch

import deepprooflog as dpl
from deepprooflog import Program, ProgramError, PrologError
from logic.stepping import atom, goal_text, rows, steps

# -- builtins and guards: one successor for each solution, weight 1 ------------------------------


def test_builtin_has_one_successor_for_each_solution_in_order() -> None:
    assert rows("", "member(X, [c, a, b]), atom(X)") == [
        "atom(c) | X = c | one | -",
        "atom(a) | X = a | one | -",
        "atom(b) | X = b | one | -",
    ]


def test_builtin_successors_are_lazy() -> None:
    """A builtin without end has a first successor, and a second."""
    assert rows("", "between(1, inf, X), X > 1", first=3) == [
        "1>1 | X = 1 | one | -",
        "2>1 | X = 2 | one | -",
        "3>1 | X = 3 | one | -",
    ]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("X = f(Y), p(X)", ["p(f(A)) | X = f(A), Y = A | one | -"]),
        ("X is 2 + 3, p(X)", ["p(5) | X = 5 | one | -"]),
        ("1 < 2, p(1)", ["p(1) | - | one | -"]),
        ("2 < 1, p(1)", []),
        ("fail", []),
        ("(X = 1 ; X = 2)", ["true | X = 1 | one | -", "true | X = 2 | one | -"]),
        ("(fail -> X = 1 ; X = 2)", ["true | X = 2 | one | -"]),
        ("(member(X, [1, 2]) -> true ; true)", ["true | X = 1 | one | -"]),
        (r"\+ member(X, [1]), p(X)", []),
        (r"\+ member(3, [1]), p(X)", ["p(A) | X = A | one | -"]),
        ("findall(Y, member(Y, [1, 2]), X)", ["true | Y = A, X = [1,2] | one | -"]),
        ("forall(member(Y, [1, 2]), Y > 0), p(X)", ["p(A) | Y = B, X = A | one | -"]),
        ("once(member(X, [a, b]))", ["true | X = a | one | -"]),
        ("append(X, [c], [b, c]), p(X)", ["p([b]) | X = [b] | one | -"]),
    ],
)
def test_guards_and_builtins_weigh_one(query: str, expected: list[str]) -> None:
    assert rows("p(_).", query) == expected


def test_a_plain_predicate_inside_a_guard_is_run_to_its_end() -> None:
    program = "even(0). even(N) :- N > 1, M is N - 2, even(M)."
    assert rows(program, r"\+ even(7), even(2)") == ["even(2) | - | one | -"]


def test_iso_error_of_a_builtin() -> None:
    with pytest.raises(PrologError, match="instantiation_error"):
        rows("", "X is Y + 1")


# -- labelled predicates: each clause that unifies, weight its label -----------------------------

DICE = """\
1/3 :: roll(a, X) :- low(X).
1/3 :: roll(a, 2).
1/3 :: roll(a, 3).
0.5 :: roll(b, 1).
0.5 :: roll(b, 2).
0.5 :: low(0).
"""


def test_labelled_predicate_has_each_clause_that_unifies() -> None:
    assert rows(DICE, "roll(a, X), low(X)") == [
        "low(A), low(A) | X = A | label | 1",
        "low(2) | X = 2 | label | 2",
        "low(3) | X = 3 | label | 3",
    ]
    assert rows(DICE, "roll(b, 2)") == ["true | - | label | 5"]
    assert rows(DICE, "roll(c, X)") == []


def test_a_label_is_a_constant_expression_kept_exact() -> None:
    program = Program("1/6 :: p(a). 0.1 :: p(b). (1 - 0.3) * 0.5 :: p(c). 1 :: q. 0 :: r.")
    labels = [str(s.choice.clause.label.value) for s in steps(program, "p(X)")]  # type: ignore[union-attr]
    assert labels == ["1/6", "1/10", "7/20"]


def test_each_row_of_a_table_is_its_own_distribution() -> None:
    """Six labels that add up to 2, in two rows: fine as long as the call says which row."""
    assert rows(DICE, "roll(a, X)") != []
    assert rows(DICE, "roll(b, X)") != []


def test_a_call_over_two_rows_is_an_error_that_names_the_call() -> None:
    with pytest.raises(ProgramError, match=r"match roll\(_\w+,_\w+\) add up to 1\.5,") as caught:
        rows(DICE, "roll(Die, X)")
    assert caught.value.line == 4


def test_labels_may_exceed_one_by_rounding_only() -> None:
    thirds = "0.3333333334 :: p(a). 0.3333333333 :: p(b). 0.3333333334 :: p(c)."
    assert len(rows(thirds, "p(X)")) == 3
    with pytest.raises(ProgramError, match=r"add up to 1\.000001"):
        rows("0.5 :: p(a). 0.500001 :: p(b).", "p(X)")


def test_trainable_labels() -> None:
    assert rows("t(0.3) :: p(a).\nt(_) :: p(b).", "p(X)") == [
        "true | X = a | trainable | 1",
        "true | X = b | trainable | 2",
    ]


# -- neural predicates -----------------------------------------------------------------------------

DIGIT = "nn(lenet, [X], D, 0..2) :: digit(X, D).\nodd(X) :- digit(X, D), 1 is D mod 2."
IMAGE = torch.zeros(1, 2, 2)


def test_neural_predicate_has_each_value_of_its_domain() -> None:
    program = Program(DIGIT)
    assert rows(program, dpl.goal("digit(X, D)", X=IMAGE)) == [
        "true | D = 0 | neural | 1",
        "true | D = 1 | neural | 1",
        "true | D = 2 | neural | 1",
    ]
    numbers = [s.choice.number for s in steps(program, dpl.goal("digit(X, D)", X=IMAGE))]
    assert numbers == [0, 1, 2]


def test_neural_predicate_with_a_bound_output_keeps_its_own_value() -> None:
    """One successor, the value's own number: its weight is p(value), never renormalised."""
    program = Program(DIGIT)
    (step,) = steps(program, dpl.goal("digit(X, 2)", X=IMAGE))
    assert step.choice.number == 2
    assert list(steps(program, dpl.goal("digit(X, 7)", X=IMAGE))) == []


def test_a_domain_may_be_a_list_and_the_output_partly_bound() -> None:
    program = "nn(net, [X], S, [red, blue, f(1), f(2)]) :: shade(X, S)."
    assert rows(program, dpl.goal("shade(X, f(Y))", X=IMAGE)) == [
        "true | Y = 1 | neural | 1",
        "true | Y = 2 | neural | 1",
    ]


def test_a_neural_rule_continues_with_its_body() -> None:
    program = "nn(net, [X], D, 0..1) :: p(X, D) :- q(D, E), r(E).\nq(0, a). q(1, b). r(_)."
    assert rows(program, dpl.goal("p(X, 1)", X=IMAGE)) == ["q(1,A), r(A) | - | neural | 1"]


def test_neural_bernoulli_has_one_successor() -> None:
    program = "nn(judge, [R, X]) :: believe(R, X)."
    assert rows(program, dpl.goal("believe(uncle, X), p", X=IMAGE)) == ["p | - | bernoulli | 1"]
    (step,) = steps(Program(program), "believe(uncle, 3)")
    assert [str(t) for t in step.choice.inputs] == [str(atom("uncle")), "3"]


def test_a_neural_predicate_with_an_unbound_input_is_an_error() -> None:
    with pytest.raises(ProgramError, match="lenet is called with an unbound input in digit") as e:
        rows(DIGIT, "digit(X, D)")
    assert e.value.line == 1
    with pytest.raises(ProgramError, match="unbound input"):
        rows(DIGIT, "digit([1, X], D)")


def test_two_neural_clauses_for_one_call_are_an_error() -> None:
    program = "nn(a, [X], D, 0..1) :: p(X, D).\nnn(b, [X], D, 0..1) :: p(X, D)."
    with pytest.raises(ProgramError, match="matches two neural clauses") as caught:
        rows(program, dpl.goal("p(X, D)", X=IMAGE))
    assert caught.value.line == 2


def test_tensors_are_equal_by_slot_and_never_by_value() -> None:
    program = Program("same(X, X).")
    twin = IMAGE.clone()
    assert rows(program, dpl.goal("same(X, Y)", X=IMAGE, Y=IMAGE)) == ["true | - | scorer | 1"]
    assert rows(program, dpl.goal("same(X, Y)", X=IMAGE, Y=twin)) == []


# -- any other predicate: each clause that unifies, weighed by the scorer --------------------------


def test_plain_predicate_has_each_clause_that_unifies() -> None:
    program = "p(X, b) :- q(X), r.\np(a, Y) :- q(Y).\np(c, c).\nq(a). r."
    assert rows(program, "p(a, Z), q(Z)") == [
        "q(a), r, q(b) | Z = b | scorer | 1",
        "q(A), q(A) | Z = A | scorer | 2",
    ]


def test_the_leftmost_atom_alone_is_resolved() -> None:
    assert rows("p(1). p(2).", "p(X), p(Y)") == [
        "p(A) | X = 1, Y = A | scorer | 1",
        "p(A) | X = 2, Y = A | scorer | 1",
    ]


def test_clauses_are_renamed_apart() -> None:
    """The clause's X and Y are not the query's."""
    program = "p(Y, f(X)) :- q(X, Y).\nq(_, _)."
    assert rows(program, "p(X, Y), q(X, Y)") == ["q(A,B), q(B,f(A)) | X = B, Y = f(A) | scorer | 1"]


def test_an_answer_is_part_of_the_goal() -> None:
    """Two successors are the same when goal and bindings of the query's variables agree."""
    first, second, third = steps(Program("p(X) :- q. p(a) :- q. p(X) :- q. q."), "p(X)")
    assert goal_text(first.goal) == goal_text(second.goal) == "q"
    assert first.goal != second.goal
    assert first.goal == third.goal
    assert first.choice != third.choice


def test_goals_are_equal_up_to_renaming() -> None:
    one, two = steps(Program("p :- q(X, Y), r(Y). p :- q(B, A), r(A)."), "p")
    assert one.goal == two.goal
    (three,) = steps(Program("p :- q(B, A), r(B)."), "p")
    assert goal_text(three.goal) == "q(A,B), r(A)"


def test_a_call_of_a_fact_that_a_view_leaves_out() -> None:
    program = Program("p(a). p(b). p(a) :- q. q.")
    view = program.without(atom("p(a)"))
    assert rows(view, "p(a)") == ["q | - | scorer | 1"]
    assert rows(view, "p(b)") == ["true | - | scorer | 1"]
    assert len(rows(program, "p(a)")) == 2
    assert rows(view.without(atom("p(b)")), "p(X)") == ["q | X = a | scorer | 1"]


def test_a_view_holds_inside_guards_too() -> None:
    view = Program("p(a). p(b).").without(atom("p(a)"))
    assert rows(view, r"\+ p(a)") == ["true | - | one | -"]
    assert rows(view, "findall(X, p(X), L)") == ["true | X = A, L = [b] | one | -"]


# -- body order ------------------------------------------------------------------------------------

UNCLE = """\
uncle(X, Y) :- sibling(Z, W), parent(W, Y), brother(X, W).
sibling(a, b). parent(b, c). brother(a, b).
"""


def test_bodies_are_taken_as_written_by_default() -> None:
    assert rows(UNCLE, "uncle(a, c)") == [
        "sibling(A,B), parent(B,c), brother(a,B) | - | scorer | 1"
    ]


def test_bound_first_takes_the_most_bound_atom_first() -> None:
    """Fewest unbound variables first, ties as written; an atom binds its variables for the rest."""
    assert rows(UNCLE, "uncle(a, c)", order="bound_first") == [
        "parent(A,c), brother(a,A), sibling(B,A) | - | scorer | 1"
    ]
    assert rows(UNCLE, "uncle(a, Y)", order="bound_first") == [
        "brother(a,A), sibling(B,A), parent(A,C) | Y = C | scorer | 1"
    ]
    assert rows(UNCLE, "uncle(X, Y)", order="bound_first") == [
        "sibling(A,B), parent(B,C), brother(D,B) | X = D, Y = C | scorer | 1"
    ]


def test_bound_first_leaves_builtins_in_their_places() -> None:
    program = "p(X, Y) :- q(A, B), r(X), A < B, q(B, C), r(Y).\nq(1, 2). r(1)."
    assert rows(program, "p(1, 2)", order="bound_first") == [
        "r(1), q(A,B), A<B, r(2), q(B,C) | - | scorer | 1"
    ]


def test_bound_first_changes_no_answer() -> None:
    program = UNCLE + "sibling(a, d). parent(d, e). brother(a, d)."
    written, bound = Program(program), Program(program, order="bound_first")
    expected = {"uncle(a,c)": 1.0, "uncle(a,e)": 1.0}
    assert dpl.answers(written, "uncle(X, Y)") == dpl.answers(bound, "uncle(X, Y)") == expected


# -- grammar rules ---------------------------------------------------------------------------------

GRAMMAR = """\
s --> [a], s, [c].
s --> [b].
0.5 :: w --> [x, y], w.
0.5 :: w --> [].
"""


def test_leading_terminals_are_part_of_the_choice() -> None:
    """A rule whose terminals do not fit does not unify: softmax and False never see it."""
    assert rows(GRAMMAR, "s([b], [])") == ["true | - | scorer | 2"]
    assert rows(GRAMMAR, "s([a, b, c], [])") == ["s([b,c],A), A=[c] | - | scorer | 1"]
    assert rows(GRAMMAR, "s([e], R)") == []
    assert rows(GRAMMAR, "w([x, y, x], R)") == [
        "w([x],A) | R = A | label | 3",
        "true | R = [x,y,x] | label | 4",
    ]
    assert rows(GRAMMAR, "w([x, z], R)") == ["true | R = [x,z] | label | 4"]


def test_a_guard_in_a_body_is_a_later_step() -> None:
    assert rows("p(X) :- X > 3, q.\np(X) :- X > 1.\nq.", "p(2)") == [
        "2>3, q | - | scorer | 1",
        "2>1 | - | scorer | 2",
    ]


# -- names -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "hint"),
    [
        ("siblings(a, X)", "did you mean sibling/2?"),
        ("sibling(a)", "did you mean sibling/2?"),
        ("apend(X, Y, Z)", "did you mean append/3?"),
        ("zebra(X)", "the program defines brother/2, parent/2, sibling/2, uncle/2"),
    ],
)
def test_a_predicate_no_clause_defines_is_an_error(query: str, hint: str) -> None:
    with pytest.raises(ProgramError, match=f"no clause defines {query.split('(')[0]}/") as caught:
        rows(UNCLE, query)
    assert caught.value.hint == hint


def test_a_declared_predicate_without_clauses_just_fails() -> None:
    assert rows(":- dynamic(p/1).", "p(X)") == []


@pytest.mark.parametrize("query", ["", "  ", "."])
def test_an_empty_query_is_an_error(query: str) -> None:
    with pytest.raises(ProgramError, match="the query is empty"):
        rows("p.", query)


def test_own_clauses_override_library_predicates() -> None:
    program = "append(a, b, c).\nmember(X, set(X))."
    assert rows(program, "append(X, Y, Z)") == ["true | X = a, Y = b, Z = c | scorer | 1"]
    assert rows(program, "member(X, set(1))") == ["true | X = 1 | scorer | 2"]
    assert rows(program, "findall(X, member(X, set(1)), L)") == ["true | X = A, L = [1] | one | -"]
    assert rows(program, "memberchk(X, [1, 2])") == ["true | X = 1 | one | -"]


def test_own_clauses_may_not_redefine_iso_builtins() -> None:
    with pytest.raises(ProgramError, match="atom_length/2 is built in") as caught:
        Program("p.\natom_length(a, b).")
    assert caught.value.line == 2


# -- occurs check ----------------------------------------------------------------------------------


def test_no_occurs_check_unless_asked_for() -> None:
    program = "p(X, f(X))."
    assert rows(program, "p(Y, Y)", occurs_check=True) == []
    with pytest.raises(ProgramError, match="a term contains itself") as caught:
        rows(program, "p(Y, Y)")
    assert "occurs_check=True" in (caught.value.hint or "")
    # A cyclic binding that no goal or answer shows does no harm.
    assert dpl.prob(Program("q :- p(Y, Y). p(X, f(X)) :- r. 0.5 :: r."), "q") == 0.5


@pytest.mark.parametrize(
    "program",
    [
        "p :- X = f(X), !.\np :- r.",
        "p :- (X = f(X) -> fail ; r).",
        r"p :- \+ X = f(X), r.",
        "p :- q(X, X).\nq(X, f(X)).\np :- r.",
    ],
)
def test_the_occurs_check_holds_inside_guards(program: str) -> None:
    """Only by failing to unify does p come down to r."""
    assert dpl.prob(Program(program + "\n0.25 :: r.", occurs_check=True), "p") == 0.25
