"""SWI-Prolog answering a file of goals in one process, and the same goals run by our solver.

Both sides give canonical terms, so that nothing depends on how either spaces or names things.
"""

from __future__ import annotations

import io
import subprocess
from dataclasses import dataclass
from pathlib import Path

from deepprooflog.errors import PrologError
from deepprooflog.logic.clause import abstract
from deepprooflog.logic.limits.budget import Budget, Spending
from deepprooflog.logic.program import Program
from deepprooflog.logic.solver.link import code_for
from deepprooflog.logic.solver.machine import Machine, copy_term
from deepprooflog.syntax.reader import read_program, read_term
from deepprooflog.syntax.terms import Atom, Struct, Term, make_list, struct
from deepprooflog.syntax.writer import write_term

HERE = Path(__file__).parent
LIMIT = 12


def goals_of(file: str) -> list[str]:
    """The goals of a file beside this one: one a line, `%` begins a comment line."""
    lines = (HERE / file).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("%")]


@dataclass(frozen=True)
class Outcome:
    """Answers in order, how the goal ended, and whether the last answer left no choice."""

    answers: tuple[str, ...]
    ending: str
    final: bool


def _canonical(term: Term) -> str:
    return write_term(abstract(term, {}), ignore_ops=True)


def swi_outcomes(swipl: str, goals: list[str], folder: Path, program: str = "") -> list[Outcome]:
    """What SWI-Prolog answers to each goal."""
    (folder / "goals.txt").write_text("".join(f"{goal} .\n" for goal in goals), encoding="utf-8")
    (folder / "program.pl").write_text(
        f":- set_prolog_flag(double_quotes, string).\n:- style_check(-singleton).\n{program}",
        encoding="utf-8",
    )
    start = f"consult('{folder}/program.pl'), batch('{folder}/goals.txt')"
    run = subprocess.run(
        [swipl, "--traditional", "-q", "-g", start, "-t", "halt", str(HERE / "swi_batch.pl")],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=True,
    )
    results = [item.term for item in read_program(run.stdout)]  # type: ignore[union-attr]
    assert len(results) == len(goals), run.stderr
    return [_outcome(result) for result in results]


def _outcome(result: Term) -> Outcome:
    assert type(result) is Struct
    solutions, ending = result.args
    answers: list[str] = []
    final = False
    while type(solutions) is Struct:
        pair, solutions = solutions.args
        assert type(pair) is Struct
        answers.append(_canonical(pair.args[0]))
        final = pair.args[1] is Atom("det")
    return Outcome(tuple(answers), _canonical(ending), final)


def our_outcome(program: Program, goal: str, compiled: bool, occurs_check: bool = False) -> Outcome:
    """What we answer to a goal."""
    read = read_term(goal, program.operators, end_optional=True)
    code = code_for(program, guarded=False, compiled=compiled, occurs_check=occurs_check)
    machine = Machine(code, Spending(Budget(max_seconds=20)), None, io.StringIO())
    answers: list[str] = []
    final = False
    ending: Term = Atom("end")
    try:
        for _ in machine.solutions(read.term):
            answers.append(_canonical(copy_term(make_list(list(read.variables.values())))))
            final = not machine.choices
            if len(answers) == LIMIT:
                ending = Atom("cut")
                break
    except PrologError as error:
        term = error.term
        iso = type(term) is Struct and term.functor.name == "error"
        ending = struct("error", term.args[0]) if iso else struct("ball", term)  # type: ignore
    return Outcome(tuple(answers), _canonical(ending), final)


def assert_agree(ours: Outcome, theirs: Outcome) -> None:
    """Equal, except that our indexes may see earlier that nothing is left to try."""
    assert ours.answers == theirs.answers
    assert ours.ending == theirs.ending
    assert ours.final >= theirs.final
