"""A model of a graph in a notebook: what it knows, what it proves by, how it was tested."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from deepprooflog import markup
from deepprooflog.kg.data.triples import Graph
from deepprooflog.kg.evaluation.figure_table import MEANS
from deepprooflog.markup import Cell

if TYPE_CHECKING:
    from deepprooflog.kg.model import GraphModel


def model_html(model: GraphModel) -> str:
    """Graph, rules, prior and, where it was tested, the figures."""
    about: list[tuple[Cell, ...]] = [
        ("rules", len(model.rules)),
        ("prior", "none" if model.belief is None else model.options.prior.kind),
        ("learner", model.options.learner),
    ]
    return about_html(model.graph, about, model.result)


def about_html(graph: Graph, about: Sequence[tuple[Cell, ...]], result: Mapping[str, Any]) -> str:
    """What any model of a graph shows: the graph, what the model is about, its figures."""
    rows: list[tuple[Cell, ...]] = [
        ("graph", graph.name),
        ("entities", len(graph.entities)),
        ("relations", len(graph.relations)),
        *((f"{name} triples", len(graph.split(name))) for name in ("train", "valid", "test")),
        *about,
    ]
    parts = [markup.table(("", ""), rows)]
    test: Mapping[str, Any] = result.get("test", {})
    found = {name: test[name] for name in MEANS if isinstance(test.get(name), float)}
    if found:
        parts.append(markup.table(tuple(found), [tuple(found.values())]))
    parts.append(markup.fold("relations", ", ".join(sorted(graph.relations))))
    return markup.block(*parts)
