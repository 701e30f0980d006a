"""What users see when they mistype: the place, the line with a caret, what was expected."""

from __future__ import annotations

import pytest

from deepprooflog.errors import SyntaxProblem
from deepprooflog.syntax.reader import read_program, read_term

MESSAGES = {
    "p(X :- q.": """
a.pl:1:5: error: expected ',' or ')' in arguments, found ':-'
    p(X :- q.
        ^
    try: put the whole term in parentheses if the operator belongs to it""",
    "p(a).\nq(X) :- r(X, f(Y).": """
a.pl:2:10: error: this '(' is never closed
    q(X) :- r(X, f(Y).
             ^""",
    "p(a)\nq(b).": """
a.pl:1:5: error: expected an operator or '.', found 'q' on a later line
    p(a)
        ^
    try: end the clause with '.'""",
    "p(a)": """
a.pl:1:5: error: expected '.' at the end of the clause
    p(a)
        ^""",
    "p(X) :- q(X),.": """
a.pl:1:14: error: expected a term after ',', found the end of the clause
    p(X) :- q(X),.
                 ^""",
    "p(X) :- X == a b.": """
a.pl:1:16: error: expected an operator or '.', found 'b'
    p(X) :- X == a b.
                   ^""",
    "p('Ada).\nq(b).": """
a.pl:1:3: error: this quoted atom is not closed on its line
    p('Ada).
      ^
    try: close it with ', write \\n for a newline""",
    "p(a).\n\t/* note\nq(b).": """
a.pl:2:2: error: this block comment is never closed
     /* note
     ^
    try: close it with */""",
    "p([a, b|c, d]).": """
a.pl:1:10: error: expected ']' after the tail of the list, found ','
    p([a, b|c, d]).
             ^""",
    "p([a, b).": """
a.pl:1:8: error: expected ',', '|' or ']' in list, found ')'
    p([a, b).
           ^
    try: this bracket would have to close '['""",
    "p(X) :- X = a = b.": """
a.pl:1:15: error: the term before '=' has priority 700, at most 699 is allowed
    p(X) :- X = a = b.
                  ^
    try: put it in parentheses""",
    "p(X) :- X = - .": """
a.pl:1:13: error: the operator '-' stands where a term is expected
    p(X) :- X = - .
                ^
    try: write (-) if the atom itself is meant""",
    "p(X) :- X = \\+ a.": """
a.pl:1:13: error: the operator '\\+' has priority 900, at most 699 is allowed here
    p(X) :- X = \\+ a.
                ^
    try: put the term in parentheses""",
    "p(X) :- X(a).": """
a.pl:1:9: error: a variable cannot be a functor
    p(X) :- X(a).
            ^
    try: use call(X, …) or =..""",
    "p() :- q.": """
a.pl:1:3: error: expected a term after '(', found ')'
    p() :- q.
      ^
    try: leave out empty parentheses""",
    "p('a\\qb').": """
a.pl:1:5: error: unknown escape \\q
    p('a\\qb').
        ^
    try: escapes are \\a \\b \\f \\n \\r \\t \\v \\\\ \\' \\" \\` \\x41\\ \\101\\""",
    "p('a\tb').": """
a.pl:1:5: error: a quoted atom may not hold the control character '\\t'
    p('a b').
        ^
    try: write it as an escape: \\t""",
    "p(`a`).": """
a.pl:1:3: error: back quotes have no meaning here
    p(`a`).
      ^
    try: use '…' or "…\"""",
    "p(a)) :- q.": """
a.pl:1:5: error: expected an operator or '.', found ')'
    p(a)) :- q.
        ^""",
    "p :- q, r=.": """
a.pl:1:10: error: expected an operator or '.', found '=.'
    p :- q, r=.
             ^
    try: put a space before the '.' that ends the clause""",
}


@pytest.mark.parametrize("text", MESSAGES)
def test_message(text: str) -> None:
    with pytest.raises(SyntaxProblem) as caught:
        list(read_program(text, file="a.pl"))
    assert str(caught.value) == MESSAGES[text].lstrip("\n")


def test_query_followed_by_more() -> None:
    with pytest.raises(SyntaxProblem) as caught:
        read_term("p(X). q(X).", end_optional=True, file="<query>")
    assert (caught.value.line, caught.value.column) == (1, 7)


@pytest.mark.parametrize("text", ["", "  % nothing\n"])
def test_empty_query(text: str) -> None:
    with pytest.raises(SyntaxProblem, match="expected a term"):
        read_term(text, end_optional=True)


def test_clauses_before_the_mistake_are_read() -> None:
    """Reading is lazy: the error comes when its clause does."""
    clauses = read_program("p(a).\nq(b).\nr(c")
    assert next(clauses).line == 1
    assert next(clauses).line == 2
    with pytest.raises(SyntaxProblem):
        next(clauses)
