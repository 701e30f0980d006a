"""What can be asked of a graph run: answers with proofs, one triple explained."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from deepprooflog.kg.model import GraphModel
from deepprooflog.kg.prove.support import JOINS
from deepprooflog.serve.asking import Asking, checked
from deepprooflog.serve.source import Source
from deepprooflog.syntax.terms import Atom
from deepprooflog.syntax.writer import write_term

# More names than these are not sent to the page's completion.
MOST_NAMES = 2_000_000


class GraphSubject:
    """A run's model, with the facts that the session has changed."""

    def __init__(self, source: Source, trained: GraphModel) -> None:
        self.source = source
        self.trained = trained
        self.model = trained
        if source.added or source.removed:
            self.model = trained.with_facts(source.added, source.removed)


def describe(subject: GraphSubject, asking: Asking) -> dict[str, Any]:
    """The graph in numbers and names; entities only where they are asked for."""
    graph, model = subject.model.graph, subject.model
    counts = {split: len(graph.split(split)) for split in ("train", "valid", "test")}
    new = graph.entities[len(subject.trained.graph.entities) :]
    names = graph.entities if asking.arguments.get("names") else new
    relations = [write_term(Atom(name)) for name in graph.relations]
    return {
        "graph": {
            "name": graph.name, "entities": len(graph.entities), "relations": relations,
            "triples": counts, "rules": len(model.rules),
            "prior": None if model.belief is None else model.options.prior.kind,
            "learner": model.options.learner,
        },
        "predicates": [
            {"name": name, "arity": 2, "kind": "relation"} for name in relations
        ],
        "constants": [write_term(one) for one in names[:MOST_NAMES]],
    }  # fmt: skip


def query(subject: GraphSubject, asking: Asking) -> dict[str, Any]:
    """The most probable answers of a triple with variables, each with its proofs."""
    asking.on_stage("answers")
    model = subject.trained if asking.arguments.get("as_trained") else subject.model
    found = model.query(
        asking.text("query"), asking.number("top", 10), proofs=asking.number("proofs", 1),
        new=bool(asking.arguments.get("new", False)),
    )  # fmt: skip
    return found.to_dict()


def explain(subject: GraphSubject, asking: Asking) -> dict[str, Any]:
    """How probable a triple is, and the proofs behind it."""
    began = time.perf_counter()
    text = asking.text("query")
    asking.on_stage("proofs")
    found = subject.model.explain(text, asking.number("proofs", 3))
    proofs = [checked(proof) for proof in found.proofs]
    return {
        "query": text, **found.to_dict(), "proof": proofs[0] if proofs else None,
        "proofs": proofs, "seconds": round(time.perf_counter() - began, 3),
    }  # fmt: skip


def why_not(subject: GraphSubject, asking: Asking) -> dict[str, Any]:
    """The derivations of a triple that fail nearest to success, and the facts that they miss."""
    asking.on_stage("failed derivations")
    text, most = asking.text("query"), asking.number("most", 5)
    return subject.model.why_not(text, most=most, budget=asking.near_budget).to_dict()


def steps(subject: GraphSubject, asking: Asking) -> dict[str, Any]:
    """The choices at a goal, reached from the triple by the numbers of the choices taken."""
    asking.on_stage("steps")
    view = subject.model.steps(asking.text("query"))
    return view.replay(asking.arguments.get("path", ())).to_dict()


def supports(subject: GraphSubject, asking: Asking) -> dict[str, Any]:
    """The triples that one rule concludes from a fact and others."""
    asking.on_stage("what it supports")
    most, budget = asking.number("most", 50), replace(asking.budget, max_goals=JOINS)
    return subject.model.supported_by(asking.text("query"), most=most, budget=budget).to_dict()


def compare(subject: GraphSubject, asking: Asking) -> dict[str, Any]:
    """Two triples side by side: what only one of them rests on."""
    asking.on_stage("proofs of both")
    return subject.model.compare(asking.text("left"), asking.text("right")).to_dict()


def facts_about(subject: GraphSubject, asking: Asking) -> dict[str, Any]:
    """The facts that an entity stands in, each with the place it was read."""
    name, most = asking.text("entity"), asking.number("most", 200)
    facts = subject.model.facts_about(name)
    shown = [fact.to_dict() for fact in facts[:most]]
    return {"entity": name, "facts": shown, "more": len(facts) - len(shown)}


def run(subject: GraphSubject, asking: Asking) -> dict[str, Any]:
    """The run as it was trained: curves, figures by relation, reliability, rules by weight."""
    asking.on_stage("the run's figures")
    return subject.trained.run_summary(subject.source.path).to_dict()


GRAPH_ASKS: dict[str, Callable[[GraphSubject, Asking], dict[str, Any]]] = {
    "describe": describe,
    "query": query,
    "explain": explain,
    "why_not": why_not,
    "steps": steps,
    "supports": supports,
    "compare": compare,
    "facts_about": facts_about,
    "run": run,
}
