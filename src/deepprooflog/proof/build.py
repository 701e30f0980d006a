"""From a derivation to a proof, and from likely answers to predictions with their proofs."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from deepprooflog.errors import ProofLogError
from deepprooflog.infer.answers.predict import AnswerWay, Likely
from deepprooflog.logic.answers import answer_text, bindings_text, probability
from deepprooflog.logic.builtins.registry import GUARDS
from deepprooflog.logic.choice import Choice, WeightSource
from deepprooflog.logic.clause import Bernoulli, Clause, Neural, clause_text
from deepprooflog.logic.goal import Goal, Interner
from deepprooflog.logic.program import Program
from deepprooflog.logic.query import Query
from deepprooflog.logic.resolve import Step, resolvents, start, successors
from deepprooflog.logic.unify import Trail, undo
from deepprooflog.proof.tree import Node, NodeKind, Proof
from deepprooflog.syntax.terms import Term, Var, functor_of, variables
from deepprooflog.syntax.writer import Names, write_term

Wanted = TypeVar("Wanted")


@dataclass(frozen=True)
class Derivation:
    """A successful derivation: its choices and their log weights, first step first."""

    choices: Sequence[Choice]
    log_weights: Sequence[float]


def build_proof(program: Program, query: Query, derivation: Derivation) -> Proof:
    """The proof tree of a derivation of `query`."""
    trail: Trail = []
    # A suspended generator holds the bindings of its step; all are kept until the text is written.
    held: list[Iterator[tuple[Choice, Sequence[Term]]]] = []
    open_ = variables(*query.atoms)
    try:
        agenda: list[tuple[Term, int, int]] = [(a, -1, 0) for a in reversed(query.atoms)]
        resolved: list[tuple[Term, Choice, int, int]] = []
        asked = str(query)
        for choice in derivation.choices:
            if not agenda:
                raise ProofLogError("the derivation goes on after its goal was proved")
            atom, parent, depth = agenda.pop()
            body = take_step(program, atom, choice, trail, held)
            number = len(resolved)
            resolved.append((atom, choice, parent, depth))
            agenda.extend((b, number, depth + 1) for b in reversed(body))
        if agenda:
            raise ProofLogError("the derivation ends before its goal is proved")
        names = Names({v: n for n, v in query.variables.items()})

        def text(term: Term) -> str:
            return write_term(term, operators=program.operators, variable_names=names, priority=999)

        nodes = tuple(
            Node(text(atom), step_kind(atom, choice), step_reason(atom, choice, program),
                 step_place(choice.clause), weight, parent, depth)
            for (atom, choice, parent, depth), weight in zip(
                resolved, derivation.log_weights, strict=True)
        )  # fmt: skip
        bindings = {
            n: write_term(v, operators=program.operators, variable_names=names, priority=699)
            for n, v in query.variables.items()
            if v.ref is not None
        }
    finally:
        untake(held, trail, open_)
    log_prob = float(sum(derivation.log_weights))
    return Proof(
        asked, bindings, log_prob, nodes, lambda: replays(program, query, derivation.choices)
    )


def take_step(
    program: Program,
    atom: Term,
    choice: Choice,
    trail: Trail,
    held: list[Iterator[tuple[Choice, Sequence[Term]]]],
) -> Sequence[Term]:
    steps = resolvents(program, atom, trail)
    for other, body in steps:
        if other == choice:
            held.append(steps)
            return body
    raise ProofLogError(f"{write_term(atom)} has no such step: the proof does not replay")


def untake(
    held: list[Iterator[tuple[Choice, Sequence[Term]]]], trail: Trail, free: Iterable[Var]
) -> None:
    """Take back steps, the last one first, and what the query's own variables were bound to."""
    while held:
        steps = held.pop()
        if isinstance(steps, Generator):
            steps.close()
    undo(trail, 0)
    for var in free:
        var.ref = None


def replays(program: Program, query: Query, choices: Sequence[Choice]) -> bool:
    """True when the choices, taken through `successors`, lead from the query to True."""
    followed, end = _followed(program, query, choices, lambda step, one: step.choice == one)
    return len(followed) == len(choices) and end.is_true


def retraced(
    program: Program,
    query: Query,
    wanted: Sequence[Wanted],
    same: Callable[[Step, Wanted], bool],
    hint: str,
) -> list[Choice]:
    """The choices of a derivation that an engine gave in its own terms; an error where one is none.

    `same` says whether a step is the wanted one, `hint` what to try where no step is.
    """
    choices, end = _followed(program, query, wanted, same)
    if len(choices) < len(wanted):
        text = ", ".join(write_term(atom) for atom in end.atoms)
        raise ProofLogError(
            f"{text} has no such step in the program: the proof does not replay", hint=hint
        )
    return choices


def _followed(
    program: Program, query: Query, wanted: Sequence[Wanted], same: Callable[[Step, Wanted], bool]
) -> tuple[list[Choice], Goal]:
    """The choices as far as there are such steps by `successors`, and the goal they end at."""
    interner = Interner()
    goal, choices = start(query.atoms, interner), list[Choice]()
    for one in wanted:
        steps = () if goal.is_true else successors(program, goal, interner)
        step = next((step for step in steps if same(step, one)), None)
        if step is None:
            break
        choices.append(step.choice)
        goal = step.goal
    return choices, goal


def step_kind(atom: Term, choice: Choice) -> NodeKind:
    if choice.weigher in (WeightSource.NEURAL, WeightSource.BERNOULLI):
        return "neural"
    if choice.clause is None:
        functor = functor_of(atom)
        return "guard" if functor is not None and functor.name in GUARDS else "builtin"
    return "rule" if choice.clause.body else "fact"


def step_reason(atom: Term, choice: Choice, program: Program) -> str:
    clause = choice.clause
    if clause is None:
        functor = functor_of(atom)
        return "builtin" if functor is None else f"{functor.name}/{functor.arity}"
    label = clause.label
    if isinstance(label, Neural | Bernoulli):
        inputs = ", ".join(write_term(t) for t in choice.inputs)
        asked = f"{label.network}({inputs})"
        if isinstance(label, Neural):
            return f"{asked} = {write_term(label.domain[choice.number])}"
        return asked
    return clause_text(clause, program.operators)


def step_place(clause: Clause | None) -> str | None:
    if clause is None or clause.place is None:
        return None
    # What no line was counted for has line 0.
    return f"{clause.place.file}:{clause.place.line}" if clause.place.line else clause.place.file


@dataclass(frozen=True)
class Prediction:
    """An answer of an open query: how probable it is, how certain its place, and its best proof.

    `log_prob` sums over all derivations that end in the answer; `proof` is the best one of them.
    `certain` means that no answer is more probable, apart from those listed before it; `log_others`
    bounds every answer that is not listed. `method` says how it was found: "prefixes", "answers" or
    "derivation".
    """

    answer: str
    bindings: Mapping[str, str] = field(hash=False)
    log_prob: float
    certain: bool
    log_others: float
    method: AnswerWay
    proof: Proof = field(repr=False)

    @property
    def probability(self) -> float:
        """p of the answer; 0.0 where it is below the smallest float (see `log_prob`)."""
        return probability(self.log_prob)

    @property
    def others(self) -> float:
        """No answer that is not listed is more probable than this."""
        return math.exp(min(self.log_others, 0.0))


def prediction(program: Program, query: Query, found: Likely) -> Prediction:
    """An answer found by inference, in words."""
    free = variables(*query.atoms)
    for var, value in zip(free, found.answer, strict=True):
        var.ref = value
    try:
        bindings = bindings_text(query, program)
    finally:
        for var in free:
            var.ref = None
    return Prediction(
        answer=answer_text(query, program, found.answer),
        bindings=bindings,
        log_prob=found.log_prob,
        certain=found.certain,
        log_others=found.log_others,
        method=found.method,
        proof=build_proof(program, query, Derivation(found.choices, found.log_weights)),
    )
