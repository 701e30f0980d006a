"""SWI-Prolog's own unit tests of its core, as far as they are portable, run by the solver.

    test(Name, Options) :- Body.      Options: fail, error(E), throws(B), true(G), G, all(T == L) …

SWI-Prolog reads the files, since its syntax is wider than ISO's, and hands the clauses over. A test
that calls what does not exist here, or needs coroutines, modules, threads or files, is not
portable: it is counted by what it needs.
"""

from __future__ import annotations

import io
import subprocess
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from deepprooflog.errors import PrologError, ProofLogError
from deepprooflog.logic.limits.budget import Budget
from deepprooflog.logic.program import Program
from deepprooflog.logic.solver.solver import Solver
from deepprooflog.syntax.reader import read_term
from deepprooflog.syntax.terms import Atom, Struct, Term, Var, deref, iter_list, list_tail, struct
from deepprooflog.syntax.writer import write_term

HERE = Path(__file__).parent
# Options that ask for what the solver does not offer.
OTHER = {"sto", "occurs_check", "condition", "blocked", "fixme", "cleanup", "forall"}


@dataclass
class Unit:
    """Tests of one unit with the clauses they may call."""

    file: str
    clauses: list[Term] = field(default_factory=list)
    tests: list[tuple[str, list[Term], Term]] = field(default_factory=list)


@dataclass(frozen=True)
class Result:
    """How a test came out: `passed`, `failed …`, or `needs …` when it is not portable."""

    name: str
    outcome: str


def run_core(swipl: str, files: list[Path]) -> Iterator[Result]:
    """Every test of the files, in order."""
    names = ",".join(f"'{file}'" for file in files)
    run = subprocess.run(
        [swipl, "-q", "-g", f"dump([{names}])", "-t", "halt", str(HERE / "swi_core.pl")],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=True,
    )
    units: dict[tuple[str, str], Unit] = {}
    for line in run.stdout.splitlines():
        _collect(line, units)
    for (file, name), unit in units.items():
        common = units.get((file, "[]"))
        clauses = common.clauses if common is not None and common is not unit else []
        yield from _run_unit(f"{file}/{name}", unit, clauses)


def _collect(line: str, units: dict[tuple[str, str], Unit]) -> None:
    try:
        read = read_term(line).term
    except ProofLogError:
        return
    if type(read) is not Struct or read.functor.name != "clause":
        return
    file, name, clause = (deref(a) for a in read.args)
    unit = units.setdefault((write_term(file), write_term(name)), Unit(write_term(file)))
    head: Term = clause
    body: Term = Atom("true")
    if type(clause) is Struct and clause.functor.name == ":-" and len(clause.args) == 2:
        head, body = deref(clause.args[0]), deref(clause.args[1])
    if type(head) is Struct and head.functor.name == "test" and len(head.args) <= 2:
        options: list[Term] = []
        if len(head.args) == 2:
            given = head.args[1]
            is_list = list_tail(given) is Atom("[]") and deref(given) is not Atom("[]")
            options = list(iter_list(given)) if is_list else [deref(given)]
        options = [o for o in options if o is not Atom("[]")]
        unit.tests.append((write_term(head.args[0]), options, body))
    else:
        unit.clauses.append(clause)


def _run_unit(name: str, unit: Unit, common: list[Term]) -> Iterator[Result]:
    if not unit.tests:
        return
    program = _program([*common, *unit.clauses])
    for number, (test, options, body) in enumerate(unit.tests, 1):
        yield Result(f"{name} {number} {test}", _run(program, options, body))


def _program(clauses: list[Term]) -> Program:
    """The clauses that load; the others are missed by the tests that need them."""
    kept: list[str] = []
    for clause in clauses:
        text = write_term(clause) + ".\n"
        try:
            Program(text)
        except ProofLogError:
            continue
        kept.append(text)
    return Program("".join(kept))


def _run(program: Program, options: list[Term], body: Term) -> str:
    wanted: Term = Atom("true")
    goal = body
    for option in options:
        name = getattr(getattr(option, "functor", None), "name", "")
        if name in OTHER:
            return f"needs the option {name}"
        if name == "setup":
            goal = struct(",", option.args[0], goal)  # type: ignore[union-attr]
        elif option is not Atom("nondet") and option is not Atom("true"):
            wanted = option
    return _checked(program, goal, wanted)


def _checked(program: Program, goal: Term, wanted: Term) -> str:
    name = wanted.functor.name if type(wanted) is Struct else write_term(wanted)
    if name in ("all", "set", "bag"):
        assert type(wanted) is Struct
        comparison = deref(wanted.args[0])
        assert type(comparison) is Struct
        raw, answers = Var(), Var()
        order = {"all": "=", "set": "sort", "bag": "msort"}[name]
        gather = struct("findall", comparison.args[0], goal, raw)
        compared = Struct(comparison.functor, (answers, comparison.args[1]))
        goal = struct(",", gather, struct(",", struct(order, raw, answers), compared))
    elif name == "true" and type(wanted) is Struct:
        goal = struct(",", struct("once", goal), wanted.args[0])
    elif name not in ("error", "throws", "exception", "fail", "true"):
        goal = struct(",", struct("once", goal), wanted)
    special = name in ("error", "throws", "exception", "fail")
    return _compare(program, goal, wanted if special else None)


def _compare(program: Program, goal: Term, wanted: Term | None) -> str:
    ball: Term | None = None
    held = False
    solver = Solver(program, budget=Budget(max_seconds=5), output=io.StringIO())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run = solver.run(goal)
            held = next(run, None) is not None
            run.close()
    except PrologError as error:
        ball = error.term  # type: ignore[assignment]
    except ProofLogError as error:
        return f"failed: {error.message}"
    missing = _missing(ball)
    if missing is not None and not (wanted is not None and "existence_error" in write_term(wanted)):
        return f"needs {missing}"
    if wanted is None:
        return "passed" if held and ball is None else f"failed: {_shown(ball)}"
    if wanted is Atom("fail"):
        return "passed" if not held and ball is None else f"failed: {_shown(ball)}"
    return "passed" if ball is not None and _matches(wanted, ball) else f"failed: {_shown(ball)}"


def _shown(ball: Term | None) -> str:
    return "false" if ball is None else write_term(ball)


def _missing(ball: Term | None) -> str | None:
    term = deref(ball.args[0]) if type(ball) is Struct and ball.functor.name == "error" else None
    if type(term) is not Struct:
        return None
    if term.functor.name == "existence_error" and deref(term.args[0]) is Atom("procedure"):
        return write_term(term.args[1])
    if term.functor.name == "permission_error" and deref(term.args[0]) is Atom("execute"):
        return write_term(term.args[2])
    if term.functor.name == "permission_error" and deref(term.args[1]) is Atom("static_procedure"):
        return "a program that changes itself"
    if term.functor.name == "type_error" and deref(term.args[0]) is Atom("evaluable"):
        return f"the function {write_term(term.args[1])}"
    return None


def _matches(wanted: Term, ball: Term) -> bool:
    assert type(wanted) is Struct
    expected: Term = wanted.args[0]
    if wanted.functor.name == "error":
        context = wanted.args[1] if len(wanted.args) == 2 else Var()
        expected = struct("error", expected, context)
        if type(ball) is Struct and ball.functor.name == "error":
            ball = struct("error", ball.args[0], context)
    check = struct("subsumes_term", expected, ball)
    return any(True for _ in Solver(Program("")).run(check))
