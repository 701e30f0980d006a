"""A scorer of a user's own: a network on the leftmost atom scores the clauses that match it."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from deepprooflog.logic.program import Program
from deepprooflog.score.scorer import Scene, Scorer
from deepprooflog.syntax.terms import Struct, Term, Var, args_of, deref, functor_of, variables


class LeftmostNetwork(Scorer):
    """p(C | A₁) ∝ exp ρ(A₁)[C] over the clauses that match A₁; clauses are told apart by line."""

    def __init__(self, program: Program, *, local: bool, seed: int = 0) -> None:
        super().__init__()
        self.local = local
        lines = 1 + max(
            c.place.line for p in program.predicates.values() for c in p.entries if c.place
        )
        generator = torch.Generator().manual_seed(seed)
        self.net = nn.Linear(4, lines).double()
        for parameter in self.net.parameters():
            with torch.no_grad():
                parameter.copy_(torch.randn(parameter.shape, generator=generator))

    def distribution(self, atom: Term, lines: list[int]) -> Tensor:
        """log p of the clauses on these lines, which are all that match the atom."""
        logits = self.net(torch.tensor(features(atom), dtype=torch.float64))
        return torch.log_softmax(logits[lines], 0)

    def log_weights(self, scene: Scene) -> Tensor:
        graph, found = scene.graph, []
        of: dict[int, list[int]] = {}
        for edge in scene.steps.tolist():
            of.setdefault(int(graph.source[edge]), []).append(edge)
        for node, edges in of.items():
            lines = [graph.choices[e].clause.place.line for e in edges]  # type: ignore[union-attr]
            found.append(self.distribution(graph.goals[node].atoms[0], lines))
        return torch.cat(found).unsqueeze(1)


def features(atom: Term) -> list[float]:
    """Something of each atom that a network can read: arity, variables, lists, name."""
    functor = functor_of(atom)
    assert functor is not None
    cells = 0
    for argument in args_of(atom):
        while type(argument) is Struct:
            cells, argument = cells + 1, deref(argument.args[-1])
    assert not isinstance(atom, Var)
    return [functor.arity, len(variables(atom)), 0.5 * cells, len(functor.name) % 3]
