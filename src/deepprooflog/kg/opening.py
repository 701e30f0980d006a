"""Opening a run of a graph: the model as it was trained or saved, with the facts told since."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from deepprooflog.device import find_device
from deepprooflog.errors import DataError, ModelError, Notice
from deepprooflog.kg.belief.prior import load_prior, prior_path
from deepprooflog.kg.data.folder import read_graph
from deepprooflog.kg.data.snapshot import snapshot_path
from deepprooflog.kg.kept import sources_of_run, with_told
from deepprooflog.kg.learn.options import GraphOptions
from deepprooflog.kg.learn.setup import (
    domains_text,
    make_prover,
    theory_of,
    untrained_policy,
)
from deepprooflog.kg.learn.trust import restore_policy
from deepprooflog.kg.model import TASK, GraphModel
from deepprooflog.kg.prove.theory import Theory
from deepprooflog.kg.walk.options import WALKS
from deepprooflog.kg.walk.saved import load_walks, walks_path
from deepprooflog.learn.run.folder import RunFolder, open_run
from deepprooflog.learn.run.settings import build, settings


def open_graph_model(
    folder: str | Path | RunFolder,
    *,
    device: str | None = None,
    data: str | None = None,
    ranked: Mapping[str, str] | None = None,
    prior: object = None,
) -> GraphModel:
    """The model of a run, as `dprl train` or `GraphModel.save` wrote it.

    It answers from the graph and the rules that the run keeps, with the facts that it was told
    since; that there are some, and what has changed in their files, is said in notices. `data` asks
    about another graph, `ranked` for other candidates. A `prior` that is a module of one's own is
    given again, as it was to `dpl.kg.train`.
    """
    run = folder if isinstance(folder, RunFolder) else open_run(Path(folder))
    options = _options(run, device, data, ranked or {})
    own = sources_of_run(run, options, told=data is None)
    now = with_told(run, own) if data is None else own.about(read_graph(data))
    if options.candidates and (now.domains is None or "domains" in (ranked or {})):
        now = replace(now, domains=domains_text(options, now.graph))
    theory = theory_of(options, now)
    where, policy = find_device(options.device), None
    if options.learner != WALKS:
        policy = untrained_policy(options, Theory(own.graph, own.rules, theory.believes))
    if policy is not None and options.learner != "none":
        try:
            policy = restore_policy(run.path, policy, where)
        except ModelError:
            raise DataError(
                f"the policy was trained with other rules or relations than {own.graph.name} has",
                file=str(run.path), hint="the rules it was trained with, or train anew",
            ) from None  # fmt: skip
    belief = None
    if theory.believes and not any(e in own.graph.entity_ids for e in theory.graph.entities):
        warnings.warn(
            f"{theory.graph.name} has no entity that the embedding knows: nothing is believed of "
            "it, answers rest on proofs and facts", Notice, stacklevel=2,
        )  # fmt: skip
        theory = replace(theory, believes=False)
    if theory.believes:
        names = own.graph if snapshot_path(run.path).exists() else None
        belief = load_prior(prior_path(run.path), theory.graph, names, where, prior)
    result = run.read_result() if run.result.exists() else {}
    prover = make_prover(options, theory, belief, policy).eval()
    walks = None
    if options.learner == WALKS:
        walks = load_walks(
            walks_path(run.path), own.graph, options.walk, belief, where, own.rules.rules
        )
        walks = walks if theory.graph is own.graph else walks.about(theory.graph, belief)
    return GraphModel(options, own, theory, prover, walks, result)


def _options(
    run: RunFolder, device: str | None, data: str | None, ranked: Mapping[str, str]
) -> GraphOptions:
    config = run.config()
    if config["task"] != TASK:
        raise DataError(
            f"a run of {config['task']}, not of a graph",
            file=str(run.path),
            hint="dpl.load(folder) opens any run, and  dprl evaluate RUN  tests it",
        )
    file = str(run.path / "config.json")
    values = settings(GraphOptions, config["options"], file, notice=False)
    places = {k: v for k, v in (("device", device), ("data", data)) if v is not None}
    return build(GraphOptions, {**values, **places, **ranked})
