"""Templates kept with their program: used again, never wrong, bounded, and gone with it."""

from __future__ import annotations

import contextlib
import gc
import threading
import weakref

import pytest
import torch

import deepprooflog as dpl
from deepprooflog import Budget, Program
from deepprooflog.graph.unfold import unfold as kept
from deepprooflog.graph.unfold.template import Template, Templates, TemplateStore
from deepprooflog.graph.unfold.unfold import kept_templates, unfold
from deepprooflog.graph.unfold.way_table import unfolded_rows
from deepprooflog.logic.goal import Interner
from deepprooflog.logic.limits.watch import Overrun
from deepprooflog.logic.resolve import start
from deepprooflog.syntax.reader import read_term
from deepprooflog.syntax.terms import Struct

COUNT = "0.5 :: c(h). 0.5 :: c(t). n([], 0). n([_|Xs], N) :- c(C), v(C, V), M is N - V, n(Xs, M).\n"
COUNT += "v(h, 1). v(t, 0)."


def store_of(program: Program) -> TemplateStore:
    ((_, store),) = kept._KEPT[program]
    return store


def ask(program: Program, *goals: str) -> list[float]:
    return dpl.Model(program).log_prob(list(goals)).exp().tolist()


def test_what_is_known_is_not_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program(COUNT)
    assert ask(program, "n([a,b], 1)") == pytest.approx([0.5])
    found = store_of(program)
    expanded: list[Template] = []
    expand = Templates._expand

    def counted(self: Templates, template: Template) -> None:
        expanded.append(template)
        expand(self, template)

    monkeypatch.setattr(Templates, "_expand", counted)
    assert ask(program, "n([c,d], 1)") == pytest.approx([0.5])
    assert not expanded
    assert ask(program, "n([a,b,c], 1)") == pytest.approx([3 / 8])
    assert store_of(program) is found


def test_a_view_is_another_program() -> None:
    """Leaving a fact out changes the steps; so does what is left out of the view in its turn."""
    program = Program("w(0). w(1). q([], 0). q([_|Xs], N) :- 0 =< N, w(V), M is N - V, q(Xs, M).")
    goals = ["q([a,b], 0)", "q([a,b], 1)", "q([a,b], 2)"]

    def weights(view: Program) -> list[float]:
        return ask(view, *goals)

    zero, one = (read_term(f"w({i}).").term for i in (0, 1))
    assert isinstance(zero, Struct)
    assert isinstance(one, Struct)
    with pytest.raises(dpl.ProofLogError, match="more than 1"):
        weights(program)
    assert weights(program.without(zero)) == [0, 0, 1]
    assert weights(program.without(one)) == [1, 0, 0]
    assert weights(program.without(one).without(zero)) == [0, 0, 0]


def test_another_order_of_bodies_is_another_meaning() -> None:
    """A program whose attributes are changed by hand begins anew."""
    program = Program(COUNT)
    ask(program, "n([a], 1)")
    known = store_of(program)
    program.order = "bound_first"
    with kept_templates(program) as store:
        assert store is not known
    program.order = "written"
    program.occurs_check = True
    with kept_templates(program) as store:
        assert store is not known


def test_it_goes_with_the_program() -> None:
    program = Program(COUNT)
    ask(program, "n([a], 1)")
    gone = weakref.ref(store_of(program).interner)
    assert gone() is not None
    del program
    gc.collect()
    assert gone() is None


def test_a_store_holds_nothing_of_a_query() -> None:
    """Terms of a query know the interner that made them: it must go with the batch."""
    program = Program(
        "0.5 :: c(h). p([], _, _). p([X|Xs], T, [_|L]) :- c(h), X == T, \\+ T = z, p(Xs, T, L)."
    )
    interner = Interner()
    goals = ["p([f(a),f(a)], f(a), [1,2])", "p([[a]], [a], [g(b)])"]
    with kept_templates(program) as store:
        states = [start(program.query(g).atoms, interner) for g in goals]
        unfolded_rows(store, unfold(Templates(program, interner, Budget(), store), states))
    assert store.cases
    gone = weakref.ref(interner)
    del interner, states
    gc.collect()
    assert gone() is None


def test_it_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream of constants that are never the same does not fill the memory."""
    program = Program("0.5 :: c(h). 0.5 :: c(t). p(f(X), Y) :- c(h), X =\\= Y.")
    monkeypatch.setattr(kept, "MOST_KEPT", 300)
    sizes = []
    for i in range(100):
        assert ask(program, f"p(f({i}), {-i - 1})") == [0.5]
        sizes.append(sum(store.size for _, store in kept._KEPT[program]))
    assert max(sizes) <= 300
    assert sizes.count(0) >= 2


def test_threads_work_at_once() -> None:
    program = Program(COUNT)
    wrong: list[object] = []
    together = threading.Barrier(6)

    def work(number: int) -> None:
        together.wait()
        for n in range(1, 9):
            goal = f"n([{','.join('x' * n)}], {number % (n + 1)})"
            value = ask(program, goal)
            expected = dpl.prob(program, goal)
            if value != pytest.approx([expected]):
                wrong.append((goal, value, expected))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
    assert 1 <= len(kept._KEPT[program]) <= kept.MOST_STORES


@pytest.mark.parametrize("error", [Overrun("late"), KeyboardInterrupt(), MemoryError()])
@pytest.mark.parametrize("after", [0, 1, 2])
def test_work_that_was_interrupted_is_forgotten(
    error: BaseException, after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever ends it in the middle, the next question is answered as if it were the first."""
    program = Program(COUNT)
    ask(program, "n([a], 1)")
    expand, left = Templates._expand, [after]

    def interrupted(self: Templates, template: Template) -> None:
        expand(self, template)
        left[0] -= 1
        if left[0] < 0:
            raise error

    monkeypatch.setattr(Templates, "_expand", interrupted)
    with contextlib.suppress(type(error), dpl.BudgetExceeded):
        ask(program, "n([a,b], 1)", "n([b], 0)")
    monkeypatch.undo()
    assert not kept._KEPT[program]
    assert ask(program, "n([a,b], 1)", "n([b], 0)") == pytest.approx([0.5, 0.5])


def test_budgets_hold_with_what_is_known() -> None:
    """A limit on goals is the question's own, whatever earlier questions found."""
    program = Program(COUNT)
    goal = f"n([{','.join('x' * 12)}], 6)"
    model = dpl.Model(program)
    value = model.log_prob([goal]).item()
    with pytest.raises(dpl.Inexact):
        model.log_prob([goal], Budget(max_goals=5), method="graph")
    assert model.log_prob([goal], Budget(max_seconds=60)).item() == pytest.approx(value)
    with pytest.raises((dpl.Inexact, dpl.BudgetExceeded)):
        model.log_prob([goal], Budget(max_seconds=0))
    assert torch.isfinite(model.log_prob([goal])).all()
