"""The prior of a knowledge-graph run: trained, calibrated, written and read again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from deepprooflog.errors import DataError
from deepprooflog.kg.believe import Belief
from deepprooflog.kg.calibration import Calibration, calibrate
from deepprooflog.kg.evidence import Evidence
from deepprooflog.kg.kge import Kge
from deepprooflog.kg.kge_joined import joined
from deepprooflog.kg.kge_known import KnownTriples
from deepprooflog.kg.kge_models import BY_NAME, make_model
from deepprooflog.kg.kge_training import train_kge
from deepprooflog.kg.options import NO_PRIOR, GraphOptions
from deepprooflog.kg.triples import Graph
from deepprooflog.learn import checkpoint
from deepprooflog.learn.progress import Progress
from deepprooflog.recipes.folder import RunFolder
from deepprooflog.recipes.kg import Task, device_of

SHAPE: checkpoint.Shape = {
    "prior": dict, "slope": Tensor, "offset": Tensor, "base_rate": (int, float), "model": str,
    "dimension": int, "margin": (int, float),
}  # fmt: skip


def find_prior(
    options: GraphOptions, task: Task, run: RunFolder, progress: bool
) -> tuple[Belief | None, float]:
    """The run's prior, trained or read; the seconds its training took."""
    if options.prior.kind == NO_PRIOR:
        return None, 0.0
    own = run.path / "prior.pt"
    if own.exists():
        return load_prior(own, task.graph, options), 0.0
    if options.prior.from_run:
        kge, seconds = other_prior(options, task), 0.0
    else:
        kge, seconds = train_prior(options, task, run, progress)
    belief = calibrated(options, task, kge)
    save_prior(own, kge, belief.calibration, options)
    for training in run.path.glob("prior-training-*.pt"):
        training.unlink()
    return belief, seconds


def other_prior(options: GraphOptions, task: Task) -> Kge:
    """The embedding of the run that `prior.from_run` names."""
    path = Path(options.prior.from_run) / "prior.pt"
    return embedding_of(read_prior(path, options), path, task.graph, options)


def train_prior(
    options: GraphOptions, task: Task, run: RunFolder, progress: bool
) -> tuple[Kge, float]:
    """Train the members one after another and join them; an interrupted run goes on."""
    members, seconds = [], 0.0
    for number in range(options.prior.members):
        asked = options.prior.member(number)
        bar = Progress(asked.steps)
        bar.live = bar.live and progress
        trained = train_kge(
            torch.from_numpy(task.graph.train), entities=len(task.graph.entities),
            relations=len(task.graph.relations), options=asked, device=device_of(options),
            path=run.path / f"prior-training-{number}.pt", progress=bar,
        )  # fmt: skip
        members.append(trained.model)
        seconds += trained.seconds
    return joined(members), seconds


def save_prior(path: Path, kge: Kge, calibration: Calibration, options: GraphOptions) -> None:
    """Write a trained and calibrated prior."""
    checkpoint.save(
        path,
        {
            "prior": kge.state_dict(), "slope": calibration.slope, "offset": calibration.offset,
            "base_rate": calibration.base_rate, "facts": calibration.facts,
            "model": options.prior.kind, "dimension": kge.dimension, "margin": options.prior.margin,
        },
    )  # fmt: skip


def read_prior(path: Path, options: GraphOptions) -> dict[str, Any]:
    """What stands in the file of a prior."""
    return checkpoint.load(path, SHAPE, device_of(options))


def embedding_of(state: Mapping[str, Any], path: Path, graph: Graph, options: GraphOptions) -> Kge:
    """The embedding that was read; one of another kind or of another graph is refused."""
    dimension = options.prior.members * options.prior.dimension
    if state["model"] != options.prior.kind or state["dimension"] != dimension:
        raise DataError(
            f"a prior of kind {state['model']}, dimension {state['dimension']}", file=str(path),
            hint=f"prior={state['model']} and prior.members times prior.dimension = "
            f"{state['dimension']}",
        )  # fmt: skip
    for name in BY_NAME[options.prior.kind].weights_depend_on:
        if state[name] != getattr(options.prior, name):
            raise DataError(
                f"a prior of {name} {state[name]:g}", file=str(path),
                hint=f"prior.{name}={state[name]:g}",
            )  # fmt: skip
    kge = make_model(options.prior, len(graph.entities), len(graph.relations), dimension)
    try:
        checkpoint.restore_module(kge, state["prior"])
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[-1].strip()
        raise DataError(
            f"the prior does not fit {graph.name}: {reason}",
            file=str(path), hint="a prior trained on the same graph",
        ) from None  # fmt: skip
    return kge.to(device_of(options)).eval()


def load_prior(path: Path, graph: Graph, options: GraphOptions) -> Belief:
    """A run's own prior with its calibration."""
    state = read_prior(path, options)
    slope, offset, facts = state["slope"], state["offset"], state.get("facts")
    fits = all(
        isinstance(t, Tensor) and t.is_floating_point() and t.shape[:1] == (len(graph.relations),)
        for t in (slope, offset, slope if facts is None else facts)
    )
    if not fits or slope.dim() != 1 or offset.dim() != 1 or not 0 < state["base_rate"] < 1:
        raise DataError(
            f"the calibration does not fit {graph.name}", file=str(path),
            hint="a prior trained on the same graph",
        )  # fmt: skip
    found = Calibration(slope, offset, float(state["base_rate"]), facts)
    return believed(embedding_of(state, path, graph, options), found, graph)


def believed(kge: Kge, calibration: Calibration, graph: Graph) -> Belief:
    """A calibrated embedding of a graph as a belief that learning leaves alone."""
    evidence = None if calibration.facts is None else evidence_of(graph)
    belief = Belief(kge, calibration, graph.relations, graph.entities, evidence)
    for parameter in belief.parameters():
        parameter.requires_grad_(False)
    return belief


def evidence_of(graph: Graph) -> Evidence:
    """What the training triples say."""
    return Evidence(
        torch.from_numpy(graph.train), entities=len(graph.entities), relations=len(graph.relations)
    )


def calibrated(options: GraphOptions, task: Task, kge: Kge) -> Belief:
    """A trained embedding as a belief, calibrated on the validation split."""
    found = calibrate(
        kge, torch.from_numpy(task.graph.valid), known_triples(task.graph),
        base_rate=options.belief.base_rate, seed=options.seed,
        evidence=evidence_of(task.graph) if options.belief.evidence == "facts" else None,
    )  # fmt: skip
    return believed(kge, found, task.graph)


def known_triples(graph: Graph) -> KnownTriples:
    """What may be known while training: train and valid."""
    return KnownTriples.of(
        torch.from_numpy(np.concatenate([graph.train, graph.valid])),
        entities=len(graph.entities), relations=len(graph.relations),
    )  # fmt: skip
