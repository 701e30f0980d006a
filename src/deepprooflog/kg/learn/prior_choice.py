"""Which embedding a graph gets where its options leave it open: successive halving.

Embeddings of some dimensions and regularizers are trained for `FIRST` steps and ranked on
validation triples. The better half is trained anew for twice as many steps, and so on until one is
left, which is trained for twice as many again as long as validation rises by `RISE`. A training
that would not end in time is not begun, and that is said. Learning rates fade to 0 over the steps
of a training: therefore anew.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Int64

from deepprooflog.kg.data.triple_set import Side
from deepprooflog.kg.data.triples import SIDES, Graph
from deepprooflog.kg.kge.kge import Kge
from deepprooflog.kg.kge.negatives import all_candidates
from deepprooflog.kg.kge.table import BY_NAME
from deepprooflog.kg.learn.options import PriorOptions
from deepprooflog.learn.run import checkpoint

FIRST = 500
RISE = 0.002
LOOKED_AT = 300
CHUNK = 64


@runtime_checkable
class TriedOut(Protocol):
    """Who trains embeddings on trial, each with a checkpoint of its own."""

    def trial(self, own: PriorOptions) -> tuple[Kge, float]:
        """An embedding trained by options, and the seconds it took."""

    def forget(self, own: PriorOptions) -> None:
        """Delete the checkpoint of one that is not the best."""


@dataclass(frozen=True)
class PriorTrial:
    """One embedding that was tried."""

    options: PriorOptions = field(repr=False)
    mrr: float  # full filtered, of validation triples
    seconds: float

    def __str__(self) -> str:
        changes = " ".join(f"{name} {getattr(self.options, name):g}" for name in self.varied)
        return f"{self.options.kind}, {changes}"

    def to_dict(self) -> dict[str, Any]:
        """Plain Python: the options in which trials differ, and how the trial went."""
        own = {name: getattr(self.options, name) for name in self.varied}
        kind, seconds = self.options.kind, round(self.seconds, 3)
        return {"kind": kind, **own, "validation_mrr": round(self.mrr, 6), "seconds": seconds}

    @property
    def varied(self) -> tuple[str, ...]:
        """The options in which trials differ."""
        return ("dimension", *BY_NAME[self.options.kind].regularizers, "steps")


@dataclass(frozen=True)
class PriorChoice:
    """What was tried, in order, and why no more was."""

    best: PriorTrial
    trials: tuple[PriorTrial, ...]
    out_of_time: bool

    def to_dict(self) -> dict[str, Any]:
        """Plain Python: each trial with its validation MRR, and the note for people."""
        return {
            "note": str(self), "best": self.trials.index(self.best),
            "out_of_time": self.out_of_time, "trials": [one.to_dict() for one in self.trials],
        }  # fmt: skip

    def __str__(self) -> str:
        spent = sum(trial.seconds for trial in self.trials)
        ended = "time ran out" if self.out_of_time else "validation rose no more"
        return (
            f"prior: {self.best} (validation MRR {self.best.mrr:.4f}, the best of "
            f"{len(self.trials)} tried in {spent:.0f} s; {ended})"
        )


class PriorSearch:
    """The search for the embedding of a graph; what was tried is kept in a folder."""

    def __init__(
        self, options: PriorOptions, graph: Graph, training: TriedOut, folder: Path | None
    ) -> None:
        self.options, self.graph, self.training = options, graph, training
        self.record = None if folder is None else folder / "prior-training-trials.pt"
        self.kept = _read(self.record)
        self.trials: list[PriorTrial] = []
        self.model: Kge | None = None
        order = np.random.default_rng(options.seed).permutation(len(graph.valid))
        self.looked_at = graph.valid[order[:LOOKED_AT]]

    def run(self) -> tuple[Kge, PriorChoice]:
        """Search; the best embedding is trained again where only its record is there."""
        rivals, steps, hurried = _variants(self.options), FIRST, False
        while rivals:
            before = max((trial.mrr for trial in self.trials), default=0.0)
            found: list[PriorTrial] = []
            for rival in rivals:
                asked = replace(rival, steps=steps)
                if self._too_long(asked):
                    hurried = True
                    break
                found.append(self._try(asked))
            ranked = sorted(found, key=lambda trial: -trial.mrr)
            rises = bool(ranked) and ranked[0].mrr > before + RISE
            if hurried or (len(rivals) == 1 and not rises):
                break
            rivals = [trial.options for trial in ranked[: max(1, len(rivals) // 2)]]
            steps *= 2
        best = self._best()
        model = self.training.trial(best.options)[0] if self.model is None else self.model
        return model, PriorChoice(best, tuple(self.trials), hurried)

    def _best(self) -> PriorTrial:
        return max(self.trials, key=lambda trial: trial.mrr)

    def _too_long(self, asked: PriorOptions) -> bool:
        """Would a training run past the time? The first is always made."""
        if not self.trials:
            return False
        spent = sum(trial.seconds for trial in self.trials)
        alike = [t for t in self.trials if t.options.dimension == asked.dimension]
        like = (alike or self.trials)[-1]
        size = asked.steps * asked.dimension / (like.options.steps * like.options.dimension)
        return spent + like.seconds * size > self.options.seconds

    def _try(self, asked: PriorOptions) -> PriorTrial:
        key = repr(asked)
        if key in self.kept:
            mrr, seconds = self.kept[key]
            trial, model = PriorTrial(asked, mrr, seconds), None
        else:
            model, seconds = self.training.trial(asked)
            trial = PriorTrial(asked, validation_mrr(model, self.graph, self.looked_at), seconds)
        before = self._best() if self.trials else None
        self.trials.append(trial)
        if self._best() is trial:
            self.model = model
        if self.record is not None and model is not None:
            self.kept[key] = (trial.mrr, trial.seconds)
            checkpoint.save(self.record, {"trials": self.kept})
            if before is not None:
                self.training.forget((before if self._best() is trial else trial).options)
        return trial


def _variants(options: PriorOptions) -> list[PriorOptions]:
    """The options as they are, twice the dimension, and other regularizers."""
    found = [
        replace(options, dimension=dimension)
        for dimension in (options.dimension, 2 * options.dimension)
    ]
    for name, factors in BY_NAME[options.kind].regularizers.items():
        found = [
            replace(one, **{name: getattr(one, name) * factor})
            for one in found
            for factor in factors
        ]
    return found


def _read(path: Path | None) -> dict[str, tuple[float, float]]:
    """Trials of a run that was interrupted, by their options."""
    if path is None or not path.exists():
        return {}
    kept: dict[str, tuple[float, float]] = checkpoint.load(path, {"trials": dict})["trials"]
    return kept


def validation_mrr(model: Kge, graph: Graph, triples: Int64[np.ndarray, "n 3"]) -> float:
    """The MRR of an embedding alone, among all entities, filtered, average ties."""
    found = [_reciprocal_ranks(model, graph, triples, side) for side in SIDES]
    return float(torch.cat(found).mean())


@torch.no_grad()
def _reciprocal_ranks(
    model: Kge, graph: Graph, triples: Int64[np.ndarray, "n 3"], side: Side
) -> torch.Tensor:
    found = []
    for begin in range(0, len(triples), CHUNK):
        part = triples[begin : begin + CHUNK]
        head, relation, tail = torch.from_numpy(part).to(model.entity.device).unbind(1)
        scores = (
            model.all_tails(head, relation) if side == "tail" else model.all_heads(relation, tail)
        )
        allowed = torch.from_numpy(all_candidates(graph, part, side)).to(scores.device)
        own = scores.gather(1, (tail if side == "tail" else head)[:, None])
        better = ((scores > own) & allowed).sum(1)
        equal = ((scores == own) & allowed).sum(1) - 1
        found.append(1.0 / (1 + better + equal.double() / 2))
    return torch.cat(found).cpu()
