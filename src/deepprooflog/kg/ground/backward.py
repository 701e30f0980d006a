"""The backward-chaining grounder BC(w, d): ground bodies that prove queries.

The head of a rule is bound by a query; each position of the body is anchored on matching facts, the
variables that are left range over all entities. A body is rejected that contains the query, has
more than w atoms that are no facts, or one whose predicate heads no rule. Atoms that are no facts
are the queries of the next round, of d; what is left after pruning are bodies whose atoms are all
facts or proved.

What is kept is found directly: the atoms that n rounds prove, n < d, are derived once from the
facts (`closure`), and bodies are joined over them. A body is kept for a query of round k if its
proof nests at most d − k + 1 rules: what a query gets does not depend on those asked beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from deepprooflog.errors import DataError
from deepprooflog.kg.data.rules import Rule
from deepprooflog.kg.data.triples import Graph
from deepprooflog.kg.ground.atom_levels import AtomLevels
from deepprooflog.kg.ground.ground_rule import GroundRule, ground_rules
from deepprooflog.kg.ground.join import join_bodies

NO_ATOM = -1
# Atoms that the closure may derive: 400 MiB of numbers and as much again while they are sorted.
MOST_DERIVED = 25_000_000


@dataclass(frozen=True, eq=False)
class GroundRound:
    """One round: atoms that are asked, and the ground bodies that prove them."""

    asked: Int[Tensor, "asked 3"]
    rule: Int[Tensor, " groundings"]
    head: Int[Tensor, " groundings"]  # position in `asked`
    body: Int[Tensor, "groundings atoms 3"]  # NO_ATOM where a rule has fewer atoms
    below: Int[Tensor, "groundings atoms"]  # position in the next round's `asked`, or NO_ATOM

    @property
    def present(self) -> Bool[Tensor, "groundings atoms"]:
        """Where a rule has an atom."""
        return self.body[:, :, 0] != NO_ATOM

    def __len__(self) -> int:
        return len(self.rule)


@dataclass(frozen=True, eq=False)
class Grounder:
    """BC(w, d) over the training triples of a graph.

    >>> from deepprooflog.kg.data.rules import parse_rules
    >>> from deepprooflog.kg.data.triples import graph_of
    >>> graph = graph_of([("ann", "mother", "bob"), ("bob", "father", "cy"), ("cy", "gran", "di")])
    >>> rules = parse_rules("gran(X, Y) :- mother(X, Z), father(Z, Y).")
    >>> [found] = Grounder.of(graph, rules, width=0, depth=1).rounds(torch.tensor([[0, 2, 2]]))
    >>> found.body.tolist()  # mother(ann, bob), father(bob, cy)
    [[[0, 0, 1], [1, 1, 2]]]
    """

    rules: tuple[GroundRule, ...]
    levels: tuple[AtomLevels, ...]  # [n]: atoms that n rounds prove
    width: int

    @classmethod
    def of(
        cls,
        graph: Graph,
        rules: Iterable[Rule],
        *,
        width: int,
        depth: int,
        device: torch.device | str = "cpu",
    ) -> Grounder:
        """The grounder of a graph; refuses rules that cannot be grounded."""
        compiled = ground_rules(graph, rules)
        facts = torch.from_numpy(graph.train).to(device).unique(dim=0)  # type: ignore[no-untyped-call]
        known = AtomLevels.of(facts, facts.new_zeros(len(facts)), len(graph.entities))
        return cls(compiled, closure(compiled, known, width, depth - 1), width)

    @property
    def depth(self) -> int:
        """How many rounds are asked."""
        return len(self.levels)

    def rounds(self, queries: Int[Tensor, "queries 3"]) -> list[GroundRound]:
        """The kept groundings of some queries and of what they ask for, round by round."""
        result, asked = [], queries
        for atoms in reversed(self.levels):
            found = self._round(asked, atoms)
            result.append(found[0])
            asked = found[1]
        return result

    def _round(
        self, asked: Int[Tensor, "asked 3"], atoms: AtomLevels
    ) -> tuple[GroundRound, Int[Tensor, "next 3"]]:
        widest = max((len(rule.body) for rule in self.rules), default=1)
        rule, head, body, level = [], [], [], []
        for number, own in enumerate(self.rules):
            bodies = join_bodies(own, atoms, self.width, asked)
            rule.append(torch.full_like(bodies.query, number))
            head.append(bodies.query)
            missing = widest - len(own.body)
            pad = torch.nn.functional.pad
            body.append(pad(bodies.body, (0, 0, 0, missing), value=NO_ATOM))
            level.append(pad(bodies.level, (0, missing)))
        none = asked.new_zeros(0)
        bodies_of = _cat(body, none.reshape(0, widest, 3))
        unknown = _cat(level, none.reshape(0, widest)) > 0
        following, below = bodies_of[unknown].unique(dim=0, return_inverse=True)  # type: ignore[no-untyped-call]
        position = torch.full(unknown.shape, NO_ATOM, device=asked.device)
        position[unknown] = below
        found = GroundRound(asked, _cat(rule, none), _cat(head, none), bodies_of, position)
        return found, following


def _cat(parts: Sequence[Tensor], empty: Tensor) -> Tensor:
    return torch.cat([*parts, empty])


def closure(
    rules: Sequence[GroundRule], facts: AtomLevels, width: int, rounds: int
) -> tuple[AtomLevels, ...]:
    """The atoms that 0, 1, …, `rounds` rounds prove."""
    result = [facts]
    for level in range(1, rounds + 1):
        now = result[-1]
        heads = [join_bodies(rule, now, width).head for rule in rules]
        every = _cat(heads, now.by_head.new_zeros(0, 3)).unique(dim=0)  # type: ignore[no-untyped-call]
        new = every[now.level(every) < 0]
        known, levels = now.triples()
        if len(known) + len(new) > MOST_DERIVED:
            raise DataError(
                f"{level} rounds of rules prove more than {MOST_DERIVED:,} atoms",
                hint="a smaller ground.depth or ground.width, or fewer rules",
            )
        both = torch.cat([known, new]), torch.cat([levels, levels.new_full((len(new),), level)])
        result.append(AtomLevels.of(*both, facts.entities))
    return tuple(result)
