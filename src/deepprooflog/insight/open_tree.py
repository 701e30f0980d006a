"""From a derivation with open leaves to its tree, and to the facts that would close them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from deepprooflog.insight.near_search import NearDerivation
from deepprooflog.logic.choice import Choice
from deepprooflog.logic.clause import Clause, Constant, Label, Trainable, abstract
from deepprooflog.logic.goal import Goal, Interner
from deepprooflog.logic.index import Entries
from deepprooflog.logic.program import Predicate, PredicateKind, Program
from deepprooflog.logic.query import Query
from deepprooflog.logic.resolve import start, successors
from deepprooflog.logic.unify import Trail
from deepprooflog.proof.build import step_kind, step_place, step_reason, take_step, untake
from deepprooflog.proof.tree import Node, Proof
from deepprooflog.syntax.terms import Atom, Functor, Struct, Term, functor_of, variables
from deepprooflog.syntax.writer import Names, write_term

# The label of a fact added to a labelled predicate: so small that labels still sum to 1.
SLIGHT = Constant(Fraction(1, 10**11))


@dataclass(frozen=True)
class OpenTree:
    """The tree of a derivation, the facts that are missing in it, and tests that do not hold."""

    proof: Proof
    missing: tuple[Term, ...]
    failed: tuple[str, ...]
    invented: tuple[str, ...]


def open_tree(
    program: Program, query: Query, found: NearDerivation, invent: Callable[[int], Term]
) -> OpenTree:
    """The tree of a derivation of `query`; `invent` names what its missing facts leave open."""
    trail: Trail = []
    held: list[Iterator[tuple[Choice, Sequence[Term]]]] = []
    asked = str(query)
    own = variables(*query.atoms)
    invented: list[Term] = []
    try:
        agenda: list[tuple[Term, int, int]] = [(a, -1, 0) for a in reversed(query.atoms)]
        resolved: list[tuple[Term, Choice | None, int, int]] = []
        for choice in found.steps:
            atom, parent, depth = agenda.pop()
            body: Sequence[Term] = ()
            if choice is not None:
                body = take_step(program, atom, choice, trail, held)
            agenda.extend((b, len(resolved), depth + 1) for b in reversed(body))
            resolved.append((atom, choice, parent, depth))
        leaves = [atom for atom, choice, _, _ in resolved if choice is None]
        for variable in variables(*leaves):
            invented.append(invent(len(invented) + 1))
            variable.ref = invented[-1]
            trail.append(variable)
        names = Names({v: n for n, v in query.variables.items()})

        def text(term: Term, priority: int = 999) -> str:
            return write_term(
                term, operators=program.operators, variable_names=names, priority=priority
            )

        nodes = tuple(
            _leaf(program, atom, text(atom), weight, parent, depth)
            if choice is None
            else Node(text(atom), step_kind(atom, choice), step_reason(atom, choice, program),
                      step_place(choice.clause), weight, parent, depth)
            for (atom, choice, parent, depth), weight in zip(
                resolved, found.log_weights, strict=True)
        )  # fmt: skip
        facts = dict.fromkeys(abstract(a, {}) for a in leaves if _is_fact(program, a))
        failed = tuple(dict.fromkeys(text(a) for a in leaves if not _is_fact(program, a)))
        bindings = {n: text(v, 699) for n, v in query.variables.items() if v.ref is not None}
    finally:
        untake(held, trail, own)

    def check() -> bool:
        return not failed and replays_with(program, query, found.steps, tuple(facts))

    proof = Proof(asked, bindings, found.log_prob, nodes, check)
    return OpenTree(proof, tuple(facts), failed, tuple(map(write_term, invented)))


def _is_fact(program: Program, atom: Term) -> bool:
    functor = functor_of(atom)
    return functor is not None and program.defines(functor)


def _leaf(program: Program, atom: Term, text: str, weight: float, parent: int, depth: int) -> Node:
    if _is_fact(program, atom):
        return Node(text, "missing", "", None, weight, parent, depth)
    return Node(text, "failed", "", None, weight, parent, depth)


def replays_with(
    program: Program, query: Query, steps: Sequence[Choice | None], facts: Sequence[Term]
) -> bool:
    """True when the steps lead from the query to True once the facts are in the program.

    Every step is one of `successors` of the changed program; the open ones are by an added fact.
    """
    changed, added = mended(program, facts)
    interner = Interner()
    goal = start(query.atoms, interner)
    goals = [goal]
    for choice in steps:
        # An open leaf may be closed by any of the added facts that unify with it.
        after: dict[Goal, None] = {}
        for goal in goals:
            if goal.is_true:
                return False
            for step in successors(changed, goal, interner):
                if step.choice == choice:
                    after[step.goal] = None
                    break  # there may be no end of others
                if choice is None and step.choice.clause in added:
                    after[step.goal] = None
        goals = list(after)
    return any(goal.is_true for goal in goals)


def mended(program: Program, facts: Sequence[Term]) -> tuple[Program, list[Clause]]:
    """The program with facts added at the ends of their predicates, and the clauses they are."""
    by_functor: dict[Functor, list[Clause]] = {}
    for atom in facts:
        assert isinstance(atom, Struct | Atom)
        predicate = program.predicates[atom.functor]
        clause = Clause(atom, (), 0, _label(predicate))
        by_functor.setdefault(atom.functor, []).append(clause)
    changed = {f: _extended(program.predicates[f], clauses) for f, clauses in by_functor.items()}
    return program.with_predicates(changed), [c for cs in by_functor.values() for c in cs]


def _label(predicate: Predicate) -> Label | None:
    if predicate.kind is PredicateKind.LABELLED:
        return SLIGHT
    return Trainable(None) if predicate.kind is PredicateKind.TRAINABLE else None


def _extended(predicate: Predicate, clauses: Sequence[Clause]) -> Predicate:
    entries = Entries(predicate.functor, predicate.entries.file)
    items = list(predicate.entries.items())
    # A last clause with a cut, as belief is, stands after what it would cut off.
    cut = (
        bool(items) and predicate.has_cut and isinstance(items[-1], Clause) and bool(items[-1].body)
    )
    rest = items[-1:] if cut else []
    for item in [*items[: len(items) - len(rest)], *clauses, *rest]:
        if isinstance(item, Clause):
            entries.add(item)
        else:
            entries.add_fact(*item)
    return Predicate(
        predicate.functor, entries, predicate.kind, predicate.has_cut, predicate.has_nested_cut
    )
