"""Clauses as Python functions, written on first use.

    enter(machine, args, next, barrier) -> frame | None

does what the interpreter does for a clause: matches the head with the call's arguments, then gives
the frame of the first call in the body. Goals that need no call are executed on the way. What
comes after a call is either a ready frame or, where it begins with such goals, a function of its
own over the variables still needed. Branches become choices that resume such functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType
from typing import Any, TypeAlias

from deepprooflog.logic.builtins.control import retry_next
from deepprooflog.logic.builtins.registry import TRANSPARENT
from deepprooflog.logic.clause import Clause
from deepprooflog.logic.solver import arithmetic
from deepprooflog.logic.solver.emit import (
    TooBigError,
    Writer,
    arguments,
    unpack,
    variable_counts,
)
from deepprooflog.logic.solver.error_site import LINES
from deepprooflog.logic.solver.inline import inline, is_inline, is_pure
from deepprooflog.logic.solver.machine import Args, ChoicePoint, Continuation, Machine, Origin, Site
from deepprooflog.logic.unify import unify
from deepprooflog.syntax.terms import COMMA, Atom, Float, Functor, Struct, Term, Var

CUT = Atom("!")
FAIL = Atom("fail")
TRUE = Atom("true")
OR = Functor(";", 2)
IF = Functor("->", 2)
NOT = frozenset({Functor("\\+", 1), Functor("not", 1)})
ONCE = Functor("once", 1)
# Constructs whose parts, when called, get the clause's cut barrier.
HOLDS_GOALS = TRANSPARENT | NOT | {ONCE}
MAX_GOALS = 40
FAILED = "return None"


@dataclass(frozen=True, slots=True)
class CutTo:
    """Drop the choices above the height that a local holds."""

    name: str


BodyGoal: TypeAlias = Term | CutTo


def retry_branch(machine: Machine, choice: ChoicePoint) -> Continuation | None:
    """Resume a branch: (…, next, site, args)."""
    return (choice[3], choice[4], choice[2])


_GLOBALS: dict[str, Any] = {
    "Atom": Atom,
    "Float": Float,
    "Struct": Struct,
    "Var": Var,
    "unify": unify,
    "evaluate": arithmetic.evaluate,
    "number_term": arithmetic.number_term,
    "multiply": arithmetic.multiply,
    "quotient": arithmetic.quotient,
    "modulo": arithmetic.modulo,
    "remainder": arithmetic.remainder,
    "floor_quotient": arithmetic.floor_quotient,
    "retry_branch": retry_branch,
    "retry_next": retry_next,
}


@dataclass(frozen=True, slots=True)
class Generated:
    """A clause's Python code, before its call sites are known."""

    code: CodeType
    constants: dict[str, Any]
    sites: dict[str, Functor]
    chunks: tuple[str, ...]
    goals: dict[int, Term]


def compile_clause(
    clause: Clause, origin: Origin
) -> Callable[[Machine, Args, Any, int], Continuation | None] | None:
    """The clause as a function whose calls come from `origin`; None when it is too big for that."""
    generated = generate(clause)
    if generated is None:
        return None
    space = {**_GLOBALS, **generated.constants, LINES: (origin.clause or clause, generated.goals)}
    if origin.clause is not clause:
        # Library code: errors are those of the goal in the user's clause.
        del space[LINES]
    for name, functor in generated.sites.items():
        space[name] = origin.site(functor)
    exec(generated.code, space)
    for name in generated.chunks:
        space[f"S_{name}"] = Site(None, origin, run=space[name])
    enter: Callable[[Machine, Args, Any, int], Continuation | None] = space["enter"]
    return enter


@lru_cache(maxsize=8192)
def generate(clause: Clause) -> Generated | None:
    """Write and compile the clause's Python code."""
    counts = variable_counts([*clause.args, *clause.body])
    compiler = _Compiler(Writer(counts))
    try:
        compiler.clause(clause)
    except TooBigError:
        return None
    source, goals = compiler.w.source()
    code = compile(source, f"<clause of {clause.functor}>", "exec")
    sites = {name: functor for functor, name in compiler.sites.items()}
    return Generated(code, compiler.w.constants, sites, tuple(compiler.chunks), goals)


def conjuncts(term: Term) -> list[BodyGoal]:
    """The goals of a conjunction, `!` as the clause's cut."""
    goals: list[BodyGoal] = []
    stack = [term]
    while stack:
        t = stack.pop()
        if type(t) is Struct and t.functor is COMMA:
            stack.append(t.args[1])
            stack.append(t.args[0])
        elif t is CUT:
            goals.append(CutTo("h"))
        elif t is not TRUE:
            goals.append(t)
    return goals


def has_cut(term: Term) -> bool:
    stack = [term]
    while stack:
        t = stack.pop()
        if t is CUT:
            return True
        if type(t) is Struct and t.functor in TRANSPARENT:
            stack.extend(t.args)
    return False


def locals_of(goals: Iterable[BodyGoal]) -> set[str]:
    """The locals that goals read: their variables, and the cut barriers they need."""
    names: set[str] = set()
    terms: list[Term] = []
    for goal in goals:
        if isinstance(goal, CutTo):
            names.add(goal.name)
        else:
            terms.append(goal)
            if type(goal) is Struct and goal.functor in HOLDS_GOALS:
                names.add("h")
    names.update(f"v{i}" for i in variable_counts(terms))
    return names


class _Compiler:
    def __init__(self, writer: Writer) -> None:
        self.w = writer
        self.sites: dict[Functor, str] = {}
        self.chunks: list[str] = []

    def clause(self, clause: Clause) -> None:
        if len(clause.body) > MAX_GOALS:
            raise TooBigError
        w = self.w
        w.begin("enter", "m, args, cont, h", {"h"})
        unpack(w, "args", clause.args, FAILED)
        goals: list[BodyGoal] = []
        for atom in clause.body:
            goals.extend(conjuncts(atom))
        self.sequence(goals, "cont")
        w.end()

    def sequence(self, goals: Sequence[BodyGoal], cont: str) -> None:
        """Code that runs the goals and then goes on with the frame in `cont`."""
        w = self.w
        for i, goal in enumerate(goals):
            if isinstance(goal, CutTo):
                w.emit(f"del choices[{goal.name}:]")
            elif goal is FAIL:
                w.emit(FAILED)
                return
            elif is_inline(goal):
                inline(w, goal, FAILED)
            elif self.negated_tests(goal):
                continue
            elif self.control(goal, goals[i + 1 :], cont):
                return
            else:
                frame = self.continuation(goals[i:], cont)
                w.emit(f"return {frame}")
                return
        w.emit(f"return {cont}")

    def continuation(self, goals: Sequence[BodyGoal], cont: str, depth: int = 0) -> str:
        """An expression for the frame that runs the goals, then `cont`."""
        if depth > MAX_GOALS:
            raise TooBigError
        if not goals:
            return cont
        first = goals[0]
        if isinstance(first, CutTo) or first is FAIL or is_inline(first) or _opens(first):
            return self.resume(goals, cont)
        return self.call(first, goals[1:], cont, depth)

    def call(self, goal: Term, rest: Sequence[BodyGoal], cont: str, depth: int) -> str:
        w = self.w
        if type(goal) is Var:
            goal = Struct(Functor("call", 1), (goal,))
        if type(goal) is not Struct and type(goal) is not Atom:
            raise TooBigError
        functor = goal.functor
        site = self.sites.get(functor)
        if site is None:
            site = self.sites[functor] = w.fresh("P")
        extra = "h, " if functor in TRANSPARENT else ""
        args = arguments(w, goal.args if type(goal) is Struct else (), 0, extra)
        return f"({site}, {args}, {self.continuation(rest, cont, depth + 1)})"

    def resume(self, goals: Sequence[BodyGoal], cont: str) -> str:
        """A frame for a function of its own that runs the goals."""
        chunk, live = self.chunk(goals)
        return f"({chunk}, {live}, {cont})"

    def chunk(self, goals: Sequence[BodyGoal]) -> tuple[str, str]:
        """A new function that runs the goals; its site and the tuple of what it needs."""
        w = self.w
        live = sorted(locals_of(goals) & w.seen)
        name = w.fresh("run")
        self.chunks.append(name)
        w.begin(name, "m, args, cont", live)
        saved, w.goal = w.goal, None
        if live:
            w.emit(f"{', '.join(live)}{',' if len(live) == 1 else ''} = args")
        self.sequence(goals, "cont")
        w.goal = saved
        w.end()
        return f"S_{name}", f"({''.join([n + ', ' for n in live])})"

    def negated_tests(self, goal: Term) -> bool:
        """`\\+` of tests that bind nothing: straight-line code."""
        if type(goal) is not Struct or goal.functor not in NOT:
            return False
        tests = conjuncts(goal.args[0])
        if not all(not isinstance(t, CutTo) and is_pure(t) for t in tests):
            return False
        w = self.w
        before = set(w.seen)
        w.emit("while True:")
        w.shift(1)
        for test in tests:
            assert not isinstance(test, CutTo)
            inline(w, test, "break")
        w.emit(FAILED)
        w.shift(-1)
        w.seen = before
        return True

    def control(self, goal: Term, rest: Sequence[BodyGoal], cont: str) -> bool:
        """Code for a control construct and all that follows; False when it has to be called."""
        if not _opens(goal):
            return False
        assert type(goal) is Struct
        w = self.w
        shared = (locals_of([goal]) - w.seen) & locals_of(rest) - {"h"}
        for name in sorted(shared):
            w.emit(f"{name} = Var()")
            w.seen.add(name)
        if rest:
            after = w.fresh("k")
            frame = self.continuation(rest, cont)
            w.emit(f"{after} = {frame}")
            cont = after
        if goal.functor is OR:
            left, right = goal.args
            if type(left) is Struct and left.functor is IF:
                self.branch(conjuncts(left.args[0]), conjuncts(left.args[1]), right, cont)
            else:
                self.push(conjuncts(right), cont)
                self.sequence(conjuncts(left), cont)
        elif goal.functor is IF or goal.functor is ONCE:
            then = conjuncts(goal.args[1]) if goal.functor is IF else []
            height = self.height()
            self.sequence([*conjuncts(goal.args[0]), CutTo(height), *then], cont)
        else:
            height = self.height()
            w.emit(f"choices.append((retry_next, len(trail), {cont}))")
            self.sequence([*conjuncts(goal.args[0]), CutTo(height), FAIL], cont)
        return True

    def height(self) -> str:
        name = self.w.fresh("h")
        self.w.emit(f"{name} = len(choices)")
        self.w.seen.add(name)
        return name

    def push(self, goals: Sequence[BodyGoal], cont: str) -> None:
        chunk, live = self.chunk(goals)
        self.w.emit(f"choices.append((retry_branch, len(trail), {cont}, {chunk}, {live}))")

    def branch(
        self, condition: list[BodyGoal], then: list[BodyGoal], otherwise: Term, cont: str
    ) -> None:
        """`(condition -> then ; otherwise)`: an `if` where the condition binds nothing."""
        w = self.w
        if all(not isinstance(c, CutTo) and is_pure(c) for c in condition):
            before = set(w.seen)
            w.emit("while True:")
            w.shift(1)
            for test in condition:
                assert not isinstance(test, CutTo)
                inline(w, test, "break")
            self.sequence(then, cont)
            w.shift(-1)
            w.seen = before
            self.sequence(conjuncts(otherwise), cont)
            return
        height = self.height()
        self.push(conjuncts(otherwise), cont)
        self.sequence([*condition, CutTo(height), *then], cont)


def _opens(goal: Term) -> bool:
    """True for control constructs that are compiled in place."""
    if type(goal) is not Struct:
        return False
    if goal.functor is OR:
        left = goal.args[0]
        if type(left) is Struct and left.functor is IF:
            return not has_cut(left.args[0])
        return not (type(left) is Struct and left.functor.name == "*->")
    if goal.functor is IF or goal.functor is ONCE or goal.functor in NOT:
        return type(goal.args[0]) is not Var and not has_cut(goal.args[0])
    return False
