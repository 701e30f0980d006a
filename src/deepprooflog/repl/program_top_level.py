"""A program at the top level: plain answers one by one, probabilities, proofs."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from functools import cached_property

from deepprooflog.errors import BudgetExceeded, DataError, Inexact, Rounded
from deepprooflog.logic.answers import probability
from deepprooflog.logic.builtins.registry import CONTROL, DET, NONDET
from deepprooflog.logic.clause import clause_text
from deepprooflog.logic.limits.watch import watched
from deepprooflog.logic.program import Program
from deepprooflog.logic.search import search
from deepprooflog.proof.render.answers import bindings, columns, interval, number
from deepprooflog.questions import ProgramQuestions
from deepprooflog.repl.completion import in_order
from deepprooflog.repl.console import Console
from deepprooflog.repl.settings import TopLevelSettings, larger
from deepprooflog.repl.top_level import TopLevel, TopLevelCommand
from deepprooflog.syntax.terms import Atom, Functor
from deepprooflog.syntax.writer import write_term


class ProgramTopLevel(TopLevel):
    """A program file, or no file at all: the builtins alone."""

    used = ("seconds", "goals", "memory", "answers")

    def __init__(self, file: str | None, settings: TopLevelSettings) -> None:
        self.file = file
        self.settings = settings
        self.reload()

    def reload(self) -> str:
        program = Program("") if self.file is None else _read(self.file)
        self.program = program
        self.asked = ProgramQuestions(program)
        self.__dict__.pop("_goals", None)
        return self.greeting()

    def greeting(self) -> str:
        if self.file is None:
            return "no program: the builtins alone"
        count = sum(self.program.size(functor) for functor in self.program.predicates)
        many = len(self.program.predicates)
        predicates = "1 predicate" if many == 1 else f"{many:,} predicates"
        clauses = "1 clause" if count == 1 else f"{count:,} clauses"
        return f"{self.file}: {predicates}, {clauses}"

    def questions(self) -> Sequence[TopLevelCommand]:
        return [
            TopLevelCommand("prob", "QUERY", "its success probability", self._prob),
            TopLevelCommand("answers", "QUERY", "every answer with its probability", self._answers),
            TopLevelCommand("prove", "QUERY", "its most probable proof", self._prove),
            TopLevelCommand("explain", "QUERY", "the same", self._prove),
            TopLevelCommand("list", "[NAME]", "the clauses of a predicate, or of all", self._list),
        ]

    def ask(self, console: Console, query: str) -> None:
        """plain answers, labels ignored: `;` for the next, Enter stops"""
        found: list[dict[str, str]] = []
        complete = False
        # Where each answer is asked for, whoever asks sets the limit.
        most = None if console.lines.live and not console.json else self.settings.answers
        solutions = search(self.program, query, self.settings.budget("max_steps"))
        try:
            for one in solutions:
                found.append(dict(one.bindings))
                if not console.answer(bindings(one.bindings), one.last):
                    complete = one.last
                    break
                if len(found) == most and not one.last:
                    console.note(f"stopped after {most:,} answers\ntry: :set answers")
                    break
            else:
                complete = True
                if not console.json and (console.lines.live or not found):
                    print("false." if console.lines.live else "false", flush=True)
        except BudgetExceeded as error:
            console.note(f"{error.message}\ntry: {larger(error)}")
        finally:
            solutions.close()
        if console.json:
            console.record({"query": query, "answers": found, "complete": complete})

    def _prob(self, console: Console, query: str) -> None:
        began = time.perf_counter()
        try:
            log = self.asked.query_log_prob(query, self.settings.budget())
        except Inexact as error:
            seconds = time.perf_counter() - began
            _inexact(console, query, error, probability=None, seconds=seconds)
            return
        seconds = time.perf_counter() - began
        value = probability(log)
        record = {"query": query, "probability": value, "lower": value, "upper": value}
        tiny = {"log_probability": log} if value == 0 and log > -math.inf else {}
        console.reply(number(value, log), {**record, "exact": True, "seconds": seconds, **tiny})

    def _answers(self, console: Console, query: str) -> None:
        try:
            logs = self.asked.log_answers(query, self.settings.budget())
        except Inexact as error:
            _inexact(console, query, error, answers={})
            return
        found = {text: probability(log) for text, log in logs.items()}
        console.reply(columns(found, logs) or "false", {"query": query, "answers": found})

    def _prove(self, console: Console, query: str) -> None:
        try:
            proof = self.asked.best_proof(query, self.settings.budget())
        except Inexact as error:
            _inexact(console, query, error)
            return
        console.reply(str(proof), {"query": query, "proof": proof.to_dict()})

    def _list(self, console: Console, argument: str) -> None:
        name = argument.removesuffix(".").partition("/")[0].strip(" '")
        wanted = [f for f in self.program.predicates if not name or f.name == name]
        if not wanted and name:
            raise DataError(f"the program has no predicate {name}", hint=":list shows all clauses")
        with watched(self.settings.budget()):
            texts = [
                clause_text(clause, self.program.operators)
                for functor in wanted
                for clause in self.program.predicates[functor].entries
            ]
        console.reply("\n".join(texts), {"clauses": texts})

    def goals_and_names(self) -> tuple[Sequence[str], Sequence[str]]:
        return self._goals, ()

    @cached_property
    def _goals(self) -> tuple[str, ...]:
        builtins = (f for table in (DET, NONDET, CONTROL) for f in table if f.name[0].isalpha())
        return in_order(_begun(f) for f in (*self.program.predicates, *builtins))


def _begun(functor: Functor) -> str:
    return write_term(Atom(functor.name)) + ("(" if functor.arity else "")


def _read(file: str) -> Program:
    try:
        return Program.read(file)
    except ValueError as error:  # a name that no file can have
        raise DataError(str(error), file=file) from None


def _inexact(console: Console, query: str, error: Inexact, **record: object) -> None:
    """Bounds in place of what was asked for."""
    hint = error.hint if isinstance(error, Rounded) else larger(error)
    console.note(f"not exact: {error.message}\ntry: {hint}")
    bounds = {"lower": error.lower, "upper": error.upper, "exact": False}
    console.reply(interval(error.lower, error.upper), {"query": query, **record, **bounds})
