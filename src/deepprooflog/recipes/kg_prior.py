"""The prior of a knowledge-graph run: trained, calibrated, written and read again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from deepprooflog.errors import DataError
from deepprooflog.kg.believe import Belief
from deepprooflog.kg.calibration import Calibration, calibrate
from deepprooflog.kg.kge import Kge
from deepprooflog.kg.kge_joined import joined
from deepprooflog.kg.kge_known import KnownTriples
from deepprooflog.kg.kge_loss import make_model
from deepprooflog.kg.kge_training import train_kge
from deepprooflog.kg.triples import Graph
from deepprooflog.learn import checkpoint
from deepprooflog.learn.progress import Progress
from deepprooflog.recipes.folder import RunFolder
from deepprooflog.recipes.kg import Task, device_of
from deepprooflog.recipes.kg_options import GraphOptions


def find_prior(
    options: GraphOptions, task: Task, run: RunFolder, progress: bool
) -> tuple[Belief | None, float]:
    """The run's prior, trained or read; the seconds its training took."""
    if options.prior == "none":
        return None, 0.0
    own = run.path / "prior.pt"
    device = device_of(options)
    if not own.exists() and options.prior_from:
        other = load_prior(Path(options.prior_from) / "prior.pt", task.graph, options, device)
        save_prior(own, other.kge, other.calibration, options)
    if own.exists():
        return load_prior(own, task.graph, options, device), 0.0
    kge, seconds = train_prior(options, task, run, progress)
    belief = calibrated(options, task, kge)
    save_prior(own, kge, belief.calibration, options)
    for training in run.path.glob("prior-training-*.pt"):
        training.unlink()
    return belief, seconds


def train_prior(
    options: GraphOptions, task: Task, run: RunFolder, progress: bool
) -> tuple[Kge, float]:
    """Train the members one after another and join them; an interrupted run goes on."""
    members, seconds = [], 0.0
    for number in range(options.prior_members):
        asked = options.prior_options(number)
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
            "base_rate": calibration.base_rate, "model": options.prior,
            "dimension": kge.dimension, "margin": options.prior_margin,
        },
    )  # fmt: skip


def load_prior(path: Path, graph: Graph, options: GraphOptions, device: torch.device) -> Belief:
    """Read a prior; one of another kind or of another graph is refused."""
    state = checkpoint.load(
        path, ("prior", "slope", "offset", "base_rate", "model", "dimension"), device
    )
    dimension = options.prior_members * options.prior_dimension
    if state["model"] != options.prior or state["dimension"] != dimension:
        raise DataError(
            f"a prior of kind {state['model']}, dimension {state['dimension']}", file=str(path),
            hint=f"prior={state['model']} and prior_members times prior_dimension = "
            f"{state['dimension']}",
        )  # fmt: skip
    whole = replace(options.prior_options(), dimension=dimension)
    kge = make_model(whole, len(graph.entities), len(graph.relations))
    try:
        kge.load_state_dict(state["prior"])
    except RuntimeError as error:
        raise DataError(
            f"the prior does not fit {graph.name}: {str(error).splitlines()[-1].strip()}",
            file=str(path), hint="a prior trained on the same graph",
        ) from None  # fmt: skip
    calibration = Calibration(state["slope"], state["offset"], float(state["base_rate"]))
    return frozen(Belief(kge.to(device).eval(), calibration, graph.relations, graph.entities))


def frozen(belief: Belief) -> Belief:
    """A prior that learning leaves alone."""
    for parameter in belief.parameters():
        parameter.requires_grad_(False)
    return belief


def calibrated(options: GraphOptions, task: Task, kge: Kge) -> Belief:
    """A trained embedding as a belief, calibrated on the validation split."""
    found = calibrate(
        kge, torch.from_numpy(task.graph.valid), known_triples(task.graph),
        base_rate=options.base_rate, seed=options.seed,
    )  # fmt: skip
    return frozen(Belief(kge, found, task.graph.relations, task.graph.entities))


def known_triples(graph: Graph) -> KnownTriples:
    """What may be known while training: train and valid."""
    return KnownTriples.of(
        torch.from_numpy(np.concatenate([graph.train, graph.valid])),
        entities=len(graph.entities), relations=len(graph.relations),
    )  # fmt: skip
