"""Answers by walks: every entity scored by one sweep, with the walks behind a score as its proofs.

The score of walks is weighed by a softmax over whole validation lists, with what rules back, an
embedding's score and the number of facts about an answer beside it where these rank better
(`kg/belief/list_weights.py`). An answer's probability is its share of the list, calibrated. A
question is asked from the entity that it names: r(h, X) walks from h along r, r(X, t) from t along
the inverse of r.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice, zip_longest

import numpy as np
import torch
from jaxtyping import Float, Int, Int64
from torch import Tensor

from deepprooflog.errors import DataError, Notice
from deepprooflog.kg.belief.believe import Belief
from deepprooflog.kg.belief.calibration import Calibration
from deepprooflog.kg.belief.evidence import Evidence
from deepprooflog.kg.belief.list_weights import (
    KNOWN,
    ChosenWeights,
    calibrate_lists,
    choose_weights,
    directed,
    validation_lists,
)
from deepprooflog.kg.belief.prior import KgeLists, evidence_of
from deepprooflog.kg.data.notice import plural
from deepprooflog.kg.data.rules import Rule
from deepprooflog.kg.data.triple_set import Side, column
from deepprooflog.kg.data.triples import Graph
from deepprooflog.kg.evaluation.evaluate import Ranker
from deepprooflog.kg.evaluation.figures import figures
from deepprooflog.kg.evaluation.lists import rank_lists
from deepprooflog.kg.evaluation.report import Figures
from deepprooflog.kg.kge.negatives import all_candidates
from deepprooflog.kg.prove.answers import Answer, Answers, WeighedFacts, unseen_entities
from deepprooflog.kg.prove.candidates import TOLD
from deepprooflog.kg.prove.question import TripleQuestion
from deepprooflog.kg.readings.rule_lists import NONE, RuleLists
from deepprooflog.kg.readings.rule_proofs import rule_proofs
from deepprooflog.kg.walk.model import WalkGraph, WalkModel, walk_graph
from deepprooflog.kg.walk.options import WALKS
from deepprooflog.kg.walk.program import walk_program
from deepprooflog.kg.walk.proofs import walk_proofs
from deepprooflog.logic.program import Program
from deepprooflog.proof.tree import Proof

RULES, PRIOR = "rules", "prior"


@dataclass(frozen=True, eq=False)
class WeighedLists:
    """How scores of a list are put together, and what probability a share of a list has."""

    chosen: ChosenWeights
    lines: Calibration


@dataclass(frozen=True, eq=False)
class WalkProver:
    """A trained walk model, asked about a graph with its relations."""

    model: WalkModel
    graph: Graph
    belief: Belief | None = None
    weighed: WeighedLists | None = None
    without_prior: WeighedLists | None = None  # for entities that the embedding does not know
    rules: RuleLists | None = None

    @cached_property
    def facts(self) -> WalkGraph:
        """What is walked along."""
        return walk_graph(self.graph, self.model.relations, device=self.device)

    @cached_property
    def evidence(self) -> Evidence:
        """What is counted about answers."""
        return evidence_of(self.graph).to(self.device)

    @cached_property
    def program(self) -> Program:
        """The program whose derivations the walks are."""
        return walk_program(self.graph, self.model.options, self.model.relations)

    @property
    def device(self) -> torch.device:
        """Where it computes."""
        return self.model.policy.query.device

    @property
    def names(self) -> tuple[str, ...]:
        """What `scores` scores by; the embedding, which may be missing elsewhere, comes last."""
        return (*self.proofs, *(() if self.belief is None else (PRIOR,)))

    @property
    def proofs(self) -> tuple[str, ...]:
        """The scores that are made of proofs."""
        return (WALKS,) if self.rules is None else (WALKS, RULES)

    def scores(
        self, triples: Int64[np.ndarray, "lists 3"], side: Side
    ) -> Float[Tensor, "scores lists entities"]:
        """The scores of every entity in one place of some triples, in the order of `names`."""
        rows = torch.from_numpy(triples).to(self.device)
        source = rows[:, 2 - column(side)]
        query = directed(triples, side, len(self.graph.relations)).to(self.device)
        score, weights = self.model.by_entity(self.facts, source, query)
        found = [(score * weights.sharp).T]
        if self.rules is not None:
            found.append(self.rules(triples, side).to(found[0]))
        if self.belief is not None:
            prior = KgeLists(self.belief.kge, len(self.graph.entities))(triples, side)
            found.append(prior[0].to(found[0]))
        return torch.stack(found)

    def weigh(self, *, base_rate: float, seed: int = 0) -> WalkProver:
        """The same with weights that are fitted on validation lists."""
        with torch.no_grad():
            halves = validation_lists(self.graph, self.scores, self.evidence, seed=seed)
        kinds, both = 2 * len(self.graph.relations), (*halves[0], *halves[1])
        found = []
        for names in (self.names, self.proofs):
            chosen = choose_weights(halves, names, kinds)
            lines = calibrate_lists(both, chosen.weights, kinds, base_rate=base_rate, seed=seed)
            found.append(WeighedLists(chosen, lines))
            if PRIOR not in chosen.weights.used_names:
                break
        return replace(self, weighed=found[0], without_prior=found[-1])

    def about(self, graph: Graph, belief: Belief | None) -> WalkProver:
        """The same asked about another graph; who is new there has no embedding."""
        new = 0 if belief is None else len(graph.entities) - belief.kge.entities
        if new > 0:
            warnings.warn(
                f"the embedding does not know {plural(new, 'entity', 'entities')} of {graph.name}: "
                f"{', '.join(self.proofs)} and facts answer without it", Notice, stacklevel=3,
            )  # fmt: skip
            belief = None
        weighed = self.without_prior if belief is None else self.weighed
        rules = None if self.rules is None else self.rules.about(graph)
        if rules is not None and (strangers := len(rules.strangers())):
            warnings.warn(
                f"{strangers:,} of {plural(len(rules.read), 'rule')} name what {graph.name} does "
                "not have: they back nothing there", Notice, stacklevel=3,
            )  # fmt: skip
        return WalkProver(self.model, graph, belief, weighed, self.without_prior, rules)

    def logits(
        self, triples: Int64[np.ndarray, "lists 3"], side: Side
    ) -> Float[Tensor, "all lists entities"]:
        """The calibrated log odds of every entity, and after them the scores they are made of."""
        assert self.weighed is not None
        scores = self.scores(triples, side)
        query = directed(triples, side, len(self.graph.relations)).to(self.device)
        kinds, kind = torch.unique(query, return_inverse=True)
        weights = self.weighed.chosen.weights
        found = weights.logits(scores, query, kinds, kind, self.evidence.answers(kinds))
        rest = torch.from_numpy(all_candidates(self.graph, triples, side, KNOWN)).to(self.device)
        share = found - found.masked_fill(~rest, -torch.inf).logsumexp(1, keepdim=True)
        logits = self.weighed.lines.logit(share.double(), query[:, None].expand_as(share))
        return torch.cat([logits[None], scores.double()])

    def evaluate(self, ranker: Ranker, queries: Int64[np.ndarray, "queries 3"]) -> Figures:
        """The figures of all that is weighed, and of each score alone."""
        assert self.weighed is not None
        names = self.names
        batch = self.model.options.batch
        if self.rules is not None:
            # Lists of one relation share the walks of its rules' bodies.
            queries = queries[np.argsort(queries[:, 1], kind="stable")]
        rankings = rank_lists(ranker, self.logits, queries, 1 + len(names), batch=batch)
        record = figures(rankings[0])
        record["score"] = self.weighed.chosen.to_dict()
        for name, ranking in zip(names, rankings[1:], strict=True):
            record[name] = figures(ranking)
        return Figures(record)

    def answer(
        self, question: TripleQuestion, *, top: int = 10, proofs: int = 1, new: bool = False
    ) -> Answers:
        """The most probable answers of a question with one variable, or of one with none."""
        began = time.perf_counter()
        if question.head is None and question.tail is None:
            name = self.graph.relations[question.relation]
            raise DataError(
                f"{question.text}: a walk begins somewhere, and both ends are open",
                hint=f"{name}(ENTITY, X) or {name}(X, ENTITY)",
            )
        side: Side = "head" if question.head is None else "tail"
        row = np.array([[question.head or 0, question.relation, question.tail or 0]])
        with torch.no_grad():
            logits = self.logits(row, side)[0, 0]
            query = directed(row, side, len(self.graph.relations)).to(self.device)
            source = torch.from_numpy(row[:, 2 - column(side)]).to(self.device)
            walked = self.model.by_walks(self.facts, source, query)[0]
        answers = torch.arange(len(logits), device=logits.device)
        if not question.is_open:
            answers = answers[row[0, 2] :][:1]
        triples = np.repeat(row, len(answers), axis=0)
        triples[:, column(side)] = answers.cpu().numpy()
        known = self.graph.holds(triples, TOLD)
        if new:
            left = np.flatnonzero(~known)
            triples, known = triples[left], known[left]
            answers = answers[torch.from_numpy(left).to(answers.device)]
        order = logits[answers].argsort(descending=True, stable=True)[:top].tolist()
        found = tuple(
            self._answer(triples[at], side, question, float(logits[answers[at]]),
                         float(walked[answers[at]]), bool(known[at]), proofs)
            for at in order
        )  # fmt: skip
        seconds = round(time.perf_counter() - began, 3)
        return Answers(question.text, found, len(answers), seconds)

    def _answer(
        self, row: Int64[np.ndarray, " 3"], side: Side, question: TripleQuestion, logit: float,
        walked: float, known: bool, proofs: int,
    ) -> Answer:  # fmt: skip
        probability = float(torch.tensor(logit).sigmoid())
        ends = ((question.names[0], int(row[0])), (question.names[1], int(row[2])))
        prior, unseen = None, unseen_entities(self.belief, self.graph, row[[0, 2]].tolist())
        if self.belief is not None and not unseen:
            prior = float(self.belief.of_triples(torch.from_numpy(row[None]))[0].sigmoid())
        assert self.weighed is not None
        weighed, backing = self.weighed.chosen.weights.used_names, self._backing(row)
        by_proof = 1.0 if backing else walked if WALKS in weighed else 0.0
        return Answer(
            bindings={n: self.graph.entity_text(e) for n, e in ends if n is not None},
            triple=self.graph.text(row), probability=probability, upper=probability,
            by_proof=probability * by_proof, prior=prior, known=known,
            proofs=tuple(self._proofs(row, side, backing, proofs)),
            evidence=(*self._of_rules(row, side, backing), *self._facts(row, side)), unseen=unseen,
        )  # fmt: skip

    def _backing(self, row: Int64[np.ndarray, " 3"]) -> list[tuple[Rule, float]]:
        """The rules that back a triple with their weights, where rules are weighed."""
        assert self.weighed is not None
        if self.rules is None or RULES not in self.weighed.chosen.weights.used_names:
            return []
        return self.rules.backing(row)

    def _proofs(
        self, row: Int64[np.ndarray, " 3"], side: Side, backing: Sequence[tuple[Rule, float]],
        count: int,
    ) -> list[Proof]:  # fmt: skip
        """Proofs by the surest rules and by the heaviest walks, in turn."""
        if not count:
            return []
        by_rules = islice(rule_proofs(self.graph, row, backing[: 2 * count]), count)
        walks = walk_proofs(
            self.model, self.facts, self.graph, row, count, side=side, program=self.program,
            leave_out=False,
        )  # fmt: skip
        in_turn = (proof for both in zip_longest(by_rules, walks) for proof in both)
        return list(islice((proof for proof in in_turn if proof is not None), count))

    def _of_rules(
        self, row: Int64[np.ndarray, " 3"], side: Side, backing: Sequence[tuple[Rule, float]]
    ) -> Iterator[WeighedFacts]:
        """What the rules that back a triple add to its log odds."""
        if not backing:
            return
        assert self.weighed is not None and self.rules is not None
        weights, lines = self.weighed.chosen.weights, self.weighed.lines
        query = directed(row[None], side, len(self.graph.relations)).to(self.device)
        score = self.rules(row[None], side)[0, row[column(side)]] - np.log(NONE)
        weight = weights.of_scores[query, weights.used_names.index(RULES)] * lines.slope[query]
        told = "rule that backs it" if len(backing) == 1 else "rules that back it"
        yield WeighedFacts(told, len(backing), float(weight[0] * score), "")

    def _facts(self, row: Int64[np.ndarray, " 3"], side: Side) -> Iterator[WeighedFacts]:
        """The facts about an answer that are weighed, and what they add to its log odds."""
        assert self.weighed is not None
        weights = self.weighed.chosen.weights.of_facts
        if weights is None:
            return
        query = directed(row[None], side, len(self.graph.relations)).to(self.device)
        own = int(row[column(side)])
        numbers = self.evidence.answers(query)[0, own]
        part = (self.weighed.lines.slope[query] * weights[query] * numbers)[0].tolist()
        counts: Int[Tensor, " 4"] = numbers.expm1().round().long()
        name, text = self.graph.relations[int(row[1])], self.graph.entity_text(own)
        like = f"{name}(·,{text})" if side == "tail" else f"{name}({text},·)"
        yield WeighedFacts(like, int(counts[1]), part[0] + part[1])
        yield WeighedFacts(f"about {text}", int(counts[2]), part[2] + part[3])
