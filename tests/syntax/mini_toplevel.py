"""Just enough of a Prolog top level to run rows of a conformance table of syntax.

Deterministic goals only: the rows never need a second solution. `run` answers with what the table
lists: the text printed, `syntax err.`, `fails`, an error term, or None for plain success.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field

from deepprooflog.errors import PrologError, SyntaxProblem
from deepprooflog.logic.unify import undo, unify
from deepprooflog.syntax.operators import Operators
from deepprooflog.syntax.reader import Flags, read_term, set_flag
from deepprooflog.syntax.terms import (
    Atom,
    Float,
    Functor,
    Struct,
    Term,
    Var,
    deref,
    functor_of,
    iter_list,
    struct,
)
from deepprooflog.syntax.writer import write_term

ARITHMETIC: dict[str, Callable[..., object]] = {
    "+": operator.add,
    "mod": operator.mod,
    "**": operator.pow,
    "-": operator.neg,
}
TYPE_TESTS: dict[str, Callable[[Term], bool]] = {
    "integer": lambda t: type(t) is int,
    "float": lambda t: type(t) is Float,
    "atom": lambda t: type(t) is Atom,
    "compound": lambda t: type(t) is Struct,
    "var": lambda t: type(t) is Var,
}


def evaluate(term: Term) -> int | float:
    term = deref(term)
    if isinstance(term, int):
        return term
    if isinstance(term, Float):
        return term.value
    assert isinstance(term, Struct), term
    return ARITHMETIC[term.name](*[evaluate(a) for a in term.args])  # type: ignore[return-value]


@dataclass
class TopLevel:
    operators: Operators = field(default_factory=Operators)
    flags: Flags = field(default_factory=Flags)
    printed: str = ""
    rest: str = ""
    trail: list[Var] = field(default_factory=list)

    def run(self, text: str) -> str | None:
        """Read one query from the text and run it; the rest of the text is its input."""
        self.printed = ""
        try:
            read = read_term(text, self.operators, flags=self.flags)
            self.rest = text[read.end :]
            succeeded = self.call(read.term)
        except SyntaxProblem:
            return "syntax err."
        except PrologError as error:
            return self.writeq(error.term)  # type: ignore[arg-type]
        if not succeeded:
            return "fails"
        return self.printed or None

    def writeq(self, term: Term) -> str:
        return write_term(term, operators=self.operators, numbervars=True)

    def call(self, goal: Term) -> bool:
        goal = deref(goal)
        functor = functor_of(goal)
        assert functor is not None, goal
        args = [deref(a) for a in goal.args] if isinstance(goal, Struct) else []
        name = functor.name
        if name == "," and functor.arity == 2:
            return self.call(args[0]) and self.call(args[1])
        if name in TYPE_TESTS and functor.arity == 1:
            return TYPE_TESTS[name](args[0])
        method: Callable[..., bool] | None = METHODS.get(functor)
        if method is None:
            indicator = struct("/", Atom(name), functor.arity)
            raise PrologError("", term=struct("existence_error", Atom("procedure"), indicator))
        return method(self, *args)

    def unify(self, a: Term, b: Term) -> bool:
        return unify(a, b, self.trail)

    def fail(self) -> bool:
        return False

    def naf(self, goal: Term) -> bool:
        mark = len(self.trail)
        succeeded = self.call(goal)
        undo(self.trail, mark)
        return not succeeded

    def catch(self, goal: Term, catcher: Term, recovery: Term) -> bool:
        try:
            return self.call(goal)
        except PrologError as error:
            thrown = struct("error", error.term, Var())  # type: ignore[arg-type]
            if self.unify(thrown, catcher):
                return self.call(recovery)
            raise

    def is_(self, result: Term, expression: Term) -> bool:
        value = evaluate(expression)
        return self.unify(result, value if isinstance(value, int) else Float(value))

    def equal(self, a: Term, b: Term) -> bool:
        return evaluate(a) == evaluate(b)

    def print_quoted(self, term: Term) -> bool:
        self.printed += self.writeq(term)
        return True

    def write_canonical(self, term: Term) -> bool:
        self.printed += write_term(term, operators=self.operators, ignore_ops=True)
        return True

    def write_term(self, term: Term, options: Term) -> bool:
        assert list(iter_list(options)) == []
        self.printed += write_term(term, quoted=False, operators=self.operators)
        return True

    def op(self, priority: Term, type: Term, names: Term) -> bool:
        self.operators.declare(priority, type, names)
        return True

    def current_op(self, priority: Term, type: Term, name: Term) -> bool:
        for p, t, n in self.operators:
            mark = len(self.trail)
            if self.unify(struct("op", p, Atom(t), Atom(n)), struct("op", priority, type, name)):
                return True
            undo(self.trail, mark)
        return False

    def set_flag(self, name: Term, value: Term) -> bool:
        set_flag(self.flags, name, value)
        return True

    def get_char(self, char: Term) -> bool:
        first, self.rest = self.rest[:1], self.rest[1:]
        return self.unify(char, Atom(first or "end_of_file"))

    def functor(self, term: Term, name: Term, arity: Term) -> bool:
        assert isinstance(term, Struct)
        return self.unify(name, Atom(term.name)) and self.unify(arity, len(term.args))

    def char_code(self, char: Term, code: Term) -> bool:
        if isinstance(char, Atom):
            return self.unify(code, ord(char.name))
        assert isinstance(code, int)
        return self.unify(char, Atom(chr(code)))


METHODS: dict[Functor, Callable[..., bool]] = {
    Functor("=", 2): TopLevel.unify,
    Functor("false", 0): TopLevel.fail,
    Functor("\\+", 1): TopLevel.naf,
    Functor("catch", 3): TopLevel.catch,
    Functor("is", 2): TopLevel.is_,
    Functor("=:=", 2): TopLevel.equal,
    Functor("writeq", 1): TopLevel.print_quoted,
    Functor("write_canonical", 1): TopLevel.write_canonical,
    Functor("write_term", 2): TopLevel.write_term,
    Functor("op", 3): TopLevel.op,
    Functor("current_op", 3): TopLevel.current_op,
    Functor("set_prolog_flag", 2): TopLevel.set_flag,
    Functor("get_char", 1): TopLevel.get_char,
    Functor("functor", 3): TopLevel.functor,
    Functor("char_code", 2): TopLevel.char_code,
}
