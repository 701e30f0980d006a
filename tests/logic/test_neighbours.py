"""Programs of ProbLog, DeepProbLog, DeepStochLog and Scallop: read, noticed, or refused."""

from __future__ import annotations

import warnings

import pytest

import deepprooflog as dpl
from deepprooflog.errors import Notice, ProofLogError
from deepprooflog.logic.program import Program

# What is read but means something else than it did: text, where, what the notice says.
NOTICED = {
    "0.3 :: a.\nquery(a).": (2, "nothing asks it; ask on the command line"),
    "0.3 :: a(1).\n0.2 :: a(2).\nquery(a(_)).": (3, "nothing asks it"),
    "0.3 :: a. 0.5 :: b.\nevidence(b, true).": (2, "no probability is conditioned on it"),
    "0.3 :: a. 0.5 :: b.\nevidence(a).\nquery(b).": (3, "nothing asks it"),
    "0.3 :: a.\nevidence(\\+ a).": (2, "no probability is conditioned on it"),
    "p.\nt(_) :: a.": (2, "t(0.5) leaves the rest to failing"),
}
# What is data of the program's own, or right as it is.
UNNOTICED = [
    "0.3 :: a. query(b).",
    "0.3 :: a. query(a). asked(X) :- query(X).",
    "0.3 :: a. query(a). asked :- \\+ query(a).",
    "a. query(a).",
    "0.3 :: a. evidence(a, strong).",
    "0.3 :: weather(sun). evidence(witness, true).",
    "t(_) :: a(1). t(_) :: a(2).",
    "t(0.5) :: a.",
]
# What is refused: text, column, what to write instead.
REFUSED = {
    "1/6 :: die(1); 5/6 :: die(2).": (1, "1/6 :: die(1). 5/6 :: die(2)."),
    "0.3 :: a; 0.7 :: b :- c, d.": (1, "0.3 :: x(a) :- c,d. 0.7 :: x(b) :- c,d."),
    "nn(m, [X]) :: p(X, 0); p(X, 1).": (1, "nn(m, [X], Y, [0, 1]) :: p(X, Y)."),
    "nn(m, [X], E) :: p(X, E).": (1, "dpl.goal"),
    "nn(m, [X], Y, digit) :: n(Y) --> [X].": (1, "write the values themselves"),
    "nn(m, [X], [Y], [digit]) :: n(Y) --> [X].": (1, "nn(net, [X], Y, 0..9) :: p(X, Y)."),
    "P :: a(X) :- b(X, P).": (1, "a labelled clause for each value"),
    "t(_, X) :: a(X).": (1, "t(0.3) ::"),
    ":- query(a).": (1, "dpl.prob(program, 'QUERY')"),
    ":- evidence(a, true).": (1, "p(q and e) / p(e)"),
    "rel edge = {(0, 1)}": (5, "head :- body."),
    "type edge(i32, i32)": (6, "head :- body."),
    "query path": (7, "head :- body."),
}


@pytest.mark.parametrize("text", NOTICED)
def test_what_means_something_else_is_said(text: str) -> None:
    line, said = NOTICED[text]
    with pytest.warns(Notice) as caught:
        Program(text, file="their.pl")
    found = [str(w.message) for w in caught]
    assert any(f"their.pl:{line}: " in message and said in message for message in found), found


@pytest.mark.parametrize("text", UNNOTICED)
def test_a_program_may_use_these_names(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Program(text)


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_refused_is_told_how_to_be_written(text: str) -> None:
    column, remedy = REFUSED[text]
    with pytest.raises(ProofLogError) as caught:
        Program(text)
    assert (caught.value.line, caught.value.column) == (1, column)
    assert remedy in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("text", "query", "value"),
    [
        ("1/6 :: die(1). 5/6 :: die(2).", "die(1)", 1 / 6),
        ("0.3 :: x(a) :- c,d. 0.7 :: x(b) :- c,d. c. d.", "x(b)", 0.7),
        ("t(0.5) :: a.", "a", 0.5),
    ],
)
def test_the_remedies_are_programs(text: str, query: str, value: float) -> None:
    assert dpl.prob(Program(text), query) == pytest.approx(value, abs=1e-12)


def test_a_lone_trainable_clause_is_one() -> None:
    """As the notice says, so that it is not said of a clause that could be learned."""
    with pytest.warns(Notice, match="of the only clause of a/0 is 1"):
        assert dpl.prob(Program("t(_) :: a."), "a") == 1


def test_deepproblogs_network_over_a_domain_is_read_as_it_is() -> None:
    program = Program("nn(m, [X], Y, [0,1,2]) :: digit(X, Y).")
    (clause,) = program.clauses()
    assert list(program.networks()) == ["m"] and clause.place is not None
