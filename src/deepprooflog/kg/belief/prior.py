"""The prior of a graph: an embedding, calibrated as a belief; written to a file and read again.

A file does not say whose rows are which: with the graph that it was trained on beside it, rows are
found by the names of entities, and the numbers of another graph's entities may be others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from deepprooflog.errors import DataError
from deepprooflog.kg.belief.believe import Belief
from deepprooflog.kg.belief.calibration import Calibration, calibrate
from deepprooflog.kg.belief.evidence import Evidence
from deepprooflog.kg.belief.list_weights import ChosenWeights, choose_weights, validation_lists
from deepprooflog.kg.data.notice import plural
from deepprooflog.kg.data.triple_set import Side, TripleSet
from deepprooflog.kg.data.triples import Graph
from deepprooflog.kg.kge.given import MODULE, given_prior, kind_of
from deepprooflog.kg.kge.kge import Kge
from deepprooflog.kg.kge.table import BY_NAME
from deepprooflog.kg.kge.triple_model import ModuleScores, TripleModel
from deepprooflog.learn.run import checkpoint
from deepprooflog.learn.run.weights import load_state, save_state, written

NAME = KIND = "prior"
SHAPE: checkpoint.EntryTypes = {
    "prior": dict, "slope": Tensor, "offset": Tensor, "base_rate": (int, float), "model": str,
    "dimension": int,
}  # fmt: skip
_SAME = "a prior trained on the same graph"


def calibrate_belief(
    kge: TripleModel,
    graph: Graph,
    *,
    base_rate: float = 0.01,
    evidence: str = "facts",
    seed: int = 0,
) -> Belief:
    """A trained embedding as a belief, calibrated on the validation split.

    `evidence="facts"` also weighs what the training triples say of the entities, `"score"` the
    embedding's score alone.
    """
    weighed = evidence_of(graph) if evidence == "facts" else None
    # Of entities that the embedding does not know there is no score.
    known = (graph.valid[:, [0, 2]] < kge.entities).all(axis=1)
    lines = calibrate(
        kge, torch.from_numpy(graph.valid[known]), known_triples(graph), base_rate=base_rate,
        seed=seed, evidence=weighed,
    )  # fmt: skip
    return as_belief(kge, lines, graph)


def belief_by_lists(belief: Belief, graph: Graph, seed: int = 0) -> tuple[Belief, ChosenWeights]:
    """The same embedding as a belief that ranks whole lists of validation triples best.

    What facts weigh is fitted by a softmax over lists (`kg/belief/list_weights.py`), and they are
    weighed only where they help; the probability, calibrated on the sum, orders lists as it does.
    """
    kge, relations = belief.kge, len(graph.relations)
    evidence = evidence_of(graph).to(kge.device)
    known = (graph.valid[:, [0, 2]] < kge.entities).all(axis=1)
    with torch.no_grad():
        halves = validation_lists(
            graph, KgeLists(kge, len(graph.entities)), evidence, triples=graph.valid[known],
            seed=seed,
        )  # fmt: skip
    for part in (*halves[0], *halves[1]):
        part.numbers[..., 3] = 0.0  # belief has no number for entities without any fact
    chosen = choose_weights(halves, ("prior",), 2 * relations)
    of_facts, facts = chosen.weights.of_facts, None
    if of_facts is not None:
        tails, heads = (of_facts / chosen.weights.of_scores).split(relations)  # type: ignore[no-untyped-call]
        facts = torch.cat([heads[:, :2], tails[:, :2], heads[:, 2:3], tails[:, 2:3]], 1)
    lines = calibrate(
        kge, torch.from_numpy(graph.valid[known]), known_triples(graph), seed=seed,
        base_rate=belief.base_rate, evidence=None if facts is None else evidence, facts=facts,
    )  # fmt: skip
    return as_belief(kge, lines, graph), chosen


@dataclass(frozen=True)
class KgeLists:
    """The scores of every entity by an embedding; those it does not know come last in a list."""

    kge: TripleModel
    entities: int

    def __call__(
        self, triples: Int64[np.ndarray, "lists 3"], side: Side
    ) -> Float[Tensor, "1 lists entities"]:
        head, relation, tail = torch.from_numpy(triples).to(self.kge.device).unbind(1)
        tails = side == "tail"
        found = self.kge.all_tails(head, relation) if tails else self.kge.all_heads(relation, tail)
        lowest = found.amin(1, keepdim=True).expand(-1, self.entities - found.shape[1])
        return torch.cat([found, lowest], 1)[None]


def as_belief(kge: TripleModel, lines: Calibration, graph: Graph) -> Belief:
    """A calibrated embedding as a belief about a graph that learning leaves alone."""
    weighed = None if lines.facts is None else evidence_of(graph)
    belief = Belief(kge, lines, graph.relations, graph.entities, weighed)
    for parameter in belief.parameters():
        parameter.requires_grad_(False)
    return belief


def evidence_of(graph: Graph) -> Evidence:
    """What the training triples say."""
    return Evidence(
        torch.from_numpy(graph.train), entities=len(graph.entities), relations=len(graph.relations)
    )


def known_triples(graph: Graph) -> TripleSet[Tensor]:
    """What may be known while training: train and valid."""
    both = torch.from_numpy(np.concatenate([graph.train, graph.valid]))
    return TripleSet.of(both, entities=len(graph.entities))


def prior_path(folder: Path) -> Path:
    """The prior in a run's folder."""
    return written(folder, NAME)


def save_prior(path: Path, belief: Belief) -> None:
    """Write a trained and calibrated prior, with what its weights depend on."""
    kge, lines = belief.kge, belief.calibration
    own: dict[str, Any] = {"dimension": 0}
    if isinstance(kge, Kge):
        names = ("dimension", *kge.weights_depend_on, *kge.kept)
        own = {name: getattr(kge, name) for name in names}
    try:
        save_state(
            path,
            KIND,
            {
                "prior": kge.state_dict(), "slope": lines.slope, "offset": lines.offset,
                "base_rate": lines.base_rate, "facts": lines.facts, "model": kind_of(kge)["kind"],
                "entities": kge.entities, **own,
            },
        )  # fmt: skip
    except ValueError as error:
        raise DataError(f"the prior cannot be kept: {error}", file=str(path)) from None


def read_prior(path: Path, device: torch.device | str = "cpu") -> dict[str, Any]:
    """What stands in the file of a prior."""
    state = load_state(path, KIND, SHAPE, device)
    if state["model"] == MODULE:
        return state
    kind = BY_NAME.get(state["model"])
    if kind is None or not all(type(state.get(n)) in (int, float) for n in kind.weights_depend_on):
        raise DataError("not a prior of a kind that is known here", file=str(path), hint=_SAME)
    return state


def load_prior(
    path: Path,
    graph: Graph,
    like: Graph | None = None,
    device: torch.device | str = "cpu",
    given: object = None,
) -> Belief:
    """A run's own prior as a belief about a graph; `like` is the graph it was trained on.

    A module of one's own has to be `given` again: the file has its weights, and not its code.
    """
    state = read_prior(path, device)
    slope, offset, facts = state["slope"], state["offset"], state.get("facts")
    fits = all(
        isinstance(t, Tensor) and t.is_floating_point() and t.shape[:1] == (len(graph.relations),)
        for t in (slope, offset, slope if facts is None else facts)
    )
    if not fits or slope.dim() != 1 or offset.dim() != 1 or not 0 < state["base_rate"] < 1:
        raise DataError(f"the calibration does not fit {graph.name}", file=str(path), hint=_SAME)
    lines = Calibration(slope, offset, float(state["base_rate"]), facts)
    if state["model"] == MODULE:
        module = load_module(state, path, graph, graph if like is None else like, given)
        return as_belief(module.to(device).eval(), lines, graph)
    return as_belief(load_kge(state, path, graph, like, device), lines, graph)


def load_module(
    state: Mapping[str, Any], path: Path, graph: Graph, like: Graph, given: object
) -> ModuleScores:
    """A module that is given, with the weights that a run keeps of it."""
    if given is None:
        raise DataError(
            "the prior is a module of its maker's own, whose code no run keeps", file=str(path),
            hint="in Python: dpl.load(folder, prior=module)",
        )  # fmt: skip
    model = given_prior(given, like)
    if not isinstance(model, ModuleScores):
        raise DataError(f"the run's prior is no {type(model).__name__}", file=str(path), hint=_SAME)
    with checkpoint.fitting(path, "module"):
        checkpoint.restore_module(model, state["prior"])
    if graph.entities == like.entities:
        return model
    return model.among([like.entity_ids[e] for e in graph.entities if e in like.entity_ids])


def load_kge(
    state: Mapping[str, Any],
    path: Path,
    graph: Graph,
    like: Graph | None = None,
    device: torch.device | str = "cpu",
) -> Kge:
    """The embedding in the state of a prior, with a row for each entity of `graph` that it knows.

    Those it knows come first among the graph's entities. Without `like`, whose names the rows
    have, the graph must have as many entities as there are rows.
    """
    rows = len((graph if like is None else like).entities)
    trained = state.get("entities", rows)
    vectors = state["prior"].get("entity")
    found = len(vectors) if isinstance(vectors, Tensor) and vectors.dim() == 2 else 0
    if found != trained or trained > rows or (like is None and trained != rows):
        raise DataError(
            f"the run has vectors of {plural(found, 'entity', 'entities')}, and {graph.name} has "
            f"{len(graph.entities):,}: the graph is not the one it was trained on",
            file=str(path), hint=_SAME,
        )  # fmt: skip
    try:
        make: Callable[..., Kge] = BY_NAME[state["model"]]
        names = (*BY_NAME[state["model"]].weights_depend_on, *BY_NAME[state["model"]].kept)
        own = {name: state[name] for name in names if name in state}
        kge = make(trained, len(graph.relations), state["dimension"], **own)
        checkpoint.restore_module(kge, state["prior"])
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[-1].strip()
        raise DataError(
            f"the prior does not fit {graph.name}: {reason}", file=str(path), hint=_SAME
        ) from None
    return _with_rows(kge, make, own, graph, like).to(device).eval()


def _with_rows(
    kge: Kge, make: Callable[..., Kge], own: Mapping[str, Any], graph: Graph, like: Graph | None
) -> Kge:
    """The embedding with its rows in the order of the graph's entities."""
    if like is None or graph.entities == like.entities:
        return kge
    rows = [n for e in graph.entities if (n := like.entity_ids.get(e, kge.entities)) < kge.entities]
    chosen = make(len(rows), kge.relations, kge.dimension, **own)
    vectors = kge.entity.detach()[torch.tensor(rows, dtype=torch.int64)]
    checkpoint.restore_module(chosen, {**kge.state_dict(), "entity": vectors})
    return chosen
