"""Programs: clauses in order, the short cut for plain facts, directives that change the syntax."""

from __future__ import annotations

import time

import pytest

from deepprooflog.errors import PrologError
from deepprooflog.syntax.lexer import tokenize
from deepprooflog.syntax.operators import Operators
from deepprooflog.syntax.reader import (
    Fact,
    Flags,
    ReadTerm,
    apply_directive,
    read_program,
    read_term,
)
from deepprooflog.syntax.terms import Atom, Float, Str, Struct, Term, make_list, struct
from deepprooflog.syntax.writer import write_term

# What the short cut must get right or leave to the parser.
PROGRAMS = {
    "several on a line": "p(a). p(b). % p(c).\nr(d).",
    "block comments": "/* p(d).\np(e). */ p(-1). p(- 1).",
    "quotes over lines": "q('p(\\\nf).').\np(g).\nq(\"p(a).\\\n\").\np(h).",
    "operators as atoms": "p(-,+,mod). mod(a,b). dynamic(a). p(:-). p(is).",
    "odd quotes": "p('a,b', 'c'). p('it''s'). p('x)y'). p('%'). p('/*'). p('*/'). p(''). p('A').",
    "numbers": "p(0'a). p(0x1F). p(007). p(1.5). p(-0.0). p(1.0e3). p(12345678901234567890).",
    "infix by directive": ":- op(200, xfy, a). p(a). p(a,a). p(b a c).",
    "prefix by directive": ":- op(200, fy, a). p(a). p(a,a). p(a b).",
    "minus no operator": ":- op(0, fy, -). p(-1). p(-1,a).",
    "strings": ':- set_prolog_flag(double_quotes, codes). p("a"). p(a).',
    "layout": "p(a)\n.\np( a ). p(a ,b). p(a,\nb). p(a,  b). p(A). p(_).\tp(a).\n\n\np(b).",
    "rules": "p(a).% end\n0.3 :: p(a). p(a) --> [b]. p(a) :- q. p :- q(a).",
    "letters": "p(é). é(a). p('é'). p(aé). pé(a).",
    "carriage returns": "p(a).\r\np(b).\r\n",
}


def shown(item: Fact | ReadTerm) -> str:
    term = Struct(item.functor, item.args) if isinstance(item, Fact) else item.term
    return f"{item.line}: {write_term(term, ignore_ops=True)}"


def clause_by_clause(text: str) -> list[str]:
    """The program read by the parser alone."""
    operators, flags, start, result = Operators(), Flags(), 0, []
    while len(tokenize(text, start)) > 1:
        read = read_term(text, operators, flags=flags, start=start)
        apply_directive(read, operators, flags, "<text>")
        result.append(shown(read))
        start = read.end
    return result


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_short_cut_never_changes_meaning(text: str) -> None:
    assert [shown(item) for item in read_program(text)] == clause_by_clause(text)


def test_short_cut_is_taken() -> None:
    kinds = [type(item) for item in read_program("p(a). p(X). p(b, 'C', -3, 0.5). q :- p(a).")]
    assert kinds == [Fact, ReadTerm, Fact, ReadTerm]


def test_plain_facts_read_fast() -> None:
    """At a million facts in 15 s of processor time, 100,000 take 1.5 s."""
    count = 100_000
    text = "".join(f"r{i % 20}(e{i % 977},e{i % 1009}).\n" for i in range(count))
    begin = time.process_time()
    facts = [item for item in read_program(text) if isinstance(item, Fact)]
    assert time.process_time() - begin < 1.5
    assert [fact.line for fact in facts] == list(range(1, count + 1))
    assert facts[1000] == Fact(facts[0].functor, (Atom("e23"), Atom("e1000")), 1001)


def test_lines_and_columns() -> None:
    text = "p(a).\n  p(X) :-\n    q(X).\n/* c\n */ r(b). s :- t.\n"
    places = [
        (item.line, item.column if isinstance(item, ReadTerm) else None)
        for item in read_program(text)
    ]
    assert places == [(1, None), (2, 3), (5, None), (5, 11)]


def test_variables_in_order_of_occurrence() -> None:
    read = read_term("p(Y, _, X, _Z, Y, _).")
    assert list(read.variables) == ["Y", "X", "_Z"]
    assert isinstance(read.term, Struct)
    args = read.term.args
    assert args[0] is args[4] is read.variables["Y"]
    assert args[1] is not args[5]


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("codes", make_list([97, 98])),
        ("chars", make_list([Atom("a"), Atom("b")])),
        ("atom", Atom("ab")),
        ("string", Str("ab")),
    ],
)
def test_double_quotes(flag: str, value: Term) -> None:
    directive = f":- set_prolog_flag(double_quotes, {flag})."
    items = list(read_program(f'{directive}\np(X) :- X = "ab".'))
    rule = items[1]
    assert isinstance(rule, ReadTerm)
    assert rule.term == struct(":-", struct("p", rule.variables["X"]), struct(
        "=", rule.variables["X"], value))  # fmt: skip


def test_directives_change_the_table_passed_in() -> None:
    operators = Operators()
    other = operators.copy()
    list(read_program(":- op(700, xfx, [likes, '===>']), op(0, xfx, is).", operators=operators))
    assert read_term("a likes b.", operators).term == struct("likes", Atom("a"), Atom("b"))
    assert "is" not in operators
    assert "likes" not in other
    assert "is" in other


def test_bad_directive_has_its_place() -> None:
    with pytest.raises(PrologError) as caught:
        list(read_program("p(a).\n:- op(700, xfx, ',').", file="a.pl"))
    assert (caught.value.file, caught.value.line) == ("a.pl", 2)
    assert caught.value.term == struct(
        "permission_error", Atom("modify"), Atom("operator"), Atom(",")
    )


@pytest.mark.parametrize(
    ("text", "functional"),
    [
        ("0.3 :: h :- b, c.", ":-(::(0.3,h),','(b,c))"),
        ("1/6 :: h.", "::(/(1,6),h)"),
        ("t(0.3) :: h --> b.", "-->(::(t(0.3),h),b)"),
        ("nn(m,[X],D,0..9) :: d(X,D).", "::(nn(m,'.'(X,[]),D,..(0,9)),d(X,D))"),
        ("nn(m,[X],D,[a,b]) :: d(D) --> [X].",
         "-->(::(nn(m,'.'(X,[]),D,'.'(a,'.'(b,[]))),d(D)),'.'(X,[]))"),
        (":- dynamic p/1, q/2.", ":-(dynamic(','(/(p,1),/(q,2))))"),
        ("a :- (b -> c ; d *-> e | f).", ":-(a,;(->(b,c),'|'(*->(d,e),f)))"),
    ],
)  # fmt: skip
def test_program_syntax(text: str, functional: str) -> None:
    assert write_term(read_term(text).term, ignore_ops=True) == functional


def test_query_without_full_stop() -> None:
    for text in ("p(X), q", "p(X), q.", "p(X), q. % done", " p(X), q \n"):
        read = read_term(text, end_optional=True)
        assert write_term(read.term) == "p(X),q"


def test_rest_of_text_is_left() -> None:
    text = "p. q. r."
    first = read_term(text)
    second = read_term(text, start=first.end)
    assert second.term is Atom("q")
    assert text[second.end :] == " r."


@pytest.mark.parametrize("digits", [5, 599, 601, 4301, 20_000])
def test_long_integers(digits: int) -> None:
    assert read_term("-1" + "0" * digits + "7.").term == -(10 ** (digits + 1) + 7)


def test_negative_zero() -> None:
    assert read_term("-0.0.").term == Float(-0.0)
    assert read_term("-0.0.").term != Float(0.0)


def test_byte_order_mark_is_skipped() -> None:
    assert [shown(item) for item in read_program("\ufeffp(a).")] == ["1: p(a)"]


def test_empty_program() -> None:
    assert list(read_program("% nothing\n/* here */\n")) == []
