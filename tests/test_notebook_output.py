"""What a notebook shows: HTML that parses, says what text says, and obeys no name."""

from __future__ import annotations

import math
from html.parser import HTMLParser
from types import SimpleNamespace

import pytest
import torch

import deepprooflog as dpl
from deepprooflog.kg.model_html import model_html
from deepprooflog.learn.run import progress
from deepprooflog.proof.tree import Node

HOSTILE = ["<script>alert(1)</script>", "a\"onmouseover='x'", "\u202egnp.exe", "x" * 10_000]
VOID = {"br", "meta", "input"}


class Checked(HTMLParser):
    """Tags balance; none is there but those of tables, lists and folds."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in {
            "div", "style", "p", "code", "table", "thead", "tbody", "tr", "th", "td", "details",
            "summary", "ul", "li", "span", "i", "br",
        }  # fmt: skip
        assert {name for name, _ in attrs} <= {"class", "style", "open"}
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def shown(thing: object) -> str:
    found: str = thing._repr_html_()  # type: ignore[attr-defined]
    assert "\u202e" not in found
    return Checked(found).text


@pytest.fixture(scope="module")
def model() -> dpl.kg.GraphModel:
    facts = [(name, "q", f"b{n}") for n, name in enumerate([*HOSTILE, "a4", "a5"])]
    facts += [(name, "p", f"b{n}") for n, name in enumerate(HOSTILE)]
    graph = dpl.kg.load(facts, valid=[("a4", "p", "b4")], test=[("a5", "p", "b5")])
    rules = dpl.kg.parse_rules("p(X,Y) :- q(X,Y).")
    return dpl.kg.train(graph, rules=rules, prior="none", exact={"steps": 2}, threads=1)


def test_a_proof_and_a_program() -> None:
    program = dpl.Program("0.4 :: s(X) :- p(X). 0.6 :: s(X) :- q(X). 1 :: p(a). 0.5 :: q(a).")
    proof = dpl.Model(program).best_proof("s(X)")
    text = shown(proof)
    assert text.startswith("?- s(X). s(a)")
    assert "X = a" in text
    assert text.endswith("probability 0.4")
    listed = shown(program)
    assert "4 clauses" in listed
    assert "0.4 :: s(X) :- p(X)." in listed
    assert "s/1, labelled, 2 clauses" in listed


def test_programs_and_proofs_have_caps_that_are_told() -> None:
    program = dpl.Program("".join(f"p({n}).\n" for n in range(300)))
    assert "… and 250 more" in shown(program)
    long = dpl.Proof("p", {}, 0.0, tuple(
        Node("p", "rule", "p :- p.", None, 0.0, n - 1, n) for n in range(1000)
    ))  # fmt: skip
    assert "400 of 1,000 steps" in shown(long)


@pytest.mark.parametrize("name", HOSTILE, ids=["tag", "quotes", "backwards", "long"])
def test_hostile_names_are_text(name: str, model: dpl.kg.GraphModel) -> None:
    answers = model.query(f"p(X, b{HOSTILE.index(name)})", proofs=2)
    for thing in (answers, answers[0]):
        html = thing._repr_html_()
        text = shown(thing)
        assert "<script>alert" not in html
        assert "onmouseover='x'" not in html
        assert len(html) < 100_000
        start = name[:5].replace("\u202e", "\\u202e") if name != HOSTILE[2] else "202e"
        assert start in text
    assert "(10," in shown(answers) or len(name) < 5000
    assert "<script>" not in dpl.Program("p('<script>').")._repr_html_()


def test_answers_figures_and_models(model: dpl.kg.GraphModel) -> None:
    answers = model.query("p(X, b5)")
    assert "X = a5" in shown(answers)
    assert f"{answers[0].probability:.4g}" in shown(answers)
    assert "p(a5,b5)" in shown(model.explain("p(a5, b5)"))
    assert "no answer" in shown(model.query("p(b5, X)"))
    figures = model.evaluate()
    assert f"{figures.mrr:.4g}" in shown(figures)
    assert "p_success by relation" in shown(figures)
    assert model_html(model) == model._repr_html_()
    text = shown(model)
    assert "train triples 10" in text
    assert "rules 1" in text
    assert "p(A,B) :- q(A,B)." in shown(model.rule_table())


def test_a_model_of_a_program() -> None:
    program = dpl.Program("nn(net, [X], D, 0..2) :: digit(X, D). t(0.3) :: p. t(0.2) :: p :- q. q.")
    model = dpl.Model(program, networks={"net": torch.nn.Linear(4, 3)})
    text = shown(model)
    assert "p/0, trainable, 2 clauses" in text
    assert "net Linear 15 logits" in text  # 4 · 3 weights and 3 biases
    assert "p. 0.3 p :- q. 0.2" in text
    with torch.no_grad():
        model.labels.logits.fill_(0.0)  # the two, and what they leave to failing
    assert "p. 0.3333 p :- q. 0.3333" in shown(model)
    assert "network" not in shown(dpl.Model(dpl.Program("p.")))


def test_progress_shows_in_a_notebook(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A kernel's standard error is no terminal, and is watched all the same."""
    shell = SimpleNamespace(config={"IPKernelApp": {}})
    monkeypatch.setitem(
        __import__("sys").modules, "IPython", SimpleNamespace(get_ipython=lambda: shell)
    )
    assert progress.in_notebook()
    bars = []

    class Bar:
        n = 0
        closed = False

        def __init__(self, total: int) -> None:
            self.total = total
            bars.append(self)

        def set_description_str(self, text: str, refresh: bool) -> None:
            self.text = text

        def refresh(self) -> None: ...

        def close(self) -> None:
            self.closed = True

    monkeypatch.setattr(progress, "notebook_bar", Bar)
    line = progress.Progress(4)
    line.update(4, "loss \x1b[31m")
    line.close()
    (bar,) = bars
    assert (bar.n, bar.total, bar.closed) == (4, 4, True)
    assert bar.text == "loss \\x1b[31m"
    # Without tqdm it is the line that a terminal shows.
    monkeypatch.setattr(progress, "notebook_bar", lambda total: None)
    line = progress.Progress(4)
    line.update(2, "loss")
    line.close()
    assert "50%  loss" in capsys.readouterr().err


def test_meters_are_shares() -> None:
    from deepprooflog.markup import meter

    assert "width:25%" in meter(math.exp(math.log(0.25)))
    assert "width:100%" in meter(1.001)
