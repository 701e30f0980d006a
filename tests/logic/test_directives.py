"""Directives: carried out, ignored with a notice that names the place, or refused with a remedy."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

import deepprooflog as dpl
from deepprooflog.cli import main
from deepprooflog.errors import Notice, ProgramError
from deepprooflog.logic.program import Program

SILENT = [
    "op(700, xfx, likes)",
    "discontiguous p/1, q/2",
    "dynamic q/1, r/2",
    "dynamic([q/1, r/2])",
    "set_prolog_flag(double_quotes, codes)",
    "set_prolog_flag(occurs_check, false)",
    "use_module(library(lists))",
    "use_module(library(apply), [maplist/3])",
    "ensure_loaded(library(lists))",
    "dynamic(q/1), discontiguous(p/1)",
]
IGNORED = {
    "mode p(+, -)": "mode(p(+,-))",
    "mode(p(+, -))": "mode(p(+,-))",
    "module(m, [p/1])": "module(m,[p/1])",
    "initialization(main)": "initialization(main)",
    "initialization main": "initialization(main)",
    "style_check(-singleton)": "style_check(-singleton)",
    "meta_predicate p(0)": "meta_predicate(p(0))",
    "multifile q/1": "multifile(q/1)",
    "use_module(library(readutil))": "use_module(library(readutil))",
    "set_prolog_flag(verbose, silent)": "set_prolog_flag(verbose,silent)",
}
REFUSED = {
    "use_module(library(clpfd))": "between/3",
    "use_module(library(chr))": "between/3",
    "ensure_loaded(other)": "join the files",
    "use_module(other)": "join the files",
    "include('other.pl')": "join the files",
    "[other]": "join the files",
    "set_prolog_flag(unknown, fail)": "dynamic",
    "set_prolog_flag(occurs_check, true)": "occurs_check=True",
    "set_prolog_flag(prefer_rationals, true)": "floats",
    "main": "as a query",
    "X": "as a query",
}


@pytest.mark.parametrize("directive", SILENT)
def test_carried_out(directive: str) -> None:
    """Nothing is lost, so nothing is said."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(dpl.solve(Program(f":- {directive}.\np(a)."), "p(X)")) == [{"X": "a"}]


@pytest.mark.parametrize(("directive", "shown"), IGNORED.items())
def test_ignored_with_a_notice(directive: str, shown: str) -> None:
    """The notice names file, line and directive; the program runs."""
    with pytest.warns(Notice) as caught:
        program = Program(f"p(a).\n\n:- {directive}.", file="a.pl")
    (notice,) = [str(w.message) for w in caught]
    assert notice.startswith(f"a.pl:3: the directive {shown} is ignored: ")
    assert list(dpl.solve(program, "p(X)")) == [{"X": "a"}]


@pytest.mark.parametrize(("directive", "remedy"), REFUSED.items())
def test_refused_with_a_remedy(directive: str, remedy: str) -> None:
    """What would change the meaning is an error at its place."""
    with pytest.raises(ProgramError) as caught:
        Program(f"p(a).\n:- {directive}.", file="a.pl")
    assert (caught.value.file, caught.value.line) == ("a.pl", 2)
    assert remedy in str(caught.value.hint)


def test_names_of_declarations_are_plain_atoms_elsewhere() -> None:
    """`mode` is an operator inside directives only."""
    assert list(dpl.solve(Program("p(X) :- X = mode."), "p(X)")) == [{"X": "mode"}]
    assert list(dpl.solve(Program("p(mode, public)."), "p(X, Y)")) == [{"X": "mode", "Y": "public"}]


def test_a_predicate_declared_dynamic_has_no_clauses() -> None:
    """A call of it fails, and is no error."""
    assert list(dpl.solve(Program(":- dynamic q/1.\np :- q(_).\np :- \\+ q(1)."), "p")) == [{}]


def test_notes_of_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`note:` on standard error, the answers alone on standard output."""
    file = tmp_path / "a.pl"
    file.write_text(":- mode(p(-)).\np(a).\n", encoding="utf-8")
    assert main(["solve", str(file), "p(X)"]) == 0
    out, err = capsys.readouterr()
    assert out == "X = a\n"
    assert err.startswith(f"note: {file}:1: the directive mode(p(-)) is ignored")


@pytest.mark.parametrize("query", ["true", "true, true"])
def test_true_is_a_query(query: str) -> None:
    """It holds once, with probability 1."""
    assert list(dpl.solve(Program("p."), query)) == [{}]
    assert dpl.prob(Program("p."), query) == 1.0
