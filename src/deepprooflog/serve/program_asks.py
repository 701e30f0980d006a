"""What can be asked of a program: probability, answers, proof."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from deepprooflog.errors import BudgetExceeded, Inexact, ProgramError
from deepprooflog.infer.success import Success
from deepprooflog.insight.goal_view import goal_graph
from deepprooflog.insight.steps import steps as first_steps
from deepprooflog.insight.why_not import why_not as near_derivations
from deepprooflog.logic.answers import log_answers, probability
from deepprooflog.logic.limits.budget import Budget
from deepprooflog.logic.program import Program
from deepprooflog.logic.query import Query
from deepprooflog.questions import ProgramQuestions
from deepprooflog.serve.asking import Asking, checked
from deepprooflog.serve.source import Source
from deepprooflog.syntax.terms import Atom
from deepprooflog.syntax.writer import write_term

# Of the time of a query: what the probability may take, and of the rest what the answers may.
PROBABILITY_SHARE = 0.5
ANSWERS_SHARE = 0.6


class ProgramSubject:
    """A program as read, and the questions to it."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.program = Program(source.text, file=source.name)
        self.questions = ProgramQuestions(self.program)


def describe(subject: ProgramSubject, asking: Asking) -> dict[str, Any]:
    """The program's predicates, and the operators that its queries are read with."""
    program = subject.program
    predicates = []
    for functor, predicate in program.predicates.items():
        first = next(iter(predicate.entries.explicit()), None)
        predicates.append(
            {
                "name": write_term(Atom(functor.name)), "arity": functor.arity,
                "kind": predicate.kind.value, "clauses": len(predicate.entries),
                "line": None if first is None or first.place is None else first.place.line,
            }
        )  # fmt: skip
    return {
        "predicates": predicates,
        "constants": sorted(_constants(program)),
        "reading": {
            "operators": [list(one) for one in program.operators],
            "double_quotes": program.flags.double_quotes,
        },
    }


def _constants(program: Program) -> set[str]:
    """The atoms that stand as arguments of facts, as text: what a query may name."""
    found: set[str] = set()
    for predicate in program.predicates.values():
        for clause in predicate.entries.explicit():
            if not clause.body:
                args = getattr(clause.head, "args", ())
                found.update(write_term(one) for one in args if type(one) is Atom)
    return found


def query(subject: ProgramSubject, asking: Asking) -> dict[str, Any]:
    """The probability of a query, the answers where it is open, and the best proof."""
    began = time.perf_counter()
    text, questions = asking.text("query"), subject.questions
    parsed = subject.program.query(text)
    asking.on_stage("probability")
    only = not parsed.variables and not asking.number("proofs", 1)
    share = 1.0 if only else PROBABILITY_SHARE
    result = questions.success(parsed, asking.budget.part(share))
    found: dict[str, Any] = {**_success(text, result), "answers": [], "complete": True}
    if parsed.variables:
        asking.on_stage("answers")
        answers, complete = _answers(questions, parsed, asking.budget.part(ANSWERS_SHARE))
        top = asking.number("top", 100)
        ranked = sorted(answers.items(), key=lambda row: -row[1])
        found["answers"] = [_answer(one, log) for one, log in ranked[:top]]
        found |= {"complete": complete, "more": max(0, len(answers) - top)}
    proofs: list[dict[str, Any]] = []
    if asking.number("proofs", 1):
        asking.on_stage("proof")
        proofs = _proofs(questions, text, asking.budget)
    found["proof"] = proofs[0] if proofs else None
    return {**found, "seconds": round(time.perf_counter() - began, 3)}


def explain(subject: ProgramSubject, asking: Asking) -> dict[str, Any]:
    """The probability of a query with its best proof."""
    began = time.perf_counter()
    text = asking.text("query")
    asking.on_stage("probability")
    result = subject.questions.success(text, asking.budget.part(PROBABILITY_SHARE))
    asking.on_stage("proof")
    proofs = _proofs(subject.questions, text, asking.budget)
    seconds = round(time.perf_counter() - began, 3)
    proof = proofs[0] if proofs else None
    return {**_success(text, result), "proof": proof, "proofs": proofs, "seconds": seconds}


def why_not(subject: ProgramSubject, asking: Asking) -> dict[str, Any]:
    """The derivations that fail nearest to success, and the facts that they miss."""
    asking.on_stage("failed derivations")
    text = asking.text("query")
    return near_derivations(
        subject.questions, text, most=asking.number("most", 5), budget=asking.near_budget
    ).to_dict()


def steps(subject: ProgramSubject, asking: Asking) -> dict[str, Any]:
    """The choices at a goal, reached from the query by the numbers of the choices taken."""
    asking.on_stage("steps")
    view = first_steps(subject.questions, asking.text("query"))
    return view.replay(asking.arguments.get("path", ())).to_dict()


def graph(subject: ProgramSubject, asking: Asking) -> dict[str, Any]:
    """The goals that a query reaches and the steps between them, with a drawing."""
    asking.on_stage("goals")
    most = asking.number("most", 300)
    budget = replace(asking.budget, max_goals=most)
    view = goal_graph(subject.questions, asking.text("query"), most, budget=budget)
    asking.on_stage("drawing")
    return {**view.to_dict(), "svg": view.to_svg()}


def _success(text: str, result: Success) -> dict[str, Any]:
    lower = probability(result.log_lower) if result.exact else result.lower
    return {
        "query": text,
        "probability": lower if result.exact else None,
        "lower": lower,
        "upper": lower if result.exact else result.upper,
        "exact": result.exact,
        "log_probability": result.log_lower if result.exact else None,
        "method": result.method,
        "goals": result.goals,
        "stopped": result.stopped,
    }


def _answers(
    questions: ProgramQuestions, query: Query, budget: Budget
) -> tuple[Mapping[str, float], bool]:
    """The log probability of each answer; those met until the budget ended are lower bounds."""
    try:
        return questions.log_answers(query, budget), True
    except Inexact as error:
        return log_answers(query, questions.program, error.found), False
    except BudgetExceeded:
        return {}, False


def _answer(text: str, log: float) -> dict[str, Any]:
    return {"text": text, "probability": probability(log), "log_probability": log}


def _proofs(questions: ProgramQuestions, text: str, budget: Budget) -> list[dict[str, Any]]:
    try:
        return [checked(questions.best_proof(text, budget))]
    except (ProgramError, Inexact, BudgetExceeded) as error:
        if isinstance(error, ProgramError) and not error.message.endswith("has no proof"):
            raise
        return []


PROGRAM_ASKS: dict[str, Callable[[ProgramSubject, Asking], dict[str, Any]]] = {
    "describe": describe,
    "query": query,
    "explain": explain,
    "why_not": why_not,
    "steps": steps,
    "graph": graph,
}
