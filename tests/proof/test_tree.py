"""The data: what a proof may be, equality, checking."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from deepprooflog.errors import ProofLogError
from deepprooflog.proof import Node, Proof
from deepprooflog.proof.tree import children


def step(parent: int, depth: int, log_weight: float = 0.0) -> Node:
    return Node("p", "fact", "p.", None, log_weight, parent, depth)


def test_probability(small: Proof) -> None:
    assert small.probability == pytest.approx(0.27, rel=1e-12)
    assert sum(node.log_weight for node in small.nodes) == pytest.approx(small.log_prob)
    assert Proof("p", {}, -math.inf, ()).probability == 0.0


def test_check_calls_the_checker(small: Proof) -> None:
    assert replace(small, checker=lambda: True).check() is True
    assert replace(small, checker=lambda: False).check() is False
    with pytest.raises(ProofLogError, match="loaded without its program"):
        small.check()


def test_equality_and_hash_ignore_the_checker(small: Proof) -> None:
    checked = replace(small, checker=lambda: True)
    assert checked == small
    assert hash(checked) == hash(small)
    assert "checker" not in repr(checked)
    assert replace(small, bindings={"N": "5"}) != small


@pytest.mark.parametrize(
    "shape",
    [
        [(0, 0)],  # a root with a parent
        [(-1, 1)],  # no root
        [(-1, 0), (0, 2)],  # skips a level
        [(-1, 0), (0, 1), (-1, 0), (0, 1)],  # returns to a finished tree
        [(-1, 0), (1, 1)],  # its own parent
        [(-1, 0), (0, 1), (0, 1), (1, 2)],  # returns to a finished sibling
        [(-1, -1)],
    ],
)
def test_nodes_must_stand_in_preorder(shape: list[tuple[int, int]]) -> None:
    with pytest.raises(ProofLogError, match="node"):
        Proof("p", {}, 0.0, tuple(step(*place) for place in shape))


@pytest.mark.parametrize("weight", [math.nan, math.inf, 0.5])
def test_weights_must_be_log_probabilities(weight: float) -> None:
    with pytest.raises(ProofLogError, match="log-probability"):
        Proof("p", {}, 0.0, (step(-1, 0, weight),))
    with pytest.raises(ProofLogError, match="log-probability"):
        Proof("p", {}, weight, ())


def test_kind_must_be_known() -> None:
    with pytest.raises(ProofLogError, match="kinds are fact, rule"):
        Proof("p", {}, 0.0, (replace(step(-1, 0), kind="magic"),))  # type: ignore[arg-type]


def test_children(small: Proof) -> None:
    roots, below = children(small.nodes)
    assert roots == [0, 4, 5]
    assert below == [[1, 2, 3], [], [], [], [], [6], []]
