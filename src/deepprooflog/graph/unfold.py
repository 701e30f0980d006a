"""Unfolding: a query as instances of templates, without resolving a single step of its own.

Each instance is a template with contents for its slots and holes. Equal instances of one query are
met once, so that goals reached in many ways stay one goal.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from deepprooflog.graph.macro import TRUE_TARGET, Template, Templates, Way
from deepprooflog.graph.pattern import Fill, generalise
from deepprooflog.graph.templates import renumber
from deepprooflog.logic.budget import BudgetExceeded
from deepprooflog.logic.clause import instantiate
from deepprooflog.logic.goal import Goal
from deepprooflog.syntax.terms import Slot, Struct, Term

CERTAINLY_TRUE = Way(0, TRUE_TARGET, ())
NOWHERE = -1
TRUE_INSTANCE = 0


@dataclass
class Instances:
    """The instances of templates that some queries unfold into.

    `rows[t]` holds for each instance of template t: its number, its query, its slots and the
    numbers of the instances its exits lead to. Instance 0 is True, common to all queries. `depth`
    is the number of instances on the way from the query on which each was first met.
    """

    rows: dict[int, list[tuple[int, int, tuple[int, ...], tuple[int, ...]]]] = field(
        default_factory=dict
    )
    roots: list[int] = field(default_factory=list)
    depth: list[int] = field(default_factory=lambda: [0])

    @property
    def count(self) -> int:
        return len(self.depth)


def unfold(templates: Templates, goals: Sequence[Goal]) -> Instances:
    """Unfold queries (goals over their own slots 0, 1, …) into instances of templates."""
    result = Instances()
    for query, goal in enumerate(goals):
        _unfold_one(templates, query, goal, result)
    return result


def _unfold_one(templates: Templates, query: int, goal: Goal, result: Instances) -> None:
    pattern, slots, contents = generalise(goal.atoms, templates.interner)
    met: dict[object, int] = {}
    waiting: deque[tuple[Template, tuple[int, ...], list[Term], int]] = deque()
    limit = templates.budget.max_goals

    def place(template: Template, slots: list[int], contents: list[Term], depth: int) -> int:
        template, slots, contents = settle(templates, template, slots, contents)
        if template.pattern.is_true or template.ways == [CERTAINLY_TRUE]:
            return TRUE_INSTANCE
        if not template.ways:
            return NOWHERE
        key = (template.number, tuple(slots), tuple([_identity(c) for c in contents]))
        number = met.get(key)
        if number is None:
            number = met[key] = result.count
            result.depth.append(depth)
            if limit is not None and number > limit:
                raise BudgetExceeded("the unfolded queries outgrow the budget", limit="max_goals")
            waiting.append((template, tuple(slots), contents, number))
        return number

    result.roots.append(place(templates.get(pattern), slots, contents, 0))
    while waiting:
        templates.look()
        template, own, contents, number = waiting.popleft()
        below = result.depth[number] + 1
        children = []
        for exit_template, fill in template.exits:
            inner = fill_in(templates, fill, own, contents)
            children.append(place(templates.get_number(exit_template), *inner, below))
        result.rows.setdefault(template.number, []).append((number, query, own, tuple(children)))


def _identity(content: Term) -> object:
    return id(content) if type(content) is Struct else content


def settle(
    templates: Templates, template: Template, slots: list[int], contents: list[Term]
) -> tuple[Template, list[int], list[Term]]:
    """Open holes until the template's first step looks at none, nor an exit at constants alone."""
    while True:
        opened = template.opened
        if opened:
            compounds = tuple([o for o in opened if type(contents[o[0]]) is Struct])
            opened = compounds or opened
        else:
            constants = {
                i
                for looked in template.wanted
                if all(type(contents[j]) is not Struct for j in looked)
                for i in looked
            }
            if not constants:
                return template, slots, contents
            opened = tuple([(i, True) for i in sorted(constants)])
        number, fill = templates.case(template, opened, slots, contents)
        slots, contents = fill_in(templates, fill, slots, contents)
        template = templates.get_number(number)


def fill_in(
    templates: Templates, fill: Fill, slots: Sequence[int], contents: Sequence[Term]
) -> tuple[list[int], list[Term]]:
    """The slots and contents of a pattern, taken from those of an older one."""
    new_slots = []
    for s in fill.slots:
        if type(s) is int:
            new_slots.append(slots[s])
        else:
            hole, argument = s  # type: ignore[misc]
            content = contents[hole]
            slot = content if argument < 0 else content.args[argument]  # type: ignore[union-attr]
            assert type(slot) is Slot
            new_slots.append(slot.number)
    new_contents: list[Term] = []
    for h in fill.holes:
        if type(h) is int:
            new_contents.append(contents[h])
        elif type(h) is tuple:
            new_contents.append(contents[h[0]].args[h[1]])  # type: ignore[union-attr]
        else:
            new_contents.append(_build(templates, h, slots, contents))  # type: ignore[arg-type]
    return new_slots, new_contents


def _build(
    templates: Templates, term: Struct, slots: Sequence[int], contents: Sequence[Term]
) -> Term:
    own = renumber([term], slots)[0][0]
    return templates.interner.term(instantiate(own, list(contents)), {})
