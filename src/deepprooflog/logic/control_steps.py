"""Control constructs opened into steps, where they lead to a random choice.

`call/N`, `,`, `;`, `->` and library predicates such as `maplist` are run by the plain solver as
long as nothing random can happen inside. Where a labelled or neural predicate may be reached they
become steps of weight 1 that put their parts into the goal. The condition of an if-then-else is a
guard in either case and is run by the plain solver.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from deepprooflog.errors import ProgramError, PrologError
from deepprooflog.logic.analysis.exclusive import MAX_EXTRA, mentioned
from deepprooflog.logic.body import DISJUNCTION, IF_THEN, SOFT_IF, conjuncts, has_cut
from deepprooflog.logic.builtins import library_clauses
from deepprooflog.logic.builtins.registry import GUARDS, META
from deepprooflog.logic.choice import Choice, WeightSource
from deepprooflog.logic.clause import Clause, at, instantiate
from deepprooflog.logic.limits.budget import Budget
from deepprooflog.logic.program import Program
from deepprooflog.logic.solver.iso_errors import instantiation_error, type_error
from deepprooflog.logic.solver.solver import Solver
from deepprooflog.logic.unify import Trail, enter, undo
from deepprooflog.syntax.terms import COMMA, Atom, Functor, Struct, Term, Var, args_of, deref
from deepprooflog.syntax.writer import write_term


def not_callable(atom: Term) -> PrologError:
    """The leftmost atom is a variable, a number or a tensor."""
    if type(atom) is Var:
        return instantiation_error("an unbound variable is called")
    return type_error("callable", atom)


def labels_exceed_one(atom: Term, clause: Clause, total: float) -> ProgramError:
    """The labels of the clauses that match one call add up to more than 1."""
    return ProgramError(
        f"the labels of the clauses that match {write_term(atom)} add up to {total:.12g}, "
        f"more than 1 (at {write_term(clause.head)})",
        **at(clause.place),
        hint="bind the argument that tells the distributions apart before the call",
    )


def two_networks(atom: Term, first: Clause, second: Clause) -> ProgramError:
    """Two neural clauses match one call."""
    return ProgramError(
        f"{write_term(atom)} matches two neural clauses, {write_term(first.head)} and "
        f"{write_term(second.head)}: one call is one choice",
        **at(second.place),
        hint="tell the heads apart by a constant",
    )


def unbound_input(atom: Term, clause: Clause, network: str) -> ProgramError:
    """A neural predicate was called before its input was known."""
    return ProgramError(
        f"the network {network} is called with an unbound input in {write_term(atom)}",
        **at(clause.place),
        hint="bind the input first: pass a tensor with dpl.goal(..., X=tensor)",
    )


def cut_around_choice(functor: Functor) -> ProgramError:
    """A cut inside a control construct, in a predicate that reaches a random choice."""
    return ProgramError(
        f"{functor} has a cut inside a control construct and reaches a labelled or neural "
        "predicate",
        hint="write the cases as clauses with the cut at the top of the body",
    )


Opened = Iterator[tuple[Choice, Sequence[Term]]]


def opens(program: Program, atom: Term) -> bool:
    """True when the atom is control or library code that may reach a random choice."""
    if type(atom) is not Struct:
        return False
    functor = atom.functor
    if functor.name == "call" or functor is COMMA:
        return not has_cut(atom)
    if functor.name not in META and library_clauses(functor) is None:
        return False
    if functor.name in GUARDS:
        return False
    names = mentioned(atom) if functor.name in META else _closures(atom)
    if functor.name == "phrase":
        names = chain(names, _within(atom.args[0]))
    return any(program.reaches_choice(f) for f in names)


def _closures(atom: Struct) -> Iterator[Functor]:
    # A library predicate's helper gets its closure as an argument, under a name of its own.
    return mentioned(Struct(Functor("call", len(atom.args)), atom.args))


def _within(body: Term) -> Iterator[Functor]:
    """Every nonterminal that a grammar body may call, as an argument of another one too."""
    todo = [body]
    while todo:
        t = deref(todo.pop())
        if type(t) is Atom or type(t) is Struct:
            for extra in range(2, MAX_EXTRA + 1):
                yield Functor(t.functor.name, t.functor.arity + extra)
        if type(t) is Struct:
            todo.extend(t.args)


def open_control(
    program: Program, atom: Term, trail: Trail, budget: Budget | None = None
) -> Opened:
    """The parts of a control construct as bodies of weight 1."""
    assert type(atom) is Struct
    functor = atom.functor
    if functor is COMMA:
        return _one(conjuncts(atom))
    if functor.name == "call":
        return _one(conjuncts(_apply(atom)))
    if functor is DISJUNCTION:
        left = deref(atom.args[0])
        if type(left) is Struct and left.functor in (IF_THEN, SOFT_IF):
            return _if(program, left, atom.args[1], budget)
        return _either(atom)
    if functor in (IF_THEN, SOFT_IF):
        return _if(program, atom, None, budget)
    return _library(program, atom, trail)


def _one(body: Sequence[Term]) -> Opened:
    yield Choice(WeightSource.ONE), body


def _either(atom: Struct) -> Opened:
    for number, part in enumerate(atom.args):
        yield Choice(WeightSource.ONE, None, number), conjuncts(part)


def _if(program: Program, branch: Struct, otherwise: Term | None, budget: Budget | None) -> Opened:
    condition, then = branch.args
    soft = branch.functor is SOFT_IF
    guard = branch.functor.name
    met = False
    solver = Solver(program, occurs_check=program.occurs_check, guard=guard, budget=budget)
    solutions = solver.run(condition)
    for number, _ in enumerate(solutions):
        met = True
        yield Choice(WeightSource.ONE, None, number), conjuncts(then)
        if not soft:
            break
    solutions.close()
    if not met and otherwise is not None:
        yield Choice(WeightSource.ONE, None, 0), conjuncts(otherwise)


def _library(program: Program, atom: Struct, trail: Trail) -> Opened:
    args = args_of(atom)
    mark = len(trail)
    for clause in library_clauses(atom.functor) or ():
        frame = enter(clause, args, trail, program.occurs_check)
        if frame is not None:
            yield Choice(WeightSource.ONE, clause), [instantiate(b, frame) for b in clause.body]
        undo(trail, mark)


def _apply(atom: Struct) -> Term:
    closure, *extra = (deref(a) for a in atom.args)
    if type(closure) is not Atom and type(closure) is not Struct:
        raise not_callable(closure)
    if not extra:
        return closure
    if type(closure) is Atom:
        return Struct(Functor(closure.name, len(extra)), tuple(extra))
    args = (*closure.args, *extra)
    return Struct(Functor(closure.functor.name, len(args)), args)
