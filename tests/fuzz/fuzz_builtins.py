"""Random calls of every builtin: success, failure or an error of the library; and, of calls that
fit but for one argument, the answers and errors of SWI-Prolog where it is installed.
"""

from __future__ import annotations

import io
import re
import shutil
from contextlib import redirect_stderr

from deepprooflog.errors import PrologError, ProofLogError
from deepprooflog.logic.builtins import known_functors
from deepprooflog.logic.limits.budget import Budget
from deepprooflog.logic.program import Program
from deepprooflog.logic.solver.iso_errors import ERROR
from deepprooflog.logic.solver.solver import Solver
from deepprooflog.syntax.reader import read_term
from deepprooflog.syntax.terms import Struct, Term, is_acyclic, make_list, struct
from deepprooflog.syntax.writer import write_term
from fuzz.builtin_calls import fitting_call, wild_call
from fuzz.rounds import Rounds, Tally
from oracles.swi import CYCLIC, LIMITED, TOO_LONG, Reply, Swi, normal_form

PROMISE = "a builtin ends in success, failure or an error of the library, as in SWI-Prolog"
QUICK = 1500
LIMIT = 4

FUNCTORS = sorted((f for f in known_functors() if f.name[0] != "$"), key=str)
EMPTY = Program("")


def ours(goal: str) -> Reply | str:
    """The solver's answers; a text when something else than an error of the library came out."""
    read = read_term(goal, end_optional=True)
    values = make_list([v for n, v in read.variables.items() if not n.startswith("_")])
    answers: list[str] = []
    solver = Solver(EMPTY, budget=Budget(max_steps=3000, max_seconds=5), output=io.StringIO())
    try:
        with redirect_stderr(io.StringIO()):
            for _ in solver.run(read.term):
                if not is_acyclic(values):
                    return Reply(tuple(answers), CYCLIC)
                answers.append(normal_form(write_term(values)))
                if len(answers) == LIMIT:
                    return Reply(tuple(answers), "more")
    except PrologError as error:
        term: Term = error.term  # type: ignore[assignment]
        iso = type(term) is Struct and term.functor is ERROR
        formal = term.args[0] if iso else struct("ball", term)  # type: ignore[union-attr]
        return Reply(tuple(answers), f"error {normal_form(write_term(formal))}")
    except ProofLogError:
        return Reply(tuple(answers), TOO_LONG)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return Reply(tuple(answers), "done")


# Predicates of text, where a number or a list may stand for it in one system and not in another.
TEXT = frozenset(
    {"atom_chars", "atom_codes", "atom_length", "atom_number", "atom_string", "downcase_atom",
     "number_string", "split_string", "string_chars", "string_codes", "string_concat",
     "string_length", "string_lower", "string_to_atom", "string_upper", "term_to_atom",
     "upcase_atom"}
)  # fmt: skip
WRONG = {"instantiation_error", "type_error", "domain_error", "representation_error"}


def agree(name: str, goal: str, found: Reply, expected: Reply) -> bool:
    """Equal, or different in what docs/syntax.md says."""
    if found == expected:
        return True
    mine, wrong = _mistake(found.ending), _mistake(expected.ending)
    # Errors that are SWI-Prolog's own way to run its library, and its escapes of control codes.
    if wrong in ("matching_rule", "type") or "\\u" in str(expected.answers):
        return True
    if name in TEXT and {mine, wrong} <= WRONG | {None}:
        other_form = re.search(r"\[|[(, ]-?[0-9]|_[0-9]{2}", goal + str(expected.answers))
        return bool(other_form) or wrong == "type_error" or mine == "type_error"
    if mine in WRONG and wrong in WRONG:
        # The type has another name, or several arguments are wrong and either may be named.
        return found.answers == expected.answers
    # ISO wants a list, or the end of one, where the result is a list; and no negative length.
    iso = ["error type_error(list,", "error domain_error(not_less_than_zero,"]
    if name in ("max_list", "min_list"):
        # A single element is evaluated like any other.
        iso.append("error type_error(evaluable,")
    return wrong is None and found.ending.startswith(tuple(iso))


def _mistake(ending: str) -> str | None:
    """The kind of an error; for `existence_error` what does not exist."""
    known = re.match(r"error (?:existence_error\()?(\w+)", ending)
    return known[1] if known else None


class Oracle:
    """SWI-Prolog, started again when a call has ended it."""

    def __init__(self, swipl: str) -> None:
        self._swipl = swipl
        self._start()

    def _start(self) -> None:
        self._swi = Swi(self._swipl)
        self._swi.load("unused.\n")

    def __call__(self, goal: str) -> Reply | None:
        """Its reply; None where it has none to compare: cyclic terms, limits, its own end."""
        try:
            reply = self._swi.query(goal, LIMIT, 100_000)
        except (RuntimeError, BrokenPipeError):
            self._start()
            return None
        return None if reply.ending in (CYCLIC, LIMITED, TOO_LONG) else reply

    def close(self) -> None:
        self._swi.__exit__(None, None, None)


def attack(rounds: Rounds) -> Tally:
    """Call, and compare with SWI-Prolog where the call can be put to it."""
    tally = Tally()
    swipl = shutil.which("swipl")
    oracle = Oracle(swipl) if swipl else None
    for dice in rounds:
        fits = oracle is not None and dice.random() < 0.7
        functor, goal = fitting_call(dice) if fits else wild_call(dice, FUNCTORS)
        found = ours(goal)
        if isinstance(found, str):
            tally.record(False, f"{goal}: {found}")
            continue
        comparable = fits and found.ending not in (CYCLIC, TOO_LONG)
        expected = oracle(goal) if comparable and oracle is not None else None
        held = expected is None or agree(functor.name, goal, found, expected)
        tally.record(held, f"{goal}: {found}, not {expected}")
    if oracle is not None:
        oracle.close()
    return tally
