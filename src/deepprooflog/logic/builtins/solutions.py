"""All solutions: findall/3,4, bagof/3, setof/3 and aggregate_all/3."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deepprooflog.logic.body import as_goal
from deepprooflog.logic.builtins.registry import Solutions, control
from deepprooflog.logic.builtins.terms import require_partial_list
from deepprooflog.logic.clause import abstract
from deepprooflog.logic.solver.arithmetic import Number, add, evaluate, number_term
from deepprooflog.logic.solver.iso_errors import domain_error, instantiation_error, type_error
from deepprooflog.logic.solver.machine import ChoicePoint, Continuation, Machine, Site, copy_term
from deepprooflog.logic.solver.standard_order import (
    compare,
    note_ages,
    sort_key,
    sorted_terms,
    without_duplicates,
)
from deepprooflog.logic.unify import undo
from deepprooflog.syntax.terms import (
    NIL,
    Atom,
    Functor,
    Struct,
    Term,
    Var,
    deref,
    make_list,
    variables,
)

_CARET = Functor("^", 2)
_PAIR = Functor("-", 2)
_WITNESS = "$witness"

Finish = Callable[[Machine, list[Term], Any], "Continuation | None"]


def _collect(machine: Machine, args: Any, cont: Any) -> Continuation | None:
    template, found = args
    found.append(copy_term(template))
    return None


COLLECT = Site(None, run=_collect)


def collect(
    m: Machine, site: Site, template: Term, goal: Term, cont: Any, finish: Finish
) -> Continuation | None:
    """Run the goal to its end, keep a copy of the template for each solution, then `finish`."""
    goal = as_goal(goal)
    found: list[Term] = []
    height = len(m.choices)
    m.choices.append((_finish, len(m.trail), cont, found, finish))
    origin: Any = site.origin
    return m.goal(goal, (COLLECT, (template, found), cont), height + 1, origin.user)


def _finish(machine: Machine, choice: ChoicePoint) -> Continuation | None:
    _, _, cont, found, finish = choice
    frame: Continuation | None = finish(machine, found, cont)
    return frame


@control("findall", 3, guard=True, single=True)
def findall(m: Machine, site: Site, args: Any, cont: Any) -> Continuation | None:
    template, goal, result = args
    require_partial_list(result)

    def finish(machine: Machine, found: list[Term], cont: Any) -> Continuation | None:
        return cont if machine.unify(result, make_list(found)) else None

    return collect(m, site, template, goal, cont, finish)


@control("findall", 4, guard=True, single=True)
def findall_tail(m: Machine, site: Site, args: Any, cont: Any) -> Continuation | None:
    template, goal, result, tail = args

    def finish(machine: Machine, found: list[Term], cont: Any) -> Continuation | None:
        return cont if machine.unify(result, make_list(found, tail)) else None

    return collect(m, site, template, goal, cont, finish)


@control("bagof", 3, guard=True)
def bagof(m: Machine, site: Site, args: Any, cont: Any) -> Continuation | None:
    return _bag(m, site, args, cont, as_set=False)


@control("setof", 3, guard=True)
def setof(m: Machine, site: Site, args: Any, cont: Any) -> Continuation | None:
    return _bag(m, site, args, cont, as_set=True)


def _bag(m: Machine, site: Site, args: Any, cont: Any, as_set: bool) -> Continuation | None:
    template, goal, result = args
    require_partial_list(result)
    bound: list[Term] = [template]
    goal = deref(goal)
    while type(goal) is Struct and goal.functor is _CARET:
        bound.append(goal.args[0])
        goal = deref(goal.args[1])
    excluded = set(variables(*bound))
    free = [v for v in variables(goal) if v not in excluded]
    witness: Term = Struct(Functor(_WITNESS, len(free)), tuple(free)) if free else NIL

    def finish(machine: Machine, found: list[Term], cont: Any) -> Continuation | None:
        if not found:
            return None
        pairs = [t.args for t in found if type(t) is Struct]
        return machine.iterate(_groups(machine, pairs, witness, result, as_set), cont)

    return collect(m, site, Struct(_PAIR, (witness, template)), goal, cont, finish)


def _groups(
    m: Machine, pairs: list[tuple[Term, ...]], witness: Term, result: Term, as_set: bool
) -> Solutions:
    """One solution for each binding of the free variables, in standard order."""
    if type(witness) is Struct:
        key = sort_key(m.ages)
        note_ages([w for w, _ in pairs], m.ages)
        pairs = sorted(pairs, key=lambda pair: key(pair[0]))  # type: ignore[arg-type, return-value]
    groups: dict[Term, list[tuple[Term, ...]]] = {}
    for pair in pairs:
        groups.setdefault(abstract(pair[0], {}), []).append(pair)
    for left, group in zip(range(len(groups) - 1, -1, -1), groups.values(), strict=True):
        mark = len(m.trail)
        shared = group[0][0]
        for other, _ in group[1:]:
            m.unify(shared, other)
        items = [item for _, item in group]
        if as_set:
            items = without_duplicates(sorted_terms(map(deref, items), m.ages), m.ages)
        if m.unify(witness, shared) and m.unify(result, make_list(items)):
            if not left:
                return True
            yield
        else:
            undo(m.trail, mark)
    return None


_COUNT = Atom("count")


@control("aggregate_all", 3, guard=True, single=True)
def aggregate_all(m: Machine, site: Site, args: Any, cont: Any) -> Continuation | None:
    spec, goal, result = args
    spec = deref(spec)
    if type(spec) is Var:
        raise instantiation_error("what to aggregate is not bound")
    if spec is _COUNT:
        return collect(m, site, NIL, goal, cont, _unify(result, lambda m, found: len(found)))
    if type(spec) is Struct and spec.functor in _AGGREGATES:
        template = spec.args[0] if len(spec.args) == 1 else spec
        return collect(m, site, template, goal, cont, _unify(result, _AGGREGATES[spec.functor]))
    if type(spec) is not Atom and type(spec) is not Struct:
        raise type_error("aggregate_template", spec)
    raise domain_error("aggregate_template", spec)


def _unify(result: Term, aggregate: Any) -> Finish:
    def finish(machine: Machine, found: list[Term], cont: Any) -> Continuation | None:
        value = aggregate(machine, found)
        return cont if value is not None and machine.unify(result, value) else None

    return finish


def _sum(m: Machine, found: list[Term]) -> Term:
    total: Number = 0
    for item in found:
        total = add(total, evaluate(item))
    return number_term(total)


def _best(sign: int) -> Any:
    def best(m: Machine, found: list[Term]) -> Term | None:
        result: Term | None = None
        for item in found:
            value = number_term(evaluate(item))
            if result is None or sign * compare(value, result, m.ages) > 0:
                result = value
        return result

    return best


def _best_witness(name: str, sign: int) -> Any:
    def best(m: Machine, found: list[Term]) -> Term | None:
        result: tuple[Term, Term] | None = None
        for item in found:
            assert type(item) is Struct
            value = number_term(evaluate(item.args[0]))
            if result is None or sign * compare(value, result[0], m.ages) > 0:
                result = value, item.args[1]
        return None if result is None else Struct(Functor(name, 2), result)

    return best


_AGGREGATES = {
    Functor("count", 1): lambda m, found: len(found),
    Functor("sum", 1): _sum,
    Functor("max", 1): _best(1),
    Functor("min", 1): _best(-1),
    Functor("max", 2): _best_witness("max", 1),
    Functor("min", 2): _best_witness("min", -1),
    Functor("bag", 1): lambda m, found: make_list(found),
    Functor("set", 1): lambda m, found: make_list(
        without_duplicates(sorted_terms(found, m.ages), m.ages)
    ),
}
