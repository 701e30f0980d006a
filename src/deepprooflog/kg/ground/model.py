"""A trained system over the ground rules of a graph: asked, evaluated, kept in a run's folder."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Int, Int64
from torch import Tensor

from deepprooflog.device import find_device, threads
from deepprooflog.errors import DataError
from deepprooflog.kg.belief.believe import Belief
from deepprooflog.kg.belief.prior import load_prior, prior_path
from deepprooflog.kg.data.domains import Candidates
from deepprooflog.kg.data.notice import plural
from deepprooflog.kg.data.rules import Rules
from deepprooflog.kg.data.snapshot import Snapshot, snapshot_path
from deepprooflog.kg.data.triples import Graph
from deepprooflog.kg.evaluation.evaluate import Ranker
from deepprooflog.kg.evaluation.figures import WATCHED, figures
from deepprooflog.kg.evaluation.ranking import Protocol
from deepprooflog.kg.evaluation.report import Figures
from deepprooflog.kg.evaluation.scores import BeliefScore
from deepprooflog.kg.ground.backward import Grounder
from deepprooflog.kg.ground.options import GroundedOptions
from deepprooflog.kg.ground.reasoner import GroundReasoner, make_system
from deepprooflog.kg.ground.training import train_reasoner
from deepprooflog.kg.kept import sources_of_run
from deepprooflog.kg.kge.kge import Kge
from deepprooflog.kg.learn.prior import find_prior, kept_choice
from deepprooflog.kg.learn.setup import candidates_of, queries_to_rank, splits
from deepprooflog.kg.model_html import about_html
from deepprooflog.kg.prove.answers import Answer, Answers
from deepprooflog.kg.prove.build import prover
from deepprooflog.kg.prove.candidates import unknown
from deepprooflog.kg.prove.question import read_question
from deepprooflog.kg.readings.rule_table import RuleTable
from deepprooflog.kg.readings.table import ASKED, rule_rows
from deepprooflog.kg.training import kept_sources, tell_rows, tracked_run, write_result
from deepprooflog.kg.walk.queries import some_rows
from deepprooflog.learn.run.folder import RunFolder, open_run
from deepprooflog.learn.run.processes import processes
from deepprooflog.learn.run.progress import Progress
from deepprooflog.learn.run.settings import build, settings
from deepprooflog.learn.run.track import tracked
from deepprooflog.learn.run.weights import restore_weights, save_weights
from deepprooflog.score.scorer import Unit

TASK = "groundings"
SYSTEM_WEIGHTS = "system"
# Triples grounded together.
BATCH = 1 << 15


@dataclass(frozen=True, eq=False)
class GroundedModel:
    """A graph with rules, an embedding, and a system over the groundings of the rules."""

    options: GroundedOptions
    graph: Graph
    rules: Rules
    candidates: Candidates
    reasoner: GroundReasoner
    prior: Belief  # the embedding as it was before the system was trained
    result: Mapping[str, Any] = field(default_factory=dict)  # as result.json has it

    def __repr__(self) -> str:
        rules = plural(len(self.reasoner.grounder.rules), "rule")
        return f"GroundedModel({self.graph!r}, {self.options.system.kind}, {rules})"

    def _repr_html_(self) -> str:
        rules, kinds = len(self.reasoner.grounder.rules), self.options
        about = (("rules", rules), ("prior", kinds.prior.kind), ("system", kinds.system.kind))
        return about_html(self.graph, about, self.result)

    @torch.no_grad()
    def score(self, triples: Int[Tensor, "triples 3"]) -> Tensor:
        """How probable triples are."""
        found: Tensor = self.reasoner(triples.to(self.reasoner.belief.kge.device)).value
        return found

    def evaluate(
        self,
        protocol: Protocol | None = None,
        negatives: int | None = None,
        *,
        seed: int = 0,
        progress: bool = False,
    ) -> Figures:
        """How the test triples are ranked; beside it the embedding after and before training."""
        queries = queries_to_rank(self.options, self.graph)
        if not len(queries):
            raise DataError("there are no test triples to rank", hint="a graph with a test split")
        ranker = Ranker(
            self.graph, self.candidates, self.options.evaluation.asked(protocol, negatives),
            100 if negatives is None else negatives, seed, progress,
        )  # fmt: skip
        self.reasoner.groundings = 0
        ranking = ranker.rank(self.score, queries, BATCH)
        groundings = int(processes().sum(np.array([self.reasoner.groundings]))[0])
        beside = {"belief": self.reasoner.belief, "prior": self.prior}
        return Figures({
            **figures(ranking), "system": self.options.system.kind,
            "among": self.options.candidates or None, "groundings": groundings,
            **{name: figures(ranker.rank(BeliefScore(own, len(self.graph.entities)), queries))
               for name, own in beside.items()},
        })  # fmt: skip

    def query(self, text: str, top: int = 10) -> Answers:
        """The most probable answers of a triple with at most one variable."""
        began, question = time.perf_counter(), read_question(self.graph, text)
        if question.head is None and question.tail is None:
            raise DataError(f"{text} asks for both entities", hint="name one of them")
        count = len(self.graph.entities) if question.is_open else 1
        columns = [
            torch.arange(count) if part is None else torch.full((count,), part)
            for part in (question.head, question.relation, question.tail)
        ]
        triples = torch.stack(columns, 1)
        with torch.no_grad():
            scores = self.reasoner(triples.to(self.reasoner.belief.kge.device))
        known = ~unknown(self.graph, triples)
        order = scores.value.cpu().sort(descending=True, stable=True).indices[:top]
        answers = []
        for place in order.tolist():
            ends = zip(question.names, triples[place, [0, 2]].tolist(), strict=True)
            value = float(scores.value[place])
            answers.append(
                Answer(
                    {n: self.graph.entity_text(e) for n, e in ends if n is not None},
                    self.graph.text(triples[place].numpy()), value, value,
                    float(scores.by_rules[place]), float(scores.embedding[place]), None,
                    bool(known[place]), (),
                )
            )  # fmt: skip
        return Answers(text, tuple(answers), count, time.perf_counter() - began)

    def rule_table(self) -> RuleTable:
        """Each rule: its counts, what it backs on validation, and what the system makes of it.

        The weight is the mean truth value of the rule's ground bodies at validation triples; SBR
        has no weights of rules.
        """
        rows = rule_rows(self.graph, self.rules.rules)
        weights = self._weights() if self.reasoner.system.reads_vectors else {}
        return RuleTable(tuple(replace(row, weight=weights.get(row.rule)) for row in rows))

    @torch.no_grad()
    def _weights(self) -> dict[str, float]:
        """The mean truth value of each rule's bodies, by the rule's text."""
        asked = torch.from_numpy(some_rows(self.graph.valid, ASKED, 0))
        if not len(asked):
            return {}
        found, bodies = self.reasoner.first_round(asked.to(self.reasoner.belief.kge.device))
        rules = self.reasoner.grounder.rules
        return {
            str(rules[at]): float(bodies.value[found.rule == at].mean())
            for at in found.rule.unique().tolist()  # type: ignore[no-untyped-call]
        }

    def explain(self, text: str, proofs: int = 3) -> Answers:
        """How probable a triple is, with proofs by the same rules and depth.

        They are not weighed: what a system makes of a grounding is no probability of a step.
        """
        question = read_question(self.graph, text)
        if question.head is None or question.tail is None:
            raise DataError(f"{text} is open", hint=f"query({text!r})")
        found = self.query(text)
        depth = self.options.ground.depth
        proves = prover(self.graph, self.rules, policy=Unit(), nesting=depth)
        row = [question.head, question.relation, question.tail]
        shown = tuple(proves.proofs(row, proofs)) if proofs else ()
        return replace(found, answers=(replace(found[0], proofs=shown),))


def train_grounded(
    options: GroundedOptions,
    sources: Callable[[], Snapshot],
    run: RunFolder,
    *,
    recipe: str,
    progress: bool = False,
) -> GroundedModel:
    """Train embedding and system into a run's folder, and rank the test triples."""
    began = time.perf_counter()
    kept = kept_sources(snapshot_path(run.path), sources)
    with (
        torch.random.fork_rng(),
        threads(options.threads),
        tracked(options.track, tracked_run(options, kept.graph, run.path)) as tracking,
    ):
        torch.manual_seed(options.seed)
        prior, prior_seconds = find_prior(options, kept.graph, run.path, progress)
        assert prior is not None
        model = _model(options, kept, prior)
        look, bar = splits(options, kept.graph)[1], Progress(options.system.steps)
        bar.live = bar.live and progress
        learned = train_reasoner(
            model.reasoner, kept.graph, splits(options, kept.graph, model.candidates)[0],
            options.system, validate=validation(options, model, look), path=run.checkpoint,
            progress=bar, on_row=tell_rows(run, tracking), candidates=model.candidates,
        )  # fmt: skip
        model.reasoner.eval()
        save_weights(run.path, SYSTEM_WEIGHTS, model.reasoner)
        about = {
            "recipe": recipe, "task": TASK, "data": kept.graph.name, "seed": options.seed,
            "system": options.system.kind, "width": options.ground.width,
            "depth": options.ground.depth, "prior": options.prior.kind,
            "rules": len(model.reasoner.grounder.rules), **kept_choice(run.path),
        }  # fmt: skip
        trained = {"prior": prior_seconds, "train": time.perf_counter() - began}
        test = model.evaluate(progress=progress)
        tracking.test(test.to_dict())
        seconds = {**trained, "total": time.perf_counter() - began}
    result = write_result(run, options, about, learned, test, seconds, (kept, recipe))
    return replace(model, result=result)


def validation(
    options: GroundedOptions, model: GroundedModel, look: Int64[np.ndarray, "look 3"]
) -> Callable[[GroundReasoner], float]:
    """The figure by which weights are compared, on some validation triples."""
    ranker = Ranker(
        model.graph, model.candidates, negatives=options.evaluation.validation_negatives,
        seed=options.seed,
    )  # fmt: skip
    return lambda reasoner: WATCHED[options.watch][1](ranker.rank(model.score, look, BATCH))


def open_grounded(
    folder: str | Path | RunFolder, *, device: str | None = None, data: str | None = None
) -> GroundedModel:
    """The model of a run."""
    run = folder if isinstance(folder, RunFolder) else open_run(Path(folder))
    if data is not None:
        raise DataError(
            "the embedding of the run knows its own graph alone", file=str(run.path),
            hint="leave --data out, or train kg, whose policy moves to another graph",
        )  # fmt: skip
    config = run.config()["options"]
    values = settings(GroundedOptions, config, str(run.path / "config.json"), notice=False)
    options = build(GroundedOptions, values if device is None else {**values, "device": device})
    kept, where = sources_of_run(run, options, told=True), find_device(options.device)
    prior = load_prior(prior_path(run.path), kept.graph, kept.graph, where)
    result = run.read_result() if run.result.exists() else {}
    model = _model(options, kept, prior, result)
    restore_weights(run.path, SYSTEM_WEIGHTS, model.reasoner, where)
    model.reasoner.eval()
    return model


def _model(
    options: GroundedOptions, kept: Snapshot, prior: Belief, result: Mapping[str, Any] | None = None
) -> GroundedModel:
    """The model with an untrained system."""
    device, graph = find_device(options.device), kept.graph
    grounder = Grounder.of(
        graph, kept.rules, width=options.ground.width, depth=options.ground.depth, device=device
    )
    system = make_system(options.system, grounder, _width(prior)).to(device)
    reasoner = GroundReasoner(copy.deepcopy(prior), system, grounder)
    candidates = candidates_of(options, graph, kept.domains)
    return GroundedModel(options, graph, kept.rules, candidates, reasoner, prior, result or {})


def _width(prior: Belief) -> int:
    """The numbers in an entity's vector."""
    assert isinstance(prior.kge, Kge)
    return prior.kge.entity.shape[1]
