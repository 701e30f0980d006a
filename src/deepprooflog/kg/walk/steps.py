"""A walk step by step, as its policy sees it: at each hop the relations, then the facts.

The steps are those of the walk program (`kg/walk/program.py`), with the policy's weights: in which
state a walk begins or whether it leaps, to which state it turns (times the gate of where it
stands), which relation it follows, which fact. The product along a whole derivation is what it adds
to the score; where every fact counts for itself (`counting=each`), weights at facts are 1 each.
"""

from __future__ import annotations

from deepprooflog.errors import DataError
from deepprooflog.insight.steps import StepProcess, StepView, first_view
from deepprooflog.kg.prove.question import TripleQuestion
from deepprooflog.kg.prove.why_not import policy_weights
from deepprooflog.kg.walk.model import relation_numbers
from deepprooflog.kg.walk.program import directed_names
from deepprooflog.kg.walk.prover import WalkProver
from deepprooflog.kg.walk.scorer import StoredProfiles, WalkScorer
from deepprooflog.logic.goal import Interner
from deepprooflog.logic.query import Query
from deepprooflog.logic.resolve import start
from deepprooflog.syntax.terms import Functor, Struct, Term, Var


def walk_steps(walks: WalkProver, question: TripleQuestion) -> StepView:
    """The first goal of a question with one variable or none, with all its choices.

    A question for a head is walked from its tail along the relation's inverse, as it is answered.
    """
    interner = Interner()
    query = _query(walks, question)
    scorer = WalkScorer(walks.model, StoredProfiles(walks.graph.entity_ids, walks.facts))
    process = StepProcess(walks.program, query, policy_weights(scorer), interner)
    return first_view(process, start(query.atoms, interner))


def _query(walks: WalkProver, question: TripleQuestion) -> Query:
    graph, model = walks.graph, walks.model
    if question.head is None and question.tail is None:
        name = graph.relations[question.relation]
        raise DataError(
            f"{question.text}: a walk begins somewhere, and both ends are open",
            hint=f"{name}(ENTITY, X) or {name}(X, ENTITY)",
        )
    number = int(relation_numbers(graph, model.relations)[question.relation])
    backwards = question.head is None
    first, last, called = question.head, question.tail, question.names[1]
    if backwards:
        first, last, called = last, first, question.names[0]
        number += len(model.relations)
    assert first is not None
    named: dict[str, Var] = {}
    end: Term = Var()
    if last is not None:
        end = graph.entities[last]
    elif called is not None and called != "_":
        end = named[called] = Var(called)
    functor = Functor(directed_names(model.relations)[number], 2)
    return Query((Struct(functor, (graph.entities[first], end)),), named)
