"""A derivation step by step, as the policy sees it: each goal with all of its actions.

    G → N(G)        every successor of G with p(G' | G), and False where the model may give up

A view is where one derivation stands. `take` goes on by a choice's number, `back` undoes the last
one; the numbers taken are the `history`, and `replay` leads along such a list from any view.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from string import ascii_uppercase
from typing import Any, Literal, TypeAlias

from deepprooflog.errors import ProgramError
from deepprooflog.graph.goalgraph import GoalGraph
from deepprooflog.logic.choice import Choice, WeightSource
from deepprooflog.logic.goal import Goal, Interner, enter_goal
from deepprooflog.logic.limits.budget import Budget
from deepprooflog.logic.limits.watch import watched
from deepprooflog.logic.program import Program
from deepprooflog.logic.query import Query
from deepprooflog.logic.resolve import resolvents
from deepprooflog.logic.unify import Trail
from deepprooflog.proof.build import step_kind, step_place, step_reason
from deepprooflog.proof.tree import NodeKind
from deepprooflog.questions import ProgramQuestions, Questions
from deepprooflog.score.fixed import Weigh
from deepprooflog.syntax.terms import Term, Var, canonical_var, deref, variables
from deepprooflog.syntax.writer import Names, write_term

ChoiceKind: TypeAlias = NodeKind | Literal["false"]
"""What a step is; `false` is the action of giving up."""

# Successors of a goal that are listed at most.
WIDEST = 1000


@dataclass(frozen=True)
class StepChoice:
    """One action at a goal: what resolves the leftmost atom, where that leads, how probable."""

    number: int
    goal: str
    clause: str
    place: str | None
    substitution: Mapping[str, str] = field(hash=False)
    probability: float
    kind: ChoiceKind

    def to_dict(self) -> dict[str, Any]:
        """Plain Python."""
        return {
            "number": self.number, "goal": self.goal, "clause": self.clause, "place": self.place,
            "substitution": dict(self.substitution), "probability": self.probability,
            "kind": self.kind,
        }  # fmt: skip


@dataclass(frozen=True)
class StepProcess:
    """Whose steps are looked at: a program, who weighs them, and what is no choice of it.

    `offers` says whether a choice is there at an atom with so much rule nesting left.
    """

    program: Program
    query: Query
    weigh: Weigh
    interner: Interner
    false_action: bool = False
    nesting: int | None = None
    offers: Callable[[Choice, int], bool] | None = None
    kind: Callable[[Term, Choice], NodeKind] = step_kind


@dataclass(frozen=True)
class StepPlace:
    """Where a derivation stands: its goal, the nesting left to each atom, and log p so far."""

    goal: Goal | None  # None after False
    left: tuple[int, ...]
    log_prob: float = 0.0
    history: tuple[int, ...] = ()


@dataclass(frozen=True)
class StepView:
    """A goal with all its actions, and how the derivation came there.

    `failing` is the probability that no action takes: labels that sum to less than 1, a network
    that says no. `probability` is that of the steps taken so far. Without `complete` there are more
    choices than are listed.
    """

    goal: str
    choices: tuple[StepChoice, ...]
    bindings: Mapping[str, str] = field(hash=False)
    probability: float
    failing: float
    is_true: bool
    is_dead: bool
    history: tuple[int, ...] = ()
    complete: bool = True
    _process: StepProcess | None = field(default=None, repr=False, compare=False)
    _path: tuple[StepPlace, ...] = field(default=(), repr=False, compare=False)
    _next: tuple[StepPlace, ...] = field(default=(), repr=False, compare=False)

    def take(self, number: int) -> StepView:
        """The view after the choice of this number."""
        if not 0 <= number < len(self.choices):
            raise ProgramError(
                f"{self.goal} has no choice {number}",
                hint=f"0 to {len(self.choices) - 1}" if self.choices else "there is none left",
            )
        assert self._process is not None
        return _view(self._process, (*self._path, self._next[number]))

    def back(self) -> StepView:
        """The view before the last choice; the first one stays where it is."""
        assert self._process is not None
        return _view(self._process, self._path[:-1]) if len(self._path) > 1 else self

    def replay(self, numbers: Iterable[int]) -> StepView:
        """The view after these choices, one after the other."""
        view = self
        for number in numbers:
            view = view.take(number)
        return view

    def to_dict(self) -> dict[str, Any]:
        """Plain Python, as scripts read it."""
        return {
            "goal": self.goal, "choices": [one.to_dict() for one in self.choices],
            "bindings": dict(self.bindings), "probability": self.probability,
            "failing": self.failing, "is_true": self.is_true, "is_dead": self.is_dead,
            "history": list(self.history), "complete": self.complete,
        }  # fmt: skip

    def __str__(self) -> str:
        lines = [f"?- {self.goal}."]
        lines += [f"{name} = {value}" for name, value in self.bindings.items()]
        for one in self.choices:
            bound = ", ".join(f"{n} = {v}" for n, v in one.substitution.items())
            lines.append(f"{one.number:>3}  {one.probability:.4f}  {one.kind:8}{one.clause}")
            lines.append(f"             to {one.goal}{f'  with {bound}' if bound else ''}")
        if self.is_dead:
            lines.append("no step: this derivation fails")
        return "\n".join(lines)


def steps(program: Program | Questions, query: str | Query) -> StepView:
    """The first goal of a query with all its actions, to be stepped through.

    >>> view = steps(Program("0.4 :: s(X) :- p(X). 0.6 :: s(b). 1 :: p(a)."), "s(X)")
    >>> [(one.probability, one.goal, dict(one.substitution)) for one in view.choices]
    [(0.4, 'p(X)', {}), (0.6, 'true', {'X': 'b'})]
    >>> end = view.replay([0, 0])
    >>> end.is_true, dict(end.bindings), end.probability, end.history
    (True, {'X': 'a'}, 0.4, (0, 0))
    """
    asked = ProgramQuestions(program) if isinstance(program, Program) else program
    parsed, goal, interner = asked.begin(query)
    scorer = getattr(asked, "scorer", None)
    process = StepProcess(
        asked.program, parsed, asked.weigher(parsed), interner,
        false_action=bool(getattr(scorer, "false_action", False)),
    )  # fmt: skip
    return first_view(process, goal)


def first_view(process: StepProcess, goal: Goal) -> StepView:
    """The view of a query's own goal."""
    left = () if process.nesting is None else (process.nesting,) * len(goal.atoms)
    return _view(process, (StepPlace(goal, left),))


def _view(process: StepProcess, path: tuple[StepPlace, ...]) -> StepView:
    here = path[-1]
    write = _Writer(process, here.goal)
    bound, chance = write.bindings(), math.exp(here.log_prob)
    if here.goal is None or here.goal.is_true:
        true = here.goal is not None
        return StepView(
            "true" if true else "false", (), bound, chance, 0.0, true, not true, here.history,
            _process=process, _path=path,
        )  # fmt: skip
    with watched(Budget(max_seconds=10.0)) as budget:
        found, complete = _actions(process, here, write, budget)
    log = _weights(process, here.goal, found)
    choices: list[StepChoice] = []
    after: list[StepPlace] = []
    for action, weight in zip(found, log, strict=True):
        if weight == -math.inf and action.twin:
            continue  # the same choice as an earlier one, where N(G) is a set
        one = replace(action.shown, number=len(choices), probability=math.exp(weight))
        choices.append(one)
        history = (*here.history, one.number)
        after.append(StepPlace(action.goal, action.left, here.log_prob + weight, history))
    scored = any(a.choice.weigher is WeightSource.SCORER for a in found)
    rest = max(0.0, 1.0 - math.fsum(one.probability for one in choices))
    if process.false_action and scored:
        history = (*here.history, len(choices))
        log_rest = math.log(rest) if rest else -math.inf
        after.append(StepPlace(None, (), here.log_prob + log_rest, history))
        choices.append(StepChoice(len(choices), "false", "give up", None, {}, rest, "false"))
        rest = 0.0
    return StepView(
        write.goal(here.goal), tuple(choices), bound, chance, rest if rest > 1e-12 else 0.0,
        False, not found, here.history, complete, process, path, tuple(after),
    )  # fmt: skip


@dataclass(frozen=True)
class _Action:
    choice: Choice
    goal: Goal
    left: tuple[int, ...]
    twin: bool  # an earlier action leads to the same goal
    shown: StepChoice


def _actions(
    process: StepProcess, here: StepPlace, write: _Writer, budget: Budget
) -> tuple[list[_Action], bool]:
    """The actions at a goal, in order, and whether these are all."""
    goal = here.goal
    assert goal is not None
    left = here.left[0] if here.left else 0
    atom, frame = enter_goal(goal)
    trail: Trail = []
    result: list[_Action] = []
    met: set[Goal] = set()
    for choice, body in resolvents(process.program, atom, trail, budget):
        if process.offers is not None and not process.offers(choice, left):
            continue
        if len(result) >= WIDEST:
            return result, False
        after = process.interner.resolvent(body, goal, frame)
        nesting = (*(left - 1,) * len(body), *here.left[1:]) if here.left else ()
        shown = StepChoice(
            0, _Writer(process, after).goal(after), step_reason(atom, choice, process.program),
            step_place(choice.clause), write.substitution(frame), 0.0, process.kind(atom, choice),
        )  # fmt: skip
        result.append(_Action(choice, after, nesting, after in met, shown))
        met.add(after)
    return result, True


def _weights(process: StepProcess, goal: Goal, found: list[_Action]) -> list[float]:
    if not found:
        return []
    number: dict[Goal, int] = {}
    target = [1 + number.setdefault(action.goal, len(number)) for action in found]
    choices = [action.choice for action in found]
    graph = GoalGraph.of_steps(process.program, [goal, *number], [0] * len(found), target, choices)
    weights: list[float] = process.weigh(graph, choices).tolist()
    return weights


class _Writer:
    """Names for the variables of one goal: the query's own where it still has them."""

    def __init__(self, process: StepProcess, goal: Goal | None) -> None:
        self.process = process
        self.answer = () if goal is None else goal.answer
        names: dict[Var, str] = {}
        for name, value in zip(_query_names(process.query), self.answer, strict=False):
            if type(value) is Var and name is not None:
                names.setdefault(value, name)
        letters = (c for c in ascii_uppercase if c not in names.values())
        for index in range(0 if goal is None else goal.size):
            variable = canonical_var(index)
            if variable not in names and (letter := next(letters, None)) is not None:
                names[variable] = letter
        self.names = Names(names)

    def text(self, term: Term, priority: int = 999) -> str:
        return write_term(
            term, operators=self.process.program.operators, variable_names=self.names,
            priority=priority,
        )  # fmt: skip

    def goal(self, goal: Goal) -> str:
        return ", ".join(map(self.text, goal.atoms)) or "true"

    def bindings(self) -> dict[str, str]:
        named = zip(_query_names(self.process.query), self.answer, strict=False)
        return {n: self.text(v, 699) for n, v in named if n is not None and type(v) is not Var}

    def substitution(self, frame: list[Term | None]) -> dict[str, str]:
        """What a step makes of the goal's variables, while its bindings are in place."""
        found: dict[str, str] = {}
        first: dict[Var, int] = {}
        for index, term in enumerate(frame):
            if type(term) is not Var or term.index >= 0:
                continue
            value = deref(term)
            name = self.names(canonical_var(index))
            if type(value) is not Var:
                found[name] = self.text(value, 699)
            elif first.setdefault(value, index) != index:
                found[name] = self.names(canonical_var(first[value]))
        return found


def _query_names(query: Query) -> list[str | None]:
    """The names of a query's variables, in the order of first occurrence in its atoms."""
    names = {variable: name for name, variable in query.variables.items()}
    return [names.get(variable) for variable in variables(*query.atoms)]
