"""Model: a program, its networks and its scorer, as one differentiable module.

log p_success(q) = log Σ over derivations d of q of  Π p(G_{i+1} | G_i)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor, nn

from deepprooflog.errors import Inexact, ModelError, ProgramError
from deepprooflog.graph.describe import goal_text
from deepprooflog.graph.explore import RECURSION, explore
from deepprooflog.graph.goalgraph import GoalGraph
from deepprooflog.graph.schedule import schedule
from deepprooflog.graph.templates import Bundle, bundle
from deepprooflog.infer.best import best_path, best_productions
from deepprooflog.infer.exact import Layered, layered, log_values
from deepprooflog.infer.sample import Sample, sample
from deepprooflog.infer.success import Success, answer_weights, require_exact, success
from deepprooflog.infer.tabled import ONE, Tabled, tabulate
from deepprooflog.infer.tabled_grad import tabled_log_values
from deepprooflog.logic.answers import answers_text
from deepprooflog.logic.budget import Budget
from deepprooflog.logic.choice import Choice
from deepprooflog.logic.goal import Goal, Interner
from deepprooflog.logic.program import Program
from deepprooflog.logic.query import Query
from deepprooflog.logic.resolve import start
from deepprooflog.proof.build import Derivation, build_proof
from deepprooflog.proof.tree import Proof
from deepprooflog.score.edges import EdgeTable, edge_table
from deepprooflog.score.network import Network
from deepprooflog.score.parameters import Labels
from deepprooflog.score.scorer import Scorer, Unit
from deepprooflog.score.weigh import Asked, edge_weights

Goals = Sequence[str | Query] | str | Query


@dataclass(frozen=True)
class Part:
    """One graph of a compiled batch, ready to be weighed and solved."""

    bundle: Bundle
    table: EdgeTable
    layers: Layered


@dataclass(frozen=True)
class TabledPart:
    """One tabled query of a compiled batch."""

    query: int
    tabled: Tabled
    table: EdgeTable


@dataclass(frozen=True)
class Compiled:
    """A batch of goals whose graphs are built; `with_bank` gives it other tensors."""

    goals: list[Goal]
    parts: list[Part]
    tabled: list[TabledPart]
    bank: list[Tensor]

    def with_bank(self, bank: Sequence[Tensor]) -> Compiled:
        """The same goals over other tensors: a new epoch's augmentation, without rebuilding."""
        if len(bank) != len(self.bank):
            raise ModelError(f"the batch has {len(self.bank)} tensors, not {len(bank)}")
        return Compiled(self.goals, self.parts, self.tabled, list(bank))

    def __len__(self) -> int:
        return len(self.goals)


class Model(nn.Module):
    """A program with networks for its neural labels and a scorer for its plain predicates.

    >>> model = Model(Program("t(0.3) :: p(a). t(0.7) :: p(b). q :- p(a)."))
    >>> round(model.log_prob(["q"]).exp().item(), 6)
    0.3

    `networks` are modules (or `Network`s) by the names the program gives them. `scorer` weighs the
    clauses of unlabelled predicates: 1 each by default, `Embedding(...)` for the paper's model.
    """

    def __init__(
        self,
        program: Program,
        networks: Mapping[str, nn.Module] | None = None,
        scorer: Scorer | None = None,
    ) -> None:
        super().__init__()
        self.program = program
        given = dict(networks or {})
        wanted = program.networks()
        for name in given:
            if name not in wanted:
                raise ModelError(
                    f"the program has no network {name} (it names: {', '.join(wanted) or 'none'})",
                    hint="name networks as the program's nn(...) labels do",
                )
        self.networks = nn.ModuleDict(
            {n: m if isinstance(m, Network) else Network(m) for n, m in given.items()}
        )
        self.labels = Labels(program)
        self.scorer = scorer if scorer is not None else Unit()

    # -- batches ---------------------------------------------------------------------------------

    def compile(  # type: ignore[override]
        self, goals: Goals, budget: Budget | None = None
    ) -> Compiled:
        """Explore the goal graphs of a batch once, to be used with `log_prob` many times."""
        queries = self._queries(goals)
        batch = bundle(self.program, queries, budget)
        parts: list[Part] = []
        tabled: list[TabledPart] = []
        for item in batch.bundles:
            if item.graph.complete:
                table = edge_table(item.graph.choices)
                parts.append(Part(item, table, layered(schedule(item.graph))))
                continue
            for i in item.queries.reshape(-1).tolist():
                tabled.append(self._tabulate(i, batch.goals[i], item.graph, budget))
        bank = [torch.as_tensor(t) for t in batch.bank]
        return Compiled(batch.goals, parts, tabled, bank)

    def _tabulate(
        self, number: int, goal: Goal, graph: GoalGraph, budget: Budget | None
    ) -> TabledPart:
        if not self.scorer.local:
            if graph.stopped == RECURSION:
                raise ProgramError(
                    f"{goal_text(goal)} has goals of unbounded length: a call recurs in front of "
                    "an ever longer continuation, and this scorer reads whole goals",
                    hint="use labels or networks on terms, which can be tabled",
                )
            raise _over_budget(goal, graph.stopped)
        interner = Interner()
        fresh = interner.goal(goal.atoms)
        table = tabulate(self.program, fresh, interner, budget)
        if not table.complete:
            raise _over_budget(goal, table.stopped)
        return TabledPart(number, table, edge_table(table.system.choices))

    def log_prob(
        self, goals: Goals | Compiled, budget: Budget | None = None
    ) -> Float[Tensor, "batch"]:
        """log p_success of each goal, differentiable; −inf for a goal that no derivation proves."""
        compiled = goals if isinstance(goals, Compiled) else self.compile(goals, budget)
        device = self.labels.logits.device
        identity = np.arange(len(compiled.bank), dtype=np.int64)[None, :]
        asked = [Asked(p.table, p.bundle.graph, p.bundle.slots) for p in compiled.parts]
        asked += [Asked(t.table, None, identity) for t in compiled.tabled]
        bank = [t.to(device) for t in compiled.bank]
        weights = edge_weights(asked, bank, self._networks(), self.labels, self.scorer)
        places: list[int] = []
        values: list[Tensor] = []
        for part, w in zip(compiled.parts, weights, strict=False):
            layers = part.layers.to(device)
            roots = torch.as_tensor(part.bundle.graph.roots, device=device)
            values.append(log_values(layers, w)[roots].T.reshape(-1))
            places.extend(part.bundle.queries.reshape(-1).tolist())
        for tabled, w in zip(compiled.tabled, weights[len(compiled.parts) :], strict=True):
            unknowns = list(tabled.tabled.answers.values())
            log = tabled_log_values(tabled.tabled.system, w[:, 0])
            values.append(log[unknowns] if unknowns else log.new_full((1,), -torch.inf))
            places.append(tabled.query)
        joined = torch.cat(values) if values else torch.zeros(0, dtype=torch.float64)
        order = torch.empty(len(places), dtype=torch.int64, device=joined.device)
        order[torch.as_tensor(places, device=joined.device)] = torch.arange(
            len(places), device=joined.device
        )
        return joined[order]

    # -- single goals ----------------------------------------------------------------------------

    def success(self, goal: str | Query, budget: Budget | None = None) -> Success:
        """p_success of a goal with its bounds, without gradients."""
        query, state, interner = self._begin(goal)
        return success(
            self.program, state, interner, self._weigh(query), local=self.scorer.local,
            budget=budget,
        )  # fmt: skip

    def prob(self, goal: str | Query, budget: Budget | None = None) -> float:
        """p_success of a goal; raises `Inexact` when the budget ends first."""
        query, state, _ = self._begin(goal)
        return float(np.exp(require_exact(self.success(query, budget), state)))

    def bounds(self, goal: str | Query, budget: Budget | None = None) -> tuple[float, float | None]:
        """Lower and upper bound on p_success within the budget."""
        result = self.success(goal, budget)
        return result.lower, result.upper

    def answers(self, goal: str | Query, budget: Budget | None = None) -> dict[str, float]:
        """The probability of each answer to an open goal, most probable first.

        Under a scorer that renormalises, an answer's probability differs from that of the ground
        goal: it is the weight of the derivations of the open goal that end in it.
        """
        query, state, interner = self._begin(goal)
        found = answer_weights(
            self.program, state, interner, self._weigh(query), local=self.scorer.local,
            budget=budget,
        )  # fmt: skip
        return answers_text(query, self.program, found)

    def best_proof(self, goal: str | Query, budget: Budget | None = None) -> Proof:
        """The most probable derivation of a goal, as a proof tree."""
        query, state, interner = self._begin(goal)
        weigh = self._weigh(query)
        graph = explore(self.program, [state], interner, budget)
        if graph.complete or not self.scorer.local:
            weights = weigh(graph, graph.choices)
            path = best_path(graph, weights, int(graph.roots[0]))
            if path is None:
                raise ProgramError(f"{query} has no proof")
            choices, steps = graph.choices, path
        else:
            closed = interner.goal(state.atoms)
            table = tabulate(self.program, closed, interner, budget)
            if not table.complete:
                raise _over_budget(state, table.stopped)
            weights = weigh(None, table.system.choices)
            unknown = next(iter(table.answers.values()), None)
            found = None if unknown is None else best_productions(table.system, weights, unknown)
            if found is None:
                raise ProgramError(f"{query} has no proof")
            choices = table.system.choices
            steps = [p for p in found if choices[p] is not ONE]
        derivation = Derivation([choices[e] for e in steps], [float(weights[e]) for e in steps])
        return build_proof(self.program, query, derivation)

    def sample(
        self,
        goal: str | Query,
        n: int = 1,
        *,
        seed: int | None = None,
        max_depth: int = 10_000,
        memory: bool = False,
    ) -> list[Sample]:
        """n derivations drawn from the model; see `Sample` for what each records."""
        query, state, interner = self._begin(goal)
        return sample(
            self.program, state, interner, self._weigh(query), n, seed=seed, max_depth=max_depth,
            memory=memory,
        )  # fmt: skip

    # -- inside ----------------------------------------------------------------------------------

    def _queries(self, goals: Goals) -> list[Query]:
        many = [goals] if isinstance(goals, str | Query) else list(goals)
        return [self.program.query(g) for g in many]

    def _begin(self, goal: str | Query) -> tuple[Query, Goal, Interner]:
        query = self.program.query(goal)
        interner = Interner()
        return query, start(query.atoms, interner), interner

    def _networks(self) -> dict[str, Network]:
        return {n: m for n, m in self.networks.items() if isinstance(m, Network)}

    def _weigh(self, query: Query) -> Weigher:
        return Weigher(self, query)


class Weigher:
    """A model's weights for the edges of one query's graphs, without gradients."""

    def __init__(self, model: Model, query: Query) -> None:
        self.model = model
        device = model.labels.logits.device
        self.bank = [torch.as_tensor(t).to(device) for t in query.tensors]

    def __call__(self, graph: GoalGraph | None, choices: Sequence[Choice]) -> NDArray[np.float64]:
        model = self.model
        slots = np.arange(len(self.bank), dtype=np.int64)[None, :]
        asked = [Asked(edge_table(choices), graph, slots)]
        with torch.no_grad():
            weights = edge_weights(asked, self.bank, model._networks(), model.labels, model.scorer)[
                0
            ]
        return weights[:, 0].cpu().numpy()


def _over_budget(goal: Goal, stopped: str | None) -> Inexact:
    return Inexact(
        f"{goal_text(goal)} was not solved within the budget ({stopped})",
        lower=0.0,
        upper=None,
        hint=f"a larger {stopped}, or Model.bounds for what can be said within the budget",
    )
