"""Embeddings trained with PyKEEN: its RotatE, ComplEx, TransE and DistMult, scored alike here.

PyKEEN's RotatE measures the Euclidean norm of h∘r − t where Sun et al. sum moduli; it becomes a
RotatE with `norm="euclidean"` and margin 0. A TransE has margin 0 too and the norm of absolute
values; real vectors of odd length get a 0. PyKEEN's own numbering is by sorted label, so rows are
put into the order of the labels given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Complex, Float, Shaped
from torch import Tensor, nn

from deepprooflog.errors import DataError, ModelError
from deepprooflog.kg.data.triples import Graph
from deepprooflog.kg.kge.complex import ComplEx
from deepprooflog.kg.kge.distmult import DistMult
from deepprooflog.kg.kge.kge import Kge
from deepprooflog.kg.kge.rotate import RotatE
from deepprooflog.kg.kge.transe import TransE
from deepprooflog.syntax.terms import Atom
from deepprooflog.syntax.writer import write_term

# How far from 1 the modulus of a rotation may be: float32 rounding.
UNIT = 1e-4


def from_pykeen(
    model: Any,
    factory: Any = None,
    *,
    graph: Graph | None = None,
    entities: Sequence[str] | None = None,
    relations: Sequence[str] | None = None,
) -> Kge:
    """A PyKEEN model, or the result of a pipeline, as one of ours.

    `factory` is the triples factory it was trained on, which a result has; with it, rows are
    brought into the order of a `graph`, or of `entities` and `relations`. Without these the model
    keeps PyKEEN's numbers.
    """
    if factory is None and not isinstance(model, nn.Module) and hasattr(model, "training"):
        model, factory = model.model, model.training
    if graph is not None:
        entities, relations = graph_labels(graph)
    kind = type(getattr(model, "interaction", None)).__name__
    make = _IMPORTED.get(kind)
    if make is None:
        names = (name.removesuffix("Interaction") for name in _IMPORTED)
        raise ModelError(
            f"a PyKEEN model with {kind} cannot be imported", hint=f"{', '.join(names)} can"
        )
    if kind == "TransEInteraction" and model.interaction.p != 1:
        raise ModelError(
            f"the PyKEEN TransE has the norm {model.interaction.p}", hint="scoring_fct_norm=1"
        )
    if getattr(model, "use_inverse_triples", False):
        raise ModelError(
            "the PyKEEN model was trained with inverse triples, so that its scores of heads and of "
            "tails differ",
            hint="train it with create_inverse_triples=False",
        )
    entity = _vectors(model.entity_representations, "entity")
    relation = _vectors(model.relation_representations, "relation")
    if entities is not None:
        entity = entity[label_rows(factory, "entity_to_id", entities, "entity")]
    if relations is not None:
        relation = relation[label_rows(factory, "relation_to_id", relations, "relation")]
    return make(entity, relation)


def read_pykeen(
    folder: str | Path,
    *,
    entities: Sequence[str] | None = None,
    relations: Sequence[str] | None = None,
    trusted: bool = False,
) -> Kge:
    """The model that a PyKEEN pipeline saved with `save_to_directory`.

    PyKEEN saves pickles, which run whatever code their maker put in when they are read: nothing is
    read unless `trusted` says that the folder comes from someone you trust. PyKEEN must be
    installed.
    """
    path = Path(folder) / "trained_model.pkl"
    if not path.is_file():
        raise DataError(
            "there is no trained_model.pkl", file=str(folder), hint="result.save_to_directory(...)"
        )
    if not trusted:
        raise DataError(
            "a pickle, which runs the code of whoever made it when it is read", file=str(path),
            hint="read_pykeen(folder, trusted=True) where you trust them; from_pykeen(model) takes "
            "a model that is in memory",
        )  # fmt: skip
    try:
        from pykeen.triples import TriplesFactory
    except ImportError:
        raise ModelError("PyKEEN is not installed", hint="pip install pykeen") from None
    try:
        model = torch.load(path, map_location="cpu", weights_only=False)
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise DataError(f"cannot be read ({reason[:120]})", file=str(path)) from None
    triples = Path(folder) / "training_triples"
    try:
        factory = TriplesFactory.from_path_binary(triples) if triples.is_dir() else None
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise DataError(f"cannot be read ({reason[:120]})", file=str(triples)) from None
    return from_pykeen(model, factory, entities=entities, relations=relations)


def _vectors(representations: Any, what: str) -> Shaped[Tensor, "n d"]:
    if len(representations) != 1:
        raise ModelError(f"the PyKEEN model has {len(representations)} {what} representations")
    with torch.no_grad():
        values: Tensor = representations[0]().detach().cpu()
    return values


def graph_labels(graph: Graph) -> tuple[list[str], list[str]]:
    """The names of a graph's entities and relations as PyKEEN, which reads text, has them."""
    names = [e.name if type(e) is Atom else write_term(e) for e in graph.entities]
    return names, list(graph.relations)


def label_rows(factory: Any, attribute: str, labels: Sequence[str], what: str) -> list[int]:
    """PyKEEN's numbers of some names."""
    ids: Mapping[str, int] | None = getattr(factory, attribute, None)
    if ids is None:
        raise ModelError(
            f"the order of the PyKEEN model's {what} numbers is not known",
            hint="pass the triples factory it was trained on: prior=(model, factory)",
        )
    missing = [label for label in labels if label not in ids]
    if missing:
        more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
        raise DataError(f"the PyKEEN model has no {what} {missing[0]!r}{more}")
    return [ids[label] for label in labels]


def _rotate(entity: Complex[Tensor, "n d"], relation: Complex[Tensor, "m d"]) -> RotatE:
    if bool(((relation.abs() - 1).abs() > UNIT).any()):
        raise ModelError("the PyKEEN model's relations are not rotations: moduli differ from 1")
    model = RotatE(len(entity), len(relation), entity.shape[1], 0.0, norm="euclidean")
    with torch.no_grad():
        model.entity.copy_(torch.cat([entity.real, entity.imag], 1))
        model.set_phase(relation.angle())
    return model


def _complex(entity: Complex[Tensor, "n d"], relation: Complex[Tensor, "m d"]) -> ComplEx:
    model = ComplEx(len(entity), len(relation), entity.shape[1])
    forward = torch.cat([relation.real, relation.imag], 1)
    # An inverse that says the same as the relation itself: the mean of both is the relation.
    inverse = torch.cat([relation.real, -relation.imag], 1)
    with torch.no_grad():
        model.entity.copy_(torch.cat([entity.real, entity.imag], 1))
        model.factor.copy_(torch.cat([forward, inverse]))
    return model


def _transe(entity: Float[Tensor, "n d"], relation: Float[Tensor, "m d"]) -> TransE:
    model = TransE(len(entity), len(relation), (entity.shape[1] + 1) // 2, 0.0)
    with torch.no_grad():
        model.entity.copy_(_even(entity))
        model.shift.copy_(_even(relation))
    return model


def _distmult(entity: Float[Tensor, "n d"], relation: Float[Tensor, "m d"]) -> DistMult:
    model = DistMult(len(entity), len(relation), (entity.shape[1] + 1) // 2)
    with torch.no_grad():
        model.entity.copy_(_even(entity))
        model.factor.copy_(_even(relation))
    return model


def _even(vectors: Float[Tensor, "n _d"]) -> Float[Tensor, "n width"]:
    return torch.nn.functional.pad(vectors, (0, vectors.shape[1] % 2))


_IMPORTED: dict[str, Callable[[Tensor, Tensor], Kge]] = {
    "RotatEInteraction": _rotate,
    "ComplExInteraction": _complex,
    "TransEInteraction": _transe,
    "DistMultInteraction": _distmult,
}
