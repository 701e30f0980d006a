"""The goal graph to look at: its numbers solve to p_success, its drawing is sound XML."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import numpy as np
import pytest

import deepprooflog as dpl
from deepprooflog.insight.goal_drawing import GAP, HEIGHT, lay_out
from deepprooflog.insight.goal_view import GoalGraphView

CYCLE = "0.5 :: a :- b. 0.5 :: a. 0.5 :: b :- a. 0.5 :: b :- fail."
TWO_WAYS = """0.4 :: s(X) :- p(X), p(X). 0.6 :: s(X) :- q(X).
0.3 :: p(a). 0.7 :: p(b). 0.2 :: q(a). 0.8 :: q(b)."""
SVG = "{http://www.w3.org/2000/svg}"


def solved(view: GoalGraphView) -> float:
    """V = P V + t at the query, from the view's own numbers."""
    count = len(view.nodes)
    steps, ends = np.zeros((count, count)), np.zeros(count)
    for edge in view.edges:
        steps[edge.source, edge.target] += edge.probability
    for node in view.nodes:
        if node.kind == "true":
            ends[node.id] = 1.0
    return float(np.linalg.solve(np.eye(count) - steps, ends)[0])


@pytest.mark.parametrize(
    ("text", "query", "value"),
    [
        (CYCLE, "a", 2 / 3),
        (CYCLE, "b", 1 / 3),
        (TWO_WAYS, "s(X)", 0.832),
        (TWO_WAYS, "s(a)", 0.156),
    ],
)
def test_its_numbers_are_the_absorption_probabilities(text: str, query: str, value: float) -> None:
    view = dpl.goal_graph(dpl.Program(text), query)
    assert view.complete
    assert solved(view) == pytest.approx(value)


def test_kinds_of_goals() -> None:
    view = dpl.goal_graph(dpl.Program(CYCLE), "a")
    assert {n.goal: n.kind for n in view.nodes} == {
        "a": "query", "b": "goal", "true": "true", "fail": "dead"
    }  # fmt: skip
    record = view.to_dict()
    assert record["edges"][0] == {
        "from": 0, "to": 1, "probability": 0.5, "clause": "0.5 :: a :- b.", "place": "<text>:1"
    }  # fmt: skip


def test_a_cut_is_said() -> None:
    view = dpl.goal_graph(dpl.Program("n(X) :- Y is X + 1, n(Y)."), "n(0)", most=7)
    assert len(view.nodes) == 7
    assert (view.complete, view.stopped) == (False, "max_goals")
    assert [n.id for n in view.nodes if n.kind == "open"] == [6]
    assert all(max(e.source, e.target) < 7 for e in view.edges)
    assert "7 goals: the rest was cut by max_goals" in view.to_svg()
    endless = dpl.goal_graph(dpl.Program("p :- p, q. p. q."), "p")
    assert endless.stopped == "growing recursion"


def test_a_scorer_on_goals_counts_a_successor_once() -> None:
    program = dpl.Program("s :- a. s :- b. s :- a. a. b.")
    model = dpl.Model(program, scorer=dpl.Embedding(program, dim=8, seed=0))
    view = dpl.goal_graph(model, "s")
    assert [(e.source, e.target) for e in view.edges if not e.source] == [(0, 1), (0, 2)]
    assert solved(view) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        (CYCLE, "a"),
        ("0.1 :: b :- b. 0.2 :: b. 0.3 :: b :- c. 0.5 :: c :- b. 0.1 :: c :- c.", "b"),
        ("g(X) :- d(A), d(B), d(C), X is A + B + C. d(0). d(1). d(2).", "g(4)"),
    ],
)
def test_layers_lead_down_and_goals_stand_apart(text: str, query: str) -> None:
    view = dpl.goal_graph(dpl.Program(text), query)
    layout = lay_out(view)
    for ends, way in layout.ways.items():
        if ends not in layout.back:
            assert [layout.layer[p] for p in way] == list(
                range(layout.layer[ends[0]], layout.layer[ends[1]] + 1)
            )
    for level in set(layout.layer):
        row = sorted(
            (layout.centre[p], layout.width[p]) for p, at in enumerate(layout.layer) if at == level
        )
        for (a, wide), (b, next_wide) in pairwise(row):
            assert b - a >= (wide + next_wide) / 2 + GAP - 1e-6
    # Without the steps back nothing leads in a circle.
    forward = [ends for ends in layout.ways if ends not in layout.back]
    assert all(layout.layer[a] < layout.layer[b] for a, b in forward)


def test_the_drawing_holds_every_goal_as_text() -> None:
    nasty = '\'<script>alert("x")</script>&\u202e' + "x" * 300 + "'"
    view = dpl.goal_graph(dpl.Program(f"p({nasty}) :- q. q."), "p(X)")
    svg = ElementTree.fromstring(view.to_svg())
    assert not list(svg.iter("script")) and not list(svg.iter(f"{SVG}script"))
    groups = [g for g in svg.iter(f"{SVG}g") if "data-goal" in g.attrib]
    assert len(groups) == len(view.nodes)
    assert svg.find(f"{SVG}title") is not None
    shown = [t.text or "" for g in groups for t in g.iter(f"{SVG}text")]
    assert max(map(len, shown)) <= 40
    height = float(svg.attrib["height"])
    for rect in (r for g in groups for r in g.iter(f"{SVG}rect")):
        assert 0 <= float(rect.attrib["y"]) <= height - HEIGHT
        right = float(rect.attrib["x"]) + float(rect.attrib["width"])
        assert 0 <= float(rect.attrib["x"]) <= right <= float(svg.attrib["width"])
    long = dpl.goal_graph(dpl.Program(f"p :- q({nasty}). q({nasty})."), "p")
    titles = [t.text or "" for t in ElementTree.fromstring(long.to_svg()).iter(f"{SVG}title")]
    assert any("x" * 300 in title and "<script>" in title for title in titles)
