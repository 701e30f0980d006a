"""Names that try to be more than names, and pages that try to ask."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import expect

from deepprooflog.syntax.terms import Atom
from deepprooflog.syntax.writer import write_term
from serve.names import HOSTILE
from serve.page.browsing import NewTab, server

LONG = "x" * 10_000
NAMES = (
    "<script>window.broken = true</script>",
    '"><img src=x onerror="window.broken = true">',
    "javascript:window.broken=true",
    "quote''s \"and\" `ticks` &amp;",
    "turned\u202eround\u2066",
    LONG,
)


@pytest.fixture(scope="module")
def hostile_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A program whose constants are the hostile names, each with its own probability."""
    program = tmp_path_factory.mktemp("hostile") / "names.pl"
    facts = [f"{0.1 + at / 100} :: name('{name}', {at}).\n" for at, name in enumerate(NAMES)]
    program.write_text("".join(facts), encoding="utf-8")
    with server(program) as url:
        yield url


def test_hostile_names_are_shown_as_text(new_tab: NewTab, hostile_url: str) -> None:
    tab = new_tab(hostile_url, width=360)
    page = tab.open("ask", q="name(X, Y)")
    rows = page.locator(".answer-list li")
    expect(rows).to_have_count(len(NAMES))
    texts = [row.inner_text() for row in reversed(rows.all())]  # the last is the most probable
    assert "<script>window.broken = true</script>" in texts[0]
    assert '"><img src=x onerror="window.broken = true">' in texts[1]
    assert "javascript:window.broken=true" in texts[2]
    assert "&amp;" in texts[3]
    assert r"turned\x202e\round\x2066\\" in texts[4].replace("\\'", "\\\\'")
    assert "more characters" in texts[5]
    assert len(texts[5]) < 1000
    # Opened, each name is in the proof too.
    for at in range(len(NAMES)):
        page.locator(".answer-open").nth(at).click()
        expect(page.get_by_role("treeitem").first).to_be_visible()
        page.locator(".step-line").first.click()
        expect(page.locator(".card")).to_be_visible()
        expect(page.locator("main script, main img")).to_have_count(0)
        expect(page.locator("main a[href^='javascript']")).to_have_count(0)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.evaluate("window.broken") is None
    tab.check()


def test_hostile_names_of_a_run_are_shown_as_text_in_every_view(
    new_tab: NewTab, run_folder: Path
) -> None:
    with server(run_folder) as url:
        tab = new_tab(url, width=360)
        atoms = [write_term(Atom(name)) for name in HOSTILE]
        views = [
            ("ask", {"q": "uncle(X, bob)"}, ".answer-list li"),
            ("supports", {"fact": "mother(ann,bob)"}, ".supported li"),
            ("facts", {"about": "ann"}, ".fact-list li"),
            (
                "compare",
                {"left": f"uncle({atoms[0]},bob)", "right": f"uncle({atoms[1]},bob)"},
                ".side",
            ),
            *(("supports", {"fact": f"brother({a},ann)"}, ".supported li") for a in atoms),
            *(("step", {"q": f"uncle({a},bob)"}, ".choice") for a in atoms),
            *(("whynot", {"q": f"uncle(bob,{a})"}, ".answer-title") for a in atoms),
        ]
        for name, parameters, there in views:
            page = tab.open(name, **parameters)
            expect(page.locator(f".view-{name}").locator(there).first).to_be_visible()
            expect(page.locator(".waiting")).to_have_count(0)
            expect(page.locator("main script, main img, main b")).to_have_count(0)
            assert page.evaluate("document.documentElement.scrollWidth") <= 360, name
            shown = page.locator("main").inner_text()
            # Signs that turn the writing round are written out, long names cut.
            assert "\u202e" not in shown and "n" * 1000 not in shown, name
        tab.open("ask", q="uncle(X, bob)")
        expect(page.locator("main")).to_contain_text("<script>alert(1)</script>")
        tab.check()


def test_a_hostile_query_is_shown_as_text(new_tab: NewTab, hostile_url: str) -> None:
    tab = new_tab(hostile_url)
    page = tab.open("ask", q="'<img src=x onerror=alert(1)>'(X)")
    expect(page.get_by_role("alert")).to_contain_text("<img src=x onerror=alert(1)>")
    expect(page.locator("main img")).to_have_count(0)


FOREIGN = """<!DOCTYPE html><title>foreign</title><script>
const home = new URLSearchParams(location.search).get("home");
const body = JSON.stringify({query: "name(X, Y)"});
async function attempt(options) {
  try { return (await fetch(home + "api/query", {method: "POST", body, ...options})).status; }
  catch (error) { return "refused"; }
}
window.result = (async () => [
  await attempt({headers: {"Content-Type": "application/json"}}),
  await attempt({headers: {"Content-Type": "text/plain"}}),
  await attempt({mode: "no-cors"}),
  await fetch(home + "api/session").then(() => "read", () => "refused"),
])();
</script>"""


class _Foreign(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(FOREIGN.encode())

    def log_message(self, *_: object) -> None:
        pass


def test_a_page_of_another_origin_cannot_ask(new_tab: NewTab, hostile_url: str) -> None:
    own = new_tab(hostile_url)
    own.open("ask", q="name(X, 0)")
    expect(own.page.locator(".answer-list li")).to_have_count(1)
    foreign = HTTPServer(("127.0.0.1", 0), _Foreign)
    Thread(target=foreign.serve_forever, daemon=True).start()
    try:
        tab = new_tab(hostile_url)
        answers: list[int] = []
        tab.page.on("response", lambda reply: answers.append(reply.status))
        tab.page.goto(f"http://127.0.0.1:{foreign.server_port}/?home={hostile_url}")
        found = tab.page.evaluate("window.result")
    finally:
        foreign.shutdown()
        foreign.server_close()
    assert found == ["refused"] * 4
    # The server took none of it: what it answered was a refusal each time.
    assert set(answers[1:]) <= {403, 415}
    state = own.page.evaluate("fetch('/api/session').then(reply => reply.json())")
    assert (state["running"], state["waiting"]) == (0, 0)
    own.check()


def test_the_page_cannot_be_framed_nor_load_from_elsewhere(
    new_tab: NewTab, hostile_url: str
) -> None:
    tab = new_tab(hostile_url)
    reply = tab.page.goto(hostile_url)
    assert reply is not None
    policy = reply.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    blocked = tab.page.evaluate("fetch('http://127.0.0.2:9/').then(() => 'sent', () => 'blocked')")
    assert blocked == "blocked"


def test_the_page_s_files_name_no_other_machine() -> None:
    """No address but the name of the SVG language stands in what the page is made of."""
    import deepprooflog.serve

    folder = Path(deepprooflog.serve.__file__).parent / "page"
    files = sorted(folder.iterdir())
    assert len(files) > 20
    for file in files:
        text = file.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "http:" not in text, file.name
        assert "https:" not in text, file.name
        assert "innerHTML" not in text, file.name
        assert "insertAdjacentHTML" not in text, file.name
