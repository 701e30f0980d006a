"""Random terminating SLPs in ProbLog and in `dpl`: the same probabilities, answer by answer."""

from __future__ import annotations

import re

import pytest

import deepprooflog as dpl
from oracles.problog_oracle import Atom, problog_answers, show
from oracles.swi import normal_form
from programs.cases import Record
from programs.fresh import fresh
from programs.stochastic import SlpCase, slp_cases

pytest.importorskip("problog", reason="problog is not installed")

PROGRAMS = 80


def _instance(query: Atom, values: tuple[str, ...]) -> str:
    """The query with its variables replaced by an answer's values, in normal form."""
    name, args = query
    names = list(dict.fromkeys(re.findall(r"\b[A-Z]\w*", " ".join(args))))
    bound = dict(zip(names, values, strict=True))
    text = ", ".join(re.sub(r"\b[A-Z]\w*", lambda m: bound[m[0]], arg) for arg in args)
    return normal_form(f"{name}({text})")


def test_random_slps(record_property: Record) -> None:
    """`answers` agrees on each answer and `prob` on their sum."""
    programs: set[str] = set()
    compared = [0, 0]

    @fresh(PROGRAMS, slp_cases())
    def compare(case: SlpCase) -> None:
        if case.text in programs:
            return
        program = dpl.Program(case.text)
        for query in case.queries:
            expected = problog_answers(list(case.clauses), query)
            goal = show(query)
            found = {normal_form(key): p for key, p in dpl.answers(program, goal).items()}
            wanted = {_instance(query, values): p for values, p in expected.items()}
            message = f"{case.text}\n?- {goal}."
            assert {k: p for k, p in found.items() if p} == pytest.approx(wanted, abs=1e-12), (
                message
            )
            total = sum(expected.values())
            assert dpl.prob(program, goal) == pytest.approx(total, abs=1e-12), message
            compared[0] += 1
            compared[1] += len(expected)
        programs.add(case.text)

    compare()
    record_property("cases", len(programs))
    print(f"{len(programs)} programs, {compared[0]} queries, {compared[1]} answers compared")
    assert len(programs) >= 50
    assert compared[1] >= 100
