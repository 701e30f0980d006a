"""Which symbols a program has, and what becomes of others."""

from __future__ import annotations

import warnings

import pytest

from deepprooflog.logic.program import Program
from deepprooflog.score.embedding.vocabulary import UNKNOWN, Vocabulary
from deepprooflog.syntax.terms import CONS, NIL, Atom, Float, Functor, Str

PROGRAM = """
p(X, [a, f(b)]) :- q(X, "s", 3), \\+ r, X = c ; stop.
nn(net, [X], Y, [yes, no]) :: digit(X, Y).
q(1, 2.5, d).
q(4, 5, e).
r.
"""


def test_symbols_of_every_part_of_a_clause() -> None:
    rows = Vocabulary(Program(PROGRAM)).rows
    predicates = [("p", 2), ("q", 3), ("r", 0), ("digit", 2), ("=", 2), ("\\+", 1), (";", 2)]
    for name, arity in [*predicates, ("f", 1)]:
        assert Functor(name, arity) in rows
    for constant in ["a", "b", "c", "d", "e", "yes", "no", "[]"]:
        assert Atom(constant) in rows
    assert Str("s") in rows
    assert CONS not in rows
    assert Atom("s") not in rows
    assert sorted(rows.values()) == list(range(1, len(rows) + 1))


def test_an_atom_inside_a_control_construct_is_a_known_goal() -> None:
    vocabulary = Vocabulary(Program(PROGRAM))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert vocabulary.row(Functor("stop", 0)) != UNKNOWN


def test_unknown_symbols_are_warned_of_once() -> None:
    vocabulary = Vocabulary(Program(PROGRAM))
    with pytest.warns(UserWarning, match=r"no symbol zebra: it is embedded as <unk>"):
        assert vocabulary.row(Atom("zebra")) == UNKNOWN
    with pytest.warns(UserWarning, match=r"no symbol p/3"):
        assert vocabulary.row(Functor("p", 3)) == UNKNOWN
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert vocabulary.row(Atom("zebra")) == UNKNOWN


def test_facts_are_read_without_becoming_clauses() -> None:
    program = Program("".join(f"edge(n{i}, n{i + 1}).\n" for i in range(50)))
    rows = Vocabulary(program).rows
    assert sum(type(s) is Atom for s in rows) == 51 + 1  # and []
    assert not list(program.predicates[Functor("edge", 2)].entries.explicit())


def test_the_digest_follows_the_rows() -> None:
    texts = ["p(a). p(b).", "p(a).\np(b).", "p(b). p(a)."]
    one, same, other = (Vocabulary(Program(text)).digest() for text in texts)
    assert one == same != other


def test_numbers_may_be_names() -> None:
    """A row for each number of the program, integers and floats apart."""
    vocabulary = Vocabulary(Program("p(1, 1.0). p(7, a)."), numbers="symbols")
    rows = [vocabulary.rows[number] for number in (1, Float(1.0), 7)]
    assert len({*rows, vocabulary.rows[Atom("a")]}) == 4
    with pytest.warns(UserWarning, match="no symbol 8: it is embedded as <unk>"):
        assert vocabulary.row(8) == UNKNOWN
    assert 1 not in Vocabulary(Program("p(1, 1.0).")).rows


def test_shared_constants_have_one_row() -> None:
    """Predicates, functors and [] stay apart; a constant the program does not have is one too."""
    vocabulary = Vocabulary(Program(PROGRAM), constants="shared")
    terms = [Atom("a"), Atom("zebra"), Str("s"), 3, 99, Float(2.5), Functor("stop", 0)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert {vocabulary.row(term) for term in terms} == {len(vocabulary) - 1}  # type: ignore[arg-type]
    assert vocabulary.row(NIL) not in (UNKNOWN, len(vocabulary) - 1)
    assert vocabulary.row(Functor("r", 0)) == vocabulary.rows[Functor("r", 0)]
    assert sorted(vocabulary.rows.values()) == list(range(1, len(vocabulary) - 1))


def test_the_digest_follows_the_options() -> None:
    program = Program("p(a). p(b).")
    made = (
        Vocabulary(program),
        Vocabulary(program, numbers="symbols"),
        Vocabulary(program, constants="shared"),
    )
    assert len({vocabulary.digest() for vocabulary in made}) == 3
