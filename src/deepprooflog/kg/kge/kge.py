"""Knowledge-graph embeddings: a score for each triple (h, r, t), as vectors.

A tail is asked the question h∘r, a head the mirrored one, t∘r⁻¹. A model says what ∘ and r⁻¹ are
(the complex product and the conjugate, where it says nothing),
what its relations are and how well a question matches an entity; scores of triples, of candidates
and of all entities follow. It also says what it is trained to, and how several become one. Each has
a file of its own and a line in `table.BY_NAME`.

A vector of dimension d is one row of 2d numbers: of a complex one, real parts first.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from deepprooflog.errors import ModelError
from deepprooflog.kg.data.triple_set import TripleSet
from deepprooflog.kg.kge.options import KgeOptions
from deepprooflog.kg.kge.triple_model import TripleModel

# Numbers held at once while many triples are scored: 64 MiB of float32 for each intermediate.
HELD = 1 << 24


def product(
    x: Float[Tensor, "*batch width"], y: Float[Tensor, "*batch width"]
) -> Float[Tensor, "*batch width"]:
    """The complex product, element by element.

    >>> product(torch.tensor([0.0, 1.0]), torch.tensor([0.0, 1.0])).tolist()  # i · i
    [-1.0, 0.0]
    """
    (a, b), (c, d) = x.chunk(2, -1), y.chunk(2, -1)
    return torch.cat([a * c - b * d, a * d + b * c], -1)


def conjugate(x: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch width"]:
    """The complex conjugate."""
    real, imaginary = x.chunk(2, -1)
    return torch.cat([real, -imaginary], -1)


class Kge(TripleModel):
    """What the embedding models share. Indices are tensors on the model's device."""

    weights_depend_on: ClassVar[tuple[str, ...]] = ()
    """Options without which the weights mean something else."""
    kept: ClassVar[tuple[str, ...]] = ()
    """What more its constructor is given, by the names of its attributes."""
    regularizers: ClassVar[dict[str, tuple[float, ...]]] = {}
    """Options that a graph may want otherwise, and what to multiply them by to see."""
    carry: ClassVar[Callable[..., Tensor]] = staticmethod(product)
    """h∘r, an entity's vector as a relation changes it."""
    inverse: ClassVar[Callable[..., Tensor]] = staticmethod(conjugate)
    """The relation's vector for the way back."""
    draws: ClassVar[bool] = False
    """Whether its objective draws negatives for a whole minibatch, of which it takes its share."""
    matches_by_product: ClassVar[bool] = False
    """Whether `match` is a matrix product, which holds no vector for each pair."""

    def __init__(self, entities: int, relations: int, dimension: int) -> None:
        super().__init__()
        if min(entities, relations, dimension) < 1:
            raise ModelError(
                f"an embedding of {entities} entities and {relations} relations in {dimension} "
                "dimensions is empty",
                hint="at least one of each",
            )
        self.relations = relations
        self.dimension = dimension
        self.entity = nn.Parameter(torch.zeros(entities, 2 * dimension))

    @property
    def entities(self) -> int:
        return len(self.entity)

    @property
    def device(self) -> torch.device:
        return self.entity.device

    @abstractmethod
    def relation(self, relation: Int[Tensor, "*batch"]) -> Float[Tensor, "*batch width"]:
        """The relations' vectors."""

    @abstractmethod
    def match(
        self, query: Float[Tensor, "group rows width"], entity: Float[Tensor, "group n width"]
    ) -> Float[Tensor, "group rows n"]:
        """The score of each question with each entity of its group."""

    @classmethod
    @abstractmethod
    def make(cls, entities: int, relations: int, dimension: int, options: KgeOptions) -> Kge:
        """A model with random weights."""

    @abstractmethod
    def objective(
        self, options: KgeOptions, known: TripleSet[Tensor]
    ) -> Callable[[Int[Tensor, "batch 3"]], Float[Tensor, " batch"]]:
        """The loss of each triple of a batch, as training lowers it."""

    @classmethod
    @abstractmethod
    def side_by_side(cls, members: Sequence[Any], dimension: int) -> Kge:
        """One model of this class that scores by the mean of the scores of others."""

    def ask_tail(
        self, head: Int[Tensor, "*batch"], relation: Int[Tensor, "*batch"]
    ) -> Float[Tensor, "*batch width"]:
        """h∘r, what the tail is compared with."""
        return self.carry(rows(self.entity, head), self.relation(relation))

    def ask_head(
        self, relation: Int[Tensor, "*batch"], tail: Int[Tensor, "*batch"]
    ) -> Float[Tensor, "*batch width"]:
        """t∘r⁻¹, what the head is compared with."""
        return self.carry(rows(self.entity, tail), self.inverse(self.relation(relation)))

    def score(
        self, head: Int[Tensor, "*_h"], relation: Int[Tensor, "*_r"], tail: Int[Tensor, "*_t"]
    ) -> Float[Tensor, "*_"]:
        """The scores of triples; the three indices are broadcast.

        >>> from deepprooflog.kg.kge.rotate import RotatE
        >>> model = RotatE(5, 2, 4)
        >>> model.score(torch.tensor(0), torch.tensor(1), torch.arange(5)).shape
        torch.Size([5])
        """
        h, r, t = torch.broadcast_tensors(head, relation, tail)  # type: ignore[no-untyped-call]
        flat = (chunks(x.reshape(-1), self._at_once(1)) for x in (h, r, t))
        parts = [
            self.match(self.ask_tail(a, b)[:, None], rows(self.entity, c)[:, None])[:, 0, 0]
            for a, b, c in zip(*flat, strict=True)
        ]
        return torch.cat(parts).reshape(h.shape)

    def all_tails(
        self, head: Int[Tensor, " b"], relation: Int[Tensor, " b"]
    ) -> Float[Tensor, "b entities"]:
        """Every entity as the tail of each (h, r, ?)."""
        return self._everyone(self.ask_tail(head, relation))

    def all_heads(
        self, relation: Int[Tensor, " b"], tail: Int[Tensor, " b"]
    ) -> Float[Tensor, "b entities"]:
        """Every entity as the head of each (?, r, t)."""
        return self._everyone(self.ask_head(relation, tail))

    def _everyone(self, query: Float[Tensor, "b width"]) -> Float[Tensor, "b entities"]:
        entity = self.entity[None]
        held = HELD // self.entities if self.matches_by_product else self._at_once(self.entities)
        parts = [self.match(q[None], entity)[0] for q in chunks(query, max(1, held))]
        return torch.cat(parts)

    def _at_once(self, candidates: int) -> int:
        return max(1, HELD // (2 * self.dimension * max(candidates, 1)))


def rows(
    table: Float[Tensor, "n width"], index: Int[Tensor, "*batch"]
) -> Float[Tensor, "*batch width"]:
    """Rows of a table, by the gather whose gradient is fast on the device at hand."""
    if table.device.type == "cpu":
        return nn.functional.embedding(index, table)
    return table.index_select(0, index.reshape(-1)).reshape(*index.shape, table.shape[-1])


def chunks(x: Tensor, size: int) -> Sequence[Tensor]:
    """A tensor cut along its first axis; at least one piece, which may be empty."""
    pieces: Sequence[Tensor] = x.split(size)  # type: ignore[no-untyped-call]
    return pieces


def beside(parts: Sequence[Float[Tensor, "n _width"]]) -> Float[Tensor, "n width"]:
    """Complex vectors one after another: all real parts, then all imaginary ones."""
    halves = [part.chunk(2, -1) for part in parts]
    return torch.cat([h[0] for h in halves] + [h[1] for h in halves], -1)
