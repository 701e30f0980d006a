"""A goal graph of three hundred goals: all are drawn, none covers another, each can be come to."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

import deepprooflog as dpl
from deepprooflog.insight.goal_view import GoalGraphView
from serve.page.browsing import NewTab, server
from serve.page.large_graphs import QUERIES

SHAPES = """() => [...document.querySelectorAll(".goals .goal")].map(goal => {
  const [rect, text] = [goal.querySelector("rect"), goal.querySelector("text")];
  const box = Object.fromEntries(["x", "y", "width", "height"].map(
    name => [name, Number(rect.getAttribute(name))]));
  return {...box, goal: goal.querySelector("title").textContent, label: text.textContent,
    written: text.getComputedTextLength()};
})"""


@pytest.fixture(scope="module", params=QUERIES)
def asked(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, str, GoalGraphView]]:
    """The server's address, the query, and the graph as the library gives it."""
    text, query = QUERIES[request.param]
    program = tmp_path_factory.mktemp("goals") / f"{request.param}.pl"
    program.write_text(text + "\n", encoding="utf-8")
    graph = dpl.goal_graph(dpl.Program(text), query, 300)
    assert len(graph.nodes) == 300
    with server(program) as url:
        yield url, query, graph


def view_of(drawing: Locator) -> list[float]:
    return [float(part) for part in (drawing.get_attribute("viewBox") or "").split()]


def is_inside(box: dict[str, Any], view: list[float]) -> bool:
    x, y, width, height = view
    return bool(
        box["x"] >= x and box["y"] >= y
        and box["x"] + box["width"] <= x + width and box["y"] + box["height"] <= y + height
    )  # fmt: skip


def opened(page: Page, shapes: int) -> Locator:
    expect(page.locator(".goals .goal")).not_to_have_count(0)
    drawing = page.locator("svg.goals")
    assert page.locator(".goals .goal").count() >= shapes
    return drawing


def test_all_goals_are_drawn_apart_and_readable(
    new_tab: NewTab, asked: tuple[str, str, GoalGraphView]
) -> None:
    url, query, graph = asked
    tab = new_tab(url)
    page = tab.open("graph", q=query)
    drawing = opened(page, 300)
    shapes = page.evaluate(SHAPES)
    # Every goal of the graph is there; only true may be drawn more than once.
    goals = sorted(node.goal for node in graph.nodes)
    drawn = [shape["goal"] for shape in shapes]
    assert {*drawn} == {*goals}
    assert sorted(one for one in drawn if one != "true") == [g for g in goals if g != "true"]
    for a, b in combinations(shapes, 2):
        apart = (
            a["x"] + a["width"] <= b["x"] or b["x"] + b["width"] <= a["x"]
            or a["y"] + a["height"] <= b["y"] or b["y"] + b["height"] <= a["y"]
        )  # fmt: skip
        assert apart, (a, b)
    assert all(one["written"] < one["width"] for one in shapes)
    # It begins at the query, in letters of at least ten pixels.
    query_box = next(one for one in shapes if one["goal"] == graph.nodes[0].goal)
    assert is_inside(query_box, view_of(drawing))
    assert 12 * drawing.evaluate("drawing => drawing.getScreenCTM().a") >= 10
    page.get_by_role("button", name="Show all").click()
    whole = view_of(drawing)
    assert all(is_inside(one, whole) for one in shapes)
    # All of it at once is at most eight screens away from being read.
    assert max(whole[2] / 1240, whole[3] / 620) < 8
    # Every step is there, alone or in a bundle that says how many it is.
    labels = page.locator(".edge.bundle text").all_text_contents()
    bundled = sum(int(label.split()[0]) for label in labels)
    single = page.locator(".edge:not(.bundle)").count()
    assert bundled + single == len(graph.edges)
    tab.check()


def test_a_goal_is_come_to_by_mouse_and_by_keyboard(
    new_tab: NewTab, asked: tuple[str, str, GoalGraphView]
) -> None:
    url, query, graph = asked
    tab = new_tab(url)
    page = tab.open("graph", q=query)
    drawing = opened(page, 300)
    chosen = page.locator(".chosen-goal")
    expect(chosen.locator(".chip")).to_have_text("the query")
    # By keyboard: the last step from the query, then the first one from there, and back.
    node = graph.nodes[0]
    for _ in range(3):
        steps = [edge for edge in graph.edges if edge.source == node.id]
        if not steps:
            break
        node = next(one for one in graph.nodes if one.id == steps[-1].target)
        page.get_by_role("list", name="Leads to").get_by_role("button").last.press("Enter")
        expect(page.locator(".goal.chosen title").first).to_have_text(node.goal)
        expect(chosen.locator(".goal-now")).to_be_focused()
        boxes = [one for one in page.evaluate(SHAPES) if one["goal"] == node.goal]
        assert any(is_inside(one, view_of(drawing)) for one in boxes)
    into = [edge for edge in graph.edges if edge.target == node.id]
    back = page.get_by_role("list", name="Comes from").get_by_role("button")
    expect(back).to_have_count(len(into))
    lit = page.locator(".edge.near")
    assert 1 <= lit.count() <= len(into) + sum(edge.source == node.id for edge in graph.edges)
    back.first.press("Enter")
    source = next(one for one in graph.nodes if one.id == into[0].source)
    expect(page.locator(".goal.chosen title").first).to_have_text(source.goal)
    # By mouse: a goal in sight, and the map for those that are not.
    page.get_by_role("button", name="To the query").click()
    first = page.locator(".goal.query")
    first.click()
    expect(first).to_have_class("goal query chosen")
    before = view_of(drawing)
    page.locator(".goals-map").click(position={"x": 100, "y": 110})
    assert view_of(drawing)[2:] == pytest.approx(before[2:])
    assert view_of(drawing)[:2] != pytest.approx(before[:2])
    # What is dragged stays under the pointer.
    box = drawing.bounding_box()
    assert box is not None
    was, scale = view_of(drawing), drawing.evaluate("drawing => drawing.getScreenCTM().a")
    page.mouse.move(box["x"] + 400, box["y"] + 300)
    page.mouse.down()
    page.mouse.move(box["x"] + 300, box["y"] + 250, steps=4)
    page.mouse.up()
    now = view_of(drawing)
    assert [now[0] - was[0], now[1] - was[1]] == pytest.approx([100 / scale, 50 / scale], rel=0.05)
    tab.check()


def test_on_a_narrow_screen_it_fits_and_moves(
    new_tab: NewTab, asked: tuple[str, str, GoalGraphView]
) -> None:
    url, query, _ = asked
    tab = new_tab(url, width=360, colours="dark")
    page = tab.open("graph", q=query)
    drawing = opened(page, 300)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    was = view_of(drawing)
    drawing.press("ArrowDown")
    assert view_of(drawing)[1] > was[1]
    tab.check()
