"""HTML, read back by Python's own parser: balanced, self-contained, the same tree."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from hypothesis import given

from deepprooflog.proof import Node, Proof
from deepprooflog.proof.render.html import NESTED
from deepprooflog.proof.render.text import one_line

from .conftest import proofs

VOID = {"meta", "input"}


class Page(HTMLParser):
    """The steps of a page with their nesting; fails on a tag that does not close."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []  # "chunk" for the folds of a flat list
        self.atoms: list[str] = []
        self.depths: list[int] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.data: dict[str, str] = {}
        self.deepest = 0
        self._atom: list[str] | None = None
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag in VOID:
            return
        self.open.append("chunk" if ("class", "chunk") in attrs else tag)
        self.deepest = max(self.deepest, len(self.open))
        if ("class", "atom") in attrs:
            self._atom = []
            inside_summary = "summary" in self.open
            self.depths.append(self.open.count("details") - inside_summary)

    def handle_endtag(self, tag: str) -> None:
        closed = self.open.pop()
        assert closed == tag or (closed, tag) == ("chunk", "details")
        if tag == "code" and self._atom is not None:
            self.atoms.append("".join(self._atom))
            self._atom = None

    def handle_data(self, data: str) -> None:
        if self._atom is not None:
            self._atom.append(data)
        if self.open and self.open[-1] in ("title", "style", "script"):
            self.data[self.open[-1]] = self.data.get(self.open[-1], "") + data


def test_small_proof(small: Proof) -> None:
    page = Page(small.to_html())
    assert page.data["title"] == "Proof of ?- even(I), name(N, M), likes(ann, N)."
    assert page.atoms == [node.atom for node in small.nodes]
    assert page.depths == [0, 1, 1, 1, 0, 0, 1]
    text = small.to_html()
    assert "<code>N = 4</code>" in text
    assert "<code>M = &#x27;four &amp; &quot;IV&quot;&#x27;</code>" in text
    assert '<i style="width:60%"></i></span> <span class="number">0.6</span>' in text


@given(proofs())
def test_random_proofs(proof: Proof) -> None:
    text = proof.to_html()
    text.encode()
    page = Page(text)
    assert page.atoms == [one_line(node.atom) for node in proof.nodes]
    assert page.depths == [node.depth for node in proof.nodes]


@given(proofs())
def test_loads_nothing_and_runs_one_script(proof: Proof) -> None:
    page = Page(proof.to_html())
    names = {name for _, name, _ in page.attributes}
    assert not names & {"src", "href", "srcset", "action", "data", "background"}
    assert not any(name.startswith("on") for name in names)
    assert not re.search(r"url\(|@import|http", page.data["style"])
    assert "http" not in page.data["script"]
    assert proof.to_html().count("<script") == 1
    policy = next(value for tag, _, value in page.attributes if "default-src" in value)
    assert policy.startswith("default-src 'none'")


def test_accessible(small: Proof) -> None:
    page = Page(small.to_html())
    meters = [value for _, name, value in page.attributes if name == "aria-valuenow"]
    assert [float(value) for value in meters] == [0.27, 0.6, 0.5, 1, 1, 1, 1, 0.9]
    assert ("html", "lang", "en") in page.attributes
    assert ("input", "aria-label", "Search the steps") in page.attributes
    assert ("output", "aria-live", "polite") in page.attributes


def test_deep_proof_is_flat_below_a_depth(deep: Proof) -> None:
    text = deep.to_html()
    page = Page(text)
    assert len(page.atoms) == 20_000
    assert page.depths[: NESTED + 2] == [*range(NESTED), NESTED, NESTED]
    assert page.deepest < 500  # browsers stop nesting at 512
    assert '<span class="depth">depth 19999</span>' in text
    assert "<summary>steps 25 to 524</summary>" in text
    assert "<summary>steps 19,525 to 20,000</summary>" in text
    assert text.count(" open>") == 4  # three levels and the first chunk
    assert f"Steps deeper than {NESTED} are listed without nesting" in text


def test_branches_below_the_nesting_depth() -> None:
    path = [Node(f"p{i}", "rule", "r.", None, 0.0, i - 1, i) for i in range(NESTED + 3)]
    tail = [
        Node("side", "rule", "r.", None, 0.0, NESTED, NESTED + 1),
        Node("up", "rule", "r.", None, 0.0, 1, 2),
        Node("root", "rule", "r.", None, 0.0, -1, 0),
    ]
    page = Page(Proof("q", {}, 0.0, (*path, *tail)).to_html())
    assert page.depths[-3:] == [NESTED, 2, 0]
    assert page.depths[:-3] == [*range(NESTED), NESTED, NESTED, NESTED]
