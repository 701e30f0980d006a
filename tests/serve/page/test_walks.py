"""A run of walks in the page: steps as its policy sees them, links to facts, nothing it has not."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

import deepprooflog as dpl
from deepprooflog.kg.model import GraphModel
from kg.walk.test_prover import OPTIONS, family
from serve.page.browsing import NewTab, server

TRIPLE = "gran(g10,c10)"


@pytest.fixture(scope="module")
def model() -> GraphModel:
    return dpl.kg.train(family(), prior="none", seed=0, **OPTIONS)


@pytest.fixture(scope="module")
def url(
    chromium: str, model: GraphModel, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("walks") / "run"
    model.save(folder)
    with server(folder) as address:
        yield address


def test_a_walk_is_stepped_through_as_its_policy_sees_it(
    new_tab: NewTab, url: str, model: GraphModel
) -> None:
    proof = next(p for p in model.explain(TRIPLE, 5).proofs if "fact(" in str(p))
    tab = new_tab(url)
    page = tab.open("step", q=TRIPLE)
    for node in proof.nodes:
        view = page.locator(".choice")
        expect(view.first).to_be_visible()
        reason = node.reason.replace(",", ", ")
        choice = view.filter(has_text=reason).or_(view.filter(has_text=node.reason))
        expect(choice).to_have_count(1)
        shown = float(choice.locator(".number").inner_text().replace("−", "-").lstrip(">"))
        assert shown == pytest.approx(math.exp(node.log_weight), rel=0.06, abs=6e-5)
        before = page.locator(".way li").count()
        choice.click()
        expect(page.locator(".way li")).to_have_count(before + 1)
    expect(page.get_by_role("heading", name="True")).to_be_visible()
    tab.check()


def test_its_facts_are_linked_and_what_it_has_not_is_not_offered(
    new_tab: NewTab, url: str, model: GraphModel
) -> None:
    tab = new_tab(url)
    page = tab.open("ask", q=TRIPLE, open=TRIPLE)
    expect(page.locator(".step.fact").first).to_be_visible()
    names = page.get_by_role("navigation").get_by_role("link").all_inner_texts()
    assert names == ["Answers", "Step", "Facts", "Run"]
    leaf = page.locator(".step.fact").filter(has_text="fact(").first
    leaf.locator(".step-line").click()
    expect(leaf.get_by_role("link", name="other answers too")).to_have_count(0)
    expect(page.get_by_text("Why not more?")).to_have_count(0)
    leaf.locator(".card").get_by_role("link", name="retract it").click()
    expect(page.locator(".changes .removed")).to_have_count(1)
    page.get_by_role("button", name="As trained").click()
    expect(page.locator(".changes")).to_have_count(0)
    reply = page.evaluate(
        """async query => {
          const body = JSON.stringify({query});
          const headers = {"Content-Type": "application/json"};
          const {job} = await (await fetch("/api/why_not", {method: "POST", headers, body})).json();
          return (await fetch(`/api/jobs/${job}?wait=30`)).json();
        }""",
        TRIPLE,
    )
    assert reply["state"] == "failed" and "with_facts" in reply["error"]["hint"]
    tab.check()
