"""The pictures of the documentation, taken as a user comes to each view.

    DEEPPROOFLOG_SCREENSHOTS=docs/images pytest tests/serve/page/test_screenshots.py

writes them; without the variable they are taken all the same, and thrown away.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from serve.page.browsing import ROOT, NewTab, Tab, server
from serve.page.large_graphs import QUERIES

QUERY = "uncle(X, cora_hollis)"
LEFT, RIGHT = "uncle(abel_hollis,cora_hollis)", "uncle(klaus_ashgrove,cora_hollis)"
VARIABLE = "DEEPPROOFLOG_SCREENSHOTS"
PAGE = ROOT / "docs" / "serve.md"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    asked = os.environ.get(VARIABLE)
    return ROOT / asked if asked else tmp_path


def take(page: Page, folder: Path, name: str, height: int) -> None:
    """Take a picture and see that it is one a page shows."""
    expect(page.locator(".waiting")).to_have_count(0)
    size = page.viewport_size
    assert size is not None
    page.set_viewport_size({"width": size["width"], "height": height})
    folder.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=folder / f"{name}.png")
    assert (folder / f"{name}.png").stat().st_size > 10_000
    assert f"images/{name}.png" in PAGE.read_text(encoding="utf-8")


def on_run(tab: Tab, folder: Path) -> None:
    page = tab.open("ask", q=QUERY, open=LEFT)
    page.locator(".step[aria-expanded] > .step-line").first.click()
    page.mouse.move(0, 0)
    take(page, folder, "explorer-answers", 900)
    tab.open("whynot", q="uncle(otto_jessop,cora_hollis)")
    expect(page.locator(".failed").first).to_be_visible()
    take(page, folder, "explorer-why-not", 640)


def test_pictures_of_a_run(new_tab: NewTab, run_url: str, folder: Path) -> None:
    tab = new_tab(run_url)
    on_run(tab, folder)
    page = tab.open("compare", left=LEFT, right=RIGHT, q=QUERY)
    expect(page.locator(".side")).to_have_count(2)
    take(page, folder, "explorer-compare", 900)
    tab.open("supports", fact="father(klaus_hollis,cora_hollis)", of=LEFT)
    expect(page.locator(".supported li").first).to_be_visible()
    take(page, folder, "explorer-supports", 560)
    tab.open("step", q=LEFT, path="1")
    expect(page.locator(".way li")).to_have_count(2)
    take(page, folder, "explorer-step", 560)
    tab.open("run")
    expect(page.locator(".sortable").first).to_be_visible()
    take(page, folder, "explorer-run", 900)
    tab.open("ask", q=QUERY, open=LEFT)
    page.get_by_role("link", name="Without this fact").click()
    expect(page.locator(".before-after thead")).to_contain_text("before")
    page.get_by_role("combobox", name="Entity").fill("abel_hollis")
    page.keyboard.press("Enter")
    expect(page.locator(".fact-list li").first).to_be_visible()
    take(page, folder, "explorer-facts", 640)
    page.get_by_role("button", name="As trained").click()
    expect(page.locator(".changes")).to_have_count(0)
    tab.check()


def test_pictures_of_a_narrow_screen_in_the_dark(
    new_tab: NewTab, run_url: str, folder: Path
) -> None:
    tab = new_tab(run_url, width=360, colours="dark")
    page = tab.open("ask", q=QUERY)
    expect(page.locator(".answer-list li").first).to_be_visible()
    take(page, folder, "explorer-narrow", 740)
    tab.check()


def test_pictures_of_a_program(new_tab: NewTab, program_url: str, folder: Path) -> None:
    tab = new_tab(program_url, colours="dark")
    page = tab.open("ask", q="days([umbrella, nothing], W)")
    expect(page.locator(".tree")).to_be_visible()
    page.locator(".step-line").nth(1).hover()
    take(page, folder, "explorer-program", 860)
    tab.open("graph", q="days([umbrella, nothing], W)")
    expect(page.locator(".goals")).to_be_visible()
    take(page, folder, "explorer-goals", 860)
    tab.check()


def test_picture_of_a_sum(new_tab: NewTab, sums_url: str, folder: Path) -> None:
    tab = new_tab(sums_url)
    page = tab.open("ask", q="add(test(1..0), test(3..2), Z, 0)")
    expect(page.locator(".detail .tree")).to_be_visible()
    take(page, folder, "explorer-sums", 640)
    tab.check()


def test_picture_of_many_goals(new_tab: NewTab, tmp_path: Path, folder: Path) -> None:
    text, query = QUERIES["wide"]
    program = tmp_path / "halls.pl"
    program.write_text(text, encoding="utf-8")
    with server(program) as url:
        tab = new_tab(url)
        page = tab.open("graph", q=query)
        page.get_by_role("list", name="Leads to").get_by_role("button").first.click()
        expect(page.locator(".edge.near")).not_to_have_count(0)
        page.evaluate("scrollTo(0, 0)")
        take(page, folder, "explorer-many-goals", 900)
        tab.check()


def test_the_page_shows_pictures_that_are_there() -> None:
    names = re.findall(r"images/([\w-]+\.png)", PAGE.read_text(encoding="utf-8"))
    assert names
    missing = [name for name in names if not (ROOT / "docs" / "images" / name).exists()]
    assert missing == [], f"{VARIABLE}=docs/images pytest {Path(__file__).name} takes them"
