"""The views of a run: why not, compare, step, facts, the run itself; the library says the same."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import deepprooflog as dpl
from deepprooflog.kg.model import GraphModel
from serve.page.browsing import NewTab

QUERY = "uncle(X, cora_hollis)"
LEFT, RIGHT = "uncle(abel_hollis,cora_hollis)", "uncle(klaus_ashgrove,cora_hollis)"


@pytest.fixture(scope="module")
def model(village_run: Path) -> GraphModel:
    return dpl.kg.open(village_run)


def number(text: str) -> float:
    return float(text.replace("−", "-").replace("±", ""))


def test_why_not_names_the_fact_that_would_prove_it(
    new_tab: NewTab, run_url: str, model: GraphModel
) -> None:
    tab = new_tab(run_url)
    query = "uncle(otto_jessop,cora_hollis)"
    page = tab.open("whynot", q=query)
    first = page.locator(".failed").first
    expect(first.locator("h3")).to_have_text("1 fact is missing")
    missing = first.locator(".missing li").inner_text().replace(" ", "")
    # What the page says the probability would be is what it is with that fact.
    with_it = model.with_facts(added=[missing]).explain(query)
    expect(first.locator(".then")).to_contain_text(f"{with_it.probability:.4f}")
    assert with_it.proofs and with_it.by_proof > model.explain(query).by_proof
    expect(first.locator(".step.missing")).to_contain_text(missing.split("(")[0])
    tab.check()


def test_two_answers_are_compared_by_ticking_them(
    new_tab: NewTab, run_url: str, model: GraphModel
) -> None:
    tab = new_tab(run_url)
    page = tab.open("ask", q=QUERY)
    for triple in (LEFT, RIGHT):
        page.get_by_label(f"Compare {triple}").check()
    page.get_by_role("button", name="Compare them").click()
    left, right = model.explain(LEFT, 10), model.explain(RIGHT, 10)
    row = page.locator(".figures tbody tr").first
    shown = [number(cell) for cell in row.locator("td").all_inner_texts()]
    apart = left.probability - right.probability
    assert shown == pytest.approx([left.probability, right.probability, apart], abs=6e-5)
    # A fact that only one of them rests on, found by looking through the proofs here.
    facts = [
        {node.atom for proof in one.proofs for node in proof.nodes if node.kind == "fact"}
        for one in (left, right)
    ]
    sides = page.locator(".side")
    for at, own in enumerate((facts[0] - facts[1], facts[1] - facts[0])):
        listed = sides.nth(at).locator(".only").nth(1).locator("li code").all_inner_texts()
        assert {text.replace(" ", "") for text in listed} == own
    tab.check()


def test_stepping_back_and_forth_as_the_policy_sees_it(
    new_tab: NewTab, run_url: str, model: GraphModel
) -> None:
    tab = new_tab(run_url)
    page = tab.open("step", q=LEFT)
    choices = page.locator(".choice")
    expect(choices.first).to_be_focused()
    chances = [number(text) for text in choices.locator(".number").all_inner_texts()]
    # The policy is a softmax over the choices.
    assert math.fsum(chances) == pytest.approx(1.0, abs=len(chances) * 6e-5)
    # The choice of the fact itself is a proof; its probability is that of this derivation.
    proof = next(one for one in model.explain(LEFT, 10).proofs if len(one.nodes) == 1)
    fact = choices.filter(has_text="village/train.pl")
    expect(fact).to_have_count(1)
    assert number(fact.locator(".number").inner_text()) == pytest.approx(
        proof.probability, abs=6e-5
    )
    fact.click()
    expect(page.get_by_role("heading", name="True")).to_be_visible()
    page.get_by_role("link", name="← Back").click()
    expect(choices).to_have_count(len(chances))
    page.get_by_role("button", name="Forth →").click()
    expect(page.get_by_role("heading", name="True")).to_be_visible()
    page.go_back()
    # By keyboard: down, take, back.
    expect(page.locator(".choice:focus")).to_have_count(1)
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    expect(page.locator(".way li")).to_have_count(2)
    expect(page.locator(".choice:focus, .ending:focus")).to_have_count(1)
    page.go_back()
    expect(page.locator(".way li")).to_have_count(1)
    tab.check()


def before_and_after(page: Page, triple: str) -> list[float]:
    row = page.locator(".before-after tbody tr").filter(has_text=triple.replace(",", ", "))
    expect(row).to_have_count(1)
    return [number(text) for text in row.locator("td.number").all_inner_texts()]


def test_a_retracted_fact_changes_the_probabilities(
    new_tab: NewTab, run_url: str, model: GraphModel
) -> None:
    tab = new_tab(run_url)
    page = tab.open("ask", q=QUERY, open=LEFT)
    page.get_by_role("link", name="Without this fact").click()
    expect(page.locator(".changes")).to_contain_text("uncle(abel_hollis, cora_hollis)")
    expect(page.locator(".before-after thead")).to_contain_text("before")
    was, now = model.explain(LEFT), model.with_facts(removed=[LEFT]).explain(LEFT)
    expected = [was.probability, now.probability, now.probability - was.probability]
    assert before_and_after(page, LEFT) == pytest.approx(expected, abs=6e-5)
    assert now.probability < was.probability - 0.01
    # The answers say what they were; a change is taken back where it stands.
    page.get_by_role("link", name="Answers").click()
    expect(page.locator(".answer-list")).to_contain_text(f"was {was.probability:.4f}")
    page.get_by_role("button", name="As trained").click()
    expect(page.locator(".changes")).to_have_count(0)
    expect(page.locator(".answer-list")).not_to_contain_text("was")
    expect(page.locator(".answer-list li").first).to_contain_text(f"{was.probability:.4f}")
    tab.check()


def test_an_added_fact_and_what_is_known_about_an_entity(
    new_tab: NewTab, run_url: str, village_run: Path, model: GraphModel
) -> None:
    tab = new_tab(run_url)
    page = tab.open("facts", q=QUERY)
    page.get_by_label("Fact", exact=True).fill("brother(otto_jessop, klaus_hollis)")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator(".changes .added")).to_have_count(1)
    triple = "uncle(otto_jessop,cora_hollis)"
    changed = model.with_facts(added=["brother(otto_jessop,klaus_hollis)"])
    now = changed.explain(triple)
    assert before_and_after(page, triple)[1] == pytest.approx(now.probability, abs=6e-5)
    # What is known, from the file of facts itself.
    page.get_by_role("combobox", name="Entity").fill("klaus_hollis")
    page.keyboard.press("Enter")
    facts = page.locator(".fact-list li")
    village = Path(dpl.__file__).parent / "data" / "village" / "train.pl"
    lines = village.read_text(encoding="utf-8").splitlines()
    told = [line.rstrip(".") for line in lines if "klaus_hollis" in line]
    expect(facts).to_have_count(len(told) + 1)
    shown = {text.replace(" ", "") for text in facts.locator(".fact-atom").all_inner_texts()}
    assert shown == {*told, "brother(otto_jessop,klaus_hollis)"}
    place = f"train.pl:{lines.index(told[0] + '.') + 1}"
    expect(facts.filter(has_text=told[0].replace(",", ", "))).to_contain_text(place)
    page.get_by_role("button", name="Take back: added").click()
    expect(page.locator(".changes")).to_have_count(0)
    tab.check()


def test_the_run_s_figures_curves_and_rules(
    new_tab: NewTab, run_url: str, village_run: Path, model: GraphModel
) -> None:
    tab = new_tab(run_url)
    page = tab.open("run")
    test = json.loads((village_run / "result.json").read_text(encoding="utf-8"))["test"]
    expect(page.locator(".counts")).to_contain_text(f"{test['mrr']:.4f}")
    rows = page.get_by_role("region", name="By relation").locator("tbody tr")
    expect(rows).to_have_count(len(test["relations"]))
    uncle = rows.filter(has=page.get_by_role("link", name="uncle", exact=True))
    expect(uncle).to_contain_text(f"{test['relations']['uncle']['mrr']:.3f}")
    # A column sorts: the worst relation comes first when it is asked twice.
    region = page.get_by_role("region", name="By relation")
    region.get_by_role("button", name="mrr", exact=True).click()
    region.get_by_role("button", name="mrr", exact=True).click()
    worst = min(test["relations"], key=lambda name: test["relations"][name]["mrr"])
    expect(rows.first).to_contain_text(worst)
    # Rules by weight, heaviest first.
    rules = page.get_by_role("region", name="Rules by weight").locator("tbody tr")
    expect(rules).to_have_count(len(model.rules))
    weights = [number(row.locator("td").first.inner_text()) for row in rules.all()]
    assert weights == sorted(weights, reverse=True)
    # A dot for each line of the record of training.
    record = (village_run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    chart = page.locator("figure").filter(has_text="loss").first
    expect(chart.locator("circle")).to_have_count(len(record))
    expect(page.locator("figcaption").filter(has_text="Calibration")).to_be_visible()
    tab.check()
