"""Rules beside walks: scores of lists, proofs by rules, weighed, kept, moved to another graph."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import deepprooflog as dpl
from deepprooflog.cli import main
from deepprooflog.errors import DataError, Notice
from deepprooflog.kg.data.rules import parse_rules
from deepprooflog.kg.data.triple_set import Side, column
from deepprooflog.kg.data.triples import SIDES, graph_of
from deepprooflog.kg.model import GraphModel
from deepprooflog.kg.readings.rule_lists import NONE, RuleLists
from deepprooflog.kg.readings.rule_proofs import rule_proofs
from deepprooflog.kg.readings.scores import RuleReader
from kg.mining.random_graphs import Triples, triples
from kg.readings.test_pairs import proved
from kg.readings.test_readings import RULES
from kg.walk.test_prover import OPTIONS, WALK, family, write

GRAN = "gran(X, Y) :- mother(X, Z), father(Z, Y)."
# One hop does not lead from gran to grandchild: only the rule does.
SHORT: dict[str, Any] = {**OPTIONS, "walk": {**WALK, "hops": 1, "epochs": 2}}


@given(triples(most=14), st.sampled_from(SIDES))
@settings(max_examples=15)
def test_lists_are_the_reading_of_every_candidate(rows: Triples, side: Side) -> None:
    """As `evaluate --reading clusters` has it, which is tested against the solver."""
    named: Triples = [("e0", "r0", "e1"), ("e1", "r1", "e2")]
    graph = graph_of([*dict.fromkeys([*named, *rows])], valid=[("e2", "r0", "e0")])
    reader = RuleReader(graph, tuple(parse_rules("\n".join(RULES))))
    lists, asked = RuleLists.of(reader), np.array([[0, 0, 1], [1, 1, 0], [2, 0, 0]])
    wanted = reader.scores(asked, ["clusters"])["clusters"]
    for row, found in zip(asked, lists(asked, side), strict=True):
        every = np.repeat(row[None], len(graph.entities), 0)
        every[:, column(side)] = np.arange(len(graph.entities))
        assert found.exp().tolist() == pytest.approx(
            (wanted(torch.from_numpy(every)) + NONE).tolist(), rel=1e-5
        )
    again = RuleLists(graph, reader.rules, lists.tally)
    assert torch.equal(again(asked, side), lists(asked, side))


@given(triples(most=14), st.integers(0, 2), st.integers(0, 1), st.integers(0, 2))
@settings(max_examples=25)
def test_who_backs_a_triple_proves_it(rows: Triples, head: int, relation: int, tail: int) -> None:
    """The rules are those by which the solver proves it, and each proof of one replays."""
    named: Triples = [("e0", "r0", "e1"), ("e1", "r1", "e2")]
    graph = graph_of([*dict.fromkeys([*named, *rows])], valid=[("e2", "r0", "e0")])
    rules = parse_rules("\n".join(RULES))
    lists, row = RuleLists.of(RuleReader(graph, rules.rules)), np.array([head, relation, tail])
    backing = lists.backing(row)
    wanted = [
        text for text in RULES
        if text.startswith(f"r{relation}") and (head, tail) in proved(graph, text)
    ]  # fmt: skip
    assert sorted(rule.id for rule, _ in backing) == sorted(
        rule.id for rule, text in zip(rules, RULES, strict=True) if text in wanted
    )
    weights = [weight for _, weight in backing]
    assert weights == sorted(weights, reverse=True)
    sure = [(rule, weight) for rule, weight in backing if weight]
    proofs = list(rule_proofs(graph, row, sure))
    assert [proof.probability for proof in proofs] == pytest.approx([w for _, w in sure])
    for proof, (rule, _) in zip(proofs, sure, strict=True):
        assert proof.check() and str(rule) in str(proof)


@pytest.fixture(scope="module")
def model() -> GraphModel:
    return dpl.kg.train(family(), GRAN, "none", **SHORT)


def test_rules_tell_what_walks_cannot(model: GraphModel) -> None:
    """The proof of an answer is the rule's, with the facts it stands on."""
    assert "walks of 1 hop and 1 rule" in repr(model)
    found = model.evaluate(protocol="full")
    assert found.rules is not None and found.walks is not None
    assert found.rules.mrr == 1.0 > found.walks.mrr
    tried = found.record["score"]["validation"]
    assert set(tried) == {
        "walks", "walks + facts", "rules", "rules + facts", "walks + rules", "walks + rules + facts"
    }  # fmt: skip
    assert tried[found.record["score"]["weighed"]] == max(tried.values())
    assert "rules alone" in str(found)
    assert {"walks", "rules"} < set(found.to_frame()["score"])
    best = model.query("gran(g11, X)", top=1)[0]
    assert best.bindings == {"X": "c11"} and best.proof is not None and best.proof.check()
    assert [node.atom for node in best.proof.nodes] == [
        "gran(g11,c11)", "mother(g11,p11)", "father(p11,c11)"
    ]  # fmt: skip
    why = model.explain("gran(g11, c11)", proofs=3)
    assert why.by_proof == why.probability and len(why.proofs) > 1
    assert why.evidence is not None and str(why.evidence[0]) == "1 rule that backs it"
    assert why.evidence[0].log_odds > 0 and "1 rule that backs it" in str(why)
    other = model.explain("gran(g11, c10)")
    assert other.probability < why.probability
    assert other.evidence is None or all("rule" not in row.facts for row in other.evidence)


def test_log_odds_of_rules_are_what_they_add(model: GraphModel) -> None:
    """Without the fact that the rule stands on, the log odds within a list differ by as much."""
    walks = model.walks
    assert walks is not None
    why = model.explain("gran(g11, c11)", 0)
    assert why.evidence is not None
    row = model.graph.test[[model.graph.text(r) == "gran(g11,c11)" for r in model.graph.test]]
    with torch.no_grad():
        logits = walks.logits(row, "tail")[0, 0]
        bare = walks.about(model.graph, None)
        assert bare.rules is not None
        none = RuleLists(model.graph, (), bare.rules.tally)
        without = WalkProverWithout(bare, none)(row)
    own, another = int(row[0, 2]), int(row[0, 0])
    gap = (logits[own] - logits[another]) - (without[own] - without[another])
    assert float(gap) == pytest.approx(why.evidence[0].log_odds, rel=1e-4)


class WalkProverWithout:
    """The log odds of lists with rules that back nothing."""

    def __init__(self, walks: Any, rules: RuleLists) -> None:
        from dataclasses import replace

        tally = replace(rules.tally, cluster=np.full(len(rules.tally), -1))
        self.walks = replace(walks, rules=RuleLists(rules.graph, rules.rules, tally))

    def __call__(self, row: np.ndarray) -> torch.Tensor:
        found: torch.Tensor = self.walks.logits(row, "tail")[0, 0]
        return found


def test_what_was_counted_is_kept(model: GraphModel, tmp_path: Path) -> None:
    model.save(tmp_path / "run")
    again = dpl.kg.open(tmp_path / "run")
    assert again.query("gran(g11, X)").answers == model.query("gran(g11, X)").answers
    assert repr(again) == repr(model)
    table = again.rule_table()
    assert [(row.support, row.predictions) for row in table] == [(8, 12)]
    read = again.evaluate(protocol="full", reading="max")
    assert read.mrr == 1.0
    both = again.evaluate(protocol="full", reading="all")
    assert set(both.readings) == {"max", "noisy-or", "clusters"} and both.walks is not None
    rules = tmp_path / "run" / "graph.json"
    text = json.loads(rules.read_text())
    assert any("mother" in str(value) for value in text.values())


def test_with_a_fact_less_no_rule_proves(model: GraphModel) -> None:
    view = model.with_facts(removed=["father(p11, c11)"])
    one = view.explain("gran(g11, c11)")
    assert one.evidence is None or all("rule" not in row.facts for row in one.evidence)
    more = model.with_facts(added=["mother(g1, newborn)", "father(newborn, baby)"])
    found = more.query("gran(g1, X)", top=1, new=True)[0]
    assert found.bindings == {"X": "baby"} and found.proof is not None
    assert found.proof.nodes[0].atom == "gran(g1,baby)"


def test_by_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rules from a file, and mined; asked about another graph with other people."""
    data, out = write(family(), tmp_path / "one"), str(tmp_path / "run")
    (tmp_path / "rules.pl").write_text(GRAN)
    walk = [f"walk.{key}={value}" for key, value in SHORT["walk"].items()]
    given = [f"data={data}", "threads=1", *walk]
    told = [word for one in given for word in ("--set", one)]
    file = ["--set", f"rules={tmp_path / 'rules.pl'}"]
    assert main(["train", "walks", *told, *file, "--out", out, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["test"]["rules"]["mrr"] == 1.0
    assert main(["rules", out, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["rules"][0]["support"] == 8
    other = str(write(family("x"), tmp_path / "two"))
    assert main(["query", out, "gran(g11x, X)", "--top", "1", "--proof", "--data", other]) == 0
    assert "mother(g11x,p11x)" in capsys.readouterr().out
    mined = ["--set", "rules=mined", "--set", "mine.support=2", "--set", "mine.constants=false"]
    with pytest.warns(Notice, match=r"rules? mined in .* read beside walks"):
        model = dpl.kg.train(
            family(), "mined", "none", **SHORT, mine={"support": 2, "constants": False}
        )
    assert GRAN.replace(" ", "").split(":-")[0][:4] in model.rules.text()
    assert "gran(A,B) :- mother(A,C), father(C,B)." in model.rules.text()
    assert main(["train", "walks", *told, *mined, "--out", str(tmp_path / "mined")]) == 0
    assert "rules alone" in capsys.readouterr().out
    assert main(["explain", str(tmp_path / "mined"), "gran(g11, c11)"]) == 0
    assert "(mined:" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "weight", "said"),
    [
        (f"0.9 :: {GRAN}", 8 / (12 + 5), True),
        ("20\t15\t0.75\tgran(X,Y) <= mother(X,A), father(A,Y)\n", 15 / (20 + 5), False),
    ],
)
def test_a_rule_weighs_what_is_counted_of_it(
    text: str, weight: float, said: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By its file, or else over the training triples; that a label is not used is said."""
    data = write(family(), tmp_path / "data")
    (tmp_path / "rules.tsv").write_text(text)
    given = [f"data={data}", f"rules={tmp_path / 'rules.tsv'}", "threads=1"]
    given += [f"walk.{key}={value}" for key, value in SHORT["walk"].items()]
    told = [word for one in given for word in ("--set", one)]
    assert main(["train", "walks", *told, "--out", str(tmp_path / "run")]) == 0
    walks = dpl.kg.open(tmp_path / "run").walks
    assert walks is not None and walks.rules is not None
    ((_, found),) = walks.rules.backing(walks.graph.test[0])
    assert found == pytest.approx(weight)
    printed = capsys.readouterr().err
    assert ("a rule weighs support / (predictions + 5), counted over" in printed) == said
    assert "is learned" not in printed


def test_rules_about_people_who_are_not_there_are_counted(tmp_path: Path) -> None:
    """On another graph the rule without constants still proves; of the other two that is said."""
    named = "gran(X, c0) :- mother(X, p0). gran(g1, Y) :- father(p1, Y)."
    model = dpl.kg.train(family(), f"{GRAN}\n{named}", "none", **SHORT)
    model.save(tmp_path / "run")
    other = str(write(family("x"), tmp_path / "two"))
    with pytest.warns(Notice, match="2 of 3 rules name what two does not have"):
        moved = dpl.kg.open(tmp_path / "run", data=other)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert moved.query("gran(g11x, X)", top=1)[0].bindings == {"X": "c11x"}
        model.with_facts(removed=["father(p11, c11)"]).query("gran(g11, X)", top=1)


def test_walks_of_a_run_with_rules_are_taken_without_them(
    model: GraphModel, tmp_path: Path
) -> None:
    """Beside other rules, or none: walks alone rank as they did."""
    model.save(tmp_path / "run")
    walk = {**SHORT["walk"], "from_run": str(tmp_path / "run")}
    before = model.evaluate(protocol="full").walks
    assert before is not None
    for rules, beside in (("none", False), ("gran(X, Y) :- mother(X, Y).", True)):
        again = dpl.kg.train(family(), rules, "none", **{**SHORT, "walk": walk})
        found = again.evaluate(protocol="full")
        assert found.walks is not None and (found.rules is not None) == beside
        assert (found.walks.mrr, found.walks.hits) == (before.mrr, before.hits)


def test_a_tally_that_does_not_fit_is_refused(model: GraphModel, tmp_path: Path) -> None:
    """As many rows as there are rules, or the run is damaged."""
    from deepprooflog.kg.walk.saved import load_walks

    model.save(tmp_path / "run")
    path, rules = tmp_path / "run" / "model.safetensors", (*model.rules, *model.rules)
    with pytest.raises(DataError):
        load_walks(path, model.graph, model.options.walk, None, rules=rules)
