"""The templates of all rules as tensors: which rules a call may be resolved with."""

from __future__ import annotations

import pytest

from deepprooflog.logic.program import Program
from deepprooflog.relational.call_patterns import code_of
from deepprooflog.relational.database import Database
from deepprooflog.relational.resolve import expand
from deepprooflog.relational.rules import read_rules
from deepprooflog.relational.symbols import Symbols
from deepprooflog.relational.tables import AtomLayout, Standing

BELIEF = """
p(a, b).
r(X, Y) :- p(X, Y).
r(X, Y) :- believe(r, X, Y).
nn(kge, [R, X, Y]) :: believe(R, X, Y).
"""


@pytest.mark.parametrize(
    ("nests", "believes", "offered"),
    [
        (True, True, ["p", "believe"]),
        (False, True, ["believe"]),
        (True, False, ["p"]),
        (False, False, []),
    ],
)
def test_a_standing_offers_rules(nests: bool, believes: bool, offered: list[str]) -> None:
    """A rule with a body nests; believing does not."""
    program = Program(BELIEF)
    rules = [rule for rule in read_rules(program, Symbols.of(program)) if rule.clause.body]
    standing = Standing(nests, believes)
    found = [r.clause.body[0].functor.name for r in rules if standing.offers(r)]  # type: ignore[union-attr]
    assert found == offered


@pytest.mark.parametrize(("nested", "width"), [(False, 4), (True, 5)])
def test_the_width_of_an_atom(nested: bool, width: int) -> None:
    """A predicate, three arguments, and what nesting is left where that is limited."""
    assert AtomLayout(2, 3, nested, frozenset(), frozenset(), ()).width == width


def test_patterns_are_compiled_when_they_are_met() -> None:
    """Tables know a pattern once a call has had it, by the order of their numbers."""
    text = "e(a, b). e(b, c). q(X, Y) :- e(X, Z), e(Z, Y). s(X) :- q(X, X)."
    database = Database.of(Program(text))
    before = set(database.tables.patterns)
    expand(database, database.goals(["q(X, X)", "q(a, X)", "s(a)"]))
    tables = database.tables
    assert set(tables.patterns) >= before | {(1, 1), (0, 1)}
    codes = [code_of(pattern) for pattern in tables.patterns]
    assert codes == sorted(codes) == tables.codes.tolist()
    for number, pattern in enumerate(tables.patterns):
        used = [entry for entry in pattern if entry]
        assert tables.variables[number] == len(set(used))
        assert tables.repeats[number] == (len(set(used)) < len(used))
