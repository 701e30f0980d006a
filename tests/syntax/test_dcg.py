"""Grammar rules: the clauses they become, and the sentences they accept, as in SWI-Prolog."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from deepprooflog.errors import PrologError
from deepprooflog.syntax.dcg import translate
from deepprooflog.syntax.reader import read_program, read_term
from deepprooflog.syntax.terms import Atom, Struct, struct
from deepprooflog.syntax.writer import Names, write_term

CLAUSES = {
    "d(Y) --> [X].": "d(Y,[X|_G1],_G1)",
    "a --> [].": "a(_G1,_G1)",
    "a --> [x], [y], b, [z].": "a([x,y|_G1],_G2):-b(_G1,_G3),_G3=[z|_G2]",
    "a --> ([x], b), c.": "a([x|_G1],_G2):-b(_G1,_G3),c(_G3,_G2)",
    "a, [p] --> [x].": "a([x|_G1],_G2):-_G2=[p|_G1]",
    "a --> b, {g}, !.": "a(_G1,_G2):-b(_G1,_G3),(g,_G3=_G4),!,_G4=_G2",
    "a --> X.": "a(_G1,_G2):-phrase(X,_G1,_G2)",
    "a --> call(f, x), b.": "a(_G1,_G2):-call(f,x,_G1,_G3),b(_G3,_G2)",
    'a --> "ab".': "a([97,98|_G1],_G1)",
    "0.3 :: s --> a, s.": "0.3::s(_G1,_G2):-a(_G1,_G3),s(_G3,_G2)",
    "t(0.3) :: s, [p] --> [x].": "t(0.3)::s([x|_G1],_G2):-_G2=[p|_G1]",
    "nn(net,[X],Y,dom) :: digit(Y) --> [X].": "nn(net,[X],Y,dom)::digit(Y,[X|_G1],_G1)",
}


@pytest.mark.parametrize("rule", CLAUSES)
def test_clause(rule: str) -> None:
    assert write_term(translate(read_term(rule).term)) == CLAUSES[rule]


@pytest.mark.parametrize(
    ("rule", "error"),
    [
        ("a --> 1.", struct("type_error", Atom("callable"), 1)),
        ("1 --> a.", struct("type_error", Atom("callable"), 1)),
        ("X --> a.", Atom("instantiation_error")),
    ],
)
def test_not_a_rule(rule: str, error: Struct | Atom) -> None:
    with pytest.raises(PrologError) as caught:
        translate(read_term(rule).term)
    assert caught.value.term == error


def test_long_bodies() -> None:
    """No limit on the length of a body, nor on its depth."""
    count = 10_000
    for operator, inside in ((",", "[x]"), (";", "b"), ("->", "b")):
        rule = read_term("a --> c, " + operator.join([inside] * count) + ".").term
        clause = write_term(translate(rule), ignore_ops=True)
        assert clause.count(inside.strip("[]")) == count
    deep = read_term("a --> " + "\\+ (" * count + "b" + ")" * count + ".").term
    assert write_term(translate(deep), ignore_ops=True).count("\\+") == count


GRAMMAR = r"""
s0 --> [].
s0 --> [a], s0, [b].
s1(N) --> ones(0, N).
ones(N, N) --> [].
ones(N0, N) --> [a], { N1 is N0 + 1 }, ones(N1, N).
s2 --> ( [a] -> [b] ; [b], s2 ).
s3 --> ( [a], ! ; [b] ), s3.
s3 --> [].
s4 --> \+ [a], [_], s4.
s4 --> \+ [_].
peek(X), [X] --> [X].
s5(X) --> peek(X), [X], rest.
rest --> [_], rest | [].
s6 --> call(both, a), call(both, b).
both(X, [X|S], S).
s7 --> { member(X, [[a], [b, a]]) }, X, any.
any --> [].
any --> [_], any.
s8, [b, b] --> [a], !, [a].
s9 --> s8, [b], [b], any.
s10 --> [a] *-> any ; [b].
s11 --> "", ([a] ; [a], [b] ; [b]), !, any.
s12(L) --> [b], { L = [_] }, [X], { L = [X] }.
"""
GOALS = ["s0", "s1(_)", "s2", "s3", "s4", "s5(_)", "s6", "s7", "s8", "s9", "s10", "s11", "s12(_)"]

RUNNER = r"""
sentence([], _).
sentence([W|Ws], N) :- N > 0, member(W, [a, b]), M is N - 1, sentence(Ws, M).
trial(G) :- sentence(L, 4), functor(G, F, A), functor(G1, F, A),
    forall(phrase(G1, L, R), (print(G1-L-R), nl)), fail.
trial(_).
"""


def test_sentences_as_in_swi(swipl: str, tmp_path: Path) -> None:
    """Both translations of one grammar give the same parses, in order, of all short sentences."""
    ours = []
    for clause in read_program(GRAMMAR):
        term = clause.term  # type: ignore[union-attr]
        is_rule = isinstance(term, Struct) and term.name == "-->"
        ours.append(write_term(translate(term) if is_rule else term, variable_names=Names()))
    translated = "".join(f"{clause} .\n" for clause in ours)
    theirs = accepted(swipl, tmp_path, GRAMMAR)
    assert len(theirs) > 200
    assert accepted(swipl, tmp_path, translated) == theirs


def accepted(swipl: str, folder: Path, grammar: str) -> list[str]:
    goals = ", ".join(f"trial({goal})" for goal in GOALS)
    program = f":- style_check(-singleton).\n{grammar}\n{RUNNER}\n:- {goals}, halt.\n"
    (folder / "grammar.pl").write_text(program)
    command = [swipl, "-q", "-t", "halt", "grammar.pl"]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    assert not run.stderr, run.stderr
    return run.stdout.splitlines()
