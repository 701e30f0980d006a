"""Rules that a training mines for itself: when, how many, and what of them a run keeps."""

from __future__ import annotations

from pathlib import Path

import pytest

from deepprooflog.errors import DataError, Notice
from deepprooflog.kg.data.rules import MINED
from deepprooflog.kg.data.triples import Graph, graph_of
from deepprooflog.kg.learn.mined import MiningOptions, mined_rules
from deepprooflog.kg.model import GraphModel
from deepprooflog.kg.opening import open_graph_model
from deepprooflog.kg.training import train_graph

ROWS = [(a + n, r, b + n) for n in "012" for a in "ab" for b in "cd" for r in "pq"]


def graph(rows: list[tuple[str, str, str]] = ROWS) -> Graph:
    return graph_of(rows[:-2], valid=[rows[-2]], test=[rows[-1]])


def trained(rules: str | None, out: Path | None = None) -> GraphModel:
    return train_graph(
        graph(), rules, prior="none", exact={"steps": 1}, mine={"rules": 1}, threads=1, out=out
    )


def test_without_rules_they_are_mined_and_kept(tmp_path: Path) -> None:
    with pytest.warns(Notice, match=r"2 rules of \d+ mined in .* at most 1 of a relation"):
        model = trained(None, tmp_path / "run")
    assert [str(rule) for rule in model.rules] == ["p(A,B) :- q(A,B).", "q(A,B) :- p(A,B)."]
    assert model.options.rules == MINED and model.prover.database.nesting == 1
    again = open_graph_model(tmp_path / "run")
    assert [(str(r), r.weight, r.place) for r in again.rules] == [
        (str(r), r.weight, r.place) for r in model.rules
    ]
    assert again.prover.database.nesting == 1
    assert again.evaluate(reading="max").mrr == model.evaluate(reading="max").mrr


def test_none_does_without_and_mined_mines_in_any_case() -> None:
    assert not len(trained("none").rules)
    with pytest.warns(Notice, match="mined in"):
        assert len(trained(MINED).rules) == 2


def test_all_readings_beside_each_other() -> None:
    with pytest.warns(Notice, match="mined in"):
        model = trained(None)
    found = model.evaluate(reading="all")
    assert list(found.readings) == ["max", "noisy-or", "clusters"]
    shown = str(found)
    assert all(name in shown for name in ("p_success", "max", "noisy-or", "clusters"))
    assert model.evaluate(reading="noisy-or").mrr == found.readings["noisy-or"].mrr
    with pytest.raises(DataError, match="no reading 'best'"):
        model.evaluate(reading="best")


@pytest.mark.parametrize(
    ("rows", "rules"),
    [
        ([("a", "p", "b")], 0),  # one relation, one triple
        ([(f"{n}", "p", f"{n + 1}") for n in range(9)], 0),
        ([(a, "p", b) for a in "abcd" for b in "abcd" if a != b], 1),  # symmetric
    ],
)
def test_a_graph_of_one_relation(rows: list[tuple[str, str, str]], rules: int) -> None:
    with pytest.warns(Notice, match=f"^{rules} rules? of"):
        found = mined_rules(graph_of(rows), MiningOptions(rules=2))
    assert len(found) == rules and found.file == MINED
    if not rules:
        assert any("no rule has a support of" in str(n) for n in found.notices)
