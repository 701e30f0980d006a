"""Terms that share parts or contain themselves: the walks that visit each part once.

Against the quick walks on finite terms, and against the trees themselves, cut off at a depth, on
infinite ones.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

import deepprooflog as dpl
from deepprooflog.logic.clause import abstract
from deepprooflog.logic.goal import Interner
from deepprooflog.logic.solver.machine import copy_term
from deepprooflog.logic.solver.standard_order import compare
from deepprooflog.logic.unify import Trail, occurs, undo, unify
from deepprooflog.syntax.sharing import leaves
from deepprooflog.syntax.terms import (
    Atom,
    Functor,
    Struct,
    Term,
    Var,
    deref,
    is_acyclic,
    is_ground,
    iter_list,
    list_tail,
    make_list,
    variables,
)
from deepprooflog.syntax.writer import write_term

WALKS = ("syntax.terms", "logic.unify", "logic.solver.standard_order", "logic.clause", "logic.goal")
F = Functor("f", 2)
LEAVES: list[Term] = [Atom("a"), Atom("b"), 1]


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Every walk remembers what it visits from its first step on."""
    for name in WALKS:
        monkeypatch.setattr(f"deepprooflog.{name}.MANY", 0)
    yield monkeypatch
    monkeypatch.undo()


def random_terms(rng: random.Random, cyclic: bool) -> tuple[Term, Term, list[Var]]:
    """Two terms over common variables, with parts shared; some variables bound, round if asked."""
    free = [Var(f"V{i}") for i in range(3)]
    pool: list[Term] = [*LEAVES, *free]
    for _ in range(rng.randrange(1, 10)):
        pool.append(Struct(F, (rng.choice(pool), rng.choice(pool))))
    if cyclic:
        for var in free[: rng.randrange(0, 3)]:
            part = rng.choice(pool)
            if type(part) is Struct:
                var.ref = part
    return pool[-1], rng.choice(pool), free


def tree(term: Term, depth: int) -> object:
    """The tree a term stands for, down to a depth."""
    t = deref(term)
    if type(t) is not Struct:
        return t
    return (t.functor, *(tree(a, depth - 1) for a in t.args)) if depth else "…"


def test_finite_terms_are_treated_as_by_the_quick_walks(at_once: pytest.MonkeyPatch) -> None:
    """Unification, order, copies, variables and groundness agree, case by case."""
    for seed in range(400):
        outcomes = []
        for careful in (True, False):
            for name in WALKS:
                at_once.setattr(f"deepprooflog.{name}.MANY", 0 if careful else 10**9)
            a, b, free = random_terms(random.Random(seed), cyclic=False)
            numbers: dict[Var, int] = {}
            copy = abstract(Struct(F, (a, b)), numbers)
            trail: Trail = []
            order = compare(a, b, {v: i for i, v in enumerate(free)})
            found = [v.name for v in variables(a, b)]
            goal = Interner().goal([Struct(F, (a, b))])
            occurring = [occurs(v, a) for v in free]
            texts = [write_term(copy_term(a)), write_term(copy), write_term(goal.atoms[0])]
            done = unify(a, b, trail, occurs_check=True)
            unified = (write_term(a), write_term(b)) if done else None
            undo(trail, 0)
            outcomes.append((order, found, done, unified, texts, occurring, is_ground(a)))
        assert outcomes[0] == outcomes[1], seed


def test_infinite_trees_unify_and_compare_as_their_unfoldings(
    at_once: pytest.MonkeyPatch,
) -> None:
    """Equal exactly when the trees are, to a depth at which terms of so few parts must differ."""
    infinite = 0
    for seed in range(300):
        a, b, _free = random_terms(random.Random(seed), cyclic=True)
        infinite += not is_acyclic(a)
        same = tree(a, 12) == tree(b, 12)
        assert (compare(a, b, {}) == 0) == same, seed
        copied = copy_term(a)
        assert not variables(a) or set(variables(a)).isdisjoint(variables(copied))
        assert is_acyclic(copied) == is_acyclic(a), seed
        if not variables(a):
            assert tree(copied, 12) == tree(a, 12), seed
        trail: Trail = []
        if unify(a, b, trail):
            assert tree(a, 10) == tree(b, 10), seed
        undo(trail, 0)
    assert infinite > 30


def doubled(times: int, leaf: Term) -> Term:
    term = leaf
    for _ in range(times):
        term = Struct(F, (term, term))
    return term


def test_a_term_doubled_sixty_times_is_sixty_parts() -> None:
    """2^60 leaves: unified, compared, copied and asked about in no time; its text is refused."""
    x, y = Var("X"), Var("Y")
    left, right = doubled(60, x), doubled(60, y)
    assert compare(left, doubled(60, x), {}) == 0
    assert compare(doubled(60, Atom("a")), doubled(60, Atom("b")), {}) < 0
    assert variables(left, right) == [x, y]
    assert not is_ground(left)
    assert is_ground(doubled(60, 1))
    copied = copy_term(left)
    assert len(variables(copied)) == 1
    assert copied.args[0] is copied.args[1]  # type: ignore[union-attr]
    goal = Interner().goal([left])
    assert goal.size == 1
    assert goal.atoms[0] == Interner().goal([right]).atoms[0]
    trail: Trail = []
    assert unify(left, right, trail, occurs_check=True)
    assert deref(x) is deref(y)
    assert not unify(x, left, trail, occurs_check=True)
    assert leaves(left, 1 << 80) == (1 << 61) - 1
    with pytest.raises(dpl.PrologError, match="resource_error"):
        write_term(left)


def test_lists_that_come_round_end() -> None:
    """A circular list is no list: builtins say so, and elements are met once more at most."""
    x = Var()
    x.ref = make_list([Atom("a"), Atom("b"), Atom("c")], x)
    assert type(list_tail(x)) is Struct
    assert [t.name for t in iter_list(x)][:3] == ["a", "b", "c"]  # type: ignore[union-attr]
    program = dpl.Program("ring(X) :- X = [a, b|X].")
    for goal in ("length(X, _)", "msort(X, _)", "atomic_list_concat(X, _)", "sum_list(X, _)"):
        with pytest.raises(dpl.PrologError, match="type_error"):
            list(dpl.solve(program, f"ring(X), {goal}"))
    with pytest.raises(dpl.PrologError, match="cyclic_term"):
        list(dpl.solve(program, "ring(X), write(X)"))


def test_an_answer_that_contains_itself_is_refused_by_name() -> None:
    """Bindings have a text or an error that names the remedy; both kinds of question say so."""
    program = dpl.Program("p(X) :- X = f(X).")
    with pytest.raises(dpl.ProgramError, match="contains itself") as caught:
        list(dpl.solve(program, "p(X)"))
    assert caught.value.hint is not None and "occurs_check" in caught.value.hint
    with pytest.raises(dpl.ProgramError, match="contains itself"):
        dpl.prob(program, "p(X)")
    assert list(dpl.solve(dpl.Program("p(X) :- X = f(X).", occurs_check=True), "p(X)")) == []
