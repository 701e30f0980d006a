"""Figures of a prover: what they are on a graph small enough to count, and how they are shown."""

from __future__ import annotations

import pytest

from deepprooflog.errors import DataError
from deepprooflog.kg.data.rules import parse_rules
from deepprooflog.kg.data.triples import graph_of
from deepprooflog.kg.evaluation.evaluate import Ranker, evaluate_prover, watched
from deepprooflog.kg.prove.build import prover

RING = graph_of(
    [(f"e{i}", "next", f"e{(i + 1) % 6}") for i in range(6)],
    valid=[("e0", "after", "e2")],
    test=[("e1", "after", "e3"), ("e2", "after", "e4"), ("e3", "after", "e0")],
)
RULES = parse_rules("after(X, Z) :- next(X, Y), next(Y, Z).")


def test_figures_count_what_rules_prove() -> None:
    """Two of three test triples follow from the rule; the third is among all that do not."""
    proves = prover(RING, RULES, nesting=1)
    found = evaluate_prover(proves, Ranker(RING, protocol="full"), RING.test, RING.valid)
    # after(e3, e0): on each side one other is proved, after(e3, e5) and after(e4, e0), and is above
    # it; it is tied with the four that are left.
    last = 1 / (1 + 1 + 4 / 2)
    assert found.queries == 3
    assert found.mrr == pytest.approx((1 + 1 + last) / 3)
    assert found.hits[1] == pytest.approx(2 / 3)
    assert {side: part.mrr for side, part in found.by_side.items()} == {
        "head": pytest.approx(found.mrr), "tail": pytest.approx(found.mrr),
    }  # fmt: skip
    assert found.by_relation["after"].mrr == pytest.approx(found.mrr)
    assert found.by_depth["none"].mrr == pytest.approx(last)
    assert found.prior is None
    assert "3 test triples, both sides, all entities, average ties" in str(found)
    assert repr(found).startswith("Figures(mrr=0.7")
    assert found.to_dict()["hits@1"] == found.hits[1]


def test_the_figure_that_is_watched() -> None:
    proves = prover(RING, RULES, nesting=1)
    assert watched(Ranker(RING, protocol="full"), proves, RING.test[:2], "mrr") == 1.0
    assert watched(Ranker(RING, protocol="full"), proves, RING.test[:2], "auc_pr") <= 1.0


def test_a_graph_without_test_triples_has_no_figures() -> None:
    with pytest.raises(DataError, match="no test triples"):
        evaluate_prover(prover(RING, RULES), Ranker(RING), RING.test[:0], RING.valid)
