"""Resolvents written in bulk: templates filled with the call's arguments, goals with facts' values.

A goal is handled as one row, [left-out fact, answer…, atoms…], PAD at the end: what resolution does
to the rest of a goal it does to its answer.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from deepprooflog.relational.call_patterns import argument, residual
from deepprooflog.relational.database import Database
from deepprooflog.relational.goals import PAD, Goals, group_rows, number_variables, variable
from deepprooflog.relational.match import Calls, match
from deepprooflog.score.segments import tensor_ranges


@dataclass(frozen=True)
class Resolvents:
    """Resolvents as rows: first those by rules, then those by facts, each ordered by parent."""

    parent: Int[Tensor, " resolvents"]
    clause: Int[Tensor, " resolvents"]
    rows: Int[Tensor, "resolvents columns"]


def resolve(database: Database, goals: Goals, calls: Calls) -> Resolvents:
    """Write the resolvents that `match` has counted."""
    answers, width = goals.answer.shape[1], database.shape.width
    tails = torch.cat([goals.left_out[:, None], goals.answer, goals.behind.flatten(1)], 1)
    columns = 1 + answers + calls.widest * width
    parts = []
    if calls.rule_total:
        parts.append(_by_rules(database, goals, calls, tails, columns))
    if calls.fact_total:
        parts.append(_by_facts(database, goals, calls, tails, columns))
    if len(parts) == 1:
        return parts[0]
    none = torch.zeros(0, dtype=torch.long, device=goals.device)
    return Resolvents(
        torch.cat([none, *(p.parent for p in parts)]),
        torch.cat([none, *(p.clause for p in parts)]),
        torch.cat([tails.new_zeros(0, columns), *(p.rows for p in parts)]),
    )


def from_rows(rows: Int[Tensor, "goals columns"], answers: int, width: int) -> Goals:
    """The goals that rows stand for."""
    head = 1 + answers
    atoms = (rows.shape[1] - head) // width
    return Goals(
        rows[:, head:].reshape(len(rows), atoms, width),
        rows[:, 1:head].contiguous(),
        rows[:, 0].contiguous(),
    )


def _by_rules(
    database: Database, goals: Goals, calls: Calls, tails: Tensor, columns: int
) -> Resolvents:
    tables, shape = database.tables, database.shape
    parent, place = tensor_ranges(calls.rule_start, calls.rules, calls.rule_total)
    rule = tables.rules.index_select(0, place)
    template = calls.pattern.index_select(0, parent) * len(database.rules) + rule
    call = goals.leftmost[:, 1:].contiguous().index_select(0, parent)
    if tables.test_argument.shape[1]:
        value = _fill(tables.test_value[template], call, shape.arity)
        passed = call.gather(1, tables.test_argument[template]) == value
        kept = passed.all(1).nonzero().squeeze(1)
        parent, rule, template, call = parent[kept], rule[kept], template[kept], call[kept]
    body = _fill(tables.body.index_select(0, template), call, shape.arity)
    if shape.nested:
        # The nesting left is the call's last column; its body has one less.
        body = torch.where(body == argument(shape.arity), call[:, -1:] - 1, body)
    bindings = _fill(tables.bindings.index_select(0, template), call, shape.arity)
    bound = tails.shape[1] + body.shape[1]
    for i in range(tables.residuals):
        bindings = torch.where(bindings == residual(i), variable(bound + i), bindings)
    shift = tables.shift.index_select(0, template)
    tail = _substitute(tails.index_select(0, parent), bindings, shift)
    head = 1 + goals.answer.shape[1]
    length = tables.length.index_select(0, template)
    rows = _joined(tail, body, length, tables.lengths, head, shape.width, columns)
    if tables.residuals:
        # Numbered by atoms, then answer; the fact left out is no variable.
        turned = number_variables(
            torch.cat([rows[:, head:], rows[:, :head]], 1), bound + tables.residuals
        )
        rows = torch.cat([turned[:, -head:], turned[:, :-head]], 1)
    return Resolvents(parent, rule, rows)


def _by_facts(
    database: Database, goals: Goals, calls: Calls, tails: Tensor, columns: int
) -> Resolvents:
    tables, shape = database.tables, database.shape
    parent, place = tensor_ranges(calls.fact_start, calls.facts, calls.fact_total)
    fact = database.index.facts_at(place)
    values = database.facts.arguments_of(fact)
    pattern = calls.pattern.index_select(0, parent)
    kept = _usable(database, goals, calls, parent, fact, values)
    if kept is not None:
        parent, fact, values, pattern = parent[kept], fact[kept], values[kept], pattern[kept]
    variables = tables.variables.index_select(0, pattern)
    bindings = values.gather(1, tables.first.index_select(0, pattern))
    # The call's own variables are bound, and the others move up to the first numbers.
    number = torch.arange(shape.arity, dtype=variables.dtype, device=variables.device)
    moved = variables[:, None] - 2 - number
    bindings = torch.where(number < variables[:, None], bindings, moved)
    tail = _substitute(tails.index_select(0, parent), bindings, -variables)
    rows = tail.new_full((len(parent), columns), PAD)
    held = min(columns, tail.shape[1])
    rows[:, :held] = tail[:, :held]
    return Resolvents(parent, fact.long() + len(database.rules), rows)


def _usable(
    database: Database,
    goals: Goals,
    calls: Calls,
    parent: Int[Tensor, " items"],
    fact: Int[Tensor, " items"],
    values: Int[Tensor, "items arity"],
) -> Int[Tensor, " kept"] | None:
    """The items whose fact agrees with a call's repeated variables and is not left out."""
    if not (calls.repeats or calls.left_out):
        return None
    usable = fact != goals.left_out[parent]
    if calls.repeats:
        arity = database.shape.arity
        call = goals.leftmost.index_select(0, parent)[:, 1 : 1 + arity]
        number = (-2 - call).clamp(min=0).long()
        home = database.tables.first[calls.pattern[parent]].gather(1, number)
        usable &= ((call >= PAD) | (values.gather(1, home) == values)).all(1)
    return usable.nonzero().squeeze(1)


def _fill(
    codes: Int[Tensor, "items codes"], call: Int[Tensor, "items _columns"], arity: int
) -> Int[Tensor, "items codes"]:
    """Templates' codes with the call's arguments in their places."""
    for j in range(arity):
        codes = torch.where(codes == argument(j), call[:, j : j + 1], codes)
    return codes


def _substitute(
    tail: Int[Tensor, "items columns"],
    bindings: Int[Tensor, "items arity"],
    shift: Int[Tensor, " items"],
) -> Int[Tensor, "items columns"]:
    """The rest of each goal: the call's variables bound, the numbers of all others moved."""
    arity = bindings.shape[1]
    result = torch.where(tail <= variable(arity), tail - shift[:, None], tail)
    for v in range(arity):
        result = torch.where(tail == variable(v), bindings[:, v : v + 1], result)
    return result


def _joined(
    tail: Int[Tensor, "items rest"],
    body: Int[Tensor, "items atoms"],
    length: Int[Tensor, " items"],
    lengths: tuple[int, ...],
    head: int,
    width: int,
    columns: int,
) -> Int[Tensor, "items columns"]:
    """Rows of what precedes the atoms, the body, and the rest of the goal."""
    rows = tail.new_full((len(tail), columns), PAD)
    for number in lengths:
        part = torch.cat([tail[:, :head], body[:, : number * width], tail[:, head:]], 1)
        held = min(columns, part.shape[1])
        if len(lengths) == 1:
            rows[:, :held] = part[:, :held]
        else:
            chosen = (length == number)[:, None]
            rows[:, :held] = torch.where(chosen, part[:, :held], rows[:, :held])
    return rows


@dataclass(frozen=True)
class Successors:
    """The successors of a batch of goals, ordered by parent; rules before facts."""

    parent: Int[Tensor, " successors"]
    goals: Goals
    clause: Int[Tensor, " successors"]  # rules 0 … R − 1, then facts


def expand(database: Database, goals: Goals, *, merge: bool = True) -> Successors:
    """The successors of each goal; with `merge` those that are equal are one, by its first clause.

    Goals must be canonical, as `Database.goals` and `expand` make them; True has no successors.

    >>> from deepprooflog.logic.program import Program
    >>> database = Database.of(Program("p(X) :- q(X, Y), p(Y). p(c). q(a, b). q(a, c)."))
    >>> found = expand(database, database.goals(["p(X)"]))
    >>> [(goal.atoms, goal.answer) for goal in database.decode(found.goals)]
    [((Struct(q(_0,_1)), Struct(p(_1))), (_0,)), ((), (Atom('c'),))]
    """
    calls = match(database, goals)
    found = resolve(database, goals, calls)
    parent, clause, rows = found.parent, found.clause, found.rows
    if merge and len(rows):
        groups = group_rows(torch.cat([parent.to(rows.dtype)[:, None], rows], 1))
        chosen = groups.members.sort().values
        parent, clause = parent.index_select(0, chosen), clause.index_select(0, chosen)
        rows = rows.index_select(0, chosen)
    order = parent.sort(stable=True).indices
    made = from_rows(rows.index_select(0, order), goals.answer.shape[1], database.shape.width)
    return Successors(parent.index_select(0, order), made, clause.index_select(0, order))
