"""Two tabs on one session, and a server that goes away while its page is open."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import expect

from serve.page.browsing import EXAMPLES, NewTab, dprl, environment

QUERY = "uncle(X, cora_hollis)"
LEFT = "uncle(abel_hollis,cora_hollis)"


def test_what_one_tab_changes_the_other_takes_up_and_says(new_tab: NewTab, run_url: str) -> None:
    one, other = new_tab(run_url), new_tab(run_url)
    still = other.open("ask", q=QUERY)
    expect(still.locator(".answer-list li").first).to_be_visible()
    before = still.locator(".answer-list").inner_text()
    page = one.open("facts", q=QUERY, retract=LEFT)
    expect(page.locator(".changes .removed")).to_have_count(1)
    # Nobody touches the other tab.
    expect(still.locator("#presence")).to_contain_text("changed in another tab")
    expect(still.locator(".changes .removed")).to_have_count(1)
    expect(still.locator(".answer-list li").first).to_be_visible()
    assert still.locator(".answer-list").inner_text() != before
    still.get_by_role("button", name="All right").click()
    expect(still.locator("#presence")).to_have_text("")
    still.get_by_role("button", name="As trained").click()
    expect(page.locator(".changes")).to_have_count(0)
    expect(page.locator("#presence")).to_contain_text("changed in another tab")
    # Who changed it is told nothing.
    expect(still.locator("#presence")).to_have_text("")
    one.check()
    other.check()


def test_the_program_of_another_tab_is_shown(new_tab: NewTab, program_url: str) -> None:
    one, other = new_tab(program_url), new_tab(program_url)
    still = other.open("ask", q="coin(X)")
    expect(still.get_by_role("alert")).to_contain_text("coin")
    page = one.open()
    editor = page.get_by_label("Program", exact=True)
    editor.fill("0.25 :: coin(head).\n0.5 :: coin(tail).\n")
    expect(still.locator(".summary .big")).to_have_text("0.7500")
    expect(still.get_by_label("Program", exact=True)).to_have_value(
        "0.25 :: coin(head).\n0.5 :: coin(tail).\n"
    )
    editor.fill((EXAMPLES / "umbrella.pl").read_text(encoding="utf-8"))
    expect(still.get_by_role("alert")).to_contain_text("coin")
    one.check()
    other.check()


@contextmanager
def started(program: Path, port: int = 0) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server on a port, which the test may end."""
    command = dprl("serve", str(program), "--port", str(port), "--no-browser", "--json")
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment())
    try:
        assert process.stdout is not None
        yield process, json.loads(process.stdout.readline())["url"]
    finally:
        process.terminate()
        process.wait(timeout=20)


def test_a_server_that_is_gone_is_missed_and_found_again(new_tab: NewTab, tmp_path: Path) -> None:
    program = tmp_path / "two.pl"
    program.write_text("0.5 :: p(a). 0.25 :: p(b).", encoding="utf-8")
    with started(program) as (process, url):
        tab = new_tab(url)
        page = tab.open("ask", q="p(X)")
        expect(page.locator(".summary .big")).to_have_text("0.7500")
        process.kill()
        process.wait(timeout=20)
        # Said without anything being asked; what was there stays.
        expect(page.get_by_role("alert")).to_contain_text("The server does not answer")
        expect(page.locator(".summary .big")).to_have_text("0.7500")
        page.get_by_label("Query").fill("p(a)")
        page.get_by_label("Query").press("Escape")
        page.get_by_label("Query").press("Enter")
        expect(page.get_by_role("main").get_by_role("alert")).to_contain_text("does not answer")
        # Another server in its place, about another text: the page begins anew with the query.
        program.write_text("0.125 :: p(a).", encoding="utf-8")
        with started(program, int(url.rstrip("/").rsplit(":", 1)[1])):
            expect(page.locator(".summary .big")).to_have_text("0.1250")
            expect(page.locator("#presence")).to_have_text("")
    # The console has what the browser says of refused connections, and nothing else.
    assert all("ERR_CONNECTION" in error or "Failed to load" in error for error in tab.errors)
