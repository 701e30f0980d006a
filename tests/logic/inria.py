"""The INRIA suite of ISO conformance, run by the solver row by row.

A row is `[Goal, Expected]`: `success`, `failure`, `impl_defined`, an error's formal term, or the
list of the answers, each a list of `Variable <-- Value`. Flags that a goal sets hold for the rows
after it, as in the driver that comes with the suite.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from deepprooflog.errors import PrologError, ProofLogError
from deepprooflog.logic.clause import abstract
from deepprooflog.logic.limits.budget import Budget, Spending
from deepprooflog.logic.program import Program
from deepprooflog.logic.solver.link import code_for
from deepprooflog.logic.solver.machine import Machine, copy_term
from deepprooflog.logic.unify import unify
from deepprooflog.syntax.operators import Operators
from deepprooflog.syntax.reader import Flags, ReadTerm, read_term
from deepprooflog.syntax.terms import Atom, Struct, Term, deref, iter_list, make_list, variables
from deepprooflog.syntax.writer import write_term

# No file of tests: documentation, and goals that would end the suite or need its driver.
NOT_ROWS = {"README"}
MANY = 50


@dataclass(frozen=True)
class Row:
    """A row: where it stands (file and number, from 1), the goal, what came out and should have."""

    file: str
    number: int
    goal: str
    expected: str
    outcome: str
    passed: bool

    @property
    def name(self) -> str:
        return f"{self.file} {self.number}"


def run_suite(folder: Path, program: Program) -> Iterator[Row]:
    """Every row of every file, in order."""
    for path in sorted(folder.iterdir()):
        if path.name not in NOT_ROWS:
            yield from run_file(path, program)


def run_file(path: Path, program: Program) -> Iterator[Row]:
    """The rows of one file."""
    text = path.read_text(encoding="latin-1")
    operators = program.operators.copy()
    operators.declare(20, Atom("xfx"), Atom("<--"))
    flags = Flags()
    at, number = 0, 0
    while text[at:].strip():
        try:
            read = read_term(text, operators, flags=flags, file=path.name, start=at)
        except ProofLogError as error:
            if "end of the text" in error.message:
                return
            raise
        at = read.end
        number += 1
        yield _run(path.name, number, read, program, operators, flags)


def _run(
    file: str, number: int, read: ReadTerm, program: Program, operators: Operators, flags: Flags
) -> Row:
    goal, *_, expected = iter_list(read.term)
    shown, wanted = write_term(goal), write_term(expected)
    code = code_for(program, guarded=False, compiled=False, occurs_check=False)
    machine = Machine(code, Spending(Budget(max_seconds=5)), None, io.StringIO())
    machine.flags["double_quotes"] = flags.double_quotes
    answers: list[Term] = []
    values = make_list(variables(goal))
    ending: Term | None = None
    try:
        for _ in machine.solutions(goal):
            answers.append(copy_term(values))
            if len(answers) == MANY:
                break
    except PrologError as error:
        term: Term = error.term  # type: ignore[assignment]
        ending = deref(term.args[0]) if type(term) is Struct else term
    flags.double_quotes = machine.flags["double_quotes"]
    outcome = "; ".join(map(write_term, answers)) or "failure"
    if ending is not None:
        outcome = write_term(ending)
    passed = _agrees(values, answers, ending, deref(expected))
    return Row(file, number, shown, wanted, outcome, passed)


def _agrees(values: Term, answers: list[Term], ending: Term | None, expected: Term) -> bool:
    if expected is Atom("success"):
        return ending is None and bool(answers)
    if expected is Atom("failure"):
        return ending is None and not answers
    if expected is Atom("impl_defined"):
        return True
    if type(expected) is Struct and expected.functor.name == ".":
        wanted = [_applied(values, list(iter_list(answer))) for answer in iter_list(expected)]
        return ending is None and [_variant(a) for a in answers] == [_variant(w) for w in wanted]
    # An error: what the row leaves open may be anything.
    return ending is not None and unify(copy_term(expected), copy_term(ending), [], False)


def _applied(values: Term, substitution: list[Term]) -> Term:
    trail: list[object] = []
    for binding in substitution:
        assert type(binding) is Struct
        assert unify(binding.args[0], binding.args[1], trail, False)  # type: ignore[arg-type]
    result = copy_term(values)
    for var in reversed(trail):
        var.ref = None  # type: ignore[attr-defined]
    return result


def _variant(term: Term) -> str:
    return write_term(abstract(term, {}), ignore_ops=True)
