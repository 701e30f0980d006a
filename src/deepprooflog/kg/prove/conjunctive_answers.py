"""Answers of conjunctive questions: found by one exploration, then scored as ground conjunctions.

The exploration takes the atoms in the cheapest order, since any order has the same answers; the
probability of an answer is p_success of the ground conjunction as it is written. Belief is offered
at the atoms of the question once they are ground, as for single triples.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from deepprooflog.kg.data.triples import Graph
from deepprooflog.kg.prove.answers import Answer, Answers, remarks_on_cut, unseen_entities
from deepprooflog.kg.prove.candidates import unknown
from deepprooflog.kg.prove.conjunction import (
    ConjunctiveQuestion,
    atoms_of_triples,
    cheapest_order,
)
from deepprooflog.kg.prove.prover import Prover
from deepprooflog.logic.limits.counts import note
from deepprooflog.logic.query import Query
from deepprooflog.relational.goals import NO_FACT, Goals, variable
from deepprooflog.relational.layers import Layers
from deepprooflog.syntax.terms import Struct, Term, Var, variables
from deepprooflog.syntax.writer import write_term

MOST_GOALS = 5_000_000
"""Goals that the exploration of a question may have, where the run sets no limit."""
MOST_SCORED = 10_000
"""Candidates that are scored; those with a proof by clauses come first."""
BATCH = 2_000


@dataclass(frozen=True)
class ConjunctiveCandidates:
    """Bindings that may answer a question."""

    rows: Int[Tensor, "candidates variables"]
    left_out: int  # answers beyond those that are scored
    cut: int  # goals that limits left open: there may be more answers


def answer_conjunction(
    prover: Prover,
    graph: Graph,
    question: ConjunctiveQuestion,
    *,
    top: int = 10,
    proofs: int = 1,
    new: bool = False,
    max_goals: int | None = None,
) -> Answers:
    """The most probable answers of a conjunction; `new`: only those not wholly told.

    `max_goals` is what finding them may explore, and for each what weighing it may.
    """
    began = time.perf_counter()
    prover = prover.with_guards(question.guards)
    found = conjunctive_candidates(prover, graph, question, max_goals)
    rows = found.rows
    known = _known(graph, question, rows)
    if new:
        rows, known = rows[~known], known[~known]
    answers = _scored(prover, graph, question, rows, known, top, proofs, max_goals)
    notes = []
    if found.left_out:
        notes.append(f"{found.left_out:,} further answers were not scored")
    if max_goals is not None:
        notes += remarks_on_cut(found.cut, answers, min(top, len(rows)))
    elif found.cut:
        notes.append(f"{found.cut:,} goals were left open: there may be more answers")
    seconds = round(time.perf_counter() - began, 3)
    return Answers(question.text, tuple(answers), len(rows), seconds, tuple(notes))


@torch.no_grad()
def conjunctive_candidates(
    prover: Prover, graph: Graph, question: ConjunctiveQuestion, max_goals: int | None = None
) -> ConjunctiveCandidates:
    """The answers that derivations of the open question end in, those by clauses alone first."""
    if not question.is_open:
        return ConjunctiveCandidates(torch.zeros(1, 0, dtype=torch.long), 0, 0)
    atoms = cheapest_order(graph, question.atoms)
    goals = prover.database.goals([Query(tuple(atoms))])
    if max_goals is None:
        layers = prover.explore(goals, most=MOST_GOALS)
    else:
        layers = prover.neighbourhood(goals, max_goals).layers
    by_clauses = _reached(prover, layers)
    parts = [goals.answer[goals.is_true] for goals in layers.goals]
    pairs = zip(layers.goals, by_clauses, strict=True)
    plain = [reached[goals.is_true] for goals, reached in pairs]
    rows, proved = torch.cat(parts).long().cpu(), torch.cat(plain).cpu()
    # Variables as they are written, not as they were explored.
    explored = variables(*atoms)
    rows = rows[:, [explored.index(v) for v in question.variables.values()]]
    # An answer that is still a variable stands for every entity, and says nothing.
    named = ((rows >= 0) & (rows < len(graph.entities))).all(1)
    rows, proved = rows[named], proved[named]
    rows, number = torch.unique(rows, dim=0, return_inverse=True)
    proved = torch.zeros(len(rows)).index_add(0, number, proved.float()) > 0
    rows = rows[proved.logical_not().int().sort(stable=True).indices]
    cut = max(0, len(rows) - MOST_SCORED)
    return ConjunctiveCandidates(rows[:MOST_SCORED], cut, layers.cut.total)


def ground_goals(
    prover: Prover, question: ConjunctiveQuestion, rows: Int[Tensor, "candidates variables"]
) -> Goals:
    """The question under each binding, as written."""
    form = prover.database.goals([Query(question.atoms)])
    atoms = form.atoms.repeat(len(rows), 1, 1)
    values = rows.to(atoms)
    for number in range(rows.shape[1]):
        own = values[:, number, None, None].expand_as(atoms)
        atoms = torch.where(form.atoms == variable(number), own, atoms)
    none = torch.full((len(rows),), NO_FACT, dtype=torch.int32, device=atoms.device)
    return Goals(atoms, atoms.new_zeros(len(rows), 0), none)


def _scored(
    prover: Prover,
    graph: Graph,
    question: ConjunctiveQuestion,
    rows: Int[Tensor, "candidates variables"],
    known: Bool[Tensor, " candidates"],
    top: int,
    proofs: int,
    max_goals: int | None,
) -> list[Answer]:
    """The most probable bindings, with their proofs."""
    if not len(rows):
        return []
    goals = ground_goals(prover, question, rows)
    near = None
    if max_goals is not None:
        mass, near = prover.weigh_and_search(goals, max_goals)
        masses = [mass]
    else:
        with torch.no_grad():
            masses = []
            for begin, end in pairwise([*range(0, len(rows), BATCH), len(rows)]):
                note(candidates=begin, candidates_of=len(rows))
                part = goals.select(torch.arange(begin, end))
                masses.append(prover.weigh(prover.explore(part)))
    success, upper, proof = (
        torch.cat([getattr(mass, name) for mass in masses]).cpu()
        for name in ("success", "upper", "proof")
    )
    order = success.sort(descending=True, stable=True).indices[:top]
    order = order[(success[order] > 0) | (len(rows) == 1)]
    chosen = goals.select(order.to(goals.device))
    search = prover.search(chosen) if proofs and near is None else None
    found = []
    for place, at in enumerate(order.tolist()):
        bound = dict(zip(question.variables, rows[at].tolist(), strict=True))
        query = _ground(graph, question, bound)
        shown = []
        if near is not None:
            shown = near.proofs(prover.program, query, at, proofs, "last")
        elif search is not None:
            # What limits leave open of all may have room when an answer is proved alone.
            alone = bool(search.layers.cut)
            one = prover.search(chosen.select(torch.tensor([place]))) if alone else search
            shown = one.proofs(prover.program, query, 0 if alone else place, proofs, "last")
        own = np.concatenate(_triples(graph, question, rows[at : at + 1]))
        unseen = unseen_entities(prover.belief, graph, own[:, [0, 2]].ravel().tolist())
        found.append(
            Answer(
                bindings={name: graph.entity_text(e) for name, e in bound.items()},
                triple=", ".join(write_term(atom, priority=999) for atom in query.atoms),
                probability=float(success[at]), upper=float(upper[at]), by_proof=float(proof[at]),
                prior=None, evidence=None, known=bool(known[at]), proofs=tuple(shown),
                unseen=unseen,
            )
        )  # fmt: skip
    return found


def _reached(prover: Prover, layers: Layers) -> list[Bool[Tensor, " _goals"]]:
    """For each layer the goals that steps of clauses alone lead to."""
    neural = prover.neural_steps(layers)
    found = [torch.ones(len(layers.goals[0]), dtype=torch.bool, device=layers.roots.device)]
    for goals, steps, by_belief in zip(layers.goals[1:], layers.steps, neural, strict=True):
        reached = torch.zeros(len(goals), dtype=torch.bool, device=layers.roots.device)
        reached[steps.target[found[-1][steps.source] & ~by_belief]] = True
        found.append(reached)
    return found


def _triples(
    graph: Graph, question: ConjunctiveQuestion, rows: Int[Tensor, "candidates variables"]
) -> list[np.ndarray]:
    """Of each atom that is no guard the triples it becomes: arrays (head, relation, tail)."""
    columns = {v: rows[:, n].numpy() for n, v in enumerate(question.variables.values())}
    found = []
    for atom in atoms_of_triples(question.atoms):
        ends = []
        for term in atom.args:
            number = None if type(term) is Var else graph.entity_number(term)
            ends.append(columns[term] if number is None else np.full(len(rows), number))  # type: ignore[index]
        relation = np.full(len(rows), graph.relation_ids[atom.functor.name])
        found.append(np.stack([ends[0], relation, ends[1]], 1).astype(np.int64))
    return found


def _known(
    graph: Graph, question: ConjunctiveQuestion, rows: Int[Tensor, "candidates variables"]
) -> Bool[Tensor, " candidates"]:
    """Which answers train and valid tell, atom by atom."""
    told = torch.ones(len(rows), dtype=torch.bool)
    for triples in _triples(graph, question, rows):
        told &= ~unknown(graph, torch.from_numpy(triples))
    return told


def _ground(graph: Graph, question: ConjunctiveQuestion, bound: dict[str, int]) -> Query:
    """The question with its variables replaced."""
    values = {question.variables[name]: graph.entities[e] for name, e in bound.items()}

    def filled(term: Term) -> Term:
        return values[term] if type(term) is Var else term

    atoms = (Struct(a.functor, tuple(map(filled, a.args)), True) for a in question.atoms)
    return Query(tuple(atoms))
