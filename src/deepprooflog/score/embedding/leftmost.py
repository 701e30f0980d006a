"""A network on the leftmost atom: the term-level transition model, as in DeepStochLog.

    p(C | A₁) = exp(e_A₁ · u_C) / Σ over the clauses C' that match A₁ of exp(e_A₁ · u_C')

e_A₁ is made of the atom's predicate and terms as in `Embedding`, u_C is a vector of the clause. A
ground fact C of predicate r has u_r + e_C, so that the choice among facts depends on their terms
and facts may come and go.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from deepprooflog.logic.goal import Goal
from deepprooflog.logic.program import Program
from deepprooflog.score.clause_rows import ClauseRows, StepRows, is_ground_fact
from deepprooflog.score.embedding.atoms import FAtom
from deepprooflog.score.embedding.embedding import Embedding
from deepprooflog.score.embedding.encoders import readers
from deepprooflog.score.embedding.layout import Layout, lay_out
from deepprooflog.score.embedding.numbered import EmbeddedGoals, Vectors
from deepprooflog.score.embedding.vocabulary import ConstantRows, NumberRows
from deepprooflog.score.scorer import GraphMemo, Scene, Scorer
from deepprooflog.score.segments import Gather, distinct, gather, segment_logsumexp
from deepprooflog.score.transitions import LogPolicy, Numbering, Transitions


@dataclass(frozen=True)
class LeftmostPlan:
    """What the steps of a graph need computed."""

    steps: StepRows
    layout: Layout
    calls: Gather  # e of each source's leftmost atom
    facts: Gather  # e of the facts that steps resolve with
    by_fact: Int[Tensor, " by_fact"]  # which steps these are


class Leftmost(Scorer):
    """Weighs the clauses that match the leftmost atom by a network on that atom.

    The options are those of `Embedding`.

    >>> program = Program("p(X) :- q(X). p(X) :- r(X). q(a). r(b).")
    >>> Leftmost(program, dim=8, seed=0).local
    True
    """

    local = True

    def __init__(
        self,
        program: Program,
        dim: int = 64,
        f_atom: str | FAtom = "mlp",
        *,
        temperature: float = 1.0,
        encoders: Mapping[str, nn.Module] | nn.Module | None = None,
        constants: ConstantRows = "own",
        numbers: NumberRows = "features",
        seed: int | None = None,
    ) -> None:
        super().__init__()
        self.atoms = Embedding(
            program, dim, f_atom, temperature=temperature, encoders=encoders,
            constants=constants, numbers=numbers, seed=seed,
        )  # fmt: skip
        self.rows = ClauseRows(program, "shared")
        generator = None if seed is None else torch.Generator().manual_seed(seed)
        self.clauses = nn.Parameter(
            torch.randn((len(self.rows), dim), generator=generator) * dim**-0.5
        )
        self._plans: GraphMemo[LeftmostPlan] = GraphMemo()

    def take_encoders(self, encoders: Mapping[str, nn.Module]) -> None:
        self.atoms.take_encoders(encoders)

    def log_weights(self, scene: Scene) -> Float[Tensor, "steps batch"]:
        plan = self._plans.get(scene.graph, (scene.steps, self.device), self._plan, scene)
        columns = len(scene.slots) if bool(plan.layout.slotted.any()) else 1
        values = self.atoms.values(plan.layout, scene.slots, scene.bank)
        steps, calls = plan.steps, plan.calls(values, columns)
        products = (calls[steps.source] * self.clauses[steps.row].unsqueeze(1)).sum(-1)
        if len(plan.by_fact):
            facts = (calls[steps.source[plan.by_fact]] * plan.facts(values, columns)).sum(-1)
            products = products.index_add(0, plan.by_fact, facts)
        logits = products.double() / self.atoms.temperature
        logits = logits.masked_fill(steps.repeated.unsqueeze(1), -torch.inf)
        log = logits - segment_logsumexp(logits, steps.source, steps.sources)[steps.source]
        return log.to(scene.steps.device)

    def _plan(self, scene: Scene) -> LeftmostPlan:
        graph, edges = scene.graph, scene.steps.tolist()
        steps = self.rows.of_steps(graph, scene.steps.to(self.device))
        calls = dict.fromkeys(int(graph.source[e]) for e in edges)
        goals = [Goal(graph.goals[n].atoms[:1]) for n in calls]
        by_fact = []
        for number, edge in enumerate(edges):
            clause = graph.choices[edge].clause
            if clause is not None and is_ground_fact(clause):
                by_fact.append(number)
                goals.append(Goal((clause.head,)))
        layout = lay_out(goals, self.atoms.vocabulary, readers(graph), self.device)
        every = np.arange(len(goals))
        return LeftmostPlan(
            steps=steps,
            layout=layout,
            calls=gather(layout.address, every[: len(calls)], self.device),
            facts=gather(layout.address, every[len(calls) :], self.device),
            by_fact=torch.tensor(by_fact, dtype=torch.int64, device=self.device),
        )

    def transitions(self, database: Numbering) -> Transitions[Any]:
        return LeftmostAtoms(self, database)

    def get_extra_state(self) -> Tensor:
        """A fingerprint of the clauses, so that weights are not read for another program."""
        return self.rows.fingerprint()

    def set_extra_state(self, state: Tensor) -> None:
        self.rows.require(state)


class LeftmostAtoms(Transitions[Vectors]):
    """`Leftmost` on the steps of a database."""

    normalises = True
    false_action = False

    def __init__(self, scorer: Leftmost, database: Numbering) -> None:
        self.scorer = scorer
        self.goals = EmbeddedGoals(scorer.atoms, database.symbols)
        self.alike = self.goals.alike
        self.row, self.repeated = scorer.rows.of_database(database, scorer.device)
        self.rules = len(database.rules)
        facts = database.facts
        self.facts = torch.cat([facts.predicate[:, None], facts.arguments], 1).to(scorer.device)

    def view(self, atoms: Int[Tensor, "goals atoms columns"]) -> Vectors:
        return self.goals.view(atoms[:, :1])

    def log_weights(
        self,
        here: Vectors,
        after: Vectors,
        source: Int[Tensor, " steps"],
        target: Int[Tensor, " steps"] | None,
        clause: Int[Tensor, " steps"],
        *,
        false: bool,
    ) -> LogPolicy:
        calls = here.each[source]
        products = (calls * self.scorer.clauses[self.row[clause].clamp_min(0)]).sum(-1)
        by_fact = (clause >= self.rules).nonzero().squeeze(1)
        if len(by_fact):
            own = distinct(clause[by_fact] - self.rules, len(self.facts))
            facts = self.facts[clause[by_fact][own.member] - self.rules].unsqueeze(1)
            vectors = self.goals.view(facts).each[own.number]
            products = products.index_add(0, by_fact, (calls[by_fact] * vectors).sum(-1))
        logits = products.double() / self.scorer.atoms.temperature
        logits = logits.masked_fill(self.repeated[clause], -torch.inf)
        return LogPolicy(logits, logits.new_full((len(here.number),), -torch.inf))
