"""The batched engine is `logic.resolve.successors`, up to renaming, for function-free programs.

Random programs and goals, both body orders, facts left out; each goal's successors are compared as
sets, then the successors' own successors.
"""

from __future__ import annotations

import random
from collections import Counter

import pytest
import torch
from hypothesis import strategies as st

from deepprooflog.errors import ProgramError
from deepprooflog.logic.program import BodyOrder, Program
from deepprooflog.relational.database import Database
from deepprooflog.relational.goals import Goals
from deepprooflog.relational.resolve import Successors, expand
from deepprooflog.syntax.terms import Struct, args_of
from programs.fresh import fresh
from programs.function_free import ORDERS, Asked, function_free
from relational.reference_steps import State, reference, roots, state

SEEDS = st.integers(0, 2**32)


def found(database: Database, made: Successors, parents: int) -> list[list[tuple[State, int]]]:
    """Successors and clause numbers by parent."""
    result: list[list[tuple[State, int]]] = [[] for _ in range(parents)]
    goals = map(state, database.decode(made.goals))
    pairs = zip(made.parent.tolist(), goals, made.clause.tolist(), strict=True)
    for parent, successor, clause in pairs:
        result[parent].append((successor, clause))
    return result


def compare(program: Program, database: Database, goals: Goals) -> Goals:
    """Check the successors of each goal against the reference; return them."""
    made = expand(database, goals)
    assert made.parent.tolist() == sorted(made.parent.tolist())
    every = found(database, made, len(goals))
    for goal, ours in zip(database.decode(goals), every, strict=True):
        theirs = reference(program, goal)
        states = [s for s, _ in ours]
        assert len(set(states)) == len(states)
        assert set(states) == {s for s, _ in theirs}
        for successor, number in ours:
            by = {c.head for s, c in theirs if s == successor}
            assert database.clause(number).head in by
    return made.goals


def sample(goals: Goals, seed: int, count: int = 15) -> Goals:
    """A few of the goals, so that the reference keeps up."""
    chosen = random.Random(seed).sample(range(len(goals)), min(count, len(goals)))
    return goals.select(torch.tensor(sorted(chosen), dtype=torch.long))


@fresh(30, function_free(), ORDERS, SEEDS)
def test_successors_are_the_reference_s(asked: Asked, order: BodyOrder, seed: int) -> None:
    program = asked.program(order)
    database = Database.of(program)
    goals = database.goals(asked.queries)
    start = roots(program, asked.queries)
    assert list(map(state, database.decode(goals))) == list(map(state, start))
    for _ in range(3):
        goals = sample(compare(program, database, goals), seed)


@fresh(20, function_free(), ORDERS)
def test_unmerged_successors_are_one_for_each_clause(asked: Asked, order: BodyOrder) -> None:
    program = asked.program(order)
    database = Database.of(program)
    goals = database.goals(asked.queries)
    every = found(database, expand(database, goals, merge=False), len(goals))
    for goal, ours in zip(database.decode(goals), every, strict=True):
        assert Counter(s for s, _ in ours) == Counter(s for s, _ in reference(program, goal))


@fresh(20, function_free(), ORDERS, SEEDS)
def test_facts_left_out(asked: Asked, order: BodyOrder, seed: int) -> None:
    """By a view of the program, or goal by goal."""
    program = asked.program(order)
    database = Database.of(program)
    fact = seed % len(database.facts)
    head = database.clause(len(database.rules) + fact).head
    view = program.without(head)
    compare(view, Database.of(view), Database.of(view).goals(asked.queries))
    goals = database.goals(asked.queries)
    number = torch.full_like(goals.left_out, fact)
    goals = Goals(goals.atoms, goals.answer, number)
    for _ in range(2):
        goals = sample(compare(view, database, goals), seed)
        assert (goals.left_out == fact).all()


@fresh(20, function_free(queries=0))
def test_left_out_facts_keep_goals_apart(asked: Asked) -> None:
    """The same query with and without a fact, side by side in one batch."""
    program = asked.program("bound_first")
    database = Database.of(program)
    heads = [database.clause(len(database.rules) + n).head for n in range(len(database.facts))]
    queries = [program.query(h) for h in heads]
    own = database.goals(queries, leave_out=True)
    assert own.left_out.tolist() == list(range(len(heads)))
    both = Goals.cat([own, database.goals(queries)])
    every = found(database, expand(database, both), len(both))
    for n, head in enumerate(heads):
        assert {s for s, _ in every[n]} == {
            s for s, _ in reference(program.without(head), database.decode(own)[n])
        }
        assert ((), ()) in {s for s, _ in every[n + len(heads)]}


def test_bulk_queries_are_text_queries() -> None:
    program = Program("p(a, b). p(b, c). q(X, Y) :- p(X, Y). u(a). z.")
    database = Database.of(program, nesting=2)
    symbols = database.symbols
    p = symbols.predicate(program.query("p(a, b)").atoms[0].functor)  # type: ignore[union-attr]
    pairs = [("a", "b"), ("a", "c"), ("b", "c")]
    numbers = [[symbols.constant(t) for t in args_of(program.query(f"p({x}, {y})").atoms[0])]
               for x, y in pairs]  # fmt: skip
    bulk = database.triples(torch.full((3,), p), torch.tensor(numbers), leave_out=True)
    text = database.goals([f"p({x}, {y})" for x, y in pairs], leave_out=True)
    assert torch.equal(bulk.atoms, text.atoms)
    assert bulk.left_out.tolist() == text.left_out.tolist() == [0, -1, 1]
    assert len(expand(database, bulk).parent) == 0
    own = database.triples(torch.full((3,), p), torch.tensor(numbers))
    assert expand(database, own).parent.tolist() == [0, 2]


def test_true_and_empty_batches_have_no_successors() -> None:
    database = Database.of(Program("p(a). z."))
    true = expand(database, database.goals(["z"])).goals
    assert len(true) == 1 and true.atoms.shape[1] == 0 and true.is_true.all()
    assert len(expand(database, true).parent) == 0
    assert len(expand(database, database.goals([])).parent) == 0


def test_duplicate_facts_are_one() -> None:
    database = Database.of(Program("p(a, b). p(c, d). p(a, b). u(a). u(a). u(a)."))
    assert len(database.facts) == 3 and database.facts.duplicates == 3
    assert database.decode(expand(database, database.goals(["p(X, Y)"]), merge=False).goals) == [
        g for g in database.decode(expand(database, database.goals(["p(X, Y)"])).goals)
    ]


def test_goals_that_are_not_canonical_are_refused() -> None:
    database = Database.of(Program("p(a, b)."))
    goals = database.goals(["p(X, Y)"])
    swapped = goals.atoms.clone()
    swapped[0, 0, 1:] = torch.tensor([-3, -2])
    with pytest.raises(ValueError, match="first occurrence"):
        expand(database, Goals(swapped, goals.answer, goals.left_out))
    renumbered = Goals(swapped, goals.answer, goals.left_out).canonical()
    assert len(expand(database, renumbered).parent) == 1


GUARDS = "ground(X), ground(Y)"
BELIEF = """
parent(a, b).
anc(X, Y) :- parent(X, Y).
anc(X, Y) :- parent(X, Z), anc(Z, Y).
anc(X, Y) :- believe(anc, X, Y).
nn(kge, [R, X, Y]) :: believe(R, X, Y).
"""


def test_belief_is_offered_when_ground() -> None:
    program = Program(BELIEF, order="bound_first")
    database = Database.of(program)
    compare(program, database, database.goals(["anc(a, b)", "believe(anc, a, b), parent(a, b)"]))
    bodies = [
        g.atoms for g in database.decode(expand(database, database.goals(["anc(a, X)"])).goals)
    ]
    assert len(bodies) == 2
    assert all(a.functor.name != "believe" for body in bodies for a in body)  # type: ignore[union-attr]


def test_a_guarded_belief_is_a_belief() -> None:
    """Written for plain resolution, the condition is part of the choice in both engines."""
    program = Program(BELIEF.replace(":- believe", f":- {GUARDS}, !, believe"), order="bound_first")
    ours = Database.of(program)
    plain = Database.of(Program(BELIEF, order="bound_first"))
    queries = ["anc(a, b)", "anc(a, X)", "anc(X, Y), parent(Y, X)"]
    made = compare(program, ours, ours.goals(queries))
    assert len(made) == 3 + 2 + 2
    for query in queries:
        one, two = (expand(d, d.goals([query])) for d in (ours, plain))
        assert one.clause.tolist() == two.clause.tolist()
        assert ours.decode(one.goals) == plain.decode(two.goals)


@pytest.mark.parametrize(
    "body",
    [f"{GUARDS}, believe(anc, X, Y)", "ground(X), !, believe(anc, X, Y)", f"{GUARDS}, !"],
)
def test_guards_that_are_no_belief(body: str) -> None:
    with pytest.raises(ProgramError, match="ground/1 that does not guard one neural fact in anc"):
        Database.of(Program(BELIEF.replace("believe(anc, X, Y)", body, 1)))
    later = BELIEF.replace(":- believe", f":- {GUARDS}, !, believe") + "anc(b, b)."
    with pytest.raises(ProgramError, match="ground/1 that does not guard one neural fact in anc"):
        Database.of(Program(later.replace("nn(", ":- discontiguous(anc/2).\nnn(")))


def test_a_neural_fact_needs_its_arguments() -> None:
    database = Database.of(Program(BELIEF))
    with pytest.raises(ProgramError, match=r"believe\(anc,a,_0\)"):
        expand(database, database.goals(["believe(anc, a, X)"]))


def test_expanding_reads_any_struct_arity() -> None:
    """Twelve arguments: the call patterns are many, those met are few."""
    names = [f"c{i}" for i in range(12)]
    program = Program(f"w({', '.join(names)}). r(X) :- w(X, {', '.join('_' * 11)}).")
    database = Database.of(program)
    wide = f"w({', '.join(f'V{i}' for i in range(12))})"
    made = compare(program, database, database.goals(["r(X)", wide, wide.replace("V3", "c3")]))
    assert len(made) == 3
    assert isinstance(database.clause(1).head, Struct)
