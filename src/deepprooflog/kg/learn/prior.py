"""The prior that a run's options ask for: trained, taken from another run, or read again."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from deepprooflog.data.whole import read_json, sealed_json, write_whole
from deepprooflog.device import find_device
from deepprooflog.errors import DataError, Notice
from deepprooflog.kg.belief.believe import Belief
from deepprooflog.kg.belief.prior import (
    calibrate_belief,
    load_kge,
    load_prior,
    prior_path,
    read_prior,
    save_prior,
)
from deepprooflog.kg.data.notice import plural
from deepprooflog.kg.data.snapshot import read_snapshot, snapshot_path
from deepprooflog.kg.data.triples import Graph
from deepprooflog.kg.kge.given import MODULE
from deepprooflog.kg.kge.joined import joined
from deepprooflog.kg.kge.kge import Kge
from deepprooflog.kg.kge.table import BY_NAME
from deepprooflog.kg.kge.training import TrainedKge, train_kge
from deepprooflog.kg.kge.triple_model import TripleModel
from deepprooflog.kg.learn.options import NO_PRIOR, PriorOptions, SharedOptions
from deepprooflog.kg.learn.prior_choice import FIRST, PriorChoice, PriorSearch
from deepprooflog.learn.run.processes import processes
from deepprooflog.learn.run.progress import Progress

CHOICE_FILE = "prior-choice.json"
_ON_THIS = "train a prior on this graph"


def find_prior(
    options: SharedOptions,
    graph: Graph,
    folder: Path | None,
    progress: bool,
    given: TripleModel | None = None,
) -> tuple[Belief | None, float]:
    """The prior, given, trained or read; the seconds its training took.

    A `folder` holds what was trained before; that of the run keeps what is trained now.
    """
    if options.prior.kind == NO_PRIOR:
        return None, 0.0
    own = None if folder is None else prior_path(folder)
    if own is not None and own.exists():
        return load_prior(own, graph, graph, find_device(options.device)), 0.0
    kge: TripleModel
    seconds = 0.0
    if given is not None:
        kge = given.to(find_device(options.device))
    elif options.prior.from_run:
        kge = other_prior(options, graph)
    else:
        check_trainable(options)
        kge, seconds, choice = train_prior(options, graph, folder, progress)
        if choice is not None and folder is not None:
            write_whole(folder / CHOICE_FILE, sealed_json(choice.to_dict()).encode())
    belief = calibrate_belief(
        kge, graph, base_rate=options.belief.base_rate, evidence=options.belief.evidence,
        seed=options.seed,
    )  # fmt: skip
    if folder is not None and own is not None and processes().first:
        save_prior(own, belief)
        for training in folder.glob("prior-training-*.pt"):
            training.unlink()
    return belief, seconds


def check_trainable(options: SharedOptions) -> None:
    """Refuse a prior that is not there: no option names a module."""
    if options.prior.kind == MODULE and not options.prior.from_run:
        raise DataError(
            "prior=module: a module is given in Python", hint="dpl.kg.train(graph, prior=module)"
        )


def other_prior(options: SharedOptions, graph: Graph) -> Kge:
    """The embedding of the run that `prior.from_run` names, its rows found by entities' names."""
    asked, folder = options.prior, Path(options.prior.from_run)
    path, device = prior_path(folder), find_device(options.device)
    state = read_prior(path, device)
    other = asked.steps and state["dimension"] != asked.members * asked.dimension
    if state["model"] == MODULE:
        raise DataError(
            "its prior is a module, whose code no run keeps", file=str(path),
            hint="dpl.kg.train(graph, prior=module)",
        )  # fmt: skip
    if state["model"] != asked.kind or other:
        raise DataError(
            f"a prior of kind {state['model']}, dimension {state['dimension']}", file=str(path),
            hint=f"prior={state['model']} and prior.members times prior.dimension = "
            f"{state['dimension']}",
        )  # fmt: skip
    for name in BY_NAME[asked.kind].weights_depend_on:
        if asked.steps and state[name] != getattr(asked, name):
            raise DataError(
                f"a prior of {name} {state[name]:g}", file=str(path),
                hint=f"prior.{name}={state[name]:g}",
            )  # fmt: skip
    return load_kge(state, path, graph, _names(folder, graph), device)


def _names(folder: Path, graph: Graph) -> Graph | None:
    """The graph that another run was trained on, where it kept it: it must know all names."""
    kept = snapshot_path(folder)
    if not kept.exists():
        warnings.warn(
            f"{folder} keeps no names: that its entities are those of {graph.name} in the same "
            "order is taken on trust",
            Notice,
            stacklevel=2,
        )
        return None
    like = read_snapshot(kept).graph
    if like.relations != graph.relations:
        raise DataError(
            f"{folder} was trained on other relations than {graph.name} has, or in another order",
            hint=_ON_THIS,
        )
    unknown = [e for e in graph.entities if e not in like.entity_ids]
    if unknown:
        first = graph.entity_text(graph.entity_ids[unknown[0]])
        raise DataError(
            f"the prior of {folder} knows nothing of "
            f"{plural(len(unknown), 'entity', 'entities')} of {graph.name}, the first {first}",
            hint=_ON_THIS,
        )
    return like


def kept_choice(folder: Path) -> dict[str, Any]:
    """What a run's folder says of the choice of its prior, for its record; empty where none was."""
    path = folder / CHOICE_FILE
    return {"prior_choice": read_json(path)} if path.exists() else {}


def train_prior(
    options: SharedOptions, graph: Graph, folder: Path | None, progress: bool
) -> tuple[Kge, float, PriorChoice | None]:
    """Train the members one after another and join them; an interrupted run goes on."""
    training = _Training(options, graph, folder, progress)
    own, first, choice = options.prior, None, None
    if not own.steps and not len(graph.valid):
        own = replace(own, steps=FIRST)  # nothing says which is better
    if not own.steps:
        first, choice = PriorSearch(own, graph, training, folder).run()
        own = choice.best.options
        warnings.warn(str(choice), Notice, stacklevel=2)
    members = [] if first is None else [first]
    for number in range(len(members), own.members):
        members.append(training.member(own, number))
    return joined(members), training.seconds, choice


class _Training:
    """The embeddings that one prior takes to train, and their seconds."""

    def __init__(
        self, options: SharedOptions, graph: Graph, folder: Path | None, progress: bool
    ) -> None:
        self.graph, self.folder, self.progress = graph, folder, progress
        self.device = find_device(options.device)
        self.seconds = 0.0

    def member(self, own: PriorOptions, number: int) -> Kge:
        """One of the embeddings that are joined."""
        return self._train(own.member(number), str(number)).model

    def trial(self, own: PriorOptions) -> tuple[Kge, float]:
        """An embedding on trial."""
        trained = self._train(own, _name(own))
        return trained.model, trained.seconds

    def forget(self, own: PriorOptions) -> None:
        """Delete the checkpoint of an embedding that is not the best."""
        if self.folder is not None:
            (self.folder / f"prior-training-{_name(own)}.pt").unlink(missing_ok=True)

    def _train(self, own: PriorOptions, name: str) -> TrainedKge:
        bar = Progress(own.steps)
        bar.live = bar.live and self.progress
        graph, folder = self.graph, self.folder
        trained = train_kge(
            torch.from_numpy(graph.train), entities=len(graph.entities),
            relations=len(graph.relations), options=own, device=self.device,
            path=None if folder is None else folder / f"prior-training-{name}.pt", progress=bar,
        )  # fmt: skip
        # What is tried next goes by the clock: by one clock.
        seconds = processes().from_first(lambda: trained.seconds)
        self.seconds += seconds
        return replace(trained, seconds=seconds)


def _name(own: PriorOptions) -> str:
    return f"{own.dimension}-{own.n3:g}-{own.margin:g}-{own.steps}"
