"""Layers of goals are what breadth-first search with the reference engine finds, budgets included.

Limited rule nesting is compared with the same process written out as a program: predicate r with n
nestings left is `r_n`, and the body of a rule for `r_n` has n − 1 left.
"""

from __future__ import annotations

import re

import pytest
import torch
from hypothesis import assume
from hypothesis import strategies as st

from deepprooflog.errors import ProgramError
from deepprooflog.logic.goal import Goal
from deepprooflog.logic.program import BodyOrder, Program
from deepprooflog.relational.database import Database
from deepprooflog.relational.goals import PAD, Goals
from deepprooflog.relational.layers import Cut, Layers, explore
from deepprooflog.relational.sweep import provable
from deepprooflog.syntax.writer import write_term
from programs.fresh import fresh
from programs.function_free import MIXED, ORDERS, Asked, function_free
from relational.reference_steps import State, reference, roots, state

NEURAL = "nn(kge, [R, X, Y]) :: believe(R, X, Y)."
Edge = tuple[State, State]


def search(
    program: Program, goals: list[Goal], depth: int, most: int
) -> tuple[list[set[State]], list[set[Edge]]] | None:
    """Breadth first with the reference engine; None when it outgrows the test."""
    layer = {state(g): g for g in goals}
    layers, edges = [set(layer)], []
    for _ in range(depth):
        following: dict[State, Goal] = {}
        between: set[Edge] = set()
        for here, goal in layer.items():
            for there, _ in reference(program, goal):
                between.add((here, there))
                following[there] = Goal(*there, _variables(there))
        if sum(map(len, layers)) + len(following) > most:
            return None
        if not following:
            break
        layer = following
        layers.append(set(layer))
        edges.append(between)
    return layers, edges


def _variables(goal: State) -> int:
    text = ", ".join(write_term(t) for part in goal for t in part)
    return len(set(re.findall(r"\b_\d+\b", text)))


def decoded(database: Database, layers: Layers) -> tuple[list[set[State]], list[set[Edge]]]:
    """The layers and edges as terms; that nothing is there twice is checked on the way."""
    states = [list(map(state, database.decode(goals))) for goals in layers.goals]
    assert all(len(set(layer)) == len(layer) for layer in states)
    edges = []
    for here, there, steps in zip(states, states[1:], layers.steps, strict=False):
        pairs = list(zip(steps.source.tolist(), steps.target.tolist(), strict=True))
        assert len(set(pairs)) == len(pairs)
        assert [s for s, _ in pairs] == sorted(s for s, _ in pairs)
        edges.append({(here[s], there[t]) for s, t in pairs})
    return [set(layer) for layer in states], edges


@fresh(22, function_free(queries=3), ORDERS)
def test_layers_are_breadth_first_search(asked: Asked, order: BodyOrder) -> None:
    program, queries = asked.program(order), asked.queries
    expected = search(program, roots(program, queries), 4, 150)
    assume(expected is not None)
    assert expected is not None
    database = Database.of(program)
    layers = explore(database, database.goals(queries), max_depth=4)
    assert decoded(database, layers) == expected
    start = [state(g) for g in database.decode(layers.goals[0].select(layers.roots))]
    assert start == [state(g) for g in roots(program, queries)]
    last = expected[0][4] if len(expected[0]) == 5 else set()
    assert layers.cut == Cut(depth=sum(bool(s[0]) for s in last))


def stratified(program: Program, nesting: int) -> Program:
    """The program with each predicate once for each number of nestings left."""
    clauses = [
        f":- dynamic({name}_{n}/{k})."
        for name, k in MIXED.predicates.items()
        for n in range(nesting + 1)
    ]
    clauses.append(f"all({', '.join(MIXED.constants)}).")
    for clause in program.clauses():
        if clause.functor.name == "all":
            continue
        head, *body = (write_term(a, quoted=True) for a in (clause.head, *clause.body))
        for n in range(1 if body else 0, nesting + 1):
            atoms = [_renamed(a, n - 1) for a in body]
            tail = f" :- {', '.join(atoms)}" if atoms else ""
            clauses.append(_variables_named(_renamed(head, n) + tail) + ".")
    return Program("\n".join(clauses), order=program.order)


def _renamed(atom: str, nesting: int) -> str:
    return re.sub(r"^([a-z]+)", rf"\1_{nesting}", atom)


def _variables_named(text: str) -> str:
    return re.sub(r"\b_(\d+)\b", r"V\1", text)


@fresh(22, function_free(rules=6, facts=18, queries=1), ORDERS, st.integers(0, 2))
def test_nesting_is_the_stratified_program(asked: Asked, order: BodyOrder, nesting: int) -> None:
    program, (query,) = asked.program(order), asked.queries
    written_out = stratified(program, nesting)
    atoms = [_renamed(write_term(a, quoted=True), nesting) for a in program.query(query).atoms]
    start = roots(written_out, [_variables_named(", ".join(atoms))])
    expected = search(written_out, start, 6, 250)
    assume(expected is not None)
    assert expected is not None
    database = Database.of(program, nesting=nesting)
    layers = explore(database, database.goals([query]), max_depth=6)
    every, edges = decoded_nested(database, layers)
    assert every == [{_text(s) for s in layer} for layer in expected[0]]
    assert edges == [{(_text(s), _text(t)) for s, t in part} for part in expected[1]]


def _text(goal: State) -> str:
    return (
        ", ".join(write_term(t, quoted=True) for t in goal[0])
        + " / "
        + ", ".join(write_term(t, quoted=True) for t in goal[1])
    )


def decoded_nested(
    database: Database, layers: Layers
) -> tuple[list[set[str]], list[set[tuple[str, str]]]]:
    """As `decoded`, atoms named by the nesting they have left."""
    texts: list[list[str]] = []
    for goals in layers.goals:
        texts.append([])
        for goal, atoms in zip(database.decode(goals), goals.atoms.tolist(), strict=True):
            left = [row[-1] for row in atoms if row[0] != PAD]
            named = [
                _renamed(write_term(a, quoted=True), n)
                for a, n in zip(goal.atoms, left, strict=True)
            ]
            answer = ", ".join(write_term(t, quoted=True) for t in goal.answer)
            texts[-1].append(", ".join(named) + " / " + answer)
    edges = [
        {
            (here[s], there[t])
            for s, t in zip(steps.source.tolist(), steps.target.tolist(), strict=True)
        }
        for here, there, steps in zip(texts, texts[1:], layers.steps, strict=False)
    ]
    return [set(layer) for layer in texts], edges


@fresh(22, function_free(queries=3), st.integers(5, 60), st.integers(1, 4))
def test_budgets_leave_open_what_they_cut(asked: Asked, most: int, atoms: int) -> None:
    """Nodes that are not open have all their successors, open ones none; the counts agree."""
    program = asked.program("bound_first")
    database = Database.of(program)
    goals = database.goals(asked.queries)
    layers = explore(database, goals, max_depth=3, max_atoms=atoms, max_goals=most)
    assert layers.size <= max(most, len(layers.goals[0]))
    _, edges = decoded(database, layers)
    edges += [set()] * (len(layers.goals) - len(edges))
    found = 0
    for depth, (here, out) in enumerate(zip(layers.goals, edges, strict=True)):
        open_ = set(layers.open[depth].tolist())
        found += len(open_)
        for number, goal in enumerate(database.decode(here)):
            after = {t for s, t in out if s == state(goal)}
            if number in open_:
                assert not after and goal.atoms
            else:
                assert after == {s for s, _ in reference(program, goal)}
    assert found == layers.cut.depth + layers.cut.atoms + layers.cut.goals
    assert bool(layers.cut) == bool(found)


def test_provable_finds_ancestors() -> None:
    """A chain of ten: everyone above is an ancestor, nobody below."""
    facts = " ".join(f"parent(p{i}, p{i + 1})." for i in range(9))
    program = Program(
        f"{facts} anc(X, Y) :- parent(X, Y). anc(X, Y) :- parent(X, Z), anc(Z, Y).",
        order="bound_first",
    )
    database = Database.of(program)
    pairs = [(i, j) for i in range(10) for j in range(10)]
    goals = database.goals([f"anc(p{i}, p{j})" for i, j in pairs])
    layers = explore(database, goals, max_depth=100)
    assert provable(layers).tolist() == [i < j for i, j in pairs]
    assert not layers.cut
    # Depth 2 k is k parents: with 2 · 3 steps those at most three generations away are found.
    shallow = explore(database, goals, max_depth=6)
    assert provable(shallow).tolist() == [0 < j - i <= 3 for i, j in pairs]
    assert shallow.cut.depth > 0


def test_a_recursive_program_stays_layered() -> None:
    """p → p: one node in each layer, for as long as the budget lasts."""
    database = Database.of(Program("p :- p. p :- p, p."))
    layers = explore(database, database.goals(["p"]), max_depth=5)
    assert [len(goals) for goals in layers.goals] == [1, 2, 3, 4, 5, 6]
    assert layers.cut == Cut(depth=6) and not provable(layers).any()
    narrow = explore(database, database.goals(["p"]), max_depth=5, max_atoms=2)
    assert [len(goals) for goals in narrow.goals] == [1, 2, 3, 3, 3, 3]
    assert narrow.cut == Cut(depth=2, atoms=4)


def test_belief_nests_in_nothing() -> None:
    """A belief is offered with no nesting left, and leaves its atoms what they had."""
    program = Program(
        "p(a, b). r(X, Y) :- p(X, Y). r(X, Y) :- believe(r, X, Y). p(X, Y) :- believe(p, X, Y). "
        "nn(kge, [R, X, Y]) :: believe(R, X, Y)."
    )
    goals = {}
    for nesting in (0, 1):
        database = Database.of(program, nesting=nesting)
        layers = explore(database, database.goals(["r(a, b)", "r(b, a)"]), max_depth=9)
        every, _ = decoded_nested(database, layers)
        goals[nesting] = [{g.removesuffix(" / ") for g in layer} for layer in every]
        assert provable(layers).tolist() == [True, True]
    assert goals[0] == [
        {"r_0(a,b)", "r_0(b,a)"},
        {"believe_0(r,a,b)", "believe_0(r,b,a)"},
        {""},
    ]
    assert goals[1] == [
        {"r_1(a,b)", "r_1(b,a)"},
        {"p_0(a,b)", "p_0(b,a)", "believe_0(r,a,b)", "believe_0(r,b,a)"},
        {"", "believe_0(p,a,b)", "believe_0(p,b,a)"},
        {""},
    ]


@pytest.mark.parametrize("order", ["written", "bound_first"])
@pytest.mark.parametrize("nesting", [0, 1, 2])
def test_belief_at_the_query_only(nesting: int, order: BodyOrder) -> None:
    """The stratified program in which only the top level has clauses that believe."""
    relations = {
        "p": ["p(a, b).", "p(b, c).", "p(c, a)."],
        "r": [
            "r(X, Y) :- p(X, Z), r(Z, Y).",
            "r(X, Y) :- p(X, Y).",
            "r(X, Y) :- s(Y, X), p(a, X).",
        ],
        "s": ["s(X, Y) :- r(Y, X).", "s(a, c)."],
    }
    plain, strata = [NEURAL], [NEURAL.replace("believe", "believe_0")]
    for name, clauses in relations.items():
        believe = f"{name}(X, Y) :- believe({name}, X, Y)."
        plain += [*clauses, believe]
        for n in range(nesting + 1):
            strata.append(f":- dynamic({name}_{n}/2).")
            for clause in clauses:
                if n or ":-" not in clause:
                    head, *body = re.split(r" :- ", clause)
                    atoms = "".join(re.sub(r"\b([prs])\(", rf"\1_{n - 1}(", b) for b in body)
                    strata.append(_renamed(head, n) + (f" :- {atoms}" if body else ""))
        top = believe.replace("believe(", "believe_0(")
        strata.append(_renamed(top, nesting))
    program, written_out = (Program(" ".join(text), order=order) for text in (plain, strata))
    queries = ["r(a, b)", "s(c, a)", "p(a, c), r(c, b)", "p(a, a)"]
    texts = [re.sub(r"\b([prs])\(", rf"\1_{nesting}(", q) for q in queries]
    expected = search(written_out, roots(written_out, texts), 30, 5000)
    assert expected is not None
    database = Database.of(program, nesting=nesting, believe="query")
    layers = explore(database, database.goals(queries), max_depth=30)
    assert not layers.cut
    every, edges = decoded_nested(database, layers)
    assert every == [{_text(s) for s in layer} for layer in expected[0]]
    assert edges == [{(_text(s), _text(t)) for s, t in part} for part in expected[1]]
    assert any("believe" in goal for layer in every for goal in layer)
    everywhere = Database.of(program, nesting=nesting)
    assert (explore(everywhere, everywhere.goals(queries), max_depth=30).size > layers.size) == (
        nesting > 0
    )


def test_belief_at_the_query_needs_nesting() -> None:
    with pytest.raises(ProgramError, match="needs limited nesting"):
        Database.of(Program("p(a)."), believe="query")


def test_queries_share_goals_unless_a_fact_is_left_out() -> None:
    database = Database.of(Program("p(a). r(X) :- p(X). s(X) :- p(X)."))
    goals = database.goals(["r(a)", "s(a)", "r(a)"])
    layers = explore(database, goals, max_depth=9)
    assert [len(layer) for layer in layers.goals] == [2, 1, 1]
    assert layers.roots[0] == layers.roots[2] != layers.roots[1]
    without = Goals(goals.atoms, goals.answer, torch.tensor([-1, -1, 0]))
    layers = explore(database, without, max_depth=9)
    assert [len(layer) for layer in layers.goals] == [3, 2, 1]
    assert provable(layers).tolist() == [True, True, False]
    nothing = explore(database, database.goals([]), max_depth=9)
    assert nothing.size == 0 and provable(nothing).tolist() == []


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@fresh(5, function_free(), ORDERS)
def test_layers_on_a_gpu(asked: Asked, order: BodyOrder) -> None:
    database = Database.of(asked.program(order))
    here = explore(database, database.goals(asked.queries), max_depth=3)
    moved = database.to("cuda")
    there = explore(moved, moved.goals(asked.queries), max_depth=3)
    assert decoded(database, here) == decoded(moved, there)
