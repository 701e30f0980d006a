"""Rules written in every form and read again."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepprooflog.errors import DataError, SyntaxProblem
from deepprooflog.kg.data.rule_files.rule_counts import RuleCounts
from deepprooflog.kg.data.rule_files.rule_table import parse
from deepprooflog.kg.data.rule_files.rule_writing import CONTROL, FORMS, rules_text, write_rules
from deepprooflog.kg.data.rules import Rule, parse_rules, read_rules
from deepprooflog.logic.clause import Clause, abstract
from deepprooflog.syntax.terms import Atom, Functor, Struct, Term, Var

AMIE = """\
Loading files...
Rule\tHead Coverage\tStd Confidence\tPCA Confidence\tPositive Examples\tBody size\tPCA Body size\tFunctional variable
?a  /film/film/executive_produced_by  ?b   => ?a  /film/film/edited_by  ?b\t0.044692737\t0.012084592\t0.101265823\t8\t662\t79\t?a
?a  /music/genre/artists  ?h  ?h  role  guitar   => ?a  family  guitar\t0.01\t0.00053135\t1\t1\t1882\t1\t?a
Mining done in 2.3 s
"""  # noqa: E501


def test_amie_is_read() -> None:
    rules = parse_rules(AMIE, "amie.tsv")
    assert [str(rule) for rule in rules] == [
        "'/film/film/edited_by'(A,B) :- '/film/film/executive_produced_by'(A,B).",
        "family(A,guitar) :- '/music/genre/artists'(A,B), role(B,guitar).",
    ]
    assert [rule.weight for rule in rules] == [0.012084592, 0.00053135]
    assert rules[0].counts == RuleCounts(8, 662, 79, 179)
    assert (rules[1].id, rules[1].place) == ("r1", "amie.tsv:4")


def test_the_numbers_of_a_table_are_kept() -> None:
    rules = parse_rules("20\t10\t0.5\tknows(X,Y) <= knows(Y,X)", "rules.txt")
    assert rules[0].counts == RuleCounts(10, 20)
    (bare,) = parse_rules("knows(X,lisa) <= likes(X,lisa)", "rules.txt")
    assert (str(bare), bare.weight, bare.counts) == ("knows(A,lisa) :- likes(A,lisa).", 1.0, None)


@pytest.mark.parametrize(
    ("text", "column", "says"),
    [
        ("?a  r  ?b   => ?a  s  ?b", 25, "1 fields"),
        ("?a  r   => ?a  s  ?b\t1\t1\t1\t1\t1\t1\t?a", 1, "three parts"),
        ("   => ?a  s  ?b\t1\t1\t1\t1\t1\t1\t?a", 4, "without a body"),
        ("?a  r  ?b   => ?a  s  ?b\t1\thigh\t1\t1\t1\t1\t?a", 28, "confidence 'high'"),
    ],
)
def test_a_malformed_line_of_amie_is_pointed_at(text: str, column: int, says: str) -> None:
    with pytest.raises(SyntaxProblem) as caught:
        parse_rules(text, "amie.tsv")
    assert (caught.value.line, caught.value.column) == (1, column)
    assert says in caught.value.message


NAMES = st.one_of(
    st.sampled_from(
        ["r", "father_of", "/film/genre", "A", "X", "007", "co-occurs", "Ann B", "it's"]
    ),
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=6),
)
CONSTANTS = st.one_of(st.integers(-50, 5000), NAMES.map(Atom))


@st.composite
def rules(draw: st.DrawFn) -> list[Rule]:
    """Rules of binary atoms over variables and constants, with and without counts."""
    found = []
    for number in range(draw(st.integers(1, 3))):
        variables = [Var(name) for name in "XYZW"]
        argument = st.one_of(st.sampled_from(variables), CONSTANTS)
        atom = st.builds(
            lambda name, x, y: Struct(Functor(name, 2), (x, y)),
            NAMES.filter(lambda name: name not in ("=", ":-", *CONTROL)),
            argument,
            argument,
        )
        terms: list[Term] = draw(st.lists(atom, min_size=2, max_size=4))
        numbers: dict[Var, int] = {}
        head, *body = (abstract(term, numbers) for term in terms)
        assert type(head) is Struct
        clause = Clause(head, tuple(body), len(numbers), names=("V",) * len(numbers))
        weight = draw(st.floats(0, 1, allow_subnormal=False))
        counts = None
        if draw(st.booleans()):
            size = draw(st.integers(1, 10**6))
            support = draw(st.integers(1, size))
            counts = RuleCounts(support, size, size, draw(st.integers(support, 10**6)))
        found.append(Rule(clause, f"r{number}", weight, counts))
    return found


@pytest.mark.parametrize("name", CONTROL)
def test_a_relation_that_a_program_would_read_otherwise_is_refused(name: str) -> None:
    x = Var("X")
    body = Struct(Functor(name, 2), (x, x))
    head, atom = (abstract(t, {x: 0}) for t in (Struct(Functor("r", 2), (x, x)), body))
    assert type(head) is Struct
    with pytest.raises(DataError, match="no relation in a program"):
        rules_text([Rule(Clause(head, (atom,), 1, names=("X",)), "r0", 1.0)])


@pytest.mark.parametrize("form", FORMS)
@given(rules=rules())
def test_what_is_written_is_read(form: str, rules: list[Rule]) -> None:
    """Or refused: never another rule."""
    try:
        text = rules_text(rules, form)
    except DataError:
        assert form != "program"
        return
    again = list(parse(text, "rules.pl" if form == "program" else "rules.txt"))
    assert [str(rule) for rule in again] == [str(rule) for rule in rules]
    assert [rule.weight for rule in again] == [
        rule.weight if form != "program" or any(r.weight != 1 or r.counts for r in rules) else 1.0
        for rule in rules
    ]
    for old, new in zip(rules, again, strict=True):
        if old.counts is None or form in ("program", "arrow"):
            assert new.counts is None
        elif form == "amie":
            assert new.counts == old.counts
        else:
            assert new.counts == RuleCounts(old.counts.support, old.counts.predictions)


def test_a_program_says_what_was_counted(tmp_path: Path) -> None:
    (rule,) = parse_rules("0.6 :: uncle(X, Y) :- brother(X, Z), father(Z, Y).")
    counted = Rule(rule.clause, "r0", 0.6, RuleCounts(3, 5, 4, 30, "uncle(a,b)"))
    path = tmp_path / "rules.pl"
    write_rules([counted], path)
    assert path.read_text() == (
        "% support 3 of 5, head coverage 0.1, PCA confidence 0.75, e.g. uncle(a,b)\n"
        "0.6 :: uncle(A,B) :- brother(A,C), father(C,B).\n"
    )
    (again,) = read_rules(path)
    assert (str(again), again.weight) == (str(rule), 0.6)


@pytest.mark.parametrize(
    ("text", "form", "says"),
    [
        ("p(X, Y) :- q(X, Y), X \\= Y.", "anyburl", "A\\=B in the rule"),
        ("p(X, Y) :- q(X, [Y]).", "amie", "[B]"),
        ("p(X, Y) :- q(X, Y, c).", "amie", "q/3"),
        ("p(X, 'a b') :- q(X, X).", "amie", "'a b'"),
        ("p(X, c) :- q(X, cc).", "pyclause", "letter"),
        ("p(a, b).", "arrow", "without a body"),
        ("p(X, Y) :- 'q->r'(X, Y).", "arrow", "q->r"),
    ],
)
def test_what_a_form_cannot_say_is_refused(text: str, form: str, says: str) -> None:
    with pytest.raises(DataError) as caught:
        rules_text(parse_rules(text, "rules.pl"), form)
    assert says in caught.value.message
    assert caught.value.file == "rules.pl" and caught.value.line == 1


def test_an_unknown_form() -> None:
    with pytest.raises(DataError, match="rdf"):
        rules_text([], "rdf")


def test_a_weight_that_is_no_label() -> None:
    (rule,) = parse_rules("r0:1.7:q(a,b) -> p(a,b)")
    with pytest.raises(DataError, match=r"1\.7"):
        rules_text([rule])
    assert rules_text([rule], "arrow") == "r0:1.7:q(A,B) -> p(A,B)\n"
