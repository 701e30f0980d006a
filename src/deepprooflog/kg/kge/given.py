"""A prior that is given in Python: an embedding, a module with `score(h, r, t)`, PyKEEN's models.

    dpl.kg.train(graph, prior=module)              its numbers are the graph's: graph.entity_ids
    dpl.kg.train(graph, prior=pipeline_result)     PyKEEN: numbers are found by names
    dpl.kg.train(graph, prior=(model, factory))    the same, with the factory it was trained on

Models of PyKEEN that have a counterpart here become one; of the others PyKEEN computes the scores.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from deepprooflog.errors import DataError, ModelError
from deepprooflog.kg.data.triples import Graph
from deepprooflog.kg.kge.kge import Kge
from deepprooflog.kg.kge.pykeen import from_pykeen, graph_labels, label_rows
from deepprooflog.kg.kge.table import BY_NAME
from deepprooflog.kg.kge.triple_model import ModuleScores, TripleModel

MODULE = "module"
"""The kind of a prior that is no embedding of ours."""


class PykeenScores(nn.Module):
    """PyKEEN's own scores, by its numbers."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def score(
        self, h: Int[Tensor, " n"], r: Int[Tensor, " n"], t: Int[Tensor, " n"]
    ) -> Float[Tensor, " n"]:
        """As `predict_hrt` gives them."""
        model: Any = self.model
        found: Tensor = model.predict_hrt(torch.stack([h, r, t], 1))[:, 0]
        return found


def given_prior(source: object, graph: Graph) -> TripleModel:
    """What scores the triples of a graph."""
    model, factory = source, None
    if isinstance(source, tuple) and len(source) == 2:
        model, factory = source
    elif hasattr(source, "model") and hasattr(source, "training") and not _is_module(source):
        model, factory = source.model, source.training
    if isinstance(model, TripleModel):
        return _fits(model, graph)
    if not isinstance(model, nn.Module):
        raise DataError(
            f"a {type(source).__name__} is no prior",
            hint=f"{', '.join(BY_NAME)}, none, a module with score(h, r, t), a PyKEEN result",
        )
    if hasattr(model, "score_hrt") and not hasattr(model, "score"):
        return _of_pykeen(model, factory, graph)
    return ModuleScores(model, range(len(graph.entities)), range(len(graph.relations)))


def kind_of(model: TripleModel) -> dict[str, object]:
    """The options that say what a prior is: its kind, and what its weights depend on."""
    name = next((name for name, kind in BY_NAME.items() if type(model) is kind), MODULE)
    if name == MODULE or not isinstance(model, Kge):
        return {"kind": MODULE}
    return {"kind": name, "dimension": model.dimension}


def _is_module(source: object) -> bool:
    return isinstance(source, nn.Module)  # whose `training` is a mode


def _of_pykeen(model: Any, factory: Any, graph: Graph) -> TripleModel:
    entities, relations = graph_labels(graph)
    rows = label_rows(factory, "entity_to_id", entities, "entity")
    numbers = label_rows(factory, "relation_to_id", relations, "relation")
    try:
        return from_pykeen(model, factory, entities=entities, relations=relations)
    except ModelError:  # no counterpart here, or none that scores alike
        return ModuleScores(PykeenScores(model), rows, numbers)


def _fits(model: TripleModel, graph: Graph) -> TripleModel:
    if model.relations != len(graph.relations) or model.entities > len(graph.entities):
        raise DataError(
            f"the prior is about {model.entities:,} entities and {model.relations} relations, "
            f"{graph.name} has {len(graph.entities):,} and {len(graph.relations)}",
            hint="a prior of this graph",
        )
    return model
