"""Training a model of a graph: prior, policy, figures; into a run's folder or in memory."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from deepprooflog.data.places import is_file
from deepprooflog.device import find_device, threads
from deepprooflog.errors import Notice
from deepprooflog.kg.card import graph_card
from deepprooflog.kg.data.held_out import with_splits
from deepprooflog.kg.data.load import GraphLike, load_graph
from deepprooflog.kg.data.rule_remarks import unused_weights
from deepprooflog.kg.data.rules import MINED, Rules, parse_rules, read_rules
from deepprooflog.kg.data.snapshot import (
    Snapshot,
    read_snapshot,
    save_snapshot,
    snapshot_of,
    snapshot_path,
)
from deepprooflog.kg.data.triples import Graph
from deepprooflog.kg.evaluation.figures import WATCHED
from deepprooflog.kg.evaluation.report import Figures
from deepprooflog.kg.kge.given import given_prior, kind_of
from deepprooflog.kg.kge.triple_model import TripleModel
from deepprooflog.kg.learn.cross_fit import choose_trust
from deepprooflog.kg.learn.options import NO_PRIOR, NO_RULES, GraphOptions, SharedOptions
from deepprooflog.kg.learn.policy import choose_learner, glimpse, learn_policy
from deepprooflog.kg.learn.prior import check_trainable, find_prior, kept_choice, other_prior
from deepprooflog.kg.learn.setup import (
    make_prover,
    rules_path,
    rules_to_mine,
    theory_of,
)
from deepprooflog.kg.learn.trust import SHIFT, ChosenTrust, save_policy, trusted_policy
from deepprooflog.kg.learn.walks import learn_walks, other_walks
from deepprooflog.kg.model import TASK, GraphModel
from deepprooflog.kg.prove.prover import Prover
from deepprooflog.kg.prove.theory import Theory
from deepprooflog.kg.walk.options import WALKS
from deepprooflog.learn.on_policy import own_episodes
from deepprooflog.learn.run.card import write_card
from deepprooflog.learn.run.curves import curves
from deepprooflog.learn.run.folder import RunFolder, create
from deepprooflog.learn.run.loop import Learned, Row
from deepprooflog.learn.run.processes import processes
from deepprooflog.learn.run.settings import as_tables, build, settings, values_of
from deepprooflog.learn.run.track import TrackedRun, Tracking, tracked

# Rules that stand deeper inside one another than this are looked at before anything is trained.
USUAL_NESTING = 3


def train_graph(
    graph: Graph | GraphLike,
    rules: Rules | str | Path | Sequence[str] | None = None,
    prior: object = "complex",
    learner: str = "exact",
    *,
    seed: int = 0,
    out: str | Path | None = None,
    progress: bool = False,
    callback: Callable[[Row], object] | None = None,
    **options: object,
) -> GraphModel:
    """Train a model of a graph.

    `rules` are a file, the text of a program, a list of clauses, or rules that were read; None
    stands for the graph's own, and where it has none for rules that are mined, `"mined"` for these
    in any case, `"none"` for none. Further keywords are the options of `dprl train kg --set help`,
    sections as mappings: `prior={"kind": "rotate", "dimension": 64}`, `exact={"steps": 40}`,
    `search={"nesting": 1}`, or options by name: `**{"search.nesting": 1}`. The `prior` may also be
    a model: an embedding, any module with `score(h, r, t)` of index tensors in the graph's numbers,
    a PyKEEN pipeline's result or `(model, triples_factory)`; it is calibrated as others are. A
    `callback` gets each row of history, as a tracker does; `GraphModel.learned` has all of them,
    and the validation of the weights that were kept as `best`. With `out`, the model is trained
    into a folder, as by `dprl train`; without, no test triple is ranked.

    >>> family = [("ann", "mother", "bob"), ("bob", "father", "cy"), ("cy", "father", "dee")] * 2
    >>> rules = "gran(X, Y) :- mother(X, Z), father(Z, Y)."
    >>> graph = load_graph(family + [("ann", "gran", "cy")], valid=[("bob", "father", "cy")])
    >>> model = train_graph(graph, rules, prior="none", exact={"steps": 2}, threads=1)
    >>> print(model.explain("gran(ann, cy)").proof.query)
    gran(ann,cy)
    """
    own = graph if isinstance(graph, Graph) else load_graph(graph)
    given = {"data": own.name if own.folder is None else str(own.folder), **options}
    model = None if isinstance(prior, str | Mapping) else given_prior(prior, own)
    named_prior = prior if model is None else kind_of(model)
    given |= {"prior": named_prior, "learner": learner, "seed": seed}
    asked = build(GraphOptions, settings(GraphOptions, given, "train"))
    own, told = with_splits(own, seed, test=out is not None)
    if told:
        warnings.warn(told, Notice, stacklevel=2)
    chosen, path = _rules(
        own, NO_RULES if rules is None and learner == WALKS else rules, asked, progress
    )
    named = MINED if chosen.file == MINED else NO_RULES if path is None else str(path)
    asked = replace(asked, rules=named)
    kept = snapshot_of(own, chosen, path)
    check_options(asked, kept, given=model is not None)
    if out is None:
        return train_model(
            asked, lambda: kept, None, progress=progress, prior=model, callback=callback
        )
    config = {"recipe": TASK, "task": TASK, "options": as_tables(asked)}
    with create(Path(out), config) as run:
        return train_model(
            asked, lambda: kept, run, progress=progress, prior=model, callback=callback
        )


def _rules(
    graph: Graph,
    given: Rules | str | Path | Sequence[str] | None,
    options: GraphOptions,
    progress: bool,
) -> tuple[Rules, Path | None]:
    """Rules, and the file they were read from."""
    if isinstance(given, Rules):
        return given, None
    if isinstance(given, Sequence) and not isinstance(given, str):
        return parse_rules("\n".join(given)), None
    if given == MINED or (given is None and graph.rules is None):
        return rules_to_mine(options)(graph, options.mine, options.seed, progress), None
    if given is None:
        assert graph.rules is not None
        return read_rules(graph.rules), graph.rules
    if given == NO_RULES:
        return Rules(()), None
    if isinstance(given, str) and not is_file(Path(given)) and ("(" in given or "\n" in given):
        return parse_rules(given), None
    path = rules_path(str(given))
    return read_rules(path), path


def check_options(options: GraphOptions, kept: Snapshot, *, given: bool = False) -> None:
    """Refuse what cannot run before a folder is made for it; `given`: there is a prior."""
    if not given:
        check_trainable(options)
    find_device(options.device)
    if options.learner == "ppo":
        own_episodes(options.ppo)
    theory = theory_of(options, kept)
    if options.prior.from_run and options.prior.kind != NO_PRIOR:
        other_prior(options, theory.graph)
    if options.walk.from_run and options.learner == WALKS:
        other_walks(options, theory.graph)
    if options.search.nesting > USUAL_NESTING and options.learner != WALKS:
        with torch.random.fork_rng(), threads(options.threads):
            glimpse(options, make_prover(options, theory, None), theory)


def train_model(
    options: GraphOptions,
    sources: Callable[[], Snapshot],
    run: RunFolder | None,
    *,
    recipe: str = TASK,
    progress: bool = False,
    prior: TripleModel | None = None,
    callback: Callable[[Row], object] | None = None,
) -> GraphModel:
    """Train prior and policy; with a run's folder, keep all there and rank the test triples.

    A run that is gone on with has its graph and rules; `sources` gives those of one that begins.
    """
    began = time.perf_counter()
    folder = None if run is None else run.path
    kept = sources() if folder is None else kept_sources(snapshot_path(folder), sources)
    about_run = tracked_run(options, kept.graph, folder)
    with (
        torch.random.fork_rng(),
        threads(options.threads),
        tracked(options.track, about_run, callback) as tracking,
    ):
        torch.manual_seed(options.seed)
        on_row = tell_rows(run, tracking)
        theory = theory_of(options, kept)
        if progress:
            unused = unused_weights(theory.rules, learned=options.learner != WALKS)
            for notice in (*theory.notices, *unused):
                print(notice, file=sys.stderr)
        belief, prior_seconds = find_prior(options, theory.graph, folder, progress, prior)
        prover = make_prover(options, theory, belief)
        walks, learner, size = None, WALKS, 0.0
        chosen: dict[str, object] = {} if folder is None else kept_choice(folder)
        learned: Learned | None
        if options.learner == WALKS:
            walks, learned = learn_walks(
                options, theory.graph, theory.rules, belief, run, progress, on_row
            )
        else:
            learner, size = choose_learner(options, prover, theory)
            if progress and learner != "none":
                print(f"learner: {learner} ({size:.0f} goals a query)", file=sys.stderr)
            learned = learn_policy(options, theory, prover, learner, run, progress, on_row)
            if learned is not None:
                prover, trust = with_trust(options, theory, prover, learner, progress)
                chosen |= {} if trust is None else {SHIFT: trust.to_dict()}
            if run is not None:
                save_policy(run.path, prover.policy)
        model = GraphModel(options, kept, theory, prover.eval(), walks, learned=learned)
        if run is None:
            return model
        about = {
            "recipe": recipe, "task": TASK, "data": theory.graph.name, "seed": options.seed,
            "learner": learner, "goals_a_query": round(size, 1), "nesting": prover.database.nesting,
            "prior": options.prior.kind, "rules": len(theory.rules), **chosen,
        }  # fmt: skip
        trained = {"prior": prior_seconds, "train": time.perf_counter() - began}
        test = model.evaluate(progress=progress)
        tracking.test(test.to_dict())
        seconds = {**trained, "total": time.perf_counter() - began}
    result = write_result(run, options, about, learned, test, seconds, (kept, TASK))
    return replace(model, result=result)


def with_trust(
    options: GraphOptions, theory: Theory, prover: Prover, learner: str, progress: bool
) -> tuple[Prover, ChosenTrust | None]:
    """A trained prover that is trusted as far as validation triples held out from it bear out."""
    chosen = choose_trust(options, theory, prover.eval(), learner)
    if chosen is None:
        return prover, None
    if progress:
        print(chosen, file=sys.stderr)
    return prover.with_policy(trusted_policy(prover.policy, chosen.trust)), chosen


def tracked_run(options: SharedOptions, graph: Graph, folder: Path | None) -> TrackedRun:
    """What a tracker is told of a run."""
    name = graph.name if folder is None else folder.absolute().name
    return TrackedRun(name, values_of(options), folder)


def tell_rows(run: RunFolder | None, tracking: Tracking) -> Callable[[Row], None]:
    """Who gets each row of history: the run's folder, then its tracker."""

    def on_row(row: Row) -> None:
        if run is not None:
            run.append(row)
        tracking.row(row)

    return on_row


def write_result(
    run: RunFolder,
    options: SharedOptions,
    about: Mapping[str, object],
    learned: Learned | None,
    test: Figures,
    seconds: Mapping[str, float],
    trained_on: tuple[Snapshot, str],
) -> dict[str, object]:
    """Write the record, the history and the card of a run; `about` is what was trained.

    `trained_on` are its graph and rules, and the recipe that trains the same by options alone.
    """
    if learned is not None:
        _record_history(run, learned, options.watch)
    result = {
        **about, "best_step": None if learned is None else learned.best_step,
        "validation": None if learned is None else round(learned.best, 6),
        "test": test.to_dict(), "seconds": {key: round(s, 3) for key, s in seconds.items()},
        "device": str(find_device(options.device)), "torch": torch.__version__,
    }  # fmt: skip
    kept, recipe = trained_on
    write_card(run, graph_card(kept, options, result, recipe))
    run.write_json("result.json", result)
    return result


def kept_sources(path: Path, sources: Callable[[], Snapshot]) -> Snapshot:
    """What a run was begun with; a run that begins keeps what it is given, in its folder alone."""
    if path.exists():
        return read_snapshot(path)
    kept, here = sources(), processes()
    if here.several and kept.rules.file == MINED:
        rules = kept.rules
        kept = replace(kept, rules=here.from_first(lambda: rules))  # mining goes by the clock
    here.agree("graph or rules", kept.digest(), "the same files on every machine")
    if here.first:
        save_snapshot(path, kept)
    return kept


def _record_history(run: RunFolder, learned: Learned, watch: str) -> None:
    """The whole history, also of a run that was interrupted, and its curves."""
    run.write_metrics(learned.history)
    lines = {
        key: [(row["step"], row[key]) for row in learned.history if key in row]
        for key in ("loss", "validation")
    }
    panels = {
        "loss": {"training": lines["loss"]},
        WATCHED[watch][0]: {"validation": lines["validation"]},
    }
    run.write("curves.svg", curves(panels, x_name="step"))
