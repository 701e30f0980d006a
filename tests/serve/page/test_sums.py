"""An addition run in the page: its pictures, the sums, the proof of each, its curves."""

from __future__ import annotations

import json
from pathlib import Path
from subprocess import run as run_command

import pytest
from playwright.sync_api import expect

from deepprooflog.data.digits import small_digits
from serve.page.browsing import NewTab, dprl, environment
from serve.page.test_looks import BEYOND, too_faint

GOAL = "add(test(1..0), test(3..2), Z, 0)"


def shown(probability: float) -> str:
    """Four decimals; of less than half of the last one, two digits and a power of ten."""
    small = f"{probability:.1e}".replace("e-0", "e\N{MINUS SIGN}")
    return small if 0 < probability < 0.00005 else f"{probability:.4f}"


def test_sums_by_keyboard_with_their_pictures(
    new_tab: NewTab, sums_run: Path, sums_url: str
) -> None:
    command = dprl("query", str(sums_run), GOAL, "--top", "5", "--json")
    done = run_command(command, env=environment(), capture_output=True, text=True)
    told = json.loads(done.stdout)["answers"]
    tab = new_tab(sums_url)
    page = tab.open()
    expect(page.get_by_role("heading", name="Ask for a sum")).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type(GOAL)
    page.keyboard.press("Escape")
    page.keyboard.press("Enter")
    rows = page.locator(".answer-list li")
    expect(rows).to_have_count(len(told))
    for row, one in zip(rows.all(), told, strict=True):
        assert f"Z = {one['bindings']['Z']}" in row.inner_text().replace(", ", ",")
        expect(row).to_contain_text(shown(one["probability"]))
    _, test = small_digits()
    for number in range(4):
        picture = page.get_by_role("img", name=f"test({number}), labelled {test.labels[number]}")
        pixels = picture.evaluate(
            "canvas => [...canvas.getContext('2d').getImageData(0, 0, 8, 8).data]"
        )
        assert pixels[::4] == (test.images[number] * 255).round().ravel().tolist()
    tree = page.get_by_role("treeitem")
    expect(tree).to_have_count(len(told[0]["proof"]["nodes"]))
    # Another answer, and its proof.
    rows.nth(1).get_by_role("link").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".detail h4")).to_contain_text(told[1]["bindings"]["Z"])
    tab.check()


@pytest.mark.parametrize(("colours", "width"), [("light", 1280), ("dark", 360)])
def test_its_views_are_legible_and_fit(
    new_tab: NewTab, sums_run: Path, sums_url: str, colours: str, width: int
) -> None:
    tab = new_tab(sums_url, width=width, colours=colours)
    for view, parameters, there in (
        ("", {}, ".suggestions li"),
        ("ask", {"q": GOAL}, ".detail .tree"),
        ("run", {}, ".counts"),
    ):
        page = tab.open(view, **parameters)
        expect(page.locator(there).first).to_be_visible()
        assert too_faint(page) == [], view
        assert page.evaluate("document.documentElement.scrollWidth") <= width, view
        assert page.evaluate(BEYOND) == [], view
    result = json.loads((sums_run / "result.json").read_text(encoding="utf-8"))
    expect(page.locator(".counts")).to_contain_text(f"{result['sum_accuracy']:.4f}")
    expect(page.locator("figure").filter(has_text="loss").first).to_be_visible()
    tab.open("ask", q="add([test(99999)], [test(0)], Z, 0)")
    expect(page.get_by_role("alert")).to_contain_text("there is no test(99999)")
    tab.check()
