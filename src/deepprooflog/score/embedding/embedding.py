"""The transition model of DeepProofLog, on embeddings of whole goals.

    p_λ(G' | G) = exp f_λ(G, G') / Σ over G'' in N(G) of exp f_λ(G, G'')
    f_λ(G, G') = e_G · e_G'

N(G) is a set: clauses that lead to the same goal with the same answer are one choice. With the
False action on, f_λ(G, False) is in the sum as well, and its share of the mass fails.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from deepprooflog.errors import ModelError
from deepprooflog.logic.goal import Goal
from deepprooflog.logic.program import Program
from deepprooflog.score.embedding.aggregate import FAgg, aggregate_function
from deepprooflog.score.embedding.atom_table import atom_function
from deepprooflog.score.embedding.atoms import (
    FAtom,
    Mlp,
)
from deepprooflog.score.embedding.choices import Choices, choices, distinct_successors, log_softmax
from deepprooflog.score.embedding.encoders import Encoders, readers
from deepprooflog.score.embedding.layout import Compounds, GoalRows, Layout, Truth, lay_out
from deepprooflog.score.embedding.terms import TermEmbedding
from deepprooflog.score.embedding.vocabulary import ConstantRows, NumberRows, Vocabulary
from deepprooflog.score.scorer import GraphMemo, Scene, Scorer
from deepprooflog.score.segments import gather
from deepprooflog.score.transitions import Numbering, Transitions

# Argument positions with weights of their own, whatever the program's predicates need.
POSITIONS = 4


@dataclass(frozen=True)
class EmbeddingPlan:
    """What a graph's steps need computed."""

    layout: Layout
    choices: tuple[Choices, ...]


class Embedding(Scorer):
    """Scores a step by the dot product of the embeddings of the two goals.

    `f_atom` makes atoms of symbols and terms, `f_agg` goals of atoms; both are named or given as
    modules. The models of knowledge-graph embedding apply to binary predicates, an MLP to others.
    `encoders` embed tensors: a module, or one for each network by name. `constants="shared"` makes
    all constants one symbol, `numbers="symbols"` each number of the program one of its own.

    >>> scorer = Embedding(Program("p :- q. p :- r. q. r."), dim=8, seed=0)
    >>> scorer.embed([Goal(())]).shape
    torch.Size([1, 1, 8])
    """

    local = False

    def __init__(
        self,
        program: Program,
        dim: int = 64,
        f_atom: str | FAtom = "mlp",
        f_agg: str | FAgg = "sum",
        *,
        normalize: bool = False,
        temperature: float = 1.0,
        false_action: bool = False,
        encoders: Mapping[str, nn.Module] | nn.Module | None = None,
        constants: ConstantRows = "own",
        numbers: NumberRows = "features",
        seed: int | None = None,
    ) -> None:
        super().__init__()
        if dim < 1 or not temperature > 0:
            raise ModelError(
                f"dim={dim}, temperature={temperature:g} make no embedding scorer",
                hint="dim is at least 1, the temperature above 0",
            )
        self.dim = dim
        self.normalize = normalize
        self.temperature = temperature
        self.false_action = false_action
        self.vocabulary = Vocabulary(program, constants, numbers)
        # A seed of its own leaves the global generators as they are, those of devices too.
        with nullcontext() if seed is None else torch.random.fork_rng(devices=[]):
            if seed is not None:
                torch.default_generator.manual_seed(seed)
            positions = max(POSITIONS, self.vocabulary.widest)
            self.f_atom = atom_function(f_atom, dim, positions)
            arity = getattr(self.f_atom, "arity", None)
            self.other_atoms = None if arity is None else Mlp(dim, positions)
            spread = getattr(self.f_atom, "spread", dim**-0.5)
            self.terms = TermEmbedding(
                dim, len(self.vocabulary), positions, spread, Encoders(encoders, dim)
            )
            self.f_agg = aggregate_function(f_agg, dim)
            self.true = nn.Parameter(torch.randn(dim) * dim**-0.5)
            self.false = nn.Parameter(torch.randn(dim) * dim**-0.5)
        self._plans: GraphMemo[EmbeddingPlan] = GraphMemo()

    @property
    def encoders(self) -> Encoders:
        """The encoders of tensors; `encoders.add` brings in those of a model's networks."""
        return self.terms.encoders

    def embed(
        self,
        goals: Sequence[Goal],
        slots: Int[Tensor, "batch slots"] | None = None,
        bank: Sequence[Tensor] = (),
        networks: Mapping[int, str] | None = None,
    ) -> Float[Tensor, "goals columns dim"]:
        """e_G of some goals: one column for all queries, or one each where there are tensors."""
        layout = lay_out(goals, self.vocabulary, networks or {}, self.device)
        given = torch.zeros((1, 0), dtype=torch.int64) if slots is None else slots
        columns = len(given) if bool(layout.slotted.any()) else 1
        fetch = gather(layout.address, np.arange(len(goals)), self.device)
        return fetch(self.values(layout, given, bank), columns)

    def f_atom_for(self, arity: int) -> FAtom:
        """f_atom, or the MLP for arities it is not made for."""
        if self.other_atoms is None or arity == getattr(self.f_atom, "arity", None):
            return self.f_atom
        return self.other_atoms

    def scaled(self, goals: Float[Tensor, "*goals dim"]) -> Float[Tensor, "*goals dim"]:
        """Vectors of goals as they are multiplied: of length 1 where that was asked for."""
        return nn.functional.normalize(goals, dim=-1) if self.normalize else goals

    def log_false(self, goals: Float[Tensor, "*goals dim"]) -> Float[Tensor, "*goals"]:
        """f_λ(G, False), from e_G."""
        return (goals @ self.scaled(self.false)).double() / self.temperature

    def transitions(self, database: Numbering) -> Transitions[Any]:
        from deepprooflog.score.embedding.numbered import EmbeddedGoals

        return EmbeddedGoals(self, database.symbols)

    def take_encoders(self, encoders: Mapping[str, nn.Module]) -> None:
        self.encoders.add(encoders)

    def log_weights(self, scene: Scene) -> Float[Tensor, "steps batch"]:
        plan = self._plans.get(scene.graph, (scene.steps, self.device), self._plan, scene)
        values = self.values(plan.layout, scene.slots, scene.bank)
        columns = len(scene.slots) if any(c.slotted for c in plan.choices) else 1
        result = torch.full(
            (len(scene.steps), columns), -torch.inf, dtype=torch.float64, device=self.device
        )
        for part in plan.choices:
            log = self._log_softmax(part, values, columns if part.slotted else 1)
            result = result.index_copy(0, part.steps, log.expand(-1, columns))
        return result.to(scene.steps.device)

    def _plan(self, scene: Scene) -> EmbeddingPlan:
        device = self.device
        distinct = distinct_successors(scene.graph, scene.steps.cpu().numpy())
        nodes = np.unique(np.concatenate([distinct.source, distinct.target]))
        number = np.full(scene.graph.nodes, -1, dtype=np.int64)
        number[nodes] = np.arange(len(nodes))
        goals = [scene.graph.goals[n] for n in nodes.tolist()]
        layout = lay_out(goals, self.vocabulary, readers(scene.graph), device)
        return EmbeddingPlan(layout, choices(distinct, number, layout, device))

    def values(
        self, layout: Layout, slots: Int[Tensor, "batch slots"], bank: Sequence[Tensor]
    ) -> list[Float[Tensor, "_ _ dim"]]:
        """The vectors of each group of the layout, in order."""
        values: list[Tensor] = []
        for group in layout.groups:
            if isinstance(group, Truth):
                found = self.scaled(self.true.view(1, 1, -1))
            elif isinstance(group, GoalRows):
                atoms = group.atoms(values, len(slots) if group.slotted else 1)
                goals = self.f_agg(atoms, group.goals)
                self._check("f_agg", goals, (group.goals.count, atoms.shape[1], self.dim))
                found = self.scaled(goals)
            elif isinstance(group, Compounds) and group.atoms:
                found = self._atoms(group, values, len(slots) if group.slotted else 1)
            else:
                found = self.terms(group, values, slots, bank)
            values.append(found)
        return values

    def _atoms(
        self, group: Compounds, values: list[Float[Tensor, "_ _ dim"]], columns: int
    ) -> Float[Tensor, "atoms columns dim"]:
        predicate, arguments = self.terms.parts(group, values, columns)
        found = self.f_atom_for(group.arity)(predicate, arguments)
        self._check("f_atom", found, tuple(predicate.shape))
        return found

    def _log_softmax(
        self, part: Choices, values: list[Float[Tensor, "_ _ dim"]], columns: int
    ) -> Float[Tensor, "choices columns"]:
        sources = part.sources(values, columns)
        targets = part.targets(values, columns)
        logits = (sources[part.source] * targets).sum(-1).double() / self.temperature
        false = None
        if self.false_action:
            false = self.log_false(sources)
        return log_softmax(logits, part.source, part.count, false)

    def _check(self, name: str, found: object, shape: tuple[int, ...]) -> None:
        if not isinstance(found, Tensor) or tuple(found.shape) != shape:
            got = list(found.shape) if isinstance(found, Tensor) else type(found).__name__
            raise ModelError(
                f"{name} returned {got}; the embedding scorer needs {list(shape)}",
                hint="docs/scorers.md says what a module of your own gets and returns",
            )

    def get_extra_state(self) -> Tensor:
        """A fingerprint of the symbols, so that weights are not read for another program."""
        return torch.tensor(list(self.vocabulary.digest()), dtype=torch.uint8)

    def set_extra_state(self, state: Tensor) -> None:
        if bytes(state.tolist()) != self.vocabulary.digest():
            raise ModelError(
                "these weights belong to a program with other symbols",
                hint="build the scorer from the program it was trained on, with the same options",
            )
