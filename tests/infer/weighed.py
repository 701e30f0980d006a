"""A small SLP's complete goal graph with its weights, as the search for answers takes it."""

from __future__ import annotations

from deepprooflog.graph.explore import explore
from deepprooflog.graph.schedule import schedule
from deepprooflog.infer.answers.predict import Weighed
from deepprooflog.logic.goal import Interner
from deepprooflog.logic.program import Program
from deepprooflog.logic.resolve import start
from deepprooflog.score.fixed import fixed_weights

DRAWS = """
0.5 :: d(1). 0.3 :: d(2). 0.2 :: d(3).
pair([X, Y]) :- d(X), d(Y).
twice(X) :- d(X), d(X).
sum(S) :- d(X), d(Y), S is X + Y.
0.6 :: open(_). 0.4 :: open(b).
"""
LISTS = """
0.5 :: bits([]). 0.5 :: bits([B|Bs]) :- bit(B), bits(Bs).
0.7 :: bit(0). 0.3 :: bit(1).
"""


def weighed(text: str, query: str) -> Weighed:
    """The goal graph of a query, what its steps bind included."""
    program, interner = Program(text), Interner()
    root = start(program.query(query).atoms, interner)
    graph = explore(program, [root], interner, keep_bound=True)
    assert graph.complete
    return Weighed(graph, fixed_weights(program)(graph, graph.choices), schedule(graph))
