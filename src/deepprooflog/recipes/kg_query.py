"""Questions to a knowledge-graph run: answers ranked by p_success, each with its proofs.

The candidates of an open query are the answers that proofs find and the entities the prior holds
most likely; each is then scored as a ground query, as in `evaluate` and `explain`.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int, Int64
from torch import Tensor

from deepprooflog.errors import DataError
from deepprooflog.kg.prover import Prover
from deepprooflog.proof.tree import Proof
from deepprooflog.recipes.folder import RunFolder
from deepprooflog.recipes.kg import Task, belief_score
from deepprooflog.recipes.kg_run import trained_prover
from deepprooflog.syntax.reader import read_term
from deepprooflog.syntax.terms import Var, args_of, deref
from deepprooflog.syntax.writer import write_term

# Entities that the prior adds to the candidates of an open query, for each answer asked for.
BELIEVED = 10
AT_LEAST = 100


@dataclass(frozen=True)
class Answer:
    """One triple, how probable it is, and why."""

    bindings: dict[str, str]
    triple: str
    probability: float
    upper: float  # more than `probability` where limits left goals open
    by_proof: float  # of it, without belief
    prior: float | None
    evidence: list[dict[str, Any]] | None  # facts that the prior weighs beside its score
    known: bool  # a triple of train or valid
    proofs: list[Proof]

    def to_json(self) -> dict[str, Any]:
        """What scripts read."""
        found = [json.loads(proof.to_json()) for proof in self.proofs]
        return {
            "bindings": self.bindings, "triple": self.triple, "probability": self.probability,
            "upper": self.upper, "by_proof": self.by_proof, "prior": self.prior,
            "evidence": self.evidence, "known": self.known,
            "proof": found[0] if found else None, "proofs": found,
        }  # fmt: skip


def ask(
    run: RunFolder,
    query: str,
    *,
    top: int = 10,
    proofs: int = 1,
    new: bool = False,
    device: str | None = None,
    data: str | None = None,
) -> dict[str, Any]:
    """The most probable answers of a query, or the one of a ground query."""
    began = time.perf_counter()
    _, task, prover = trained_prover(run, device, data)
    names = variable_names(query)
    triples = candidates(prover, task, query, top)
    if new:
        triples = triples[torch.from_numpy(~task.graph.holds(triples.numpy(), ("train", "valid")))]
    found = answers(prover, task, triples, names, top, proofs)
    return {
        "query": query, "answers": [one.to_json() for one in found], "candidates": len(triples),
        "seconds": round(time.perf_counter() - began, 3),
    }  # fmt: skip


def variable_names(query: str) -> tuple[str | None, str | None]:
    """What the query calls its head and its tail, None for an entity."""
    read = read_term(query, end_optional=True)
    called = {deref(variable): name for name, variable in read.variables.items()}
    found = [
        called.get(arg, "_") if type(arg := deref(a)) is Var else None for a in args_of(read.term)
    ]
    if len(found) != 2:
        raise DataError(f"{write_term(read.term)} is no triple", hint="relation(head, tail)")
    return found[0], found[1]


def candidates(prover: Prover, task: Task, query: str, top: int) -> Int[Tensor, "n 3"]:
    """The triples that may answer a query: itself, or what proofs and the prior suggest."""
    head, relation, tail = task.graph.pattern(query)
    if head is not None and tail is not None:
        return torch.tensor([[head, relation, tail]])
    parts = [proved(prover, query, head, relation, tail)]
    if prover.belief is not None and (head is not None or tail is not None):
        parts.append(believed(prover, head, relation, tail, max(AT_LEAST, BELIEVED * top)))
    found: Tensor = torch.unique(torch.cat(parts), dim=0)
    return found


def proved(
    prover: Prover, query: str, head: int | None, relation: int, tail: int | None
) -> Int[Tensor, "n 3"]:
    """The answers of an open query that clauses alone prove."""
    layers = prover.explore(prover.database.goals([query]))
    rows = torch.cat([goals.answer[goals.is_true] for goals in layers.goals]).long().cpu()
    result = torch.full((len(rows), 3), relation)
    same = head is None and tail is None and rows.shape[1] == 1  # r(X, X)
    column = 0
    for place, given in ((0, head), (2, tail)):
        if given is not None:
            result[:, place] = given
        else:
            result[:, place] = rows[:, column]
            column += 0 if same else 1
    # An answer that is still a variable stands for every entity, and says nothing.
    return result[(result >= 0).all(1)]


def believed(
    prover: Prover, head: int | None, relation: int, tail: int | None, count: int
) -> Int[Tensor, "n 3"]:
    """The triples that the prior holds most likely."""
    assert prover.belief is not None
    everyone = torch.arange(prover.belief.kge.entities)
    triples = torch.full((len(everyone), 3), relation)
    triples[:, 0] = everyone if head is None else head
    triples[:, 2] = everyone if tail is None else tail
    scores = belief_score(prover.belief)(triples).cpu()
    return triples[scores.topk(min(count, len(scores))).indices]


def answers(
    prover: Prover,
    task: Task,
    triples: Int[Tensor, "n 3"],
    names: tuple[str | None, str | None],
    top: int,
    proofs: int,
) -> list[Answer]:
    """The most probable of some triples with their proofs."""
    if not len(triples):
        return []
    device = prover.device
    with torch.no_grad():
        mass = prover(triples.to(device))
    order = mass.success.cpu().sort(descending=True, stable=True).indices[:top]
    known = task.graph.holds(triples.numpy(), ("train", "valid"))
    prior = prior_of(prover, triples)
    result = []
    for place in order.tolist():
        if float(mass.success[place]) == 0.0 and len(triples) > 1:
            break
        row = triples[place].numpy()
        ends = ((names[0], int(row[0])), (names[1], int(row[2])))
        result.append(
            Answer(
                bindings={n: task.graph.entity_text(e) for n, e in ends if n is not None},
                triple=task.graph.text(row),
                probability=float(mass.success[place]),
                upper=float(mass.upper[place]),
                by_proof=float(mass.proof[place]),
                prior=None if prior is None else float(prior[place]),
                evidence=evidence_for(prover, task, triples[place : place + 1]),
                known=bool(known[place]),
                proofs=explained(prover, row.tolist(), proofs) if proofs else [],
            )
        )
    return result


def explained(prover: Prover, triple: list[int], count: int) -> list[Proof]:
    """The best proofs: first those by clauses, then those that believe, each most probable first.

    How likely the prior holds a triple is said beside them; a proof is what it cannot give.
    """
    found = prover.proofs(triple, count, believing=False)
    if prover.belief is None or len(found) == count:
        return found
    rest = prover.proofs(triple, count)
    return [*found, *(proof for proof in rest if proof not in found)][:count]


def proofs_of(
    prover: Prover, task: Task, queries: Int64[np.ndarray, "queries 3"], count: int
) -> list[dict[str, Any]]:
    """What the score of each query rests on: its probability and its best proofs."""
    result = []
    for row in queries:
        triples = torch.from_numpy(row[None])
        (found,) = answers(prover, task, triples, (None, None), 1, count)
        result.append(found.to_json())
    return result


def prior_of(prover: Prover, triples: Int[Tensor, "n 3"]) -> Float[Tensor, " n"] | None:
    """The calibrated probabilities of triples by the prior alone."""
    if prover.belief is None:
        return None
    head, relation, tail = triples.to(prover.belief.kge.entity.device).unbind(1)
    with torch.no_grad():
        return prover.belief.log_probability(relation, head, tail).exp().cpu()


def evidence_for(
    prover: Prover, task: Task, triple: Int[Tensor, "1 3"]
) -> list[dict[str, Any]] | None:
    """The facts about a triple's entities that the prior weighs, and how much each counts for it.

    `log_odds` is what a number of facts adds to the log odds of the triple.
    """
    if prover.belief is None:
        return None
    head, relation, tail = triple.to(prover.belief.kge.entity.device).unbind(1)
    with torch.no_grad():
        found = prover.belief.weighed(relation, head, tail)
    if found is None:
        return None
    name = task.graph.relations[int(triple[0, 1])]
    a, b = (task.graph.entity_text(int(triple[0, place])) for place in (0, 2))
    about = (f"{name}({a},·)", f"{name}(·,{b})", f"about {a}", f"about {b}")
    rows = zip(about, found[0][0].tolist(), found[1][0].tolist(), strict=True)
    return [{"facts": what, "count": count, "log_odds": added} for what, count, added in rows]
