"""The model card of a graph run: what it was trained on, how, how it ranks, and how to ask it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from deepprooflog.kg.data.notice import plural
from deepprooflog.kg.data.snapshot import Snapshot, is_mapped
from deepprooflog.kg.data.triples import Graph
from deepprooflog.kg.evaluation.report import SHOWN
from deepprooflog.kg.learn.options import NO_PRIOR, SharedOptions
from deepprooflog.learn.run.card import ModelCard, plain, training_command
from deepprooflog.syntax.terms import Atom
from deepprooflog.syntax.writer import write_term

GRAPH_TASK = "graph-ml"
_ROWS = {"walks": "walks alone", "rules": "rules alone", "late_fusion": "late fusion",
         "belief": "belief alone", "prior": "the prior alone"}  # fmt: skip


def graph_card(
    kept: Snapshot, options: SharedOptions, result: Mapping[str, Any], recipe: str
) -> ModelCard:
    """The card of a run; without a result it has no figures."""
    graph, test = kept.graph, result.get("test", {})
    sizes = " / ".join(f"{len(rows):,}" for rows in (graph.train, graph.valid, graph.test))
    prior = "without a prior" if options.prior.kind == NO_PRIOR else f"prior {options.prior.kind}"
    about = [
        f"Answers with proofs about the knowledge graph {plain(graph.name)}: "
        f"{plural(len(graph.entities), 'entity', 'entities')}, "
        f"{plural(len(graph.relations), 'relation')}, {sizes} triples (train / valid / test); "
        f"{plural(len(kept.rules), 'rule')}, {prior}.",
        "The folder holds numbers and text alone and runs no code when it is read: `config.json` "
        f"(options), {kept_in(graph)}, "
        "`model.safetensors` and `prior.safetensors` (weights).",
    ]
    ask = [
        "pip install deepprooflog",
        shlex.join(["dprl", "query", "FOLDER", _question(graph), "--top", "10"]),
        f">>> deepprooflog.load('FOLDER').query({_question(graph)!r})",
    ]
    rows = {test.get("system", "p_success"): test} if test else {}
    rows |= {name: test[key] for key, name in _ROWS.items() if isinstance(test.get(key), Mapping)}
    figures = {
        name: {key: float(row[key]) for key in SHOWN if row.get(key) is not None}
        for name, row in rows.items()
    }
    many = "all entities" if not test.get("negatives") else f"{test['negatives']} negatives a side"
    many = f"all {test['among']}" if test.get("among") else many
    return ModelCard(
        graph.name, about, GRAPH_TASK, graph.name,
        training_command(recipe, options) if kept.folder else None, figures,
        f"{test['queries']:,} test triples among {many}, average ties." if test else "", ask,
    )  # fmt: skip


def kept_in(graph: Graph) -> str:
    """The files of a run that hold its graph, and what is in each."""
    if is_mapped(graph):
        return "`graph.json` and `graph.index` (rules, names and triples)"
    return "`graph.json` and `graph.safetensors` (names and rules, triples)"


def _question(graph: Graph) -> str:
    """Who stands where the tail of the first triple does."""
    if not len(graph.train):
        return "relation(entity, X)"
    head, relation, _ = graph.train[0].tolist()
    return f"{write_term(Atom(graph.relations[relation]))}({graph.entity_text(head)}, X)"
