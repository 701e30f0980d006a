"""Why not: the facts that nearly proved triples lack.

The search is the one for programs, over the graph's program with its facts indexed and its rules
bound first. Steps are those of the prover: rules nest as deep as the model lets them, the policy
weighs every step, and belief takes its share of the mass where it is offered, but no derivation
goes through it. Each result is checked twice: it replays in the program with the missing facts,
and the model proves the triple once they are added.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from deepprooflog.errors import DataError
from deepprooflog.graph.goalgraph import CallGraph, GoalGraph
from deepprooflog.insight.failure import FailedDerivation, WhyNot
from deepprooflog.insight.near_search import NearRules, NearSearch
from deepprooflog.insight.why_not import GOALS, SECONDS, NearResults
from deepprooflog.kg.belief.believe import BELIEVE, Belief
from deepprooflog.kg.data.triples import Graph
from deepprooflog.kg.prove.answers import answer
from deepprooflog.kg.prove.labels import with_labels
from deepprooflog.kg.prove.program import relation_functors
from deepprooflog.kg.prove.prover import Prover
from deepprooflog.kg.prove.question import TripleQuestion
from deepprooflog.logic.choice import Choice, WeightSource
from deepprooflog.logic.clause import Clause
from deepprooflog.logic.goal import Interner
from deepprooflog.logic.limits.budget import Budget
from deepprooflog.logic.limits.watch import watched
from deepprooflog.logic.query import Query
from deepprooflog.logic.resolve import start
from deepprooflog.score.scorer import Scene, Scorer
from deepprooflog.syntax.reader import read_term
from deepprooflog.syntax.terms import Term, args_of, deref, functor_of

Changed: TypeAlias = Callable[[Sequence[str]], tuple[Prover, Graph]]
"""The prover and the graph with these facts added."""


def why_not_triple(
    prover: Prover,
    graph: Graph,
    question: TripleQuestion,
    changed: Changed,
    *,
    most: int = 5,
    missing: int = 2,
    budget: Budget | None = None,
) -> WhyNot:
    """The derivations of a triple that fail nearest to success, fewest missing facts first.

    `changed` makes the prover and the graph with facts added, by which each result is checked.

    >>> from dataclasses import replace
    >>> from deepprooflog.kg.data.rules import parse_rules
    >>> from deepprooflog.kg.data.triples import graph_of
    >>> from deepprooflog.kg.prove.build import prover
    >>> from deepprooflog.kg.prove.question import read_question
    >>> told = [("ann", "mother", "bob"), ("joe", "father", "cy")]
    >>> rules = parse_rules("gran(X, Y) :- mother(X, Z), father(Z, Y).")
    >>> graph = graph_of(told, valid=[("bob", "gran", "joe")])
    >>> def changed(facts):
    ...     rows = [graph.pattern(fact) for fact in facts]
    ...     more = replace(graph, train=np.concatenate([graph.train, np.array(rows)]))
    ...     return prover(more, rules), more
    >>> asked = read_question(graph, "gran(ann, cy)")
    >>> found = why_not_triple(prover(graph, rules), graph, asked, changed, missing=1)
    >>> sorted(one.missing for one in found.derivations)
    [('father(bob,cy)',), ('mother(ann,joe)',)]
    """
    began = time.perf_counter()
    if question.head is None or question.tail is None:
        raise DataError(f"{question.text} is open", hint="a triple without variables")
    triple = question.head, question.relation, question.tail
    query = Query((graph.term(triple),))
    program = prover.program
    interner = Interner()
    with watched(budget or Budget(max_goals=GOALS, max_seconds=SECONDS)) as limits:
        rules = NearRules(
            assumable=set(relation_functors(graph)).__contains__,
            most_missing=missing,
            sensible=_sensible(graph),
            nesting=prover.database.nesting,
            follows=lambda choice: choice.clause is None or not believes(choice.clause),
            weighs=offers_of(prover),
        )
        search = NearSearch(program, interner, policy_weights(prover.policy), rules, limits)
        results = NearResults(program, query, known=graph.entity_ids.__contains__)
        checked: list[FailedDerivation] = []
        now, _ = _chances(prover, graph, question)

        def wanted(one: FailedDerivation) -> bool:
            then, proved = _chances(*changed(one.missing), question)
            if proved == 0.0:
                return False
            steps = one.steps if graph.rdf is None else with_labels(one.steps, graph.rdf)
            believed = _believed(prover.belief, graph, one.missing)
            checked.append(replace(one, steps=steps, then=then, believed=believed))
            return True

        search.run(start(query.atoms, interner), lambda found: results.take(found, wanted), most)
    seconds = round(time.perf_counter() - began, 3)
    return WhyNot(str(query), now, tuple(checked), search.stopped, search.expanded, seconds)


def _chances(prover: Prover, graph: Graph, question: TripleQuestion) -> tuple[float, float]:
    """p_success of a triple, and of it by clauses alone."""
    (one,) = answer(prover, graph, question, top=1, proofs=0)
    return one.probability, one.by_proof


def _believed(
    belief: Belief | None, graph: Graph, facts: Sequence[str]
) -> tuple[float, ...] | None:
    """How likely the prior holds some facts; nothing is believed of names that are new."""
    if belief is None:
        return None
    found = []
    for fact in facts:
        atom = read_term(fact, end_optional=True).term
        ends = [graph.entity_ids.get(deref(end), -1) for end in args_of(atom)]
        functor = functor_of(atom)
        if functor is None or -1 in ends:
            found.append(0.0)
            continue
        row = torch.tensor([[ends[0], graph.relation_ids[functor.name], ends[1]]])
        found.append(float(belief.of_triples(row).sigmoid()))
    return tuple(found)


def offers_of(prover: Prover) -> Callable[[Choice, int], bool]:
    """Whether the prover offers a step at an atom with so much nesting left."""
    nesting, everywhere = prover.database.nesting, prover.database.believe == "everywhere"

    def offers(choice: Choice, left: int) -> bool:
        if choice.clause is None or not choice.clause.body or nesting is None:
            return True
        if believes(choice.clause):
            return everywhere or left == nesting
        return left > 0

    return offers


def _sensible(graph: Graph) -> Callable[[Term], bool]:
    """What may be a fact: none of an entity and itself in a relation that has no such fact."""
    rows = graph.train[graph.train[:, 0] == graph.train[:, 2]]
    reflexive = {graph.relations[r] for r in np.unique(rows[:, 1]).tolist()}

    def sensible(atom: Term) -> bool:
        head, tail = args_of(atom)
        functor = functor_of(atom)
        return head != tail or functor is None or functor.name in reflexive

    return sensible


def believes(clause: Clause) -> bool:
    """Whether a clause offers the prior."""
    return bool(clause.body) and functor_of(clause.body[-1]) is BELIEVE


def policy_weights(
    policy: Scorer,
) -> Callable[[GoalGraph | CallGraph, Sequence[Choice]], NDArray[np.float64]]:
    """The policy as it weighs the steps of goal graphs; tests weigh 1."""

    def weigh(graph: GoalGraph | CallGraph, choices: Sequence[Choice]) -> NDArray[np.float64]:
        assert isinstance(graph, GoalGraph)
        steps = [e for e, one in enumerate(choices) if one.weigher is WeightSource.SCORER]
        log = np.zeros(len(choices))
        if steps and not policy.weighs_one:
            place = torch.tensor(steps, device=policy.device)
            slots = torch.zeros((1, 0), dtype=torch.int64, device=policy.device)
            with torch.no_grad():
                found = policy.log_weights(Scene(graph, place, slots, []))[:, 0]
            log[steps] = found.double().cpu().numpy()
        return log

    return weigh
