"""From a query to a proof, by mouse and by keyboard alone; the library says the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

import deepprooflog as dpl
from deepprooflog.kg.prove.answers import Answers
from serve.page.browsing import NewTab

QUERY = "uncle(X, cora_hollis)"


@pytest.fixture(scope="module")
def answers(village_run: Path) -> Answers:
    """What the library answers, asked without a server."""
    return dpl.kg.open(village_run).query(QUERY, top=10, proofs=3)


def test_from_query_to_proof_by_mouse(new_tab: NewTab, run_url: str, answers: Answers) -> None:
    tab = new_tab(run_url)
    page = tab.open()
    page.get_by_label("Query").fill(QUERY)
    page.get_by_role("button", name="Ask").click()
    rows = page.locator(".answer-list li")
    expect(rows).to_have_count(len(answers))
    for row, one in zip(rows.all(), answers, strict=True):
        assert one.bindings["X"] in row.inner_text()
        if one.probability >= 0.00005:
            assert f"{one.probability:.4f}" in row.inner_text()
    rows.nth(1).get_by_role("link").click()
    expect(page.locator(".detail h2")).to_contain_text(answers[1].bindings["X"])
    expect(page.locator(".detail .big")).to_have_text(f"{answers[1].probability:.4f}")
    trees = page.get_by_role("tree")
    expect(trees).to_have_count(len(answers[1].proofs))
    # The step's card: clause, substitution and source line.
    proof = next(one for one in answers[1].proofs if len(one.nodes) > 1)
    tree = trees.nth(answers[1].proofs.index(proof))
    expect(tree.get_by_role("treeitem")).to_have_count(len(proof.nodes))
    tree.locator(".step-line").first.click()
    card = tree.locator(".card")
    assert proof.nodes[0].place is not None
    expect(card).to_contain_text(proof.nodes[0].place)
    expect(card).to_contain_text(f"X = {answers[1].bindings['X']}")
    expect(card).to_contain_text("Y = cora_hollis")
    tree.locator(".caret-mark").first.click()
    expect(tree.get_by_role("treeitem")).to_have_count(1)
    tab.check()


def test_from_query_to_proof_by_keyboard_alone(
    new_tab: NewTab, run_url: str, answers: Answers
) -> None:
    tab = new_tab(run_url)
    page = tab.open()
    expect(page.get_by_role("heading", name="Ask about the graph")).to_be_visible()
    field = page.get_by_role("combobox", name="Query")
    page.keyboard.press("/")
    expect(field).to_be_focused()
    page.keyboard.type("unc")
    expect(field).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("ArrowDown")
    option = page.get_by_role("option", selected=True)
    expect(option).to_contain_text("uncle")
    assert field.get_attribute("aria-activedescendant") == option.get_attribute("id")
    page.keyboard.press("Enter")
    expect(field).to_have_value("uncle(")
    page.keyboard.type("X, cora_h")
    expect(page.get_by_role("option")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(field).to_have_attribute("aria-expanded", "false")
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("option")).to_have_count(1)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(field).to_have_value(QUERY[:-1])
    page.keyboard.type(")")
    page.keyboard.press("Enter")
    expect(page.locator(".answer-list li")).to_have_count(len(answers))
    first = page.locator(".answer-open").first
    for _ in range(6):
        if first.evaluate("row => row === document.activeElement"):
            break
        page.keyboard.press("Tab")
    expect(first).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator(".detail h2")).to_contain_text(answers[1].bindings["X"])
    # The focus is where the answer begins; its proofs are a few stops on.
    expect(page.locator(".detail h2")).to_be_focused()
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "true":
            break
    # A step with others below it: fold, unfold, down, and open.
    step = page.locator("[role=treeitem]:focus")
    expect(step).to_have_attribute("aria-level", "1")
    tree = page.locator("[role=tree]:focus-within")
    steps = tree.get_by_role("treeitem").count()
    page.keyboard.press("ArrowLeft")
    expect(tree.get_by_role("treeitem")).to_have_count(1)
    expect(step).to_have_attribute("aria-expanded", "false")
    page.keyboard.press("ArrowRight")
    expect(tree.get_by_role("treeitem")).to_have_count(steps)
    page.keyboard.press("ArrowRight")
    expect(step).to_have_attribute("aria-level", "2")
    # The source line shows with the focus.
    expect(step.get_by_role("tooltip")).to_be_visible()
    page.keyboard.press("Enter")
    expect(step.locator(".card")).to_be_visible()
    page.keyboard.press("Escape")
    expect(tree.locator(".card")).to_have_count(0)
    tab.check()


def test_what_is_wrong_with_a_query_is_said_in_its_place(new_tab: NewTab, run_url: str) -> None:
    tab = new_tab(run_url)
    page = tab.open("ask", q="uncle(X, ")
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.locator(".caret")).to_contain_text("uncle(X,")
    tab.open("ask", q="oncle(X, cora_hollis)")
    expect(page.get_by_role("alert")).to_contain_text("uncle")
