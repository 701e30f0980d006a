"""Unfolding: a query as instances of templates, without resolving a single step of its own.

Each instance is a template with contents for its slots and holes. Equal instances of one query are
met once, so that goals reached in many ways stay one goal.

What was learned about a program's steps is kept for as long as the program: goals made anew for
every minibatch meet the same steps with other contents. Nothing of a query is kept, a store that
has grown too large is dropped, and so is one that an error or an interruption left unfinished. A
thread takes a store out while it works; another that comes meanwhile begins one of its own, and
both are put back. A view of a program is another program.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple
from weakref import WeakKeyDictionary

from deepprooflog.graph.bundles import renumber
from deepprooflog.graph.unfold.pattern import Fill, generalise
from deepprooflog.graph.unfold.template import TRUE_TARGET, Template, Templates, TemplateStore, Way
from deepprooflog.logic.clause import instantiate
from deepprooflog.logic.goal import Goal
from deepprooflog.logic.limits.budget import BudgetExceeded
from deepprooflog.logic.program import Predicate, Program
from deepprooflog.syntax.terms import Functor, Slot, Struct, Term

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


Instance = tuple[Template, tuple[int, ...], tuple[Term, ...]]
"""A template with the slots and contents of one instance."""


def _unfold_one(templates: Templates, query: int, goal: Goal, result: Instances) -> None:
    pattern, slots, contents = generalise(goal.atoms, templates.store.interner)
    # By template, slots and contents: where an exit leads, before and after holes are opened.
    led: dict[tuple[int, tuple[int, ...], tuple[Term, ...]], int] = {}
    waiting: deque[Instance] = deque()
    root = (templates.store.number(pattern), tuple(slots), tuple(contents))
    result.roots.append(_placed(templates, root, led, waiting, 0, result))
    number = result.count - len(waiting)
    while waiting:
        templates.look()
        template, own, held = waiting.popleft()
        below = result.depth[number] + 1
        children = []
        for exit_template, fill in template.exits:
            key = (exit_template, *fill_in(templates, fill, own, held))
            child = led.get(key)
            if child is None:
                child = _placed(templates, key, led, waiting, below, result)
            children.append(child)
        result.rows.setdefault(template.number, []).append((number, query, own, tuple(children)))
        number += 1


def _placed(
    templates: Templates,
    key: tuple[int, tuple[int, ...], tuple[Term, ...]],
    led: dict[tuple[int, tuple[int, ...], tuple[Term, ...]], int],
    waiting: deque[Instance],
    depth: int,
    result: Instances,
) -> int:
    """The number of the instance that a template leads to with these slots and contents."""
    number, slots, contents = key
    template, slots, contents = settle(templates, templates.get_number(number), slots, contents)
    if template.pattern.is_true or template.ways == [CERTAINLY_TRUE]:
        found = TRUE_INSTANCE
    elif not template.ways:
        found = NOWHERE
    else:
        settled = (template.number, slots, contents)
        found = led.get(settled, NOWHERE)
        if found == NOWHERE:
            found = led[settled] = result.count
            result.depth.append(depth)
            limit = templates.budget.max_goals
            if limit is not None and found > limit:
                raise BudgetExceeded("the unfolded queries outgrow the budget", limit="max_goals")
            waiting.append((template, slots, contents))
    led[key] = found
    return found


def settle(
    templates: Templates, template: Template, slots: tuple[int, ...], contents: tuple[Term, ...]
) -> Instance:
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
                if all([type(contents[j]) is not Struct for j in looked])
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
) -> tuple[tuple[int, ...], tuple[Term, ...]]:
    """The slots and contents of a pattern, taken from those of an older one."""
    if fill.plain:
        return (
            tuple([slots[s] for s in fill.slots]),  # type: ignore[index]
            tuple([contents[h] for h in fill.holes]),  # type: ignore[index]
        )
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
    return tuple(new_slots), tuple(new_contents)


def _build(
    templates: Templates, term: Struct, slots: Sequence[int], contents: Sequence[Term]
) -> Term:
    own = renumber([term], slots)[0][0]
    return templates.interner.term(instantiate(own, list(contents)), {})


# Terms, steps and cases of a store that is kept: some tens of megabytes.
MOST_KEPT = 200_000
# Stores of one program, for threads that work at the same time.
MOST_STORES = 4


class Meaning(NamedTuple):
    """What the steps of a program depend on, besides what it leaves out."""

    order: str
    occurs_check: bool
    predicates: Mapping[Functor, Predicate]

    def holds(self, program: Program) -> bool:
        return (
            self.order == program.order
            and self.occurs_check == program.occurs_check
            and self.predicates is program.predicates
        )


_KEPT: WeakKeyDictionary[Program, list[tuple[Meaning, TemplateStore]]] = WeakKeyDictionary()


@contextmanager
def kept_templates(program: Program) -> Iterator[TemplateStore]:
    """The templates of a program that are known already; more may be added within the block.

    >>> program = Program("p(a).")
    >>> with kept_templates(program) as first, kept_templates(program) as other:
    ...     first is other
    False
    >>> with kept_templates(program) as again:
    ...     again is first
    True
    """
    stores = _KEPT.setdefault(program, [])
    store = TemplateStore()
    while stores:
        try:
            meaning, known = stores.pop()
        except IndexError:
            break
        if meaning.holds(program):
            store = known
            break
    yield store
    if store.size <= MOST_KEPT and len(stores) < MOST_STORES:
        stores.append((Meaning(program.order, program.occurs_check, program.predicates), store))
