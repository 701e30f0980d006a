"""aggregate_all/3: count, sum, max, min, bag and set over all solutions of a goal."""

from __future__ import annotations

from typing import Any

from deepprooflog.logic.builtins.registry import control
from deepprooflog.logic.builtins.solutions import Finish, collect
from deepprooflog.logic.solver.arithmetic import Number, add, evaluate, number_term
from deepprooflog.logic.solver.iso_errors import domain_error, instantiation_error, type_error
from deepprooflog.logic.solver.machine import Continuation, Machine, Site
from deepprooflog.logic.solver.standard_order import compare, sorted_terms, without_duplicates
from deepprooflog.syntax.terms import NIL, Atom, Functor, Struct, Term, Var, deref, make_list

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
