"""Unification, comparison and sorting of terms: =/2, ==/2, compare/3, msort/2, sort/2,4, sets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cmp_to_key
from typing import Any

from deepprooflog.logic.builtins.registry import det
from deepprooflog.logic.builtins.terms import require_list, require_partial_list
from deepprooflog.logic.clause import abstract
from deepprooflog.logic.solver.iso_errors import (
    domain_error,
    instantiation_error,
    iso_error,
    type_error,
)
from deepprooflog.logic.solver.machine import Machine
from deepprooflog.logic.solver.standard_order import compare as standard_order
from deepprooflog.logic.solver.standard_order import (
    note_ages,
    sorted_terms,
    without_duplicates,
)
from deepprooflog.logic.unify import undo, unify
from deepprooflog.syntax.terms import Atom, Functor, Struct, Term, Var, deref, make_list, struct

_RESULTS = {-1: Atom("<"), 0: Atom("="), 1: Atom(">")}


@det("=", 2, iso=True)
def equals(m: Machine, args: Any) -> bool:
    return m.unify(args[0], args[1])


@det("\\=", 2, iso=True)
def not_unifiable(m: Machine, args: Any) -> bool:
    mark = len(m.trail)
    done = m.unify(args[0], args[1])
    undo(m.trail, mark)
    return not done


@det("unify_with_occurs_check", 2, iso=True)
def unify_soundly(m: Machine, args: Any) -> bool:
    return unify(args[0], args[1], m.trail, True)


@det("==", 2, iso=True)
def identical(m: Machine, args: Any) -> bool:
    return standard_order(args[0], args[1], m.ages) == 0


@det("\\==", 2, iso=True)
def not_identical(m: Machine, args: Any) -> bool:
    return standard_order(args[0], args[1], m.ages) != 0


@det("=@=", 2)
def variants(m: Machine, args: Any) -> bool:
    return bool(abstract(args[0], {}) == abstract(args[1], {}))


@det("\\=@=", 2)
def not_variants(m: Machine, args: Any) -> bool:
    return not variants(m, args)


@det("@<", 2, iso=True)
def before(m: Machine, args: Any) -> bool:
    return standard_order(args[0], args[1], m.ages) < 0


@det("@>", 2, iso=True)
def after(m: Machine, args: Any) -> bool:
    return standard_order(args[0], args[1], m.ages) > 0


@det("@=<", 2, iso=True)
def not_after(m: Machine, args: Any) -> bool:
    return standard_order(args[0], args[1], m.ages) <= 0


@det("@>=", 2, iso=True)
def not_before(m: Machine, args: Any) -> bool:
    return standard_order(args[0], args[1], m.ages) >= 0


@det("compare", 3, iso=True)
def compare(m: Machine, args: Any) -> bool:
    wanted = deref(args[0])
    if type(wanted) is not Var:
        if type(wanted) is not Atom:
            raise type_error("atom", wanted)
        if wanted not in _RESULTS.values():
            raise domain_error("order", wanted)
    return m.unify(wanted, _RESULTS[standard_order(args[1], args[2], m.ages)])


_PAIR = Functor("-", 2)
_ORDERS = {"@<": (1, True), "@=<": (1, False), "@>": (-1, True), "@>=": (-1, False)}


def _by(m: Machine, keys: Sequence[Term], sign: int = 1) -> Callable[[int], Any]:
    """A sort key for positions: the standard order of the keys there."""

    def difference(i: int, j: int) -> int:
        return sign * standard_order(keys[i], keys[j], m.ages)

    return cmp_to_key(difference)


@det("msort", 2)
def msort(m: Machine, args: Any) -> bool:
    return m.unify(args[1], make_list(sorted_terms(require_list(args[0]), m.ages)))


@det("sort", 2, iso=True)
def sort(m: Machine, args: Any) -> bool:
    items = require_list(args[0])
    require_partial_list(args[1])
    found = without_duplicates(sorted_terms(items, m.ages), m.ages)
    return m.unify(args[1], make_list(found))


@det("sort", 4)
def sort_by(m: Machine, args: Any) -> bool:
    key, order = deref(args[0]), deref(args[1])
    if type(key) is Var or type(order) is Var:
        raise instantiation_error("sort/4 needs a key and an order")
    if type(key) is not int:
        raise type_error("integer", key)
    if key < 0:
        raise domain_error("not_less_than_one", key)
    if type(order) is not Atom:
        raise type_error("atom", order)
    if order.name not in _ORDERS:
        raise domain_error("order", order)
    sign, unique = _ORDERS[order.name]
    keyed = [(_argument(item, key), item) for item in require_list(args[2])]
    keys = [by for by, _ in keyed]
    note_ages(keys, m.ages)
    places = sorted(range(len(keyed)), key=_by(m, keys, sign))
    found: list[Term] = []
    last: Term | None = None
    for by, item in (keyed[i] for i in places):
        if unique and last is not None and standard_order(by, last, m.ages) == 0:
            continue
        last = by
        found.append(item)
    return m.unify(args[3], make_list(found))


def _argument(item: Term, key: int) -> Term:
    if key == 0:
        return item
    if type(item) is Var:
        raise instantiation_error("sort/4 meets an unbound element")
    if type(item) is not Struct:
        raise type_error("compound", item)
    if key > len(item.args):
        formal = struct("existence_error", Atom("argument"), key, item)
        raise iso_error(formal, "sort/4 meets an element that has no such argument")
    return item.args[key - 1]


@det("keysort", 2, iso=True)
def keysort(m: Machine, args: Any) -> bool:
    pairs: list[Struct] = []
    for item in require_list(args[0]):
        if type(item) is Var:
            raise instantiation_error("keysort/2 meets an unbound element")
        if type(item) is not Struct or item.functor is not _PAIR:
            raise type_error("pair", item)
        pairs.append(item)
    keys = [pair.args[0] for pair in pairs]
    note_ages(keys, m.ages)
    order = sorted(range(len(pairs)), key=_by(m, keys))
    return m.unify(args[1], make_list([pairs[i] for i in order]))


@det("list_to_set", 2)
def list_to_set(m: Machine, args: Any) -> bool:
    items = require_list(args[0])
    first: list[int] = []
    last: Term | None = None
    for i in sorted(range(len(items)), key=_by(m, items)):
        if last is None or standard_order(items[i], last, m.ages):
            first.append(i)
            last = items[i]
    return m.unify(args[1], make_list([items[i] for i in sorted(first)]))
