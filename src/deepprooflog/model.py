"""Model: a program, its networks and its scorer, as one differentiable module.

log p_success(q) = log Σ over derivations d of q of  Π p(G_{i+1} | G_i)
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor, nn

from deepprooflog.device import capturing
from deepprooflog.errors import ModelError, Notice
from deepprooflog.graph.goalgraph import CallGraph, GoalGraph
from deepprooflog.infer.batches.bank import Select, selection, tensor_of
from deepprooflog.infer.batches.batch import Compiled, batch_log_prob, compile_batch
from deepprooflog.infer.method import Method
from deepprooflog.infer.particles.sample import Sample, sample
from deepprooflog.infer.success import ABOVE_ONE, OVERLAP_HINT, check_one
from deepprooflog.logic.analysis.overlap import overlaps
from deepprooflog.logic.choice import Choice
from deepprooflog.logic.goal_batch import GoalBatch
from deepprooflog.logic.limits.budget import Budget
from deepprooflog.logic.limits.watch import PRESERVED, watched
from deepprooflog.logic.program import Program
from deepprooflog.logic.query import Query
from deepprooflog.questions import Questions
from deepprooflog.score.edges import edge_table
from deepprooflog.score.model_folder import kept_model, save_folder
from deepprooflog.score.network import Network
from deepprooflog.score.parameters import Labels
from deepprooflog.score.program_model_html import program_model_html
from deepprooflog.score.scorer import Scorer, Unit
from deepprooflog.score.weigh import ModelWeights, WeighRequest, edge_weights

GoalsLike = Sequence[str | Query] | str | Query


# An interruption may come when gradients are about to be switched on again.
PRESERVED.append((torch.is_grad_enabled, torch.set_grad_enabled))


class Model(nn.Module, Questions):
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
        for name, network in self.named_networks().items():
            network.check_last_layer(name, wanted[name])
        self.labels = Labels(program)
        self.scorer = scorer if scorer is not None else Unit()
        if self.scorer.weighs_one:
            _warn_of_overlaps(program)
        self.scorer.take_encoders(
            {n: m.encoder for n, m in self.named_networks().items() if m.encoder is not None}
        )

    # -- batches ---------------------------------------------------------------------------------

    @overload
    def compile(
        self,
        goals: GoalsLike,
        budget: Budget | None = None,
        *,
        unfolding: bool = True,
        method: Method = "auto",
    ) -> Compiled: ...

    @overload
    def compile(self, **options: Any) -> None: ...

    def compile(
        self,
        goals: GoalsLike | None = None,
        budget: Budget | None = None,
        *,
        unfolding: bool = True,
        method: Method = "auto",
        **options: Any,
    ) -> Compiled | None:
        """Build the graphs of a batch once, to be used with `log_prob` many times.

        Goals are unfolded from templates where their structure allows it; `unfolding=False` builds
        every goal graph step by step. `method="tabled"` builds tables alone, `"graph"` none.

        Without goals, `torch.nn.Module.compile` with its options: the module's call is compiled.
        """
        if goals is None:
            super().compile(**options)
            return None
        if options:
            raise ModelError(
                f"{next(iter(options))} is an option of torch's compile",
                hint="model.compile(goals) builds graphs; model.compile(backend=...) has no goals",
            )
        with watched(budget) as limits:
            return compile_batch(
                self.program, self.queries(goals), local=self.scorer.local, budget=limits,
                unfolding=unfolding and self.scorer.weighs_one, method=method,
            )  # fmt: skip

    def forward(
        self,
        goals: GoalsLike | Compiled,
        budget: Budget | None = None,
        *,
        select: Select | None = None,
        method: Method = "auto",
    ) -> Float[Tensor, "batch"]:
        """`log_prob`, so that `model(goals)`, hooks and DistributedDataParallel work."""
        return self.log_prob(goals, budget, select=select, method=method)

    def log_prob(
        self,
        goals: GoalsLike | Compiled,
        budget: Budget | None = None,
        *,
        select: Select | None = None,
        method: Method = "auto",
    ) -> Float[Tensor, "batch"]:
        """log p_success of each goal, differentiable; −inf for a goal that no derivation proves.

        `select` evaluates only these goals of a compiled batch, by number or by a boolean mask:
        a minibatch of a data set.
        """
        with watched(budget) as limits:
            compiled = (
                goals if isinstance(goals, Compiled) else self.compile(goals, limits, method=method)
            )
            select = None if select is None else selection(select, len(compiled))
            result = batch_log_prob(compiled, self.weights, select)
            if not capturing():
                for i in (result.detach() > ABOVE_ONE).nonzero()[:1, 0].tolist():
                    position = i if select is None else int(select[i])
                    check_one(float(result[i].detach()), compiled.describe(position), self.program)
            return result

    def sample(
        self,
        query: str | Query,
        n: int = 1,
        *,
        seed: int | None = None,
        max_depth: int = 10_000,
        memory: bool = False,
        budget: Budget | None = None,
    ) -> list[Sample]:
        """n derivations drawn from the model; see `Sample` for what each records.

        When the budget ends first, `BudgetExceeded` holds those drawn so far in `found`.
        """
        with watched(budget) as limits:
            parsed, goal, interner = self.begin(query)
            return sample(
                self.program, goal, interner, self.weigher(parsed), n, seed=seed,
                max_depth=max_depth, memory=memory, budget=limits,
            )  # fmt: skip

    def save(self, folder: str | Path) -> None:
        """Write the program, the labels and the weights into a new folder for `dpl.load`.

        It holds JSON and safetensors. Networks' code is not kept: `dpl.load(folder, networks={…})`.
        """
        kept = kept_model(self.program, self.named_networks(), self.scorer)
        save_folder(Path(folder), kept, self.state_dict())

    # -- parts -----------------------------------------------------------------------------------

    @property
    def device(self) -> torch.device:
        """Where the parameters are."""
        return self.labels.device

    def named_networks(self) -> dict[str, Network]:
        """The networks by the names that the program gives them."""
        return {n: m for n, m in self.networks.items() if isinstance(m, Network)}

    @property
    def weights(self) -> ModelWeights:
        """All that weighs steps: networks, labels and the scorer."""
        return ModelWeights(self.named_networks(), self.labels, self.scorer)

    def queries(self, goals: GoalsLike) -> list[Query]:
        """Goals, of any form, as queries read with the program's operators."""
        if isinstance(goals, GoalBatch):
            return list(goals.read(self.program))
        many = [goals] if isinstance(goals, str | Query) else list(goals)
        return [self.program.query(g) for g in many]

    def weigher(self, query: Query) -> QueryWeights:
        """The weights of single queries, as they are."""
        return QueryWeights(self, query)

    def _repr_html_(self) -> str:
        return program_model_html(self.program, self.named_networks(), self.labels, self.scorer)

    @property
    def local(self) -> bool:
        """The scorer reads only the leftmost atom, so that its calls can be tabled."""
        return self.scorer.local

    @property
    def weighs_one(self) -> bool:
        """There is no scorer: unlabelled clauses weigh 1."""
        return self.scorer.weighs_one


def _warn_of_overlaps(program: Program) -> None:
    for pair in overlaps(program):
        warnings.warn(
            f"{pair.text(program)} may both apply to one call: their weights add up, and may pass "
            f"1; {OVERLAP_HINT}",
            Notice,
            stacklevel=3,
        )


class QueryWeights:
    """A model's weights for the edges of one query's graphs, without gradients."""

    def __init__(self, model: Model, query: Query) -> None:
        self.model = model
        device = model.device
        self.bank = [tensor_of(t).to(device) for t in query.tensors]

    def __call__(
        self, graph: GoalGraph | CallGraph, choices: Sequence[Choice]
    ) -> NDArray[np.float64]:
        model = self.model
        slots = np.arange(len(self.bank), dtype=np.int64)[None, :]
        asked = [WeighRequest(edge_table(choices), graph, slots)]
        with torch.no_grad():
            weights = edge_weights(asked, self.bank, model.weights)[0]
        return weights[:, 0].cpu().numpy()
