"""Templates: the piece of goal graph that a pattern determines by itself.

From a pattern the steps are followed for as long as they look at no hole. A goal whose step does
look at one is an *exit*: it is the start of another template, filled from this one. So the graph of
a long list is a few templates, used again and again with other contents.

A pattern whose own first step looks at holes must be *opened* first: what is seen there decides
which template it becomes; compounds are opened before constants, which may then not be looked at
after all. So are constants opened that a builtin at an exit looks at, since a constant opened early
saves many exits.

Runs of certain steps are collapsed: an edge of a template carries the list of all steps on its way,
and only goals where derivations part remain as nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from deepprooflog.graph.schedule import strong_components
from deepprooflog.graph.unfold.pattern import Fill, leave, reveal, tops_of
from deepprooflog.logic.choice import Choice, WeightSource
from deepprooflog.logic.clause import Clause
from deepprooflog.logic.goal import Goal, Interner, rename
from deepprooflog.logic.limits.budget import Budget, BudgetExceeded
from deepprooflog.logic.program import PredicateKind, Program
from deepprooflog.logic.resolve import successors
from deepprooflog.logic.unify import Trail, enter, undo
from deepprooflog.syntax.terms import Functor, Term, Var, args_of, deref, functor_of, variables

if TYPE_CHECKING:
    from deepprooflog.graph.unfold.way_table import WayTable

NetworkKey = tuple[str, int, bool, int]
"""A network as it is asked: its name, how many values, whether one probability, how many inputs."""


@dataclass(frozen=True)
class Way:
    """An edge of a template: from a node to a node or an exit, by these choices.

    `target` is a node's number, −1 for True, or −2 − e for exit e.
    """

    source: int
    target: int
    choices: tuple[Choice, ...]


TRUE_TARGET = -1

# Goals of a template that grow beyond this are a recursion with something behind it: the goal graph
# tells whether it ends, and tabling solves it where it does not.
MOST_ATOMS = 32


@dataclass
class Template:
    """A pattern's piece of graph; `ways` is None until it is asked for."""

    number: int
    pattern: Goal
    opened: tuple[tuple[int, bool], ...] = ()  # holes the first step looks at
    wanted: tuple[tuple[int, ...], ...] = ()  # the holes each exit's builtin looks at
    nodes: int = 0
    ways: list[Way] | None = None
    table: WayTable | None = None  # the ways as arrays, once they are asked for
    exits: list[tuple[int, Fill]] = field(default_factory=list)  # template and how to fill it
    cases: dict[object, tuple[int, Fill]] = field(default_factory=dict)


class TemplateStore:
    """Templates by pattern: all that unfolding learns about a program, and nothing of a query.

    Patterns are terms of the store's own interner; it holds no program and no query's terms.
    """

    def __init__(self) -> None:
        self.interner = Interner()
        self.all: list[Template] = []
        self.numbers: dict[Goal, int] = {}
        self.cases = 0
        self.steps = 0
        # Networks and trainable clauses by number, each with a clause that names it.
        self.networks: dict[NetworkKey, int] = {}
        self.network_clauses: list[Clause] = []
        self.labels: dict[int, int] = {}
        self.label_clauses: list[Clause] = []

    @property
    def size(self) -> int:
        """How many terms, steps and cases are held."""
        return len(self.interner) + self.steps + self.cases

    def number(self, pattern: Goal) -> int:
        """The number of a pattern's template."""
        number = self.numbers.get(pattern)
        if number is None:
            number = self.numbers[pattern] = len(self.all)
            self.all.append(Template(number, pattern))
        return number


class Templates:
    """The templates of a program, for the queries of one batch.

    What queries hold is made by `interner`; what is found goes to the store.
    """

    def __init__(
        self,
        program: Program,
        interner: Interner,
        budget: Budget,
        store: TemplateStore | None = None,
    ) -> None:
        self.program = program
        self.interner = interner
        # Where unfolding does not end, time is left for goal graphs and tables.
        self.budget = budget.start().part(0.6)
        self.store = TemplateStore() if store is None else store
        self.all = self.store.all
        self.goals = 0

    def get(self, pattern: Goal) -> Template:
        """The template of a pattern, expanded."""
        return self.get_number(self.store.number(pattern))

    def get_number(self, number: int) -> Template:
        """A template by its number, expanded."""
        template = self.all[number]
        if template.ways is None:
            self._expand(template)
        return template

    def case(
        self,
        template: Template,
        opened: tuple[tuple[int, bool], ...],
        slots: Sequence[int],
        contents: Sequence[Term],
    ) -> tuple[int, Fill]:
        """Where a template leads when holes with these contents are opened."""
        found = template.cases.get((opened, tops_of(opened, slots, contents)))
        if found is None:
            # The store's own copies of what is shown: a query's terms would keep its batch alive.
            own = self.store.interner.own
            shown = {i for i, _ in opened}
            contents = [own(c) if i in shown else c for i, c in enumerate(contents)]
            pattern, fill = reveal(template.pattern, opened, slots, contents, self.store.interner)
            found = (self.get(pattern).number, fill)
            template.cases[opened, tops_of(opened, slots, contents)] = found
            self.store.cases += 1
        return found

    def look(self) -> None:
        """Raise when the time is up."""
        if self.budget.late:
            raise BudgetExceeded(
                f"the queries were not unfolded within {self.budget.max_seconds:g} s",
                hint="a larger max_seconds", limit="max_seconds",
            )  # fmt: skip

    def _expand(self, template: Template) -> None:
        if template.pattern.is_true:
            template.ways = []
            return
        goals = [template.pattern]
        number = {template.pattern: 0}
        edges: list[list[tuple[int, Choice]]] = []
        exits: list[tuple[int, Fill]] = []
        leaving: dict[int, int] = {}
        wanted: dict[tuple[int, ...], None] = {}
        limit = self.budget.max_goals
        node = 0
        while node < len(goals):
            goal = goals[node]
            edges.append([])
            if goal.is_true:
                node += 1
                continue
            looked, steps = self._steps(goal)
            if looked:
                if node == 0:
                    template.opened, template.ways = tuple(sorted(looked.items())), []
                    return
                leaving[node] = len(exits)
                exits.append(self._exit(goal))
                if self._reads_all(goal):
                    wanted[tuple(sorted(looked))] = None
                node += 1
                continue
            for target, choice in steps:
                if len(target.atoms) > MOST_ATOMS:
                    raise BudgetExceeded("a template's goals grow without end")
                if target not in number:
                    number[target] = len(goals)
                    goals.append(target)
                edges[node].append((number[target], choice))
            node += 1
            if limit is not None and self.goals + node > limit:
                raise BudgetExceeded("the templates outgrow the budget", limit="max_goals")
            self.look()
        self.goals += node
        true = {n for n, g in enumerate(goals) if g.is_true}
        template.nodes, ways = collapse(edges, true, leaving)
        template.wanted, template.exits, template.ways = tuple(wanted), exits, ways
        self.store.steps += node + len(ways) + len(exits)

    def _steps(self, goal: Goal) -> tuple[dict[int, bool], list[tuple[Goal, Choice]]]:
        """The steps of a goal; or the holes it looks at, and whether at the whole of them."""
        looked = self._looked(goal)
        if looked:
            return looked, []
        steps: list[tuple[Goal, Choice]] = []
        for step in successors(self.program, goal, self.store.interner, self.budget.for_guard()):
            steps.append((step.goal, step.choice))
            if not len(steps) % 256:
                self.look()
        return {}, steps

    def _looked(self, goal: Goal) -> dict[int, bool]:
        if self._reads_all(goal):
            inside = set(variables(goal.leftmost))
            return {i: True for i, h in enumerate(goal.answer) if h in inside}
        atoms, holes = rename(goal)
        functor = functor_of(goal.leftmost)
        assert functor is not None
        return looked_at(self.program, functor, atoms[0], holes)

    def _reads_all(self, goal: Goal) -> bool:
        """Builtins, networks and what stands before a cut may look at all that they are given."""
        functor = functor_of(goal.leftmost)
        predicate = None if functor is None else self.program.predicates.get(functor)
        return (
            predicate is None
            or predicate.kind is PredicateKind.NEURAL
            or predicate.has_cut
            or predicate.has_nested_cut
        )

    def _exit(self, goal: Goal) -> tuple[int, Fill]:
        holes = [h for h in goal.answer if type(h) is Var]
        pattern, fill = leave(goal, holes, self.store.interner)
        return self.store.number(pattern), fill


def looked_at(
    program: Program, functor: Functor, atom: Term, holes: Sequence[Term]
) -> dict[int, bool]:
    """The holes that some clause head binds, and whether it compares the whole of them."""
    looked: dict[int, bool] = {}
    args = args_of(atom)
    trail: Trail = []
    for clause in program.candidates(functor, args):
        if enter(clause, args, trail, program.occurs_check) is not None:
            stands: dict[Var, int] = {}
            for i, hole in enumerate(holes):
                end = deref(hole)
                if type(end) is not Var:
                    looked.setdefault(i, False)
                elif end in stands:
                    looked[i] = looked[stands[end]] = True
                else:
                    stands[end] = i
        undo(trail, 0)
    return looked


def certain(choice: Choice) -> bool:
    """True when a step weighs 1 whatever the parameters (under the scorer `Unit`)."""
    return choice.weigher in (WeightSource.ONE, WeightSource.SCORER)


def collapse(
    edges: list[list[tuple[int, Choice]]], true: set[int], leaving: dict[int, int]
) -> tuple[int, list[Way]]:
    """The nodes where derivations part, and the ways between them; dead ends are left out."""
    ends = true | set(leaving)
    live = _live(edges, ends)
    kept = [[(t, c) for t, c in out if live[t]] for out in edges]
    # A goal on a cycle must stay a node; any other with one way on can be passed through.
    passing = [len(out) == 1 and i not in ends for i, out in enumerate(kept)]
    for component in strong_components([[t for t, _ in out] for out in kept]):
        if len(component) > 1 or any(t == component[0] for t, _ in kept[component[0]]):
            for i in component:
                passing[i] = False
    if not live[0]:
        return 0, []
    number = {0: 0}
    todo = [0]
    ways: list[Way] = []
    while todo:
        node = todo.pop()
        for target, choice in kept[node]:
            choices = [] if certain(choice) else [choice]
            end = target
            while passing[end]:
                end, step = kept[end][0]
                if not certain(step):
                    choices.append(step)
            if end in true:
                place = TRUE_TARGET
            elif end in leaving:
                place = -2 - leaving[end]
            else:
                if end not in number:
                    number[end] = len(number)
                    todo.append(end)
                place = number[end]
            ways.append(Way(number[node], place, tuple(choices)))
    return distribute(len(number), ways)


def distribute(nodes: int, ways: list[Way]) -> tuple[int, list[Way]]:
    """Hand a node's only way in over to its ways out: a tree of choices becomes one choice.

    The number of ways does not grow; what remains are nodes that are reached in several ways.
    """
    out: list[list[Way]] = [[] for _ in range(nodes)]
    into: list[int] = [0] * nodes
    for way in ways:
        out[way.source].append(way)
        if way.target >= 0:
            into[way.target] += 1
    # The start has a way in that is not listed: the query's.
    into[0] += 1
    gone = {n for n in range(nodes) if into[n] == 1 and n != 0}
    done: list[list[Way]] = [[] for _ in range(nodes)]
    for n in range(nodes):
        if n in gone:
            continue
        stack = list(reversed(out[n]))
        while stack:
            way = stack.pop()
            if way.target in gone:
                stack.extend(
                    Way(n, after.target, way.choices + after.choices)
                    for after in reversed(out[way.target])
                )
            else:
                done[n].append(way)
    number = {n: i for i, n in enumerate(m for m in range(nodes) if m not in gone)}
    result = [
        Way(number[w.source], number[w.target] if w.target >= 0 else w.target, w.choices)
        for n in number
        for w in done[n]
    ]
    return len(number), result


def _live(edges: list[list[tuple[int, Choice]]], ends: set[int]) -> list[bool]:
    into: list[list[int]] = [[] for _ in edges]
    for s, out in enumerate(edges):
        for t, _ in out:
            into[t].append(s)
    live = [False] * len(edges)
    stack = list(ends)
    for e in stack:
        live[e] = True
    while stack:
        for s in into[stack.pop()]:
            if not live[s]:
                live[s] = True
                stack.append(s)
    return live
