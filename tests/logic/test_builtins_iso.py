"""Where ISO and SWI-Prolog differ, or the choice is ours: what the docs promise, value by value."""

from __future__ import annotations

import pytest

from deepprooflog.errors import PrologError
from deepprooflog.logic.program import Program
from deepprooflog.logic.solver.solver import Solver
from deepprooflog.syntax.reader import read_term
from deepprooflog.syntax.terms import Struct
from deepprooflog.syntax.writer import write_term

EMPTY = Program("")

# ISO 13211-1 (with corrigenda), sections 7.8, 8 and 9, where SWI-Prolog is more lenient.
ISO_ERRORS = {
    "X is 2 ^ (-1)": "type_error(float,2)",
    "X is log(0)": "evaluation_error(undefined)",
    "X is log(0.0)": "evaluation_error(undefined)",
    "findall(X, true, a)": "type_error(list,a)",
    "findall(X, true, [a|b])": "type_error(list,[a|b])",
    "bagof(X, true, a)": "type_error(list,a)",
    "atom_length(abc, -1)": "domain_error(not_less_than_zero,-1)",
    'number_codes(X, "1 2")': "syntax_error(illegal_number)",
    "atom_chars(X, ['1'|_])": "instantiation_error",
    "arg(X, Y, Z)": "instantiation_error",
    "op(1201, xfx, foo)": "domain_error(operator_priority,1201)",
    "op(700, xfx, ',')": "permission_error(modify,operator,',')",
    "set_prolog_flag(no_such_flag, 1)": "domain_error(prolog_flag,no_such_flag)",
    "set_prolog_flag(unknown, maybe)": "domain_error(flag_value,unknown+maybe)",
    "current_prolog_flag(1, X)": "type_error(atom,1)",
    "put_char(ab)": "type_error(character,ab)",
    "put_char(X)": "instantiation_error",
    "write_term(a, [quoted(maybe)])": "domain_error(write_option,quoted(maybe))",
    "write_term(a, X)": "instantiation_error",
    "assertz(foo)": "permission_error(modify,static_procedure,foo/0)",
    "assertz((foo(X) :- bar, 4))": "type_error(callable,(bar,4))",
    "retract(foo)": "permission_error(modify,static_procedure,foo/0)",
    "retract((X :- true))": "instantiation_error",
    "abolish(foo)": "type_error(predicate_indicator,foo)",
    "halt(a)": "type_error(integer,a)",
    "atom_chars(X, [f(x)])": "type_error(character,f(x))",
    "atom_codes(X, [-1])": "representation_error(character_code)",
    "atom_length(f(x), X)": "type_error(atom,f(x))",
    "atom_concat(f(x), a, X)": "type_error(atom,f(x))",
    "call([X]>>true)": "domain_error(lambda_parameters,[_G1]>>true)",
    "phrase([a|X], [a])": "type_error(list,[a|_G1])",
    "clause(X, Y)": "instantiation_error",
    "clause(atom(X), Y)": "permission_error(access,private_procedure,atom/1)",
    "current_predicate(foo)": "type_error(predicate_indicator,foo)",
    "char_code(X, -1)": "representation_error(character_code)",
    "X is 2 ** (2 ** 40)": "resource_error(memory)",
}

VALUES = {
    # A float where an operand is infinite stays infinite, as IEEE 754 says.
    "X is inf + 1": "inf",
    "atom([]), X = yes": "yes",
    "functor([a], X, _)": "'.'",
    "X is 2 ** -1": "0.5",
    "X is 2 ** 3": "8",
    "X is 5 / 2": "2.5",
    "X is 4 / 2": "2",
    "X is log2(8)": "3.0",
    "X is log(2, 8)": "3.0",
    "X is truncate(1.0e20)": "100000000000000000000",
    "X is cosh(0)": "1.0",
    "divmod(-7, 2, X, _)": "-4",
    "divmod(-7, 2, _, X)": "1",
    "current_prolog_flag(bounded, X)": "false",
    "set_prolog_flag(double_quotes, atom), current_prolog_flag(double_quotes, X)": "atom",
    "term_to_atom(X, 'foo(Bar, 1)')": "foo(Bar,1)",
    "term_to_atom(f(x, 'A', \"s\"), X)": "'f(x,\\'A\\',\"s\")'",
    'msort([b, "a", 1, f(x), 1.0, a], X)': '[1.0,1,"a",a,b,f(x)]',
    "sort(0, @>=, [c, 2, a, 2], X)": "[c,a,2,2]",
    "catch(call(1), error(type_error(T, X), _), true)": "1",
    "T = f(A, B), numbervars(T, 0, X)": "2",
    "sub_atom(abcde, 1, 3, A, X)": "bcd",
    "set_prolog_flag(unknown, fail), \\+ no_such_predicate, X = yes": "yes",
}


def _first(goal: str) -> str | None:
    read = read_term(goal, end_optional=True)
    run = Solver(EMPTY).run(read.term)
    try:
        next(run)
        return write_term(read.variables["X"])
    except StopIteration:
        return None
    finally:
        run.close()


@pytest.mark.parametrize(("goal", "formal"), ISO_ERRORS.items())
def test_iso_errors(goal: str, formal: str) -> None:
    with pytest.raises(PrologError) as caught:
        list(Solver(EMPTY).run(read_term(goal, end_optional=True).term))
    term = caught.value.term
    assert type(term) is Struct
    assert write_term(term.args[0]) == formal


@pytest.mark.parametrize(("goal", "value"), VALUES.items())
def test_values(goal: str, value: str | None) -> None:
    assert _first(goal) == value
