"""The machine behind the plain solver: continuation frames, a choice stack and a trail.

    frame    (site, args, next)              what to call now and what after it
    choice   (retry, mark, next, …)          how to go on when everything since has failed

Calling a frame's site gives the next frame, or None for failure; then the newest choice is taken:
bindings made since its mark are undone and `retry` gives a frame. A last call leaves nothing
behind, a call that has one matching clause leaves no choice, and nothing uses Python's stack.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TextIO, TypeAlias

from deepprooflog.errors import PrologError
from deepprooflog.logic.clause import Clause, abstract, instantiate
from deepprooflog.logic.limits.budget import Spending
from deepprooflog.logic.solver.error_site import locate
from deepprooflog.logic.solver.iso_errors import type_error
from deepprooflog.logic.solver.standard_order import Ages
from deepprooflog.logic.unify import Trail, undo, unify
from deepprooflog.syntax.terms import Atom, Functor, Struct, Term, Var

if TYPE_CHECKING:
    from deepprooflog.logic.solver.link import Code

Args: TypeAlias = tuple[Any, ...]
Continuation: TypeAlias = tuple[Any, Any, Any]
ChoicePoint: TypeAlias = tuple[Any, ...]
Run: TypeAlias = "Callable[[Machine, Args, Any], Continuation | None]"

CALL = Functor("call", 1)
_NO_CHOICES: ChoicePoint = (None, 0, None)


class Site:
    """A place where a predicate is called: the predicate, the clause it stands in, how to run it.

    `transparent` sites (`,` `;` `->` `*->` `!`) get the clause's cut barrier as a last argument.
    """

    __slots__ = ("functor", "origin", "run", "transparent")

    def __init__(
        self,
        functor: Functor | None,
        origin: Origin | None = None,
        run: Run | None = None,
        transparent: bool = False,
    ) -> None:
        self.functor = functor
        self.origin = origin
        self.transparent = transparent
        self.run: Run = run if run is not None else self._link

    def _link(self, machine: Machine, args: Args, cont: Any) -> Continuation | None:
        self.run = machine.code.resolve(self)
        return self.run(machine, args, cont)


class Origin:
    """Where calls come from: a clause (None for a query), and its call sites by predicate.

    Library code called from a clause has an origin of its own, `library`, that still names the
    user's clause, so that errors point there; closures are looked up in `user`.
    """

    __slots__ = ("clause", "code", "library", "procedures", "sites", "user")

    def __init__(self, code: Code, clause: Clause | None, user: Origin | None = None) -> None:
        self.code = code
        self.clause = clause
        self.user = user if user is not None else self
        self.library: Origin = self if user is not None else Origin(code, clause, self)
        self.sites: dict[Functor, Site] = {}
        self.procedures: dict[Functor, Run] = {}

    def site(self, functor: Functor) -> Site:
        """The call site of a predicate within this origin."""
        found = self.sites.get(functor)
        if found is None:
            found = self.sites[functor] = self.code.site(functor, self)
        return found


class Found(Exception):
    """Raised by the frame after the last goal: a solution stands."""


def _found(machine: Machine, args: Args, cont: Any) -> Continuation | None:
    raise Found


def _cut(machine: Machine, args: Args, cont: Any) -> Continuation | None:
    del machine.choices[args[0] :]
    frame: Continuation = cont
    return frame


def _leave_catch(machine: Machine, args: Args, cont: Any) -> Continuation | None:
    # A deterministic exit drops the catch; otherwise it waits for backtracking into the goal.
    if len(machine.choices) == args[0] + 1:
        machine.choices.pop()
    frame: Continuation = cont
    return frame


STOP = Site(None, run=_found)
CUT_SITE = Site(None, run=_cut)
LEAVE_CATCH = Site(None, run=_leave_catch)


class Machine:
    """One search: its bindings, choices and what builtins may ask for."""

    __slots__ = (
        "ages", "choices", "code", "column", "flags", "guard", "operators", "output", "spending",
        "tidy_at", "trail",
    )  # fmt: skip

    # The trail is looked through for dead variables when it has grown this long.
    TIDY = 100_000

    def __init__(
        self, code: Code, spending: Spending, guard: str | None, output: TextIO | None
    ) -> None:
        self.code = code
        self.spending = spending
        self.guard = guard
        self.output = output
        # Where the next character of the output stands on its line.
        self.column = 0
        self.trail: Trail = []
        self.choices: list[ChoicePoint] = []
        self.ages: Ages = {}
        self.operators = code.program.operators
        self.flags: dict[str, str] = {"double_quotes": code.program.flags.double_quotes}
        self.tidy_at = self.TIDY

    def unify(self, a: Term, b: Term) -> bool:
        """Unify under the solver's occurs-check setting."""
        return unify(a, b, self.trail, self.code.occurs_check)

    def goal(self, term: Term, cont: Any, barrier: int, origin: Origin) -> Continuation:
        """The frame that calls a run-time term; `barrier` is where a cut in it cuts to."""
        while type(term) is Var and term.ref is not None:
            term = term.ref
        if type(term) is Struct:
            site = origin.sites.get(term.functor) or origin.site(term.functor)
            return (site, (*term.args, barrier) if site.transparent else term.args, cont)
        if type(term) is Atom:
            site = origin.sites.get(term.functor) or origin.site(term.functor)
            return (site, (barrier,) if site.transparent else (), cont)
        if type(term) is Var:
            return (origin.site(CALL), (term,), cont)
        raise type_error("callable", term)

    def iterate(self, solutions: Iterator[None], cont: Any) -> Continuation | None:
        """Take the solutions of a builtin one by one; one returned rather than yielded is last."""
        return _resume(self, (_resume, len(self.trail), cont, solutions))

    def solutions(self, goal: Term) -> Iterator[bool]:
        """Solve a goal, leaving the bindings of each solution in place while it is out.

        True comes with a solution after which nothing is left to try.
        """
        frame: Continuation | None
        frame = (self.code.query.site(CALL), (goal,), (STOP, (), None))
        try:
            while self._search(frame):
                yield not self.choices
                frame = None
        finally:
            undo(self.trail, 0)

    def _search(self, frame: Continuation | None) -> bool:
        """Run until a solution stands (True) or nothing is left to try (False)."""
        choices, trail, spending = self.choices, self.trail, self.spending
        site: Any = STOP
        args: Any = ()
        cont: Any = None
        while True:
            size = spending.batch()
            steps = iter(range(size))
            try:
                for _ in steps:
                    if frame is not None:
                        site, args, cont = frame
                        frame = site.run(self, args, cont)
                    else:
                        if not choices:
                            return False
                        choice = choices.pop()
                        mark = choice[1]
                        while len(trail) > mark:
                            trail.pop().ref = None
                        site = None
                        cont = choice[2]
                        frame = choice[0](self, choice)
            except Found:
                return True
            except PrologError as error:
                frame = self._catch(error, site, args, cont)
            finally:
                spending.spend(size - operator.length_hint(steps))
            if len(trail) > self.tidy_at:
                self._tidy()

    def _catch(
        self, error: PrologError, site: Site | None, args: Args, cont: Any
    ) -> Continuation | None:
        """Hand the error to the innermost `catch/3` around the goal that takes it, or raise it."""
        locate(error, site, args)
        ball = copy_term(error.term)  # type: ignore[arg-type]
        error.term = ball
        while cont is not None:
            if cont[0] is LEAVE_CATCH:
                height = cont[1][0]
                choice = self.choices[height]
                _, mark, after, catcher, recovery, origin = choice
                del self.choices[height:]
                undo(self.trail, mark)
                if self.unify(catcher, ball):
                    return self.goal(recovery, after, len(self.choices), origin)
                undo(self.trail, mark)
            cont = cont[2]
        raise error

    def _tidy(self) -> None:
        """Drop trail entries that nothing but the trail can see, so that long loops stay small."""
        trail = self.trail
        mark: int = (self.choices[-1] if self.choices else _NO_CHOICES)[1]
        recent = trail[mark:]
        del trail[mark:]
        # Oldest first and dropped at once: what a dead variable held dies with it, in one pass.
        recent.reverse()
        alive: list[Var] = []
        while recent:
            var = recent.pop()
            if sys.getrefcount(var) > 2:
                alive.append(var)
        trail.extend(alive)
        self.tidy_at = max(self.TIDY, 2 * len(trail))


def _resume(machine: Machine, choice: ChoicePoint) -> Continuation | None:
    choices = machine.choices
    choices.append(choice)
    try:
        next(choice[3])
    except StopIteration as end:
        choices.pop()
        return choice[2] if end.value else None
    frame: Continuation = choice[2]
    return frame


def copy_term(term: Term) -> Term:
    """A copy with bindings followed and fresh variables; ground parts are shared."""
    numbers: dict[Var, int] = {}
    pattern = abstract(term, numbers)
    return instantiate(pattern, [None] * len(numbers)) if numbers else pattern
