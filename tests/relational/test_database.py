"""What the relational engine takes and refuses, and what it says then."""

from __future__ import annotations

import pytest
import torch

from deepprooflog.errors import ProgramError, ProofLogError
from deepprooflog.logic.program import Program
from deepprooflog.relational.database import Database
from deepprooflog.relational.layers import explore
from deepprooflog.relational.sweep import provable
from deepprooflog.relational.symbols import Symbols
from deepprooflog.syntax.terms import Atom, Functor

REFUSED = {
    "p(a).\np(X) :- q(f(X)).\nq(a).": (2, "compound"),
    "p(a).\np(f(a)).": (2, "compound"),
    "q(a).\n\np(X) :- q(X), !.": (3, "a cut"),
    "q(a).\np(X) :- q(X), X = a.": (2, "builtin =/2"),
    "q(a).\np(X) :- \\+ q(X).": (2, r"builtin \\+/1"),
    "q(a).\np(X) :- r(X).": (2, "no clause defines r/1"),
    "0.5 :: p(a).": (1, "labelled"),
    "t(0.5) :: p(a).": (1, "labelled"),
    "q(a).\nnn(net, [X]) :: p(X) :- q(X).": (2, "with a body"),
    "nn(net, [X]) :: p(X, a).": (1, "distinct variables"),
    "q(a).\np(X) :- ground(X), q(X).": (2, "does not guard"),
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_has_no_form_is_refused_by_line(text: str) -> None:
    line, message = REFUSED[text]
    with pytest.raises(ProofLogError) as caught:
        Database.of(Program(text, file="some.pl"))
    assert message.replace("\\\\", "\\") in str(caught.value)
    assert (caught.value.file, caught.value.line) == ("some.pl", line)


@pytest.mark.parametrize(
    ("query", "message", "hint"),
    [
        ("parnt(ann, X)", "no clause defines parnt/2", "did you mean parent/2?"),
        ("parent(ann)", "no clause defines parent/1", "did you mean parent/2?"),
        ("parent(anne, X)", "anne occurs nowhere", "did you mean ann?"),
        ("parent(f(ann), X)", "f(ann) in a query is no constant", "constants"),
    ],
)
def test_unknown_names_in_queries(query: str, message: str, hint: str) -> None:
    database = Database.of(Program("parent(ann, bob)."))
    with pytest.raises(ProgramError) as caught:
        database.goals([query])
    assert message in caught.value.message and hint in (caught.value.hint or "")


def test_a_declared_predicate_without_clauses_fails() -> None:
    database = Database.of(Program(":- dynamic(q/1). p(X) :- q(X). p(a)."))
    layers = explore(database, database.goals(["p(a)", "q(a)"]), max_depth=9)
    assert provable(layers).tolist() == [True, False]


def test_facts_from_arrays_are_facts_from_text() -> None:
    text = "p(a, b). p(b, c). p(a, b). u(c). "
    rule = "r(X, Y) :- p(X, Z), p(Z, Y), u(Y). r(d, d)."
    symbols = Symbols((Functor("p", 2), Functor("u", 1)), tuple(map(Atom, "abc")))
    columns = {0: torch.tensor([[0, 1], [1, 2], [0, 1]]), 1: torch.tensor([[2]])}
    one = Database.of_columns(symbols, columns, Program(rule))
    two = Database.of(Program(text + rule))
    assert one.symbols.predicates == (Functor("p", 2), Functor("u", 1), Functor("r", 2))
    assert one.symbols.constants == tuple(map(Atom, "abcd"))
    assert one.facts.duplicates == two.facts.duplicates == 1
    assert one.facts.arguments.tolist() == two.facts.arguments.tolist()
    queries = ["r(a, c)", "r(d, d)", "r(b, c)", "p(a, X)"]
    for database in (one, two):
        layers = explore(database, database.goals(queries), max_depth=9)
        assert provable(layers).tolist() == [True, True, False, True]


@pytest.mark.parametrize(
    ("predicate", "rows", "message"),
    [
        (0, [[0, 9]], "constant"),
        (0, [[0, -1]], "constant"),
        (0, [[0, 1, 1]], "p/2 with 3 columns"),
        (5, [[0, 1]], "number 5"),
    ],
)
def test_arrays_that_do_not_fit(predicate: int, rows: list[list[int]], message: str) -> None:
    symbols = Symbols((Functor("p", 2),), (Atom("a"), Atom("b")))
    with pytest.raises(ProgramError, match=message):
        Database.of_columns(symbols, {predicate: torch.tensor(rows)}, Program(""))


def test_facts_of_a_program_that_ran_are_numbered_alike() -> None:
    """A lookup makes clauses of facts; their order does not change."""
    text = "".join(f"p(c{i}, c{i % 3}). " for i in range(30)) + "p(X, X) :- p(X, c1)."
    used = Program(text)
    used.candidates(Functor("p", 2), (Atom("c7"), Atom("c1")))
    used.candidates(Functor("p", 2), (Atom("c20"), Atom("c2")))
    fresh = Database.of(Program(text))
    assert Database.of(used).facts.arguments.tolist() == fresh.facts.arguments.tolist()
    assert Database.of(used).symbols == fresh.symbols


def test_the_widest_predicate() -> None:
    def program(arity: int) -> Program:
        return Program(
            f"w({', '.join(map(str, range(arity)))}). r(X) :- w(X, {', '.join('_' * (arity - 1))})."
        )

    database = Database.of(program(19))
    layers = explore(database, database.goals(["r(0)", "r(1)"]), max_depth=9)
    assert provable(layers).tolist() == [True, False]
    with pytest.raises(ProgramError, match=r"w/20 has more arguments .*\(19\)"):
        Database.of(program(20))


def test_nesting_below_zero_is_refused() -> None:
    with pytest.raises(ProgramError, match="-1"):
        Database.of(Program("p(a)."), nesting=-1)


def test_a_database_moves() -> None:
    database = Database.of(Program("p(a). q(X) :- p(X)."), nesting=1)
    explore(database, database.goals(["q(X)"]), max_depth=9)
    moved = database.to("cpu")
    layers = explore(moved, moved.goals(["q(X)"]), max_depth=9)
    assert provable(layers).tolist() == [True]
