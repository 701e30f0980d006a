"""Counts of work in progress: what searches note is what their results say in the end."""

from __future__ import annotations

import threading

import deepprooflog as dpl
from deepprooflog.graph.explore import explore
from deepprooflog.insight.why_not import why_not
from deepprooflog.kg.data.rules import parse_rules
from deepprooflog.kg.prove.build import prover
from deepprooflog.logic.goal import Interner
from deepprooflog.logic.limits.budget import Budget
from deepprooflog.logic.limits.counts import counting, counts_here, note
from deepprooflog.logic.resolve import start
from deepprooflog.relational.layers import explore as explore_layers


def test_nobody_counts_unless_asked_and_blocks_nest() -> None:
    note(goals=3)
    assert counts_here() is None
    with counting() as outer:
        note(goals=1)
        with counting() as inner:
            note(goals=5)
        note(depth=2)
        seen: list[object] = []
        thread = threading.Thread(target=lambda: seen.append(counts_here()))
        thread.start()
        thread.join()
    assert (outer, inner, seen) == ({"goals": 1, "depth": 2}, {"goals": 5}, [None])
    assert counts_here() is None


def test_a_goal_graph_s_counts_grow_to_its_size() -> None:
    program = dpl.Program("0.5 :: n(X) :- n(s(X)). 0.5 :: n(_).")
    query = program.query("n(z)")
    with counting() as counts:
        interner = Interner()
        goal = start(query.atoms, interner)
        graph = explore(program, [goal], interner, Budget(max_goals=50))
    # The last look is at the goal that is one too many; each is one deeper than the last.
    assert graph.nodes == counts["goals"] == 51
    assert counts["depth"] in (48, 49, 50)


def test_the_relational_engine_counts_layers_and_goals() -> None:
    graph = dpl.kg.load([("a", "r", "b"), ("b", "r", "c"), ("c", "r", "d")])
    proves = prover(graph, parse_rules("r(X,Y) :- r(X,Z), r(Z,Y)."), nesting=2)
    with counting() as counts:
        goals = proves.database.goals(["r(a, X)"])
        layers = explore_layers(proves.database, goals, max_depth=9)
    assert counts == {"goals": layers.size, "depth": len(layers.steps)}


def test_answers_say_how_many_candidates_are_scored() -> None:
    graph = dpl.kg.load(
        [(f"e{at}", "r", f"e{at + 1}") for at in range(40)], valid=[("e0", "s", "e2")]
    )
    rules = "s(X,Y) :- r(X,Z), r(Z,Y)."
    model = dpl.kg.train(graph, rules=rules, prior="none", exact={"steps": 1}, threads=1)
    with counting() as counts:
        found = model.query("s(X, Y)", top=5)
    assert counts["candidates"] == found.candidates == 39  # two steps from e0 to e38
    assert counts["answers_of"] == 5 and counts["answers"] == 4
    with counting() as counts:
        both = model.query("r(X, Y), r(Y, Z)", top=5)
    assert counts["candidates_of"] == both.candidates == 39


def test_why_not_counts_goals_and_derivations() -> None:
    program = dpl.Program("gran(X, Y) :- mother(X, Z), father(Z, Y). mother(a, b). father(c, d).")
    with counting() as counts:
        found = why_not(program, "gran(a, d)", most=2)
    assert counts["goals"] == found.goals
    assert counts["derivations"] == len(found.derivations) == 2


def test_tables_count_calls_and_items() -> None:
    program = dpl.Program("0.4 :: s(X, Z) :- s(X, Y), s(Y, Z). 0.6 :: s([a|X], X).")
    with counting() as counts:
        dpl.prob(program, "s([a, a, a], [])")
    assert counts["calls"] >= 1 and counts["items"] >= counts["calls"]
