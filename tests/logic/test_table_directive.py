"""`:- table`: exact inference tables what is declared; plain resolution says that it cannot."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

import deepprooflog as dpl
from deepprooflog.cli import main
from deepprooflog.syntax.terms import Functor

# x = path(a, c), y = path(a, b), z = path(a, a): x = y/2, y = z/2 + 1/2, z = x/2.
PATH = """
:- table path/2.
0.5 :: path(X, Y) :- path(X, Z), e(Z, Y).
0.5 :: path(X, Y) :- e(X, Y).
e(a, b). e(b, c). e(c, a).
asks(X) :- path(a, X).
0.25 :: other.
"""


def test_tables_are_used_where_they_are_asked_for() -> None:
    program = dpl.Program(PATH)
    for query in ("path(a, c)", "asks(c)"):
        result = dpl.success(program, query)
        assert (result.method, result.exact) == ("tabled", True)
        assert result.lower == pytest.approx(2 / 7, rel=1e-12)
    assert dpl.success(program, "other").method == "graph"
    assert (
        dpl.success(program, "asks(c)", method="graph", budget=dpl.Budget(max_goals=50)).method
        == "graph"
    )
    model = dpl.Model(program)
    compiled = model.compile(["asks(c)", "asks(b)", "other"])
    assert [p.queries.tolist() for p in compiled.tabled] == [[0], [1]]
    assert model.log_prob(compiled).exp().tolist() == pytest.approx([2 / 7, 4 / 7, 1 / 4])


@pytest.mark.parametrize(
    ("directive", "names"),
    [
        ("p/1", {"p": 1}),
        ("p/1, q/2", {"p": 1, "q": 2}),
        ("[p/1, q/2]", {"p": 1, "q": 2}),
        ("p//1", {"p": 3}),
        ("p(_, _)", {"p": 2}),
    ],
)
def test_what_a_directive_names(directive: str, names: dict[str, int]) -> None:
    program = dpl.Program(f"a.\n:- table {directive}.\n")
    assert set(program.tabled) == {Functor(n, a) for n, a in names.items()}
    assert {p.line for p in program.tabled.values()} == {2}


@pytest.mark.parametrize("directive", ["p(_, min)", "3", "X", "p//x", "p/q"])
def test_what_is_refused(directive: str) -> None:
    with pytest.raises(dpl.ProofLogError) as caught:
        dpl.Program(f"a.\n:- table {directive}.\n")
    assert caught.value.line == 2


def test_solve_warns_where_a_query_reaches_what_should_be_tabled(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "a.\n:- table q/1.\nq(1). q(2).\np(X) :- q(X).\nr(3).\n"
    program = dpl.Program(text, file="some.pl")
    with pytest.warns(UserWarning, match=r"some\.pl:2: solve has no tables: it takes q/1"):
        assert list(dpl.solve(program, "p(X)")) == [{"X": "1"}, {"X": "2"}]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(dpl.solve(program, "r(X)")) == [{"X": "3"}]
    path = tmp_path / "some.pl"
    path.write_text(text)
    assert main(["solve", str(path), "p(X)"]) == 0
    out, err = capsys.readouterr()
    assert out == "X = 1\nX = 2\n"
    assert err.count("solve has no tables") == 1
    assert f"{path}:2" in err
