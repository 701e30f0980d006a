"""Questions to a prover: answers ranked by p_success, each with its proofs.

Each candidate of an open query is scored as a ground query, as in ranking and explaining.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, overload

import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn.functional import logsigmoid

from deepprooflog.kg.belief.believe import Belief
from deepprooflog.kg.data.rdf_names import RdfNames
from deepprooflog.kg.data.triples import Graph
from deepprooflog.kg.prove.answer_table import answer_html, answer_table, answers_html
from deepprooflog.kg.prove.candidates import candidates, unknown
from deepprooflog.kg.prove.labels import iris_in, labels_in, with_labels
from deepprooflog.kg.prove.proofs import ProofSearch
from deepprooflog.kg.prove.prover import Prover
from deepprooflog.kg.prove.question import TripleQuestion
from deepprooflog.logic.limits.counts import note
from deepprooflog.logic.query import Query
from deepprooflog.proof.render.jsonld import ProvenanceRecord, exact_number
from deepprooflog.proof.tree import Proof
from deepprooflog.syntax.reader import read_term
from deepprooflog.syntax.writer import write_term


@dataclass(frozen=True)
class WeighedFacts:
    """Facts about a triple's entities, or what backs it, and what that adds to its log odds.

    >>> print(WeighedFacts("about ann", 2, 0.5))
    2 other facts about ann
    >>> print(WeighedFacts("rule that backs it", 1, 0.5, what=""))
    1 rule that backs it
    """

    facts: str
    count: int
    log_odds: float
    what: str = "other fact"  # that is counted; empty where `facts` says so itself

    def to_dict(self) -> dict[str, Any]:
        """Plain Python."""
        return {"facts": self.facts, "count": self.count, "log_odds": self.log_odds}

    def __str__(self) -> str:
        what = f" {self.what}{'' if self.count == 1 else 's'}" if self.what else ""
        return f"{self.count:,}{what} {self.facts}"


@dataclass(frozen=True)
class Answer:
    """One triple, how probable it is, and why."""

    bindings: Mapping[str, str] = field(hash=False)
    triple: str
    probability: float
    upper: float  # more than `probability` where limits left goals open
    by_proof: float  # of it, without belief
    prior: float | None
    evidence: tuple[WeighedFacts, ...] | None  # what the prior weighs beside its score
    known: bool  # a triple of train or valid
    proofs: tuple[Proof, ...] = field(repr=False)
    rdf: RdfNames | None = field(default=None, repr=False, compare=False)  # of triples from RDF
    unseen: tuple[str, ...] = ()  # entities that the prior never saw: it abstains

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels of the names in the triple, where the graph came with some."""
        return labels_in((self.triple,), self.rdf)

    @property
    def proof(self) -> Proof | None:
        """The first of the proofs."""
        return self.proofs[0] if self.proofs else None

    def to_dict(self) -> dict[str, Any]:
        """Plain Python, as scripts read it."""
        proofs = [proof.to_dict() for proof in self.proofs]
        evidence = None if self.evidence is None else [row.to_dict() for row in self.evidence]
        return {
            "bindings": dict(self.bindings), "triple": self.triple,
            "probability": self.probability, "upper": self.upper, "by_proof": self.by_proof,
            "prior": self.prior, "evidence": evidence, "known": self.known,
            "proof": proofs[0] if proofs else None, "proofs": proofs,
            **({"labels": dict(self.labels)} if self.labels else {}),
            **({"unseen": list(self.unseen)} if self.unseen else {}),
        }  # fmt: skip

    def _repr_html_(self) -> str:
        return answer_html(self)

    def to_jsonld(self) -> str:
        """The triple with its proofs as linked data: JSON-LD in the terms of PROV-O."""
        return answers_jsonld((self,))

    def __str__(self) -> str:
        told = " (a triple of train or valid)" if self.known else ""
        lines = [
            f"{self.triple}  {self.probability:.10g}{told}",
            *(f"  {name} is {label}" for name, label in self.labels.items()),
            f"  by clauses alone {self.by_proof:.10g}",
        ]
        if self.prior is not None:
            name, weighed = "the prior alone ", ""
            if self.evidence:
                name, weighed = "belief alone    ", ", to whose log odds the facts add"
            lines.append(f"  {name} {self.prior:.10g}{weighed}")
        if self.unseen:
            lines.append(f"  belief abstains: training never saw {', '.join(self.unseen)}")
        for row in self.evidence or ():
            lines.append(f"    {row.log_odds:+.2f}  {row}")
        for number, proof in enumerate(self.proofs, 1):
            lines += [f"proof {number}", str(proof)]
        return "\n".join(lines)


@dataclass(frozen=True)
class Answers(Sequence[Answer]):
    """The answers of a query, most probable first."""

    query: str
    answers: tuple[Answer, ...]
    candidates: int  # triples that were scored
    seconds: float = field(compare=False, repr=False)
    remarks: tuple[str, ...] = ()  # what limits left out

    def __len__(self) -> int:
        return len(self.answers)

    def __iter__(self) -> Iterator[Answer]:
        return iter(self.answers)

    @overload
    def __getitem__(self, at: int) -> Answer: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Answer, ...]: ...
    def __getitem__(self, at: int | slice) -> Answer | tuple[Answer, ...]:
        return self.answers[at]

    @property
    def notes(self) -> list[str]:
        """What to say beside the answers."""
        unseen = dict.fromkeys(name for one in self.answers for name in one.unseen)
        if not unseen:
            return list(self.remarks)
        names = list(unseen)
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        told = f"belief abstains: training never saw {', '.join(names[:5])}{more}"
        return [*self.remarks, told]

    def to_dict(self) -> dict[str, Any]:
        """Plain Python, as scripts read it."""
        return {
            "query": self.query, "answers": [one.to_dict() for one in self.answers],
            "candidates": self.candidates, "seconds": self.seconds,
            **({"remarks": list(self.remarks)} if self.remarks else {}),
        }  # fmt: skip

    def to_frame(self) -> Any:
        """The answers as a `pandas.DataFrame`, a row for each: variables, triple, figures, proof.

        >>> Answers("uncle(X, max)", (), 0, 0.0).to_frame().columns.tolist()[:2]
        ['triple', 'probability']
        """
        return answer_table(self).to_frame()

    def _repr_html_(self) -> str:
        return answers_html(self)

    def to_jsonld(self) -> str:
        """The answers with their proofs as linked data: JSON-LD in the terms of PROV-O."""
        return answers_jsonld(self.answers)

    def __str__(self) -> str:
        if not self.answers:
            return f"{self.query}: no answer"
        head = ("", "probability", "by proof", "prior", "")
        rows = [head, *(_row(one) for one in self.answers)]
        widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
        lines = [
            "  ".join(
                cell.ljust(width) if column in (0, 4) else cell.rjust(width)
                for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]
        return "\n".join(lines)


def answers_jsonld(answers: Sequence[Answer]) -> str:
    """Answers in one document: a statement each, with its probability and what it rests on."""
    record = ProvenanceRecord()
    for one in answers:
        text = write_term(read_term(one.triple, end_optional=True).term)
        iris = {} if one.rdf is None else iris_in((text,), one.rdf)
        own = record.statement(text, iris, one.labels)
        own["@type"].append("dpl:Answer")
        own["dpl:known"] = one.known
        for key, value in (
            ("probability", one.probability), ("upper", one.upper), ("byProof", one.by_proof),
            ("prior", one.prior),
        ):  # fmt: skip
            if value is not None:
                own[f"dpl:{key}"] = exact_number(value)
        for proof in one.proofs:
            record.add(proof)
    return record.text()


def from_rdf(answers: Answers, rdf: RdfNames) -> Answers:
    """The answers of a graph from RDF: with labels beside names, and ready for JSON-LD."""
    named = (
        replace(one, rdf=rdf, proofs=tuple(with_labels(proof, rdf) for proof in one.proofs))
        for one in answers
    )
    return replace(answers, answers=tuple(named))


def _row(one: Answer) -> tuple[str, ...]:
    labels = one.labels
    values = ((name, text, labels.get(text)) for name, text in one.bindings.items())
    bound = (f"{name} = {text}" + (f" ({label})" if label else "") for name, text, label in values)
    shown = ", ".join(bound) or one.triple
    prior = "" if one.prior is None else f"{one.prior:.4f}"
    return shown, f"{one.probability:.4f}", f"{one.by_proof:.4f}", prior, "known" * one.known


def answer(
    prover: Prover,
    graph: Graph,
    question: TripleQuestion,
    *,
    top: int = 10,
    proofs: int = 1,
    new: bool = False,
    max_goals: int | None = None,
) -> Answers:
    """The most probable answers of a query, or the one of a ground query.

    `max_goals` is what finding them may explore, and for each what weighing it may.
    """
    began = time.perf_counter()
    found = candidates(prover, graph, question, top, new, max_goals)
    weighed = scored(prover, graph, found.triples, question.names, top, proofs, max_goals)
    seconds = round(time.perf_counter() - began, 3)
    remarks = []
    if max_goals is not None:
        remarks = remarks_on_cut(found.cut, weighed, min(top, len(found.triples)))
    return Answers(question.text, tuple(weighed), len(found.triples), seconds, tuple(remarks))


def remarks_on_cut(cut: int, answers: Sequence[Answer], expected: int) -> list[str]:
    """What a budget on goals left open of an answer."""
    remarks = []
    if cut:
        remarks.append(f"{cut:,} goals were left open: there may be more answers")
    if any(one.upper > one.probability for one in answers):
        remarks.append("the budget left goals open: probabilities are lower bounds")
    if len(answers) < expected:
        remarks.append(
            f"of {expected - len(answers):,} further candidates no proof was found within the "
            "budget"
        )
    return remarks


def scored(
    prover: Prover,
    graph: Graph,
    triples: Int[Tensor, "n 3"],
    names: tuple[str | None, str | None],
    top: int,
    proofs: int,
    max_goals: int | None = None,
) -> list[Answer]:
    """The most probable of some triples with their proofs."""
    if not len(triples):
        return []
    note(candidates=len(triples))
    mass, search = prover.weigh_and_search(prover.goals(triples), max_goals)
    order = mass.success.cpu().sort(descending=True, stable=True).indices[:top]
    known = ~unknown(graph, triples)
    prior = (
        None if prover.belief is None else logsigmoid(prover.belief.of_triples(triples)).exp().cpu()
    )
    result: list[Answer] = []
    for place in order.tolist():
        note(answers=len(result), answers_of=len(order))
        if float(mass.success[place]) == 0.0 and len(triples) > 1:
            break
        row = triples[place].numpy()
        ends = ((names[0], int(row[0])), (names[1], int(row[2])))
        unseen = unseen_entities(prover.belief, graph, row[[0, 2]].tolist())
        result.append(
            Answer(
                bindings={n: graph.entity_text(e) for n, e in ends if n is not None},
                triple=graph.text(row),
                probability=float(mass.success[place]),
                upper=float(mass.upper[place]),
                by_proof=float(mass.proof[place]),
                prior=None if prior is None or unseen else float(prior[place]),
                evidence=None
                if unseen
                else weighed_facts(prover, graph, triples[place : place + 1]),
                known=bool(known[place]),
                unseen=unseen,
                proofs=tuple(_proofs(prover, graph, search, row.tolist(), place, proofs)),
            )
        )
    return result


def _proofs(
    prover: Prover,
    graph: Graph,
    search: ProofSearch | None,
    triple: list[int],
    number: int,
    count: int,
) -> list[Proof]:
    """The best proofs of a triple, query `number` of a search, those by clauses first."""
    if not count:
        return []
    if search is None:
        return prover.proofs(triple, count, believing="last")
    query = Query((graph.term(triple),))
    return search.proofs(prover.program, query, number, count, "last")


def unseen_entities(
    belief: Belief | None, graph: Graph, entities: Iterable[int]
) -> tuple[str, ...]:
    """Those of some entities that the prior was not trained on."""
    if belief is None:
        return ()
    known = belief.kge.entities
    return tuple(graph.entity_text(e) for e in dict.fromkeys(map(int, entities)) if e >= known)


def weighed_facts(
    prover: Prover, graph: Graph, triple: Int[Tensor, "1 3"]
) -> tuple[WeighedFacts, ...] | None:
    """The facts about a triple's entities that the prior weighs, and how much each counts."""
    if prover.belief is None:
        return None
    head, relation, tail = triple.to(prover.belief.kge.device).unbind(1)
    with torch.no_grad():
        found = prover.belief.weighed(relation, head, tail)
    if found is None:
        return None
    name = graph.relations[int(triple[0, 1])]
    a, b = (graph.entity_text(int(triple[0, place])) for place in (0, 2))
    about = (f"{name}({a},·)", f"{name}(·,{b})", f"about {a}", f"about {b}")
    rows = zip(about, found[0][0].tolist(), found[1][0].tolist(), strict=True)
    return tuple(WeighedFacts(what, count, added) for what, count, added in rows)
