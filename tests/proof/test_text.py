"""Plain text: the tree can be read back from the page, and nothing is left out."""

from __future__ import annotations

import math
from decimal import Decimal, getcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepprooflog.proof import Node, Proof
from deepprooflog.proof.render.text import INDENTED, one_line, probability_text, wrap
from deepprooflog.terminal import columns

from .conftest import TEXT, proofs


def test_small_proof(small: Proof) -> None:
    assert str(small) == (
        "?- even(I), name(N, M), likes(ann, N).\n"
        "├─ even(<tensor 0>)  0.6  by 0.6::even(X) :- digit(X, D), 0 is D mod 2, \\+ big(D)."
        "  (even.pl:4)\n"
        "│  ├─ digit(<tensor 0>, 4)  0.5  neural lenet(<tensor 0>) = 4  (even.pl:1)\n"
        "│  ├─ 0 is 4 mod 2  1  builtin is/2\n"
        "│  └─ \\+ big(4)  1  guard \\+ big(D)\n"
        "├─ name(4, 'four & \"IV\"')  1  fact  (even.pl:9)\n"
        "└─ likes(ann, 4)  1  by likes(X, Y) :- believe(likes, X, Y).  (kg.pl:2)\n"
        "   └─ believe(likes, ann, 4)  0.9  belief kge(likes, ann, 4)\n"
        "N = 4\n"
        "M = 'four & \"IV\"'\n"
        "probability 0.27"
    )


@given(proofs())
def test_depths_can_be_read_back(proof: Proof) -> None:
    lines = str(proof).split("\n")
    assert len(lines) == 2 + len(proof.nodes) + len(proof.bindings)
    for node, line in zip(proof.nodes, lines[1:], strict=False):
        connector = min(line.find(mark) for mark in ("├─ ", "└─ ") if mark in line)
        assert connector == 3 * node.depth
        assert line[connector + 3 :].startswith(one_line(node.atom) + "  ")


def test_deep_proof_numbers_its_depths(deep: Proof) -> None:
    lines = str(deep).split("\n")
    assert len(lines) == 20_000 + 3
    for depth in (0, 1, INDENTED, INDENTED + 1, 19_999):
        assert f"p({depth})  0.3679  by" in lines[depth + 1]
    assert f"⋯{INDENTED + 1} p(" in lines[INDENTED + 2]
    assert "⋯" not in lines[INDENTED + 1]
    assert f"⋯n marks a step at depth n: beyond {INDENTED}" in lines[-1]


def test_bars_end_with_the_last_sibling() -> None:
    shape = [(-1, 0), (0, 1), (1, 2), (0, 1), (3, 2)]
    nodes = tuple(
        Node(f"p{i}", "fact", f"p{i}.", None, 0.0, p, d) for i, (p, d) in enumerate(shape)
    )
    assert str(Proof("q", {}, 0.0, nodes)) == (
        "?- q.\n"
        "└─ p0  1  fact\n"
        "   ├─ p1  1  fact\n"
        "   │  └─ p2  1  fact\n"
        "   └─ p3  1  fact\n"
        "      └─ p4  1  fact\n"
        "probability 1"
    )


@given(st.floats(-1e6, -1e-3))
def test_probability_agrees_with_decimal_arithmetic(log_prob: float) -> None:
    getcontext().prec = 30
    true = Decimal(log_prob).exp()
    shown = Decimal(probability_text(log_prob))
    assert abs(shown / true - 1) < Decimal("0.0006")


@pytest.mark.parametrize("rest", [1e-4, 3e-6, 7e-9, 2e-11])
def test_nearly_certain_is_not_shown_as_certain(rest: float) -> None:
    shown = probability_text(math.log1p(-rest))
    assert Decimal(1) - Decimal(shown) == pytest.approx(Decimal(rest), rel=Decimal("0.05"))


def test_mantissa_that_rounds_up_to_ten() -> None:
    assert probability_text(math.log(10) * -999.00001) == "1e-999"


@given(TEXT)
def test_one_line_is_one_encodable_line(text: str) -> None:
    shown = one_line(text)
    assert len(shown.splitlines()) <= 1
    shown.encode()
    assert one_line(shown) == shown


def test_one_line_escapes_as_prolog_does() -> None:
    assert one_line("a\nb\t\x07\ud800\u202e\uffff") == "a\\nb\\t\\x7\\\\xd800\\\\x202e\\\\xffff\\"
    assert one_line("père 数学 😀") == "père 数学 😀"


@given(TEXT, st.integers(2, 50))
def test_wrap_keeps_every_character(text: str, width: int) -> None:
    lines = wrap(text, width)
    assert "".join(lines) == text
    assert all(columns(line.rstrip(" ")) <= width for line in lines)
    assert all(lines)
