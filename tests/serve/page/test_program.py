"""A program in the page: edited with its errors marked, asked, proved, and stopped."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from serve.page.browsing import EXAMPLES, NewTab, server

# Each step asks for three numbers: there are more goals than any machine could visit.
ENDLESS = """\
count(s(X)) :- count(X), count(X).
count(X) :- between(1, inf, Y), Y < 0, X = Y.
"""


def test_answers_and_proof_of_a_program(new_tab: NewTab, program_url: str) -> None:
    tab = new_tab(program_url)
    page = tab.open()
    page.get_by_label("Query").fill("days([umbrella, nothing], W)")
    page.keyboard.press("Enter")
    # By hand: 0.6·0.1·(0.8·0.9 + 0.2·0.2) + 0.4·0.8·(0.4·0.9 + 0.6·0.2)
    expect(page.locator(".summary .big")).to_have_text("0.1992")
    rows = page.locator(".answer-list li")
    expect(rows).to_have_count(4)
    expect(rows.first).to_contain_text("[rain, sun]")
    expect(rows.first).to_contain_text("0.1152")  # 0.4·0.8·0.4·0.9
    rows.nth(1).get_by_role("link").click()
    expect(page.get_by_role("treeitem").first).to_contain_text("[sun, sun]")
    # A step under the mouse lights its line up in the editor.
    page.locator(".step-line").nth(1).hover()
    expect(page.locator(".gutter .lit")).to_have_text("2")
    tab.check()


def test_the_editor_marks_errors_and_uses_what_is_right(new_tab: NewTab, program_url: str) -> None:
    tab = new_tab(program_url)
    page = tab.open("ask", q="coin(X)")
    editor = page.get_by_label("Program", exact=True)
    editor.fill("0.5 :: coin(head).\n0.5 :: coin(tail.\n")
    expect(page.locator(".gutter .wrong")).to_have_text("2")
    expect(page.locator(".message")).to_contain_text("line 2")
    expect(page.get_by_text("The program has an error")).to_be_visible()
    editor.fill("0.25 :: coin(head).\n0.5 :: coin(tail).\n")
    expect(page.locator(".messages li")).to_have_count(0)
    expect(page.locator(".summary .big")).to_have_text("0.7500")
    # The file is as it was; so is the session, for the tests that follow.
    editor.fill((EXAMPLES / "umbrella.pl").read_text(encoding="utf-8"))
    expect(page.get_by_role("alert")).to_contain_text("coin")


def test_the_goal_graph_is_drawn_and_moves_by_keyboard(new_tab: NewTab, program_url: str) -> None:
    tab = new_tab(program_url)
    page = tab.open("graph", q="days([umbrella], W)")
    drawing = page.locator("svg.goals")
    # days → first(A), takes, more → two of takes → two of more → true
    expect(drawing.locator(".goal")).to_have_count(7)
    expect(drawing.locator(".edge")).to_have_count(7)
    labels = drawing.locator(".edge text").all_text_contents()
    assert sorted(labels) == ["0.1", "0.4", "0.6", "0.8"]

    def view() -> list[float]:
        return [float(part) for part in (drawing.get_attribute("viewBox") or "").split()]

    whole = view()
    drawing.focus()
    page.keyboard.press("+")
    assert view()[2] == pytest.approx(0.8 * whole[2])
    page.keyboard.press("ArrowRight")
    assert view()[0] > whole[0]
    page.keyboard.press("0")
    assert view() == whole
    page.get_by_role("button", name="Zoom out").click()
    assert view()[2] == pytest.approx(1.25 * whole[2])
    # The same as text.
    page.get_by_text("The steps as a list").click()
    expect(page.get_by_role("region", name="Steps").locator("tbody tr")).to_have_count(7)
    tab.check()


def test_a_query_that_never_ends_is_stopped_from_the_page(new_tab: NewTab, tmp_path: Path) -> None:
    program = tmp_path / "endless.pl"
    program.write_text(ENDLESS, encoding="utf-8")
    with server(program, "--max-seconds", "120") as url:
        tab = new_tab(url)
        page = tab.open()
        page.get_by_label("Query").fill("count(X)")
        page.get_by_role("button", name="Ask").click()
        # How far it has come: goals and depth, as the search counts them.
        expect(page.locator("#progress")).to_have_text(re.compile(r"[\d,]+ goals?, depth \d+ · "))
        page.get_by_role("button", name="Stop").click()
        expect(page.get_by_text("Stopped", exact=True)).to_be_visible()
        expect(page.get_by_role("button", name="Ask")).to_be_visible()
        # The keyboard's way, and the server is free again.
        page.get_by_label("Query").press("Enter")
        expect(page.get_by_role("button", name="Stop")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.get_by_text("Stopped", exact=True)).to_be_visible()
        state = page.evaluate("fetch('/api/session').then(reply => reply.json())")
        assert (state["running"], state["waiting"]) == (0, 0)
        tab.check()
