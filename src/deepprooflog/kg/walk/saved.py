"""Trained walks in a file: the policy's weights, how lists are weighed, what rules counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from deepprooflog.kg.belief.believe import Belief
from deepprooflog.kg.belief.calibration import Calibration
from deepprooflog.kg.belief.list_weights import ChosenWeights, ListWeights
from deepprooflog.kg.data.rules import Rule
from deepprooflog.kg.data.triples import Graph
from deepprooflog.kg.readings.rule_lists import UNREAD, RuleLists, RuleTally
from deepprooflog.kg.walk.model import WalkModel
from deepprooflog.kg.walk.options import WalkOptions
from deepprooflog.kg.walk.prover import WalkProver, WeighedLists
from deepprooflog.learn.run import checkpoint
from deepprooflog.learn.run.weights import ENDING, MODEL, load_state, save_state

KIND = "walks"
SHAPE: checkpoint.EntryTypes = {"weights": dict, "weighed": dict, "without_prior": dict}
_WEIGHED: checkpoint.EntryTypes = {
    "names": list, "used": list, "of_scores": Tensor, "of_facts": (Tensor, type(None)),
    "slope": Tensor, "offset": Tensor, "base_rate": float, "tried": dict, "lists": int,
}  # fmt: skip
_TALLY = ("support", "predictions", "cluster")


def walks_path(folder: Path) -> Path:
    """The walks in a run's folder; older runs have them under their own name."""
    path, old = folder / (MODEL + ENDING), folder / "walks.pt"
    return old if not path.exists() and old.exists() else path


def save_walks(path: Path, walks: WalkProver) -> None:
    """Write what answering needs beside the graph and the prior."""
    assert walks.weighed is not None and walks.without_prior is not None
    state = {
        "weights": walks.model.state_dict(), "weighed": _state(walks.weighed),
        "without_prior": _state(walks.without_prior),
    }  # fmt: skip
    if walks.rules is not None:
        tally = walks.rules.tally
        state["rules"] = {name: torch.from_numpy(getattr(tally, name)) for name in _TALLY}
    save_state(path, KIND, state)


def load_walks(
    path: Path, graph: Graph, options: WalkOptions, belief: Belief | None,
    device: torch.device | str = "cpu", rules: Sequence[Rule] = (),
) -> WalkProver:  # fmt: skip
    """The walks of a run, about the graph that they were trained on, and the rules beside them."""
    state = load_state(path, KIND, SHAPE, device)
    model = WalkModel(graph.relations, options).to(device)
    with checkpoint.fitting(path):
        checkpoint.restore_module(model, state["weights"])
        weighed, bare = (_weighed(state[k], len(graph.relations)) for k in list(SHAPE)[1:])
        tally = None if "rules" not in state else _tally(state["rules"], len(rules))
    read = None if tally is None else RuleLists(graph, rules, tally)
    return WalkProver(model.eval(), graph, belief, weighed, bare, read)


def _tally(state: Mapping[str, Any], rules: int) -> RuleTally:
    """What was counted of a run's rules: as many as there are, a cluster for each."""
    checkpoint.check(state, dict.fromkeys(_TALLY, Tensor))
    found = [state[name].cpu().numpy() for name in _TALLY]
    for name, values in zip(_TALLY, found, strict=True):
        if values.shape != (rules,) or values.dtype != np.int64 or values.min(initial=0) < UNREAD:
            raise ValueError(f"{name} of {values.shape} {values.dtype} for {rules} rules")
    return RuleTally(*found)


def _state(one: WeighedLists) -> dict[str, Any]:
    weights, lines = one.chosen.weights, one.lines
    return {
        "names": list(weights.names), "used": list(weights.used), "of_scores": weights.of_scores,
        "of_facts": weights.of_facts, "slope": lines.slope, "offset": lines.offset,
        "base_rate": lines.base_rate, "tried": one.chosen.tried, "lists": one.chosen.lists,
    }  # fmt: skip


def _weighed(state: Mapping[str, Any], relations: int) -> WeighedLists:
    checkpoint.check(state, _WEIGHED)
    used = tuple(state["used"])
    shapes = {"of_scores": (len(used),), "of_facts": (4,), "slope": (), "offset": ()}
    for key, rest in shapes.items():
        if state[key] is not None and state[key].shape != (2 * relations, *rest):
            raise ValueError(f"{key} of shape {tuple(state[key].shape)}")
    weights = ListWeights(tuple(state["names"]), used, state["of_scores"], state["of_facts"])
    lines = Calibration(state["slope"], state["offset"], state["base_rate"])
    return WeighedLists(ChosenWeights(weights, state["tried"], state["lists"]), lines)
