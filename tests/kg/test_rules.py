"""Rules: three formats into one noun, and where they go wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import deepprooflog as dpl
from deepprooflog import ProofLogError
from deepprooflog.errors import DataError, ProgramError, SyntaxProblem
from deepprooflog.kg.data import rule_remarks
from deepprooflog.kg.data.notice import DataNotice
from deepprooflog.kg.data.rule_remarks import (
    unknown_relations,
    unused_weights,
    without_integers,
)
from deepprooflog.kg.data.rules import (
    Rule,
    Rules,
    parse_rules,
    read_rules,
)
from deepprooflog.kg.data.triples import graph_of
from deepprooflog.kg.prove.program import program_of
from deepprooflog.kg.readings.backing import CAUTION

PROGRAM = "uncle(X, Y) :- brother(X, Z), father(Z, Y)."
ARROW = "r13:0.7:brother(a,h), father(h,b) -> uncle(a,b)"
TABLE = "141\t97\t0.7\tuncle(X,Y) <= brother(X,A), father(A,Y)"
SAME = "uncle(A,B) :- brother(A,C), father(C,B)."


def texts(rules: Rules) -> list[str]:
    return [str(rule) for rule in rules]


@pytest.mark.parametrize(
    ("text", "name", "weight"),
    [
        (PROGRAM, "r0", 1.0),
        ("0.7 :: " + PROGRAM, "r0", 0.7),
        (ARROW, "r13", 0.7),
        (TABLE, "r0", 0.7),
    ],
)
def test_one_rule_in_every_format(text: str, name: str, weight: float) -> None:
    rules = parse_rules("\n" + text + "\n", "rules.txt")
    assert texts(rules) == [SAME]
    assert (rules[0].id, rules[0].weight, rules[0].place) == (name, weight, "rules.txt:2")
    assert rules[0].clause.label is None
    assert rules.notices == ()


def test_constants_and_odd_names() -> None:
    arrow = parse_rules(
        "a:1:likes(x,'Ann B'), n(y,007) , co-occurs(x,\"z\") -> 'my rel'(x,y)\nlikes(X,Y) -> n(Y,X)"
    )
    assert texts(arrow) == [
        "'my rel'(A,B) :- likes(A,'Ann B'), n(B,7), 'co-occurs'(A,z).",
        "n(A,B) :- likes(B,A).",
    ]
    assert (arrow[1].id, arrow[1].weight) == ("r1", 1.0)
    table = parse_rules("9\t3\t0.3\t/film/genre(X,/m/01) <= likes(X,00260881), n(ann,2252)\n"
                        "5\t5\t1\tr(X,c) <= \n")  # fmt: skip
    assert texts(table) == [
        "'/film/genre'(A,'/m/01') :- likes(A,'00260881'), n(ann,2252).",
        "r(A,c).",
    ]
    program = parse_rules(":- dynamic(p/2).\np(a, b).\np(X, Y) :- q(X, Y, k), X \\= Y.\n")
    assert texts(program) == ["p(a,b).", "p(A,B) :- q(A,B,k), A\\=B."]


@pytest.mark.parametrize(
    ("text", "line", "column", "says"),
    [
        (ARROW + "\nr1:x:p(a,b) -> q(a,b)", 2, 4, "weight 'x'"),
        (ARROW + "\nr1:nan:p(a,b) -> q(a,b)", 2, 4, "weight 'nan'"),
        (ARROW + "\nr1:1:p(a,b), -> q(a,b)", 2, 12, "after ','"),
        (ARROW + "\nr1:1:p(a,b) q(b,c) -> q(a,c)", 2, 13, "','"),
        (ARROW + "\nr1:1:p(a,b -> q(a,b)", 2, 12, "',' or ')'"),
        (ARROW + "\nr1:1:p(a,) -> q(a,b)", 2, 10, "an argument"),
        (ARROW + "\nr1:1:p -> q(a,b)", 2, 8, "'('"),
        (ARROW + "\nr1:1: -> q(a,b)", 2, 6, "without a body"),
        (ARROW + "\nr1:1:p(a,b) -> q(a,b), r(a,b)", 2, 15, "one head, not 2"),
        (ARROW + "\nr1:1:p(a,b) -> ", 2, 15, "one head, not 0"),
        (ARROW + "\n\nr1:1:p(a,b)", 3, 12, "'->'"),
        (TABLE + "\n1\t2\tuncle(X,Y) <= p(X,Y)", 2, 1, "3 fields"),
        (TABLE + "\n1\t2\thigh\tuncle(X,Y) <= p(X,Y)", 2, 5, "confidence 'high'"),
        (TABLE + "\n1\t2\t0.5\tuncle(X,Y) :- p(X,Y)", 2, 29, "'<='"),
        (PROGRAM + "\np(X, Y :- q(X, Y).", 2, 8, ""),
        (PROGRAM + "\n\n  nn(n, [X]) :: p(X).", 3, 3, "weight"),
        (PROGRAM + "\n:- main.", 2, 1, "no rule"),
        (PROGRAM + "\n:- use_module(library(clpfd)).", 2, 1, "constraints"),
        (PROGRAM + "\n?- p(X).", 2, 1, "no rule"),
        (PROGRAM + "\n3 :- p(X).", 2, 1, "head"),
        (PROGRAM + "\np(X) :- q(X), !.", 2, None, "cut"),
        (PROGRAM + "\nX = Y :- q(X, Y).", 2, None, "built in"),
        (PROGRAM + "\nco-occurs(X, Y) :- q(X, Y).", 2, None, "hyphen"),
    ],
)
def test_a_malformed_rule_is_pointed_at(
    text: str, line: int, column: int | None, says: str
) -> None:
    with pytest.raises(ProofLogError) as caught:
        parse_rules(text, "rules.txt")
    error = caught.value
    assert isinstance(error, SyntaxProblem | ProgramError)
    assert (error.file, error.line, error.column) == ("rules.txt", line, column)
    assert says in error.message
    if column is not None:
        assert error.text == text.split("\n")[line - 1]


def test_a_file_without_rules() -> None:
    with pytest.raises(DataError, match="no rules"):
        parse_rules("% nothing yet\n\n", "rules.pl")


@pytest.mark.parametrize("text", ["p(X, Y) :- q(X, Z).", "0:1:q(x,z) -> p(x,y)"])
def test_an_unsafe_head_is_said_and_kept(text: str) -> None:
    rules = parse_rules(text, "rules.txt")
    assert len(rules) == 1
    (notice,) = rules.notices
    assert (notice.file, notice.line) == ("rules.txt", 1)
    assert "head variable Y" in notice.message
    program = program_of(graph_of([("a", "q", "b")]), rules)
    assert list(dpl.solve(program, "p(a, anything)")) == [{}]
    assert [set(answer) - {"Y"} for answer in dpl.solve(program, "p(a, Y)")] == [set()]


@pytest.mark.parametrize("guard", ["Z \\= X", "Z == X", "Y =< Z"])
def test_a_guard_over_an_unbound_variable_is_said_with_its_line(guard: str) -> None:
    rules = parse_rules(f"p(X,Y) :- q(X,Y), X \\= Y.\np(X,Y) :- {guard}, q(X,Z), q(Z,Y).", "r.pl")
    (notice,) = rules.notices
    assert str(notice).startswith("r.pl:2: warning: Z in a guard is bound by no atom before it")


def test_an_unknown_relation_is_said() -> None:
    graph = graph_of([("a", "brother", "b"), ("a", "father", "b")])
    rules = parse_rules(
        "uncle(X, Y) :- brohter(X, Z), father(Z, Y).\n"
        "far(X, Y) :- uncle(X, Y), X \\= Y, brohter(X, Y), zzz(X).",
        "rules.pl",
    )
    notices = unknown_relations(rules, graph)
    assert [(n.file, n.line) for n in notices] == [
        ("rules.pl", 1), ("rules.pl", 2), ("rules.pl", 2),
    ]  # fmt: skip
    assert notices[0].message.startswith("no triple and no rule is about brohter/2")
    assert notices[0].message.endswith("did you mean brother?")
    assert notices[1].message.startswith("no triple is about far/2 and no rule calls it")
    assert "zzz/1" in notices[2].message and "did you mean" not in notices[2].message


def test_a_misspelt_head_is_said() -> None:
    """Nothing asks for it: without a word the rule would only be missing."""
    graph = graph_of([("a", "husband", "b"), ("a", "father", "b")])
    rules = parse_rules("fahter(X, Y) :- husband(X, Y).\nhelp(X, Y) :- father(X, Y).\n", "r.pl")
    more = parse_rules("father(X, Y) :- help(X, Y).", "s.pl")
    (notice,) = unknown_relations((*rules, *more), graph)
    assert str(notice) == (
        "r.pl:1: warning: no triple is about fahter/2 and no rule calls it; did you mean father?"
    )


def test_a_rule_with_a_broken_neck_says_so() -> None:
    with pytest.raises(ProgramError) as refused:
        parse_rules("father(X, Y) : - husband(X, Z), mother(Z, Y).", "r.pl")
    assert (refused.value.file, refused.value.line) == ("r.pl", 1)
    assert "head :- body." in (refused.value.hint or "")


@pytest.mark.parametrize(("name", "count"), [("family", 48), ("wn18rr", 32), ("umls", 104)])
def test_public_rules(data_dir: Path, name: str, count: int) -> None:
    path = data_dir / "kg" / name / "rules.txt"
    rules = read_rules(path)
    lines = path.read_text().splitlines()
    assert len(rules) == len(lines) == count
    for number, (rule, line) in enumerate(zip(rules, lines, strict=True), 1):
        identity, weight, rest = line.split(":")
        assert (rule.id, rule.weight) == (identity, float(weight))
        assert rule.place.endswith(f"rules.txt:{number}")
        assert len(rule.clause.body) == rest.split("->")[0].count("(")
        assert rule.clause.functor.name == rest.split("->")[1].split("(")[0].strip()
        arguments = [a for pair in re.findall(r"\(([^()]*)\)", rest) for a in pair.split(",")]
        assert rule.clause.size == len({argument.strip() for argument in arguments})


def test_that_weights_are_not_used_is_said() -> None:
    """AnyBURL's confidences are kept with the rules; a policy learns how much each counts."""
    rules = parse_rules("141\t97\t0.68\tuncle(X,Y) <= brother(X,A), father(A,Y)\n", "anyburl.txt")
    assert rules[0].weight == 0.68
    (notice,) = unused_weights(rules)
    assert str(notice).startswith("anyburl.txt: warning: the weights of 1 rule are not used")
    assert unused_weights(parse_rules("p(X, Y) :- q(X, Y).")) == []


def test_beside_walks_it_is_said_what_a_rule_weighs() -> None:
    """Nothing of it is learned, and nothing is said where the file has counts."""
    counted = "141\t97\t0.68\tuncle(X,Y) <= brother(X,A), father(A,Y)\n"
    assert unused_weights(parse_rules(counted, "anyburl.txt"), learned=False) == []
    bare = "0.7 :: p(X, Y) :- q(X, Y). 0.4 :: p(X, Y) :- q(Y, X). p(X, Y) :- q(X, Z), q(Z, Y)."
    (notice,) = unused_weights(parse_rules(bare, "rules.pl"), learned=False)
    assert str(notice) == (
        "rules.pl: warning: the weights of 2 rules are not used: a rule weighs "
        f"support / (predictions + {CAUTION}), counted over the training triples"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("p(X, Y) :- p(X, Y).", "asks for what it concludes"),
        ("p(X, Y) :- q(X, Y), p(X, Y).", "asks for what it concludes"),
        ("p(X, Y) :- p(Y, X).", None),
        ("p(X, Y) :- q(X, Z), q(Y, W).", "parts that share no variable"),
        ("p(X, Y) :- q(X, Y), q(Z, W).", "parts that share no variable"),
        ("p(X, Y) :- q(X, Z), q(Y, W), q(Z, W).", None),
        ("p(X, c) :- q(X, Z), q(a, b).", None),
        ("p(X, Y) :- q(X, Z), q(Y, W), Z \\= W.", "parts that share no variable"),
    ],
)
def test_circular_rules_and_rules_in_parts_are_said(text: str, said: str | None) -> None:
    """With file and line, for a comma or a letter may be wrong; the rule is kept."""
    rules = parse_rules(f"q(X, Y) :- p(Y, X).\n{text}", "rules.pl")
    assert len(rules) == 2
    assert [notice.line for notice in rules.notices] == ([2] if said else [])
    assert all(said in notice.message for notice in rules.notices if said)


def test_rules_are_looked_over_when_someone_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once, and not where a run reads the rules that it was begun with."""
    looked: list[str] = []
    own = rule_remarks.remarks

    def counted(rule: Rule) -> Iterator[DataNotice]:
        looked.append(str(rule))
        return own(rule)

    monkeypatch.setattr(rule_remarks, "remarks", counted)
    rules = parse_rules("p(X, Y) :- p(X, Y).")
    assert not looked
    assert "asks for what it concludes" in rules.notices[0].message
    assert rules.notices is rules.notices and looked == ["p(A,B) :- p(A,B)."]


def test_integers_that_are_not_there_are_said() -> None:
    text = "q(X, Y) :- p(Y, X).\np(X, Y) :- q(X, Z), q(Z, Y), X < Y."
    rules = parse_rules(text, "rules.pl")
    (notice,) = without_integers(rules, graph_of([("ann", "q", "bob")]))
    assert (notice.file, notice.line) == ("rules.pl", 2)
    assert notice.message.startswith("</2 compares integers, and no entity is one")
    assert not without_integers(rules, graph_of([("ann", "q", 7)]))
    assert not without_integers([rules[0]], graph_of([("ann", "q", "bob")]))
