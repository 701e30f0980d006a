"""From text to predicates: labels, kinds, directives, and what is refused at once."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import deepprooflog as dpl
from deepprooflog import Program, ProgramError, ProofLogError
from deepprooflog.logic.clause import Bernoulli, Clause, Constant, Neural, Trainable
from deepprooflog.logic.program import PredicateKind
from deepprooflog.syntax.terms import Atom, Functor


def clauses(text: str) -> list[Clause]:
    return list(Program(text).clauses())


def kind(program: Program, name: str, arity: int) -> PredicateKind:
    return program.predicates[Functor(name, arity)].kind


def refused(text: str) -> ProofLogError:
    with pytest.raises(ProofLogError) as caught:
        Program(text, file="a.pl")
    return caught.value


# -- labels ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("label", "value"),
    [
        ("0.3", Fraction(3, 10)),
        ("1/6", Fraction(1, 6)),
        ("1", Fraction(1)),
        ("0", Fraction(0)),
        ("1.0", Fraction(1)),
        ("2.5e-1", Fraction(1, 4)),
        ("1 - 1/3", Fraction(2, 3)),
        ("0.1 * 3", Fraction(3, 10)),
        ("(0.2 + 0.3) / 2", Fraction(1, 4)),
    ],
)
def test_a_label_is_the_decimal_as_written(label: str, value: Fraction) -> None:
    """0.3 is 3/10, not the binary float next to it."""
    (clause,) = clauses(f"{label} :: p(a).")
    assert clause.label == Constant(value)


def test_labels_on_facts_rules_and_grammar_rules() -> None:
    found = clauses("0.5 :: p(X) :- q(X), r.\n0.25 :: s --> [a], s.\nt(0.5) :: u.\nt(_) :: u.")
    assert [c.label for c in found] == [
        Constant(Fraction(1, 2)),
        Constant(Fraction(1, 4)),
        Trainable(Fraction(1, 2)),
        Trainable(None),
    ]
    assert [str(c.functor) for c in found] == ["p/1", "s/2", "u/0", "u/0"]


def test_neural_labels() -> None:
    first, second, third = clauses(
        "nn(net, [X], D, 0..3) :: digit(X, D).\n"
        "nn(net, [X, Y], S, [red, blue]) :: shade(X, Y, S) :- ok(X).\n"
        "nn(judge, [R, X]) :: believe(R, X)."
    )
    assert isinstance(first.label, Neural)
    assert first.label.domain == (0, 1, 2, 3)
    assert isinstance(second.label, Neural)
    assert second.label.domain == (Atom("red"), Atom("blue"))
    assert len(second.label.inputs) == 2
    assert isinstance(third.label, Bernoulli)
    assert (third.label.network, len(third.label.inputs)) == ("judge", 2)


def test_a_neural_grammar_rule() -> None:
    """DeepStochLog's form: the token is the input."""
    (clause,) = clauses("nn(net, [X], Y, 0..9) :: digit(Y) --> [X].")
    assert str(clause.functor) == "digit/3"
    assert isinstance(clause.label, Neural)
    assert clause.body == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1.5 :: p.", r"the label 1\.5 is 1\.5, not a probability"),
        ("-0.1 :: p.", "not a probability"),
        ("2/1 :: p.", "not a probability"),
        ("1/0 :: p.", "divides by zero"),
        ("foo :: p.", "foo is not a label"),
        ("nn(n, [X], D, 0..10000000000) :: p(X, D).", "more than 1,000,000 values"),
        (f"nn(n, [X], D, 0..{10**40}) :: p(X, D).", "more than 1,000,000 values"),
        ("X :: p.", "is not a label"),
        ("nn(net, X, D, 0..9) :: p(X, D).", "inputs must be a list"),
        ("nn(net, [], D, 0..9) :: p(D).", "inputs must be a list"),
        ("nn(Net, [X], D, 0..9) :: p(X, D).", "network's name must be an atom"),
        ("nn(net, [X], D, 9..0) :: p(X, D).", "domain must be a range"),
        ("nn(net, [X], D, [a, a]) :: p(X, D).", "holds a value twice"),
        ("nn(net, [X], D, 0..1) :: p(Y, D).", "a variable that is not in the clause"),
        ("nn(net, [X]) :: p(Y).", "a variable that is not in the clause"),
        ("0.5 :: 3.", "head must be an atom or a compound term, not 3"),
        ("0.5 :: X :- q.", "not a variable"),
        ("3 :- q.", "head must be"),
        ("p :- q, 3.", "3 cannot be called"),
        ("?- p.", "clauses, not queries"),
        (":- foo(1).", "directive foo"),
        (":- dynamic(3).", "not a predicate indicator"),
        (":- dynamic(p/(-1)).", "not a predicate indicator"),
        (f":- dynamic(p/1{'0' * 5000}).", "not a predicate indicator"),
        ("0.6 :: p. 0.6 :: p.", r"labels of p/0 for p add up to 1\.2"),
        ("0.6 :: p(X, a). 0.6 :: p(Y, a).", r"add up to 1\.2"),
        ("0.5 :: p(a). p(b).", "mixes labelled and plain"),
        ("p(b). 0.5 :: p(a).", "mixes plain and labelled"),
        ("0.5 :: p(a). t(0.5) :: p(b).", "mixes labelled and trainable"),
        ("0.5 :: p(a, 1). nn(n, [X], D, 0..1) :: p(X, D).", "mixes labelled and neural"),
        ("p(X, Y) :- q. 0.5 :: p(a, b).", "mixes plain and labelled"),
        ("true :- q.", "built in"),
        ("(a , b) :- q.", "built in"),
        ("X is Y :- q.", "built in"),
    ],
)
def test_refused_with_file_and_line(text: str, message: str) -> None:
    error = refused(f"ok.\nq.\n{text}")
    assert isinstance(error, ProgramError)
    assert (error.file, error.line) == ("a.pl", 3)
    with pytest.raises(ProgramError, match=message):
        raise error


def test_an_error_shows_its_line_and_a_caret() -> None:
    assert str(refused("p.\n  1.5 :: q.\n")).splitlines() == [
        "a.pl:2:3: error: the label 1.5 is 1.5, not a probability",
        "      1.5 :: q.",
        "      ^",
        "    try: give a number from 0 to 1",
    ]


def test_labels_of_different_heads_are_added_up_only_when_met() -> None:
    """Whether 0.6 :: p(a) and 0.6 :: p(X) meet depends on the call."""
    program = Program("0.6 :: p(a). 0.6 :: p(X) :- q(X). q(b).")
    assert dpl.prob(program, "p(b)") == 0.6
    with pytest.raises(ProgramError, match=r"match p\(a\) add up to 1\.2"):
        dpl.prob(program, "p(a)")


# -- kinds and clauses -----------------------------------------------------------------------------


def test_kinds() -> None:
    program = Program(
        "p(a). 0.5 :: q(a). t(0.5) :: r(a). nn(n, [X], D, 0..1) :: s(X, D). nn(n, [X]) :: b(X).\n"
        ":- dynamic(d/2)."
    )
    kinds = [kind(program, n, a) for n, a in [("p", 1), ("q", 1), ("r", 1), ("s", 2), ("b", 1)]]
    expected = [
        PredicateKind.PLAIN,
        PredicateKind.LABELLED,
        PredicateKind.TRAINABLE,
        PredicateKind.NEURAL,
        PredicateKind.NEURAL,
    ]
    assert kinds == expected
    assert kind(program, "d", 2) is PredicateKind.PLAIN
    assert program.defines(Functor("d", 2)) and not program.defines(Functor("d", 1))
    assert list(program.networks()) == ["n"]


def test_predicates_of_one_name_and_different_arity_are_different() -> None:
    program = Program("p(a). 0.5 :: p(a, b).")
    assert (kind(program, "p", 1), kind(program, "p", 2)) == (
        PredicateKind.PLAIN,
        PredicateKind.LABELLED,
    )


def test_clauses_of_a_predicate_need_not_stand_together() -> None:
    program = Program("p(1).\nq.\np(2).\n:- discontiguous(p/1).\np(3).")
    assert [a["X"] for a in dpl.solve(program, "p(X)")] == ["1", "2", "3"]


def test_clause_sizes_and_names() -> None:
    (clause,) = clauses("p(X, Y, _) :- q(Y, Z), r(_, X).")
    assert clause.size == 5
    assert clause.names == ("X", "Y", "_", "Z", "_")


def test_conjunctions_are_flattened_and_true_dropped() -> None:
    (clause,) = clauses("p :- (a, (b, true)), (c, d), true.")
    assert [str(a) for a in clause.body] == [str(Atom(n)) for n in "abcd"]


def test_which_predicates_reach_a_choice() -> None:
    program = Program(
        "0.5 :: coin. far :- near. near :- coin. plain :- other. other.\n"
        "by_call :- call(near). by_list(L) :- maplist(tossed, L). tossed(_) :- coin.\n"
        r"guarded :- \+ near. loop :- loop, far."
    )
    reaching = {
        str(f) for f in program.predicates if program.reaches_choice(f)
    }  # fmt: skip
    assert reaching == {
        "coin/0", "far/0", "near/0", "by_call/0", "by_list/1", "tossed/1", "guarded/0", "loop/0",
    }  # fmt: skip


def test_operators_of_the_program_hold_in_queries() -> None:
    program = Program(":- op(700, xfx, likes).\n0.25 :: mary likes wine.")
    assert dpl.prob(program, "mary likes wine") == 0.25
    assert dpl.answers(program, "X likes Y") == {"mary likes wine": 0.25}


def test_reading_a_file(tmp_path: Path) -> None:
    path = tmp_path / "coin.pl"
    path.write_text("0.5 :: coin(h).\n0.5 :: coin(t) :- nothing.\n", encoding="utf-8")
    program = Program.read(path)
    assert dpl.prob(program, "coin(h)") == 0.5
    with pytest.raises(ProgramError) as caught:
        dpl.prob(program, "coin(t)")
    assert (caught.value.file, caught.value.line) == (str(path), 2)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match="No such file") as caught:
        Program.read(tmp_path / "absent.pl")
    assert caught.value.file == str(tmp_path / "absent.pl")
    bad = tmp_path / "latin.pl"
    bad.write_bytes("p(é).".encode("latin-1"))
    with pytest.raises(ProgramError, match="not UTF-8 text"):
        Program.read(bad)


def test_a_hundred_thousand_facts() -> None:
    size = 100_000
    program = Program("\n".join(f"edge(n{i}, n{(i * 7919) % size})." for i in range(size)))
    edge = Functor("edge", 2)
    assert len(program.predicates[edge].entries) == size
    target = (77 * 7919) % size
    (found,) = program.candidates(edge, (Atom("n77"), Atom(f"n{target}")))
    assert found.place is not None and found.place.line == 78
    assert list(dpl.solve(program, "edge(n77, X), edge(Y, X)")) == [{"X": f"n{target}", "Y": "n77"}]
    assert dpl.answers(program, "edge(X, n0)") == {"edge(n0,n0)": 1.0}


def test_an_annotated_disjunction_is_told_how_to_be_written() -> None:
    with pytest.raises(ProgramError, match="an annotated disjunction") as caught:
        Program("0.3 :: a; 0.7 :: b.")
    assert (caught.value.line, caught.value.column) == (1, 1)
    assert "0.3 :: x(a). 0.7 :: x(b)." in (caught.value.hint or "")
    assert dpl.prob(Program("0.3 :: x(a). 0.7 :: x(b)."), "x(a)") == 0.3


def test_a_head_with_alternatives() -> None:
    with pytest.raises(ProgramError, match="one head, not several"):
        Program("a ; b :- c.")
