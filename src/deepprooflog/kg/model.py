"""A trained model of a graph: asked, explained, evaluated, given other facts, kept in a folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Int64

from deepprooflog.errors import DataError
from deepprooflog.insight.failure import WhyNot
from deepprooflog.insight.steps import StepView
from deepprooflog.kg.belief.believe import Belief
from deepprooflog.kg.belief.prior import (
    as_belief,
    belief_by_lists,
    prior_path,
    save_prior,
)
from deepprooflog.kg.card import graph_card
from deepprooflog.kg.data.entity_facts import EntityFact, facts_about
from deepprooflog.kg.data.fact_changes import FactLike, changed_graph
from deepprooflog.kg.data.notice import plural
from deepprooflog.kg.data.rules import Rules
from deepprooflog.kg.data.snapshot import Snapshot, save_snapshot, snapshot_path
from deepprooflog.kg.data.triples import Graph
from deepprooflog.kg.evaluation.evaluate import Ranker, evaluate_prover
from deepprooflog.kg.evaluation.ranking import Protocol
from deepprooflog.kg.evaluation.report import Figures
from deepprooflog.kg.evaluation.scores import BeliefScore
from deepprooflog.kg.learn.options import GraphOptions
from deepprooflog.kg.learn.setup import (
    queries_to_rank,
    splits,
)
from deepprooflog.kg.learn.trust import Trust, save_policy, trust_of
from deepprooflog.kg.model_html import model_html
from deepprooflog.kg.prove.answers import Answer, Answers, answer, from_rdf, scored
from deepprooflog.kg.prove.build import with_graph
from deepprooflog.kg.prove.compare import Comparison, compare_answers
from deepprooflog.kg.prove.conjunction import ConjunctiveQuestion, read_query
from deepprooflog.kg.prove.conjunctive_answers import answer_conjunction
from deepprooflog.kg.prove.graph_steps import triple_steps
from deepprooflog.kg.prove.prover import Prover
from deepprooflog.kg.prove.question import TripleQuestion, read_question
from deepprooflog.kg.prove.support import FactSupport, supported_by
from deepprooflog.kg.prove.theory import Theory
from deepprooflog.kg.prove.why_not import why_not_triple
from deepprooflog.kg.readings.evaluate import POLICY, chosen_readings, evaluate_readings
from deepprooflog.kg.readings.rule_table import RuleTable
from deepprooflog.kg.readings.scores import RuleReader
from deepprooflog.kg.readings.table import rule_rows
from deepprooflog.kg.summary import RunSummary, summary_of
from deepprooflog.kg.walk.prover import WalkProver
from deepprooflog.kg.walk.saved import save_walks, walks_path
from deepprooflog.kg.walk.steps import walk_steps
from deepprooflog.learn.run.card import write_card
from deepprooflog.learn.run.folder import create, open_run
from deepprooflog.learn.run.loop import Learned
from deepprooflog.learn.run.processes import processes
from deepprooflog.learn.run.settings import as_tables
from deepprooflog.logic.limits.budget import Budget

TASK = "kg"


@dataclass(frozen=True, eq=False)
class GraphModel:
    """A graph with rules, a prior and a policy over proofs."""

    options: GraphOptions
    kept: Snapshot
    theory: Theory
    prover: Prover
    walks: WalkProver | None = None  # they answer in the prover's place where they were learned
    result: Mapping[str, Any] = field(default_factory=dict)  # as result.json has it
    learned: Learned | None = None  # how its proofs were learned, where that was just now

    @property
    def graph(self) -> Graph:
        """The triples that are known, and those that were held out."""
        return self.theory.graph

    @property
    def rules(self) -> Rules:
        """The rules that prove."""
        return self.theory.rules

    @property
    def belief(self) -> Belief | None:
        """The prior; None where there is none."""
        return self.prover.belief

    @property
    def trust(self) -> Trust:
        """How far the policy and belief are trusted, as was chosen after training."""
        return trust_of(self.prover.policy)

    def __repr__(self) -> str:
        prior = "no prior" if self.belief is None else f"prior {self.options.prior.kind}"
        proofs = plural(len(self.rules), "rule")
        if self.walks is not None:
            beside = f" and {proofs}" if self.walks.rules is not None else ""
            proofs = f"walks of {plural(self.options.walk.hops, 'hop')}{beside}"
        return f"GraphModel({self.graph!r}, {proofs}, {prior})"

    def _repr_html_(self) -> str:
        return model_html(self)

    def query(
        self,
        text: str,
        top: int = 10,
        *,
        proofs: int = 1,
        new: bool = False,
        max_goals: int | None = None,
    ) -> Answers:
        r"""The most probable answers of a triple with variables, such as `uncle(X, max)`.

        A query may be a conjunction, `uncle(X, Y), works_at(Y, acme), X \= max`; its probability is
        that all of it succeeds. With `new`, only those that no one told. With `max_goals`, only so
        many goals are explored to find answers, and so many for each to weigh it, those that most
        of the probability reaches: `probability` is what was found, a lower bound, and `upper` has
        what was left open beside it.
        """
        self._check_budget(max_goals)
        return self._answers(read_query(self.graph, text), top, proofs, new, max_goals)

    def _answers(
        self,
        question: TripleQuestion | ConjunctiveQuestion,
        top: int,
        proofs: int,
        new: bool,
        max_goals: int | None,
    ) -> Answers:
        if isinstance(question, ConjunctiveQuestion):
            if self.walks is not None:
                raise DataError(
                    "walks answer one triple at a time: the probability of an answer is its share "
                    "of one list, and shares of several lists do not multiply to that of a "
                    "conjunction",
                    hint="ask for each atom by itself, or a run with rules (dprl train kg)",
                )
            found = answer_conjunction(
                self.prover, self.graph, question, top=top, proofs=proofs, new=new,
                max_goals=max_goals,
            )  # fmt: skip
        elif self.walks is not None:
            found = self.walks.answer(question, top=top, proofs=proofs, new=new)
        else:
            found = answer(
                self.prover, self.graph, question, top=top, proofs=proofs, new=new,
                max_goals=max_goals,
            )  # fmt: skip
        return found if self.graph.rdf is None else from_rdf(found, self.graph.rdf)

    def is_open(self, text: str) -> bool:
        """Whether a query has variables to be found."""
        return read_query(self.graph, text).is_open

    def explain(self, text: str, proofs: int = 3, *, max_goals: int | None = None) -> Answer:
        """How probable a triple is, or a conjunction of them, and the proofs behind it."""
        self._check_budget(max_goals)
        question = read_query(self.graph, text)
        if question.is_open:
            raise DataError(f"{text} is open", hint=f"query({text!r})")
        return self._answers(question, 1, proofs, False, max_goals)[0]

    def bounds(self, text: str, max_goals: int) -> tuple[float, float]:
        """Between which two numbers the probability of a ground query lies.

        At most `max_goals` goals are explored; where nothing is left open, the two are equal.
        """
        one = self.explain(text, 0, max_goals=max_goals)
        return one.probability, one.upper

    def _check_budget(self, max_goals: int | None) -> None:
        if max_goals is not None and max_goals < 1:
            raise DataError(f"max_goals = {max_goals}: a positive number is needed")
        if max_goals is not None and self.walks is not None:
            raise DataError("walks have no goals to count", hint="leave max_goals out")

    def why_not(
        self, text: str, *, most: int = 5, missing: int = 2, budget: Budget | None = None
    ) -> WhyNot:
        """What keeps a triple from being proved: the facts that its nearest derivations lack.

        At most `missing` facts are assumed to be there; for each of the `most` nearest derivations
        the probability with those facts added is given.
        """

        def changed(facts: Sequence[str]) -> tuple[Prover, Graph]:
            model = self.with_facts(added=facts)
            return model.prover, model.graph

        if self.walks is not None:
            raise DataError(
                "walks have no nearest failure: a fact between any two entities completes one",
                hint="with_facts(added=[FACT]).explain(TRIPLE) tells what one would change, "
                "steps(TRIPLE) where walks lead",
            )
        return why_not_triple(
            self.prover, self.graph, read_question(self.graph, text), changed, most=most,
            missing=missing, budget=budget,
        )  # fmt: skip

    def steps(self, text: str) -> StepView:
        """The goal of a triple with all the choices of the policy, to be stepped through.

        Of a model of walks these are the walk's: at each hop its state, the relation, the fact.
        """
        question = read_question(self.graph, text)
        if self.walks is not None:
            return walk_steps(self.walks, question)
        return triple_steps(self.prover, self.graph, question)

    def compare(self, left: str, right: str, *, proofs: int = 10) -> Comparison:
        """Two triples side by side: what only one of them rests on, and how far they differ."""
        return compare_answers(self.explain(left, proofs), self.explain(right, proofs), proofs)

    def facts_about(self, entity: str | int) -> list[EntityFact]:
        """The facts that an entity stands in, each with the place it was read."""
        return facts_about(self.graph, entity)

    def supported_by(
        self, fact: str, *, most: int = 50, budget: Budget | None = None
    ) -> FactSupport:
        """The triples that one rule concludes from a fact and others, at most `most` of them."""
        if self.walks is not None:
            raise DataError(
                "walks follow facts, not rules: no rule concludes anything from a fact",
                hint="facts_about(ENTITY) lists facts, with_facts(removed=[FACT]) does without one",
            )
        return supported_by(self.graph, self.rules, fact, most=most, budget=budget)

    def evaluate(
        self,
        protocol: Protocol | None = None,
        negatives: int | None = None,
        *,
        reading: str = POLICY,
        rules: Rules | None = None,
        seed: int = 0,
        progress: bool = False,
    ) -> Figures:
        """How the test triples are ranked: `sampled` among so many negatives a side, or `full`.

        Without a protocol, or a number of negatives, it is the run's own (`evaluation.protocol`),
        by default `sampled`, or `full` where the candidates are a domain. `reading`
        is `policy` for p_success; `max`, `noisy-or` or `clusters` for the confidences of the rules
        that back a triple, the model's own or other `rules`; `all` for each beside the others.
        """
        names = chosen_readings(reading)
        theory, asked = self.theory, self.options.evaluation.asked(protocol, negatives)
        ranker = Ranker(
            theory.graph, theory.candidates, asked, 100 if negatives is None else negatives, seed,
            progress,
        )  # fmt: skip
        if ranker.chosen == "full" and negatives is not None:
            whose = self.options.candidates or "entities"
            raise DataError(
                f"under the protocol full all {whose} are negatives", hint="leave one out"
            )
        among = self.options.candidates or None
        readings: Mapping[str, Any] = {}
        if names:
            reader = RuleReader(theory.graph, tuple(self.rules if rules is None else rules))
            believed = (
                None
                if self.belief is None
                else BeliefScore(self.belief, len(theory.graph.entities))
            )
            readings = evaluate_readings(reader, ranker, self.queries(), names, among, believed)
            if reading in names:
                return Figures(readings[reading])
        if self.walks is not None:
            walked = self.walks.evaluate(ranker, self.queries()).to_dict()
            return Figures({**walked, "among": among, **({"readings": readings} if names else {})})
        _, look = splits(self.options, theory.graph)
        prover, record = self.prover, dict[str, Any]()
        if self.options.hide_in_test and theory.hiding is not None:
            known = replace(theory.hiding, graph=theory.graph)
            prover = known.prover(prover, self.queries()).eval()
        if self._weighs_lists(ranker) and self.belief is not None:
            belief, chosen = belief_by_lists(self.belief, theory.graph, self.options.seed)
            prover = with_graph(prover, theory.graph, self.rules, belief).eval()
            record = {"score": chosen.to_dict()}
        found = evaluate_prover(
            prover, ranker, self.queries(), look, among=among, seed=self.options.seed
        )
        if names:
            record = {**record, "readings": readings}
        return Figures({**found.record, **record}) if record else found

    def _weighs_lists(self, ranker: Ranker) -> bool:
        """Whether belief weighs facts in lists of all entities, as they are ranked."""
        evidence = self.options.belief.evidence == "facts"
        every = ranker.chosen == "full" and ranker.candidates.entities is None
        return evidence and every and len(self.graph.valid) > 0

    def queries(self) -> Int64[np.ndarray, "queries 3"]:
        """The test triples that are ranked, as rows of numbers."""
        return queries_to_rank(self.options, self.graph)

    def rule_table(self) -> RuleTable:
        """Each rule: its learned weight, its counts, what it backs on validation, an example."""
        weighing = self.prover if self.walks is None else None
        return RuleTable(tuple(rule_rows(self.graph, self.rules.rules, weighing)))

    def run_summary(
        self, folder: str | Path | None = None, *, triples: int = 500, negatives: int = 1
    ) -> RunSummary:
        """A run at a glance: curves, figures by relation, reliability, rules by weight.

        Curves are read from the run's folder; reliability is asked of so many validation triples
        with `negatives` corruptions of each side. Walks have neither rules nor reliability here.
        """
        return summary_of(
            self.graph, None if self.walks is not None else self.prover, self.rules, self.result,
            None if folder is None else open_run(Path(folder)), triples, negatives,
        )  # fmt: skip

    def explain_tests(self, proofs: int) -> list[Answer]:
        """How probable each test triple is, with its proofs."""
        here, rows = processes(), self.queries()
        own = rows[here.share(len(rows))]
        if self.walks is not None:
            return here.gathered([self.explain(self.graph.text(row), proofs) for row in own])
        return here.gathered([
            scored(self.prover, self.graph, torch.from_numpy(row[None]), (None, None), 1, proofs)[0]
            for row in own
        ])  # fmt: skip

    def with_facts(
        self, added: Iterable[FactLike] = (), removed: Iterable[FactLike] = ()
    ) -> GraphModel:
        """The model as it is when other facts are known; nothing is learned anew.

        Proofs use the facts, belief weighs how many there are. A fact may name a new entity, of
        which clauses can prove things while belief says nothing; a new relation it may not.
        """
        graph = changed_graph(self.graph, added, removed)
        belief = None
        if self.belief is not None:
            belief = as_belief(self.belief.kge, self.belief.calibration, graph)
        proving = self.rules if self.walks is None else Rules(())
        return replace(
            self, theory=replace(self.theory, graph=graph), result={},
            learned=None, prover=with_graph(self.prover, graph, proving, belief).eval(),
            walks=None if self.walks is None else self.walks.about(graph, belief),
        )  # fmt: skip

    def save(self, folder: str | Path) -> None:
        """Write what `dprl train` writes: `dpl.load`, `dprl query` and the others read it.

        All of it is safetensors, JSON and Markdown, no pickle; a hub takes the folder as it is.
        """
        config = {"recipe": TASK, "task": TASK, "options": as_tables(self.options)}
        with create(Path(folder), config) as run:
            kept = self._snapshot()
            save_snapshot(snapshot_path(run.path), kept)
            if self.belief is not None:
                save_prior(prior_path(run.path), self.belief)
            if self.walks is not None:
                save_walks(walks_path(run.path), self.walks)
            else:
                save_policy(run.path, self.prover.policy)
            write_card(run, graph_card(kept, self.options, self.result, TASK))
            if self.result:
                run.write_json("result.json", self.result)

    def _snapshot(self) -> Snapshot:
        """What it answers from; facts that were added or removed stand in no file."""
        if self.graph is self.kept.graph:
            return self.kept
        return replace(self.kept, graph=self.graph, folder="", files={})
