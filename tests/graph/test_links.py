"""Links between instances of templates: what leads on, and what is a dead end."""

from __future__ import annotations

import pytest

from deepprooflog import Budget, Program
from deepprooflog.graph.unfold.flat import Links, find_links
from deepprooflog.graph.unfold.template import Templates
from deepprooflog.graph.unfold.unfold import unfold
from deepprooflog.graph.unfold.way_table import Unfolded, unfolded_rows
from deepprooflog.logic.goal import Interner
from deepprooflog.logic.resolve import start

TEXT = """
0.5 :: c(1). 0.25 :: c(2). 0 :: c(3).
n([], 0).
n([_|Xs], N) :- c(V), M is N - V, M >= 0, n(Xs, M).
"""


def links_of(*goals: str) -> tuple[Unfolded, Links]:
    program, interner = Program(TEXT), Interner()
    templates = Templates(program, interner, Budget())
    states = [start(program.query(g).atoms, interner) for g in goals]
    unfolded = unfolded_rows(templates.store, unfold(templates, states))
    return unfolded, find_links(unfolded)


@pytest.mark.parametrize(
    ("goal", "links"), [("n([a], 1)", 1), ("n([a], 2)", 1), ("n([a,b], 3)", 4), ("n([a,b], 2)", 2)]
)
def test_only_ways_that_lead_on(goal: str, links: int) -> None:
    """1 + 2 and 2 + 1 make 3, 1 + 1 makes 2; what would go below 0 leads nowhere."""
    _, found = links_of(goal)
    assert len(found.source) == links
    assert set(found.target.tolist()) <= {0, *found.source.tolist()}


def test_a_step_of_weight_nothing_is_no_way() -> None:
    """3 is drawn with probability 0, so nothing leads from the query to True."""
    _, found = links_of("n([a], 3)")
    assert not len(found.source)


def test_links_of_several_queries_stay_with_them() -> None:
    unfolded, found = links_of("n([a,b], 3)", "n([a,b], 9)", "n([a,b], 4)")
    inner = found.target > 0
    assert (unfolded.query[found.source[inner]] == unfolded.query[found.target[inner]]).all()
    assert set(unfolded.query[found.source].tolist()) == {0, 2}
