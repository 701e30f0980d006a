"""From a fact of a proof to what else it supports, by mouse and by keyboard; the library agrees."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import deepprooflog as dpl
from deepprooflog.kg.model import GraphModel
from serve.page.browsing import NewTab

TRIPLE = "uncle(abel_hollis,cora_hollis)"


@pytest.fixture(scope="module")
def model(village_run: Path) -> GraphModel:
    return dpl.kg.open(village_run)


@pytest.fixture(scope="module")
def fact(model: GraphModel) -> str:
    """The first fact of the best proof by a rule."""
    proof = next(one for one in model.explain(TRIPLE, 10).proofs if len(one.nodes) > 1)
    return next(node.atom for node in proof.nodes if node.kind == "fact")


def is_shown(page: Page, model: GraphModel, fact: str) -> None:
    found = model.supported_by(fact)
    expect(page.get_by_role("heading", level=2)).to_contain_text(fact.split("(")[0])
    rows = page.get_by_role("list", name="Supported triples").get_by_role("listitem")
    expect(rows).to_have_count(len(found.triples))
    for row, one in zip(rows.all(), found.triples, strict=True):
        text = row.inner_text()
        assert one.triple in text.replace(", ", ",")
        assert one.rule in text and one.place in text
        assert ("known" in text.splitlines()) == one.known
        assert ("needs it" in text.splitlines()) == bool(one.needs_it)
        for other in one.facts:
            assert other in text.replace(", ", ",")


def test_by_mouse(new_tab: NewTab, run_url: str, model: GraphModel, fact: str) -> None:
    tab = new_tab(run_url)
    page = tab.open("ask", q=TRIPLE, open=TRIPLE)
    leaf = page.locator(".step.fact").filter(has_text=fact.replace(",", ", ")).first
    leaf.locator(".step-line").click()
    leaf.get_by_role("link", name="other answers too").click()
    is_shown(page, model, fact)
    # The answer whose proof it was is marked, and led back to.
    at_hand = page.locator(".supported li").filter(has_text="the one at hand")
    expect(at_hand).to_have_count(1)
    expect(at_hand).to_contain_text(TRIPLE.replace(",", ", "))
    other = next(one for one in model.supported_by(fact).triples if one.facts)
    page.locator(".supported li").filter(has_text=other.triple.replace(",", ", ")).first.locator(
        ".with-facts a"
    ).first.click()
    is_shown(page, model, other.facts[0])
    page.go_back()
    is_shown(page, model, fact)
    page.get_by_role("link", name="←").click()
    expect(page.locator(".detail h2")).to_contain_text("abel_hollis")
    tab.check()


def test_by_keyboard(new_tab: NewTab, run_url: str, model: GraphModel, fact: str) -> None:
    tab = new_tab(run_url)
    page = tab.open("ask", q=TRIPLE, open=TRIPLE)
    leaf = page.locator(".step.fact").filter(has_text=fact.replace(",", ", ")).first
    expect(leaf).to_be_visible()
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.locator("[role=tree]:focus-within .step.fact").filter(
            has_text=fact.replace(",", ", ")
        ).count():  # fmt: skip
            break
    for _ in range(10):
        if leaf.evaluate("step => step === document.activeElement"):
            break
        page.keyboard.press("ArrowDown")
    expect(leaf).to_be_focused()
    page.keyboard.press("Enter")
    link = leaf.get_by_role("link", name="other answers too")
    for _ in range(6):
        page.keyboard.press("Tab")
        if link.evaluate("link => link === document.activeElement"):
            break
    page.keyboard.press("Enter")
    is_shown(page, model, fact)
    # The focus is where the view begins; the first supported triple is a few stops on.
    expect(page.get_by_role("heading", level=2)).to_be_focused()
    first = page.locator(".supported li a").first
    for _ in range(6):
        page.keyboard.press("Tab")
        if first.evaluate("link => link === document.activeElement"):
            break
    page.keyboard.press("Enter")
    triple = model.supported_by(fact).triples[0].triple
    expect(page.locator(".detail h2")).to_contain_text(triple.split("(")[1].split(",")[0])
    tab.check()


def test_of_any_fact_of_the_list_and_of_what_is_no_fact(
    new_tab: NewTab, run_url: str, model: GraphModel
) -> None:
    tab = new_tab(run_url)
    page = tab.open("facts", about="abel_hollis")
    page.locator(".fact-list li").first.get_by_role("link", name="Supports").click()
    is_shown(page, model, model.facts_about("abel_hollis")[0].triple)
    tab.open("supports", fact="brother(otto_jessop,klaus_hollis)")
    expect(page.locator(".meta")).to_contain_text("It is no fact. If it were one")
    is_shown(page, model, "brother(otto_jessop,klaus_hollis)")
    tab.open("supports", fact="brother(otto_jessop, nobody)")
    expect(page.get_by_role("alert")).to_contain_text("unknown entity nobody")
    tab.check()
