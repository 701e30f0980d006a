"""The prior inside the semantics: at a ground goal one more clause, "believe the embedding".

    nn(kge, [R, X, Y]) :: believe(R, X, Y).
    r(X, Y) :- ground(X), ground(Y), !, believe(r, X, Y).           for each relation r

The rules are ordinary clauses, last of their predicates. What stands before the cut is tested when
the clause is chosen: at an open goal it is no choice, at a ground one a choice beside the others.
The step at `believe(r, a, b)` is a neural Bernoulli that succeeds with the triple's calibrated
probability.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from deepprooflog.errors import ModelError, ProgramError
from deepprooflog.kg.belief.calibration import Calibration
from deepprooflog.kg.belief.evidence import OF_COUNT, Evidence
from deepprooflog.kg.kge.triple_model import TripleModel
from deepprooflog.logic.body import CUT
from deepprooflog.logic.clause import Bernoulli, Clause
from deepprooflog.logic.index import Entries
from deepprooflog.logic.program import BodyOrder, Predicate, PredicateKind, Program
from deepprooflog.syntax.terms import Atom, Functor, Struct, Term, canonical_var
from deepprooflog.syntax.writer import write_term

NETWORK = "kge"
BELIEVE = Functor("believe", 3)
GROUND = Functor("ground", 1)


def with_belief(
    program: Program | str, relations: Iterable[str], *, order: BodyOrder = "bound_first"
) -> Program:
    """A program whose relations may also be believed; `order` is for a program given as text.

    >>> program = with_belief("likes(ann, bob). knows(X, Y) :- likes(X, Y).", ["knows"])
    >>> [write_term(atom) for atom in list(program.predicates[Functor("knows", 2)].entries)[1].body]
    ['ground(_0)', 'ground(_1)', '!', 'believe(knows,_0,_1)']
    """
    if isinstance(program, str):
        program = Program(program, order=order)
    if program.defines(BELIEVE):
        raise ProgramError(
            f"the program defines {BELIEVE} itself", file=program.file,
            hint="give the predicate another name",
        )  # fmt: skip
    changed = {BELIEVE: _predicate(program, BELIEVE, neural_fact())}
    for name in relations:
        functor = Functor(name, 2)
        changed[functor] = _predicate(program, functor, belief_rule(functor))
    return program.with_predicates(changed)


def neural_fact() -> Clause:
    """nn(kge, [R, X, Y]) :: believe(R, X, Y)."""
    inputs = tuple(canonical_var(i) for i in range(3))
    label = Bernoulli(NETWORK, inputs)
    return Clause(Struct(BELIEVE, inputs), (), 3, label, names=("R", "X", "Y"))


def belief_rule(functor: Functor) -> Clause:
    """r(X, Y) :- ground(X), ground(Y), !, believe(r, X, Y); to be the last of its predicate."""
    x, y = canonical_var(0), canonical_var(1)
    guards = (Struct(GROUND, (x,)), Struct(GROUND, (y,)))
    believe = Struct(BELIEVE, (Atom(functor.name), x, y))
    return Clause(Struct(functor, (x, y)), (*guards, CUT, believe), 2, names=("X", "Y"))


def _predicate(program: Program, functor: Functor, clause: Clause) -> Predicate:
    """A predicate with one more clause at its end."""
    entries = Entries(functor, program.file)
    found = program.predicates.get(functor)
    if found is None:
        entries.add(clause)
        believes = clause.label is None
        kind = PredicateKind.PLAIN if believes else PredicateKind.NEURAL
        return Predicate(functor, entries, kind, has_cut=believes, has_nested_cut=False)
    if found.kind is not PredicateKind.PLAIN:
        raise ProgramError(
            f"{functor} is {found.kind.value}: a belief is one more plain clause",
            file=program.file,
            hint="leave its clauses unlabelled, or leave the relation out of those believed",
        )
    for item in found.entries.items():
        if isinstance(item, Clause):
            entries.add(item)
        else:
            entries.add_fact(*item)
    entries.add(clause)
    return Predicate(functor, entries, PredicateKind.PLAIN, True, found.has_nested_cut)


class Belief(nn.Module):
    """p(r, a, b): the calibrated probability of a triple, by numbers.

    As a module it returns logits, in float64, for relations, heads and tails in the order of the
    label. With the names of relations and entities, `number` says which number a term has. Named
    entities that are more than the embedding has come after those it knows: what is believed of
    them fails. A calibration that weighs evidence of the facts comes with it.
    """

    def __init__(
        self,
        kge: TripleModel,
        calibration: Calibration,
        relations: Sequence[str] = (),
        entities: Sequence[Term] = (),
        evidence: Evidence | None = None,
    ) -> None:
        super().__init__()
        for what, names, count in (
            ("relations", relations, kge.relations),
            ("entities", entities, kge.entities),
        ):
            if names and (len(names) < count or (what == "relations" and len(names) > count)):
                raise ModelError(f"{len(names)} {what} are named, but the embedding has {count}")
        if len(calibration.slope) != kge.relations:
            raise ModelError(
                f"the calibration is for {len(calibration.slope)} relations, the embedding has "
                f"{kge.relations}"
            )
        if (calibration.facts is None) != (evidence is None):
            raise ModelError("a calibration with evidence needs it, and one without takes none")
        self.kge = kge
        self.evidence = evidence
        self.base_rate = calibration.base_rate
        self.register_buffer("slope", calibration.slope.detach().double().clone())
        self.register_buffer("offset", calibration.offset.detach().double().clone())
        facts = None if calibration.facts is None else calibration.facts.detach().double().clone()
        self.register_buffer("facts", facts)
        self._relations: dict[Term, int] = {Atom(name): i for i, name in enumerate(relations)}
        self._entities: dict[Term, int] = {term: i for i, term in enumerate(entities)}
        self.to(kge.device)

    @property
    def entities(self) -> int:
        """How many entities may be asked about, those the embedding does not know included."""
        return max(self.kge.entities, len(self._entities))

    @property
    def calibration(self) -> Calibration:
        """The lines in use."""
        slope, offset = self.get_buffer("slope"), self.get_buffer("offset")
        facts = None if self.evidence is None else self.get_buffer("facts")
        return Calibration(slope, offset, self.base_rate, facts)

    def forward(
        self, relation: Int[Tensor, " batch"], head: Int[Tensor, " batch"],
        tail: Int[Tensor, " batch"],
    ) -> Float[Tensor, " batch"]:  # fmt: skip
        seen = None if self.evidence is None else self.evidence(relation, head, tail)
        if self.entities == self.kge.entities:
            score = self.kge.score(head, relation, tail).double()
            return self.calibration.logit(score, relation, seen)
        last = self.kge.entities - 1
        score = self.kge.score(head.clamp_max(last), relation, tail.clamp_max(last)).double()
        logit = self.calibration.logit(score, relation, seen)
        return logit.masked_fill((head > last) | (tail > last), -torch.inf)

    def log_probability(
        self, relation: Int[Tensor, " batch"], head: Int[Tensor, " batch"],
        tail: Int[Tensor, " batch"],
    ) -> Float[Tensor, " batch"]:  # fmt: skip
        """log p of the step at believe(r, a, b)."""
        return logsigmoid(self(relation, head, tail))

    @torch.no_grad()
    def of_triples(self, triples: Int[Tensor, "n 3"]) -> Float[Tensor, " n"]:
        """The logits of triples (head, relation, tail), from whatever device."""
        head, relation, tail = triples.to(self.kge.device).unbind(1)
        logits: Tensor = self(relation, head, tail)
        return logits

    def weighed(
        self, relation: Int[Tensor, " batch"], head: Int[Tensor, " batch"],
        tail: Int[Tensor, " batch"],
    ) -> tuple[Int[Tensor, "batch 4"], Float[Tensor, "batch 4"]] | None:  # fmt: skip
        """The counts of facts that belief weighs, and what each adds to the logit."""
        if self.evidence is None:
            return None
        counts = self.evidence.counts(relation, head, tail)
        part = self.get_buffer("facts")[relation] * self.evidence(relation, head, tail)
        which = torch.tensor(OF_COUNT, device=part.device)
        return counts, part.new_zeros(counts.shape).index_add(1, which, part)

    def number(self, position: int, term: Term) -> int:
        """The number of a term as an input of the label: a relation first, then two entities."""
        found = (self._entities if position else self._relations).get(term)
        if found is None:
            what = "entity" if position else "relation"
            raise ModelError(
                f"the embedding knows no {what} {write_term(term)}",
                hint="name the relations and entities it was trained on: Belief(kge, …, names…)",
            )
        return found
