"""Rules that refer to one another in circles, as a rule miner may write them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import deepprooflog as dpl
from deepprooflog.cli import main
from deepprooflog.kg.data.rules import read_rules
from deepprooflog.kg.data.triples import Graph, graph_of
from deepprooflog.kg.readings.scores import RuleReader

# As AnyBURL writes them: predictions, support, confidence, rule. The last stands on itself.
CIRCLE = "3\t3\t1.0\tr(X,Y) <= s(X,Y)\n3\t3\t1.0\ts(X,Y) <= r(X,Y)\n4\t4\t1.0\tr(X,Y) <= r(Y,X)\n"


def looped() -> Graph:
    """s(c,d) alone is known of c and d; of e and f nothing."""
    rows = [("a", "r", "b"), ("a", "s", "b"), ("c", "s", "d"), ("e", "t", "f")]
    held = ("c", "r", "d")
    return graph_of(rows, valid=[held], test=[held, ("e", "r", "f")], name="looped")


@pytest.fixture
def circle(tmp_path: Path) -> Path:
    path = tmp_path / "circle.txt"
    path.write_text(CIRCLE)
    return path


def test_readings_over_facts_go_once_round(circle: Path) -> None:
    """w = 3/(3+5) by s(c,d), one deep; by the mirror 4/(4+5); what only a circle backs has 0."""
    graph = looped()
    reader = RuleReader(graph, read_rules(circle).rules)
    mirrored = graph.train[:1, [2, 1, 0]]  # r(b,a)
    asked = np.concatenate([graph.test, mirrored])
    scores = reader.scores(asked, ["max", "noisy-or", "clusters"])
    for name, score in scores.items():
        value = score(torch.from_numpy(asked)).double()
        shown = value if name == "max" else -torch.expm1(-value)
        assert shown.tolist() == pytest.approx([3 / 8, 0.0, 4 / 9], abs=2e-6), name


@pytest.mark.parametrize("nesting", [1, 3, 6])
def test_a_policy_ends_in_circles(circle: Path, nesting: int) -> None:
    """What a fact backs is proved by it; r(e,f) only by itself, which is no proof."""
    model = dpl.kg.train(
        looped(), circle, prior="none", exact={"steps": 2}, threads=1, search={"nesting": nesting}
    )
    backed = model.explain("r(c, d)", 3)
    assert backed.probability > 0 and backed.proof is not None and backed.proof.check()
    facts = [leaf for leaf in (node.atom for node in backed.proof.nodes) if leaf == "s(c,d)"]
    assert facts == ["s(c,d)"]
    alone = model.explain("r(e, f)", 3)
    assert alone.by_proof == 0 and alone.proof is None
    found = model.evaluate("full", reading="all")
    assert set(found.readings) == {"max", "noisy-or", "clusters"}


@pytest.mark.parametrize("support", [40, -4])
def test_more_hits_than_predictions_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], support: int
) -> None:
    """The weight would be above 1, and the noisy-or of it no number."""
    wrong = tmp_path / "wrong.txt"
    wrong.write_text(CIRCLE.replace("4\t4\t1.0", f"4\t{support}\t1.0"))
    given = ["--set", "data=village", "--set", f"rules={wrong}", "--out", str(tmp_path / "run")]
    assert main(["train", "kg", *given]) == 2
    told = capsys.readouterr().err
    assert "wrong.txt:3" in told and f"a support of {support} among 4 predictions" in told
    assert "Traceback" not in told and not (tmp_path / "run").exists()
